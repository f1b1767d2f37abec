"""How far a cell is, from what is on disk alone: the same for scripts.cells and scripts.status."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from benchmarks.store import CELL, ROWS

State = Literal["not begun", "partial", "errors", "done"]


@dataclass(frozen=True)
class CellState:
    """A cell's progress. `items` is None before the cell has begun.

    `done` counts rows that are no errors, `errors` those that the next run tries again; `right` is
    the sum of scores, None where rows have none; `last` is when a row was last written (Unix time).
    """

    folder: Path
    items: int | None
    full_size: int | None
    done: int = 0
    errors: int = 0
    right: float | None = None
    prompt_tokens: int = 0
    seconds: float = 0.0
    simulated: bool = False
    last: float | None = None

    @property
    def state(self) -> State:
        """In one word; `errors` means that every item has a row and some are errors."""
        if self.items is None:
            return "not begun"
        if self.done >= self.items:
            return "done"
        return "errors" if self.done + self.errors >= self.items else "partial"

    def __str__(self) -> str:
        if self.items is None:
            return "not begun"
        text = "done" if self.state == "done" else f"{self.state} {self.done}/{self.items}"
        return f"{text}, {self.errors} errors" if self.errors else text

    @property
    def left(self) -> int | None:
        """Items still to run, None if unknown."""
        return None if self.items is None else max(self.items - self.done, 0)


def read_state(folder: Path, wanted: int | None = None) -> CellState:
    """The state of the cell in `folder`, which should have `wanted` items.

    None takes the number that its last run was asked for. Never raises for what a killed process
    leaves behind.
    """
    described = _yaml(folder / CELL)
    if not described:
        return CellState(folder, None, None)
    items = described["items"] if wanted is None else wanted
    path = folder / ROWS
    rows = _rows(path)
    good = [row for row in rows if row["status"] != "error"]
    scores = [row["score"] for row in rows if "score" in row]
    return CellState(
        folder=folder,
        items=items,
        full_size=described["full_size"],
        done=len(good),
        errors=len(rows) - len(good),
        right=sum(scores) if scores else None,
        prompt_tokens=sum(role["prompt"] for row in rows for role in row["tokens"].values()),
        seconds=sum(row["seconds"] for row in rows),
        simulated=any(row["cell"]["simulated"] for row in rows),
        last=path.stat().st_mtime if rows else None,
    )


def _yaml(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded if isinstance(loaded, dict) else {}


def _rows(path: Path) -> list[dict[str, Any]]:
    """Rows as plain data (fast, of any schema); a torn last line is left out."""
    if not path.exists():
        return []
    whole = [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    return [json.loads(line) for line in whole]
