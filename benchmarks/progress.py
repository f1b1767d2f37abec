"""How a run gets on: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from benchmarks.records import RowBase
from benchmarks.settings import CellConfig

_PLAIN_SECONDS = 5.0
"""Without a terminal, at most one line per cell in this time."""


class Tally:
    """What is known of one cell so far. Only rows made now tell how fast it goes."""

    def __init__(self, title: str, total: int, done: Sequence[RowBase]) -> None:
        self.title = title
        self.total = total
        self.done = len(done)
        self.right = sum(getattr(row, "score", 0.0) for row in done)
        self.scored = all(hasattr(row, "score") for row in done)
        self.tokens = sum(row.prompt_tokens for row in done)
        self._fresh = 0
        self._began = time.monotonic()

    def add(self, row: RowBase) -> None:
        """Count a finished item."""
        self.done += 1
        self._fresh += 1
        self.right += getattr(row, "score", 0.0)
        self.scored = self.scored and hasattr(row, "score")
        self.tokens += row.prompt_tokens

    def __str__(self) -> str:
        right = f"{self.right:.0f} right, " if self.scored else ""
        return f"{right}{self.tokens:,} prompt tokens, {self._left()}"

    def _left(self) -> str:
        if self.done >= self.total:
            return "done"
        if not self._fresh:
            return "time left unknown"
        each = (time.monotonic() - self._began) / self._fresh
        seconds = round(each * (self.total - self.done))
        return f"{seconds // 60}:{seconds % 60:02d} left"


class Display:
    """A `benchmarks.runner.Watch` on a console; cells may run one after another or side by side."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = console.is_terminal
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[tally]}"),
            console=console,
            disable=not self._live,
        )
        self._tallies: dict[str, Tally] = {}
        self._tasks: dict[str, TaskID] = {}
        self._printed: dict[str, float] = {}
        self._current = ""

    def __enter__(self) -> Display:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def begin(self, cell: CellConfig, total: int, done: Sequence[RowBase]) -> None:
        """A cell starts; its rows from an earlier run count."""
        self._current = cell.title
        tally = self._tallies[cell.title] = Tally(cell.title, total, done)
        if self._live:
            self._tasks[cell.title] = self._bars.add_task(
                cell.title, total=total, completed=tally.done, tally=tally
            )
        elif done:
            self.say(f"{cell.title}: resumed, {tally.done}/{total} done before")
        else:
            self.say(f"{cell.title}: {total} to do")

    def item(self, row: RowBase) -> None:
        """An item of the cell that began last."""
        self.item_of(self._current, row)

    def item_of(self, title: str, row: RowBase) -> None:
        """An item of a named cell."""
        tally = self._tallies[title]
        tally.add(row)
        if self._live:
            self._bars.update(self._tasks[title], completed=tally.done, tally=tally)
            return
        now = time.monotonic()
        if tally.done == tally.total or now - self._printed.get(title, 0.0) >= _PLAIN_SECONDS:
            self._printed[title] = now
            self.say(f"{title}: {tally.done}/{tally.total}, {tally}")

    def say(self, line: str) -> None:
        """A line above the bars."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)
