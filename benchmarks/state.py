"""How far a cell is, from what is on disk alone: the same for scripts.cells and scripts.status."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.errors import SetupError
from benchmarks.store import CELL, ROWS, read_cell

_NEEDED = {"status", "seconds", "tokens", "cell"}

State = Literal["not begun", "partial", "errors", "done", "damaged"]


@dataclass(frozen=True)
class CellState:
    """A cell's progress. `items` is None before the cell has begun.

    `done` counts rows that are no errors, `errors` those that the next run tries again; `right` is
    the sum of scores, None where rows have none; `last` is when a row was last written (Unix time);
    `damaged` names what cannot be read, which a run would refuse.
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
    damaged: str = ""

    @property
    def state(self) -> State:
        """In one word; `errors` means that every item has a row and some are errors."""
        if self.damaged:
            return "damaged"
        if self.items is None:
            return "not begun"
        if self.done >= self.items:
            return "done"
        return "errors" if self.done + self.errors >= self.items else "partial"

    def __str__(self) -> str:
        if self.damaged:
            return f"damaged: {self.damaged}"
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

    None takes the number that its last run was asked for. Never raises for what stands in the
    files: a killed process, a full disk or somebody else may have left it.
    """
    if not (folder / CELL).exists():
        return CellState(folder, None, None)
    try:
        described = read_cell(folder)
        own, full_size = int(described["items"]), int(described["full_size"])
    except (SetupError, KeyError, TypeError, ValueError):
        return CellState(folder, None, None, damaged=CELL)
    try:
        rows = _rows(folder / ROWS)
    except ValueError as error:
        return CellState(folder, own, full_size, damaged=str(error))
    return _counted(folder, own if wanted is None else wanted, full_size, rows)


def _counted(folder: Path, items: int, full_size: int, rows: list[dict[str, Any]]) -> CellState:
    good = [row for row in rows if row["status"] != "error"]
    scores = [row["score"] for row in rows if "score" in row]
    return CellState(
        folder=folder,
        items=items,
        full_size=full_size,
        done=len(good),
        errors=len(rows) - len(good),
        right=sum(scores) if scores else None,
        prompt_tokens=sum(role["prompt"] for row in rows for role in row["tokens"].values()),
        seconds=sum(row["seconds"] for row in rows),
        simulated=any(row["cell"]["simulated"] for row in rows),
        last=(folder / ROWS).stat().st_mtime if rows else None,
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    """Rows as plain data (fast, of any schema); a torn last line is left out. ValueError names the
    line that is no row."""
    if not path.exists():
        return []
    rows = []
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
        if not line.endswith(b"\n"):
            break
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict) or not row.keys() >= _NEEDED:
            raise ValueError(f"{path.name}:{number}")
        rows.append(row)
    return rows
