"""What a benchmark is. The gold answer stays with it: neither agent nor memory can see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agents.tools.base import Tool


@dataclass(frozen=True)
class Task:
    """One question. `level` is 1, 2 or 3; `files` are its attachments."""

    id: str
    question: str
    level: int
    files: tuple[Path, ...] = ()


class Benchmark(Protocol):
    """A set of tasks with its tools and its scorer.

    `revision` pins the data. `tasks` come in a fixed order.
    """

    name: str
    revision: str
    answer_instructions: str

    def tasks(self) -> Sequence[Task]:
        """All questions of the set, in a fixed order; `dataset.limit` and the like cut later."""
        ...

    def tools(self, task: Task) -> Sequence[Tool]:
        """The tools of one task; only its own files are reachable."""
        ...

    def score(self, task: Task, answer: str | None) -> float:
        """1.0 for a right answer, else 0.0; None is scored, not skipped."""
        ...
