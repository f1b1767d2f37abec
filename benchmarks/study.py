"""What a cell runs: items (questions, scenarios), each of which yields one row and one trace."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from benchmarks.records import CellKey, RowBase
from wmt.chat import ChatModel
from wmt.memory import MemoryConfig


@dataclass(frozen=True)
class CellContext:
    """What an item needs of its cell. `chat` is the opened model, `key` goes into every row."""

    key: CellKey
    chat: ChatModel
    memory: MemoryConfig
    folder: Path


@dataclass(frozen=True)
class ItemResult:
    """A finished item: its row and the lines of its trace (JSON-ready)."""

    row: RowBase
    trace: Sequence[dict[str, Any]]


def hash_ids(ids: Iterable[str]) -> str:
    """SHA-256 (16 hex digits) of a set of ids, whatever their order."""
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()[:16]


class Study(Protocol):
    """A set of items in a fixed order.

    `full_size` and `ids_hash` (see `hash_ids`) are those of the uncut set, so that a cut can never
    pass for it. `uses_web` says whether its tools can reach the web.
    """

    name: str
    revision: str
    full_size: int
    ids_hash: str
    uses_web: bool
    row_type: type[RowBase]

    def item_ids(self) -> Sequence[str]:
        """Ids after any cut (`dataset.limit`, `dataset.level`, `dataset.ids`)."""
        ...

    async def run(self, item_id: str, cell: CellContext) -> ItemResult:
        """Run one item. A dead server or a bad reply is a row with its status; a bug raises."""
        ...


@runtime_checkable
class WithEnd(Protocol):
    """A study, or a benchmark, that writes something of its own once a cell's items are done."""

    def after_cell(self, folder: Path, rows: Sequence[RowBase]) -> None:
        """Called with every row of the cell, at the end of each run of it."""
        ...


class StudyConfig(Protocol):
    """A validated `configs/dataset/NAME.yaml`; `agent` and `tools` are other groups'.

    `uses_web`: whether it needs the tools that `configs/tools` sets up (web, documents, python).
    """

    name: str
    uses_web: ClassVar[bool]

    def preflight(self) -> list[str]:
        """One line per thing that is missing, with the remedy."""
        ...

    def study(self, agent: Any, tools: Any) -> Study:
        """Read or generate the data; raises `benchmarks.errors.SetupError`."""
        ...
