"""One model server for consecutive cells of the same model, stopped at the end whatever happens."""

from __future__ import annotations

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from agents.models.base import OpenModel
from benchmarks.settings import CellConfig


class SharedModel:
    """Opens a cell's model; keeps it open while the next cells have the same configuration."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._model: OpenModel | None = None
        self._configuration = ""

    async def __aenter__(self) -> Self:
        return self

    async def opened(self, cell: CellConfig) -> OpenModel:
        """The cell's model, from the server that runs already or a fresh one."""
        wanted = repr(cell.model)
        if self._model is None or wanted != self._configuration:
            self._model = None
            await self._stack.aclose()
            manager = cell.model.open(cell.folder / "log")
            self._model = await self._stack.enter_async_context(manager)
            self._configuration = wanted
        return self._model

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)
