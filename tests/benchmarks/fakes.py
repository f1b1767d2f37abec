"""Stand-ins for the parts of a cell: a study of instant items, a model that is never asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.models.base import OpenModel, ServerInfo
from agents.trace import Status
from benchmarks.records import Counters, RoleTokens, Row, RowBase
from benchmarks.settings import CellConfig
from benchmarks.study import CellContext, ItemResult, Study, hash_ids
from wmt.chat import ChatModel, ChatRequest, Completion
from wmt.memory import Memory


class FakeChat:
    """A model that nobody may call."""

    name = "fake"
    context_window = 1000

    async def complete(self, request: ChatRequest) -> Completion:
        raise AssertionError("not to be called")

    async def count_tokens(self, text: str) -> int:
        return len(text)


class FakeModelConfig(BaseModel):
    """Counts how often its server was started and stopped."""

    model_config = ConfigDict(extra="forbid")
    outside_digest: ClassVar[frozenset[str]] = frozenset({"base_url"})

    name: str = "fake"
    simulated: bool = True
    smoke_only: bool = False
    base_url: str = ""
    temperature: float = Field(0.0, ge=0, le=2)
    log: ClassVar[list[str]] = []

    def preflight(self) -> list[str]:
        return []

    @asynccontextmanager
    async def open(self, log_dir: Path) -> AsyncIterator[OpenModel]:
        self.log.append("start")
        try:
            yield OpenModel(FakeChat(), ServerInfo("fake", "1", self.name, "r1"))
        finally:
            self.log.append("stop")


class FakeMemoryConfig(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = "fake"
    budget_tokens: int | None = None

    def build(self, model: ChatModel) -> Memory:
        raise AssertionError("not to be called")


class FakeTools(BaseModel):
    model_config = ConfigDict(extra="forbid")

    web: Literal["live", "record", "replay", "off"] = "off"

    def preflight(self) -> list[str]:
        return []

    def cassette_hash(self) -> str:
        return ""


class FakeDataset(BaseModel):
    """`items` instant items; those in `failing` end as errors, those in `hanging` never end."""

    model_config = ConfigDict(extra="forbid")
    outside_digest: ClassVar[frozenset[str]] = frozenset({"limit", "failing", "hanging"})
    uses_web: ClassVar[bool] = False

    name: str = "fake"
    items: int = 5
    limit: int | None = None
    failing: list[str] = []
    hanging: list[str] = []

    def preflight(self) -> list[str]:
        return []

    def study(self, agent: Any, tools: Any) -> Study:
        return FakeStudy(self)


def fake_row(cell: CellContext, item: str, status: Status = "answered") -> Row:
    return Row(
        cell=cell.key,
        task_id=item,
        status=status,
        steps=1,
        tokens={"agent": RoleTokens(calls=1, prompt=100, completion=10, cached=50, seconds=0.1)},
        usage_estimated=False,
        counters=Counters(),
        seconds=0.5,
        started_at=1.0,
        error="the server is gone" if status == "error" else "",
        level=1,
        answer="x",
        score=0.0 if status == "error" else 1.0,
    )


class FakeStudy:
    revision = "r1"
    uses_web = False

    def __init__(self, config: FakeDataset) -> None:
        every = [f"item/{number}" for number in range(config.items)]
        self.name = config.name
        self.full_size = len(every)
        self.ids_hash = hash_ids(every)
        self.row_type: type[RowBase] = Row
        self.config = config
        self.every = every
        self.running = 0
        self.most_running = 0
        self.ran: list[str] = []

    def item_ids(self) -> Sequence[str]:
        return self.every[: self.config.limit]

    async def run(self, item_id: str, cell: CellContext) -> ItemResult:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            self.ran.append(item_id)
            await asyncio.sleep(0)
            if item_id in self.config.hanging:
                await asyncio.Event().wait()
            status: Status = "error" if item_id in self.config.failing else "answered"
            return ItemResult(fake_row(cell, item_id, status), [{"type": "header", "id": item_id}])
        finally:
            self.running -= 1


def fake_cell(results: Path, **changes: Any) -> CellConfig:
    """A cell of fakes; keyword arguments replace its parts or top-level keys."""
    values: dict[str, Any] = {
        "model": FakeModelConfig(),
        "memory": FakeMemoryConfig(),
        "dataset": FakeDataset(),
        "agent": FakeTools(),
        "tools": FakeTools(),
        "seed": 0,
        "label": "main",
        "results_dir": results,
        "concurrency": 1,
        "preflight": False,
        "parallel_cells": 1,
        "price_per_gpu_hour": None,
    }
    return CellConfig(**{**values, **changes})


class Silent:
    """A watch that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.items: list[str] = []
        self.resumed = 0

    def begin(self, cell: CellConfig, total: int, done: Sequence[RowBase]) -> None:
        self.resumed = len(done)

    def item(self, row: RowBase) -> None:
        self.items.append(row.task_id)

    def say(self, line: str) -> None:
        self.lines.append(line)
