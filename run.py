"""Run one cell, or an experiment's cells in turn.

    python run.py model=simulated memory=wmt dataset=archive
    python run.py experiment=quickstart
    python run.py -m +grid=paper hydra/launcher=slurm

Exit code 0: done; 1: a server or a process failed, or a bug; 2: something to put right first (a
line each); 130 or 143: stopped by Ctrl-C or SIGTERM, to be resumed by the same command.
"""

from __future__ import annotations

import asyncio
import sys

from rich.console import Console

from agents.serving.base import ServerError
from benchmarks.closing import print_closing
from benchmarks.composition import Plan, compose
from benchmarks.errors import CellFailed, SetupError
from benchmarks.parallel import run_side_by_side, side_by_side
from benchmarks.progress import Display
from benchmarks.runner import check_folders, load_studies, run_cell
from benchmarks.shared_model import SharedModel
from benchmarks.signals import stop_on_signals
from benchmarks.sweep import by_hydra, hydra_arguments


def main(arguments: list[str]) -> int:
    """Compose, check, run; returns the exit code."""
    try:
        if hydra_arguments(arguments):
            return by_hydra(arguments, run)
        return run(arguments)
    except SetupError as error:
        print(error, file=sys.stderr)
        return 2
    except (ServerError, CellFailed) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def run(overrides: list[str]) -> int:
    """Run the cells that these overrides name; raises `SetupError`."""
    plan = compose(overrides)
    missing = dict.fromkeys(line for cell in plan.cells for line in cell.missing())
    if missing:
        raise SetupError(list(missing))
    if plan.cells[0].preflight:
        print(f"nothing is missing for {len(plan.cells)} cell(s)")
        return 0
    return asyncio.run(run_cells(plan))


async def run_cells(plan: Plan) -> int:
    """The cells in turn on one server, or side by side; then the closing table."""
    console = Console() if sys.stdout.isatty() else Console(width=160)
    rows = []
    with stop_on_signals() as stop:
        studies = load_studies(plan.cells)
        check_folders(plan.cells, studies)
        with Display(console) as display:
            for note in plan.notes:
                display.say(note)
            if side_by_side(plan.cells, display.say):
                rows = await run_side_by_side(plan.cells, studies, display)
            else:
                async with SharedModel() as models:
                    for cell, study in zip(plan.cells, studies, strict=True):
                        rows.append(await run_cell(cell, study, models, display))
        print_closing(console, plan.cells, rows)
    if stop.signal is not None:
        console.print(f"stopped by {stop.signal.name}; the same command goes on from here")
    return stop.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
