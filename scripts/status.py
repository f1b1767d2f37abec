"""A live table of a folder of results while a grid runs.

    python -m scripts.status results
    python -m scripts.status results/main --once        for scripts: one table, then exit

Reads rows, cell descriptions and ledgers only; it may run anywhere that sees the folder.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table

from benchmarks.compute import Totals, read_ledger
from benchmarks.state import CellState, read_state
from benchmarks.store import find_cells

_QUIET_SECONDS = 600.0
"""A partial cell without a row for so long is marked: it stopped, or its question is slow."""


def read_all(folder: Path) -> list[tuple[CellState, Totals | None]]:
    """Every cell at or below a folder."""
    found = []
    for cell in find_cells(folder):
        ledger = read_ledger(cell)
        found.append((read_state(cell), None if ledger is None else ledger.totals))
    return found


def build(cells: Sequence[tuple[CellState, Totals | None]], now: float) -> Table:
    """The table; `now` is Unix time. Columns that a cell has no number for stay empty."""
    table = Table(title=f"{len(cells)} cells, {sum(c.state == 'done' for c, _ in cells)} done")
    table.add_column("cell (label/dataset/model/memory/seed)", no_wrap=True)
    table.add_column("state", no_wrap=True)
    for name in ("right", "errors", "prompt tokens", "tokens/s", "GPU h", "cost", "last row"):
        table.add_column(name, justify="right")
    for cell, totals in cells:
        name = "/".join(cell.folder.parts[-5:])
        cut = cell.items is not None and cell.full_size is not None and cell.items < cell.full_size
        state = f"{cell.state} {cell.done}/{cell.items}" + (f" of {cell.full_size}" if cut else "")
        if cell.damaged:
            state = str(cell)
        table.add_row(
            f"{name} (simulated)" if cell.simulated and "simulated" not in name else name,
            state,
            "" if cell.right is None else f"{cell.right:.0f}",
            str(cell.errors) if cell.errors else "",
            f"{cell.prompt_tokens:,}",
            _number(None if totals is None else totals.tokens_per_second, 0),
            _number(None if totals is None else _hours(totals.gpu_seconds), 2),
            _number(None if totals is None else totals.cost, 2),
            _age(cell, now),
        )
    table.add_section()
    table.add_row(
        "all",
        f"{sum(c.done for c, _ in cells)}/{sum(c.items or 0 for c, _ in cells)}",
        "",
        str(sum(c.errors for c, _ in cells)),
        f"{sum(c.prompt_tokens for c, _ in cells):,}",
        "",
        _number(_sum(_hours(t.gpu_seconds) for _, t in cells if t is not None), 2),
        _number(_sum(t.cost for _, t in cells if t is not None), 2),
        "",
    )
    return table


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 3600


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _age(cell: CellState, now: float) -> str:
    if cell.last is None or cell.state == "done":
        return ""
    seconds = max(now - cell.last, 0)
    text = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    return f"{text} (quiet)" if seconds > _QUIET_SECONDS else text


def main(arguments: list[str]) -> int:
    """Exit code 2 if there is nothing to show."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.status",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, help="results, or a folder below it")
    parser.add_argument(
        "--once", action="store_true", help="print one table and exit, as without a terminal"
    )
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two looks")
    options = parser.parse_args(arguments)
    console = Console()
    if not console.is_terminal:
        console.width = 160  # in a file or a pipe no cell is to be cut short
    if not find_cells(options.folder):
        print(
            f"{options.folder}: no cells here (a cell begins with its cell.yaml)", file=sys.stderr
        )
        return 2
    if options.once or not console.is_terminal:
        console.print(build(read_all(options.folder), time.time()))
        return 0
    with Live(console=console, auto_refresh=False) as live:
        try:
            while True:
                live.update(build(read_all(options.folder), time.time()), refresh=True)
                time.sleep(options.every)
        except KeyboardInterrupt:
            return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
