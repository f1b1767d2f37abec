"""Cells side by side, one process each: for the simulated model, which is bound by the CPU.

Served models are bound by their server, which `concurrency` keeps busy; their cells run in turn.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import queue
import sys
from collections.abc import Callable, Sequence
from multiprocessing.context import SpawnProcess
from typing import Any

from benchmarks.errors import SetupError
from benchmarks.progress import Display
from benchmarks.records import RowBase
from benchmarks.runner import load_studies, run_cell
from benchmarks.settings import CellConfig
from benchmarks.shared_model import SharedModel
from benchmarks.signals import stop_on_signals
from benchmarks.store import read_rows
from benchmarks.study import Study

_POLL_SECONDS = 0.05


def side_by_side(cells: Sequence[CellConfig], say: Callable[[str], None]) -> bool:
    """Whether `parallel_cells` asks for processes and the models allow it."""
    if cells[0].parallel_cells == 1 or len(cells) == 1:
        return False
    if all(cell.model.simulated for cell in cells):
        return True
    say("parallel_cells: only for the simulated model; these cells run in turn (see concurrency=)")
    return False


async def run_side_by_side(
    cells: Sequence[CellConfig], studies: Sequence[Study], display: Display
) -> list[list[RowBase]]:
    """Each cell in a process of its own, `parallel_cells` at a time; returns the rows by cell.

    Cancelled, it passes the stop on and waits until every process has finished its writes.
    """
    context = multiprocessing.get_context("spawn")
    messages: multiprocessing.Queue[tuple[str, Any]] = context.Queue()
    waiting = [context.Process(target=_child, args=(cell, messages)) for cell in cells]
    most = cells[0].parallel_cells or os.cpu_count() or 1
    running: list[SpawnProcess] = []
    failed: list[str] = []
    try:
        while waiting or running:
            while waiting and len(running) < most:
                process = waiting.pop(0)
                process.start()
                running.append(process)
            await asyncio.sleep(_POLL_SECONDS)
            ended = [process for process in running if process.exitcode is not None]
            _relay(messages, display, failed)
            running = [process for process in running if process not in ended]
            if any(process.exitcode for process in ended):
                raise SetupError(failed or ["a cell failed, see its messages above"])
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.join()
    return [_rows(cell, study) for cell, study in zip(cells, studies, strict=True)]


def _rows(cell: CellConfig, study: Study) -> list[RowBase]:
    rows = {row.task_id: row for row in read_rows(cell.folder, study.row_type)}
    return [rows[item] for item in study.item_ids()]


def _relay(
    messages: multiprocessing.Queue[tuple[str, Any]], display: Display, failed: list[str]
) -> None:
    while True:
        try:
            kind, content = messages.get_nowait()
        except queue.Empty:
            return
        if kind == "begin":
            display.begin(*content)
        elif kind == "item":
            display.item_of(*content)
        elif kind == "say":
            display.say(content)
        else:
            failed += content


class _Sender:
    """A `Watch` that sends everything to the parent."""

    def __init__(self, messages: multiprocessing.Queue[tuple[str, Any]], title: str) -> None:
        self._messages = messages
        self._title = title

    def begin(self, cell: CellConfig, total: int, done: Sequence[RowBase]) -> None:
        """The cell starts."""
        self._messages.put(("begin", (cell, total, list(done))))

    def item(self, row: RowBase) -> None:
        """An item has been written."""
        self._messages.put(("item", (self._title, row)))

    def say(self, line: str) -> None:
        """Something worth a line."""
        self._messages.put(("say", line))


def _child(cell: CellConfig, messages: multiprocessing.Queue[tuple[str, Any]]) -> None:
    try:
        code = asyncio.run(_run_alone(cell, _Sender(messages, cell.title)))
    except SetupError as error:
        messages.put(("failed", list(error.lines)))
        code = 2
    sys.exit(code)


async def _run_alone(cell: CellConfig, watch: _Sender) -> int:
    with stop_on_signals() as stop:
        (study,) = load_studies([cell])
        async with SharedModel() as models:
            await run_cell(cell, study, models, watch)
    return stop.exit_code
