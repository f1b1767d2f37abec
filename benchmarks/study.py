"""What a cell runs: items (questions, scenarios), each of which yields one row and one trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

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


class Study(Protocol):
    """A set of items in a fixed order."""

    name: str
    revision: str
    full_size: int
    row_type: type[RowBase]

    def item_ids(self) -> Sequence[str]:
        """Ids after any cut (`dataset.limit`, `dataset.level`, `dataset.ids`)."""
        ...

    async def run(self, item_id: str, cell: CellContext) -> ItemResult:
        """Run one item. A dead server or a bad reply is a row with its status; a bug raises."""
        ...
