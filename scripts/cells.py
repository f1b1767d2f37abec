"""The cells of a grid: which they are, how far they are, and what is left.

    python -m scripts.cells configs/grid/paper.yaml                 a line per cell
    sbatch --array=$(python -m scripts.cells configs/grid/paper.yaml --missing)%8 slurm/grid.sbatch
    python -m scripts.cells configs/grid/paper.yaml --estimate --price 0.60

Further overrides narrow or change the grid as they do for run.py (`model=qwen3`, `seed=0,1,2`,
`results_dir=...`). With `--per-task N`, an index stands for N cells in a row, which run in turn and
share a server while their model stays the same.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.composition import CONFIGS, compose, rewritten
from benchmarks.compute import LEDGER, read_ledger
from benchmarks.errors import SetupError
from benchmarks.settings import CellConfig
from benchmarks.state import CellState, read_state
from benchmarks.sweep import combinations

_CUTS = ("limit", "level", "ids")


@dataclass(frozen=True)
class Cell:
    """One cell of a grid: its place, what makes it, and how far it is."""

    index: int
    overrides: tuple[str, ...]
    config: CellConfig
    state: CellState


def grid_overrides(grid: Path, extra: Sequence[str]) -> list[list[str]]:
    """The override lists of a grid's cells, in order; raises `SetupError`."""
    if not grid.is_file() or grid.resolve().parent != CONFIGS / "grid":
        raise SetupError(f"{grid}: no such grid; they are in configs/grid/")
    jobs = combinations([f"+grid={grid.stem}", *map(rewritten, extra)])
    return [[item.lstrip("+") for item in job if not item.startswith("+grid=")] for job in jobs]


def read_cells(grid: Path, extra: Sequence[str]) -> list[Cell]:
    """Every cell with its state on disk."""
    cells = []
    for index, overrides in enumerate(grid_overrides(grid, extra)):
        config = compose(overrides).cells[0]
        state = read_state(config.folder, _wanted(config))
        cells.append(Cell(index, tuple(overrides), config, state))
    return cells


def _wanted(config: CellConfig) -> int | None:
    """How many items a cell should have, None if its own last run has to say."""
    cuts = {name: getattr(config.dataset, name, None) for name in _CUTS}
    if any(cuts[name] for name in ("level", "ids")):
        return None
    described = read_state(config.folder)
    if described.full_size is None or cuts["limit"] is None:
        return described.full_size
    return min(int(cuts["limit"]), described.full_size)


def array_string(indices: Sequence[int]) -> str:
    """`[0, 1, 2, 5]` as SLURM's `0-2,5`."""
    runs: list[list[int]] = []
    for index in sorted(indices):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def missing(cells: Sequence[Cell], per_task: int) -> list[int]:
    """The array indices that still have something to do; errors are tried again."""
    return sorted({cell.index // per_task for cell in cells if cell.state.state != "done"})


def task_arguments(jobs: Sequence[Sequence[str]], index: int, per_task: int) -> list[str]:
    """The arguments of run.py for one array task."""
    mine = jobs[index * per_task : (index + 1) * per_task]
    if not mine:
        last = (len(jobs) - 1) // per_task
        raise SetupError(f"task {index}: this grid has tasks 0 to {last} (--per-task {per_task})")
    if len(mine) == 1:
        return list(mine[0])
    # What all cells share stays outside the list, so that it is read once.
    shared = [item for item in mine[0] if all(item in job for job in mine)]
    own = [[item for item in job if item not in shared] for job in mine]
    return [*shared, f"cells={json.dumps(own, separators=(',', ':'))}"]


def table(cells: Sequence[Cell]) -> str:
    """A line per cell: index, state, overrides."""
    width = max((len(str(cell.state)) for cell in cells), default=0)
    return "\n".join(
        f"{cell.index:>3}  {cell.state!s:<{width}}  {' '.join(cell.overrides)}" for cell in cells
    )


@dataclass
class _Measured:
    gpu_seconds: float = 0.0
    items: int = 0


def estimate(cells: Sequence[Cell], price: float | None) -> Table:
    """GPU hours spent and to come, by model, from the ledgers below the results folder.

    GPU seconds per item are taken from the cell itself, else from cells of the same model, dataset
    and memory (another label or seed), else of the same model. Starting the server is part of them,
    so a short trial overstates.
    """
    rates = _rates(sorted({cell.config.results_dir for cell in cells}))
    result = Table(
        "model", "cells left", "items left", "GPU h spent", "GPU h to go", "cost to go", "unknown"
    )
    for name in dict.fromkeys(cell.config.model.name for cell in cells):
        mine = [cell for cell in cells if cell.config.model.name == name]
        spent = hours = 0.0
        items = unknown = 0
        for cell in mine:
            ledger = read_ledger(cell.config.folder)
            if ledger is not None and ledger.totals is not None:
                spent += (ledger.totals.gpu_seconds or 0.0) / 3600
            rate, left = _rate(cell, rates), cell.state.left
            size = left if left is not None else _size_elsewhere(cell, cells)
            items += size or 0
            if rate is None or size is None:
                unknown += cell.state.state != "done"
            else:
                hours += rate * size / 3600
        cost = "" if price is None else f"{hours * price:.2f}"
        to_do = sum(cell.state.state != "done" for cell in mine)
        result.add_row(
            name, str(to_do), str(items), f"{spent:.2f}", f"{hours:.2f}", cost, str(unknown)
        )
    return result


def _rates(results: Sequence[Path]) -> dict[tuple[str, ...], _Measured]:
    """GPU seconds and items by (folder), (dataset, model, memory) and (model)."""
    rates: dict[tuple[str, ...], _Measured] = {}
    for root in results:
        for path in sorted(root.rglob(LEDGER)):
            ledger = read_ledger(path.parent)
            totals = None if ledger is None else ledger.totals
            if totals is None or totals.gpu_seconds is None or not totals.items:
                continue
            parts = path.parent.relative_to(root).parts
            if len(parts) != 5:  # LABEL/DATASET/MODEL/MEMORY/seedN
                continue
            _, dataset, model, memory, _ = parts
            for key in ((str(path.parent),), (dataset, model, memory), ("", model)):
                rate = rates.setdefault(key, _Measured())
                rate.gpu_seconds += totals.gpu_seconds
                rate.items += totals.items
    return rates


def _rate(cell: Cell, rates: dict[tuple[str, ...], _Measured]) -> float | None:
    config = cell.config
    names = (config.dataset.name, config.model.name, config.memory.name)
    for key in ((str(config.folder),), names, ("", config.model.name)):
        if key in rates:
            return rates[key].gpu_seconds / rates[key].items
    return None


def _size_elsewhere(cell: Cell, cells: Sequence[Cell]) -> int | None:
    """The items of a cell that has not begun: as many as another of its dataset has."""
    for other in cells:
        if other.config.dataset.name == cell.config.dataset.name and other.state.items is not None:
            return other.state.items
    return None


def main(arguments: list[str]) -> int:
    """Exit code 1 from `--missing` says that nothing is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.cells",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("grid", type=Path, help="configs/grid/NAME.yaml")
    parser.add_argument("overrides", nargs="*", help="as for run.py")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--missing", action="store_true", help="an --array string of what is left")
    what.add_argument("--estimate", action="store_true", help="GPU hours and cost to go")
    what.add_argument("--task", type=int, help="run.py's arguments for this index, one a line")
    what.add_argument("--count", action="store_true", help="the number of array tasks")
    parser.add_argument("--per-task", type=int, default=1, help="cells per array task")
    parser.add_argument("--price", type=float, help="per GPU hour, for --estimate")
    options = parser.parse_intermixed_args(arguments)
    try:
        return _answer(options)
    except SetupError as error:
        print(error, file=sys.stderr)
        return 2


def _answer(options: argparse.Namespace) -> int:
    if options.per_task < 1:
        raise SetupError("--per-task: must be at least 1")
    if options.task is not None or options.count:
        jobs = grid_overrides(options.grid, options.overrides)
        if options.count:
            print(-(-len(jobs) // options.per_task))
        else:
            print("\n".join(task_arguments(jobs, options.task, options.per_task)))
        return 0
    cells = read_cells(options.grid, options.overrides)
    if options.missing:
        left = missing(cells, options.per_task)
        print(
            array_string(left) if left else "nothing is missing", file=None if left else sys.stderr
        )
        return 0 if left else 1
    if options.estimate:
        Console().print(estimate(cells, options.price))
    else:
        print(table(cells))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
