"""Cells side by side, one process each: for the simulated model, which is bound by the CPU.

Served models are bound by their server, which `concurrency` keeps busy; their cells run in turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.errors import CellFailed, SetupError
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

    Cancelled, it passes the stop on and waits until every process has finished its writes. Raises
    `SetupError` or `CellFailed` as soon as a cell has failed; the others are stopped then, to be
    resumed.
    """
    most = cells[0].parallel_cells or os.cpu_count() or 1
    waiting = list(cells)
    running: list[_Worker] = []
    try:
        while waiting or running:
            while waiting and len(running) < most:
                running.append(_Worker(waiting.pop(0)))
            await asyncio.sleep(_POLL_SECONDS)
            for worker in list(running):
                if not worker.relay(display):
                    running.remove(worker)
    finally:
        for worker in running:
            worker.stop()
        for worker in running:
            worker.process.join()
    return [_rows(cell, study) for cell, study in zip(cells, studies, strict=True)]


@contextlib.contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Processes started in here never see Ctrl-C, which a terminal sends to all of a run's.

    Only the parent acts on it and tells them by SIGTERM, so a worker that is still importing ends
    without a traceback.
    """
    resource_tracker.ensure_running()  # when it starts by itself it lets Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker:
    """A cell in its process, and the end of the pipe on which it reports."""

    def __init__(self, cell: CellConfig) -> None:
        context = multiprocessing.get_context("spawn")
        self._reports, sender = context.Pipe(duplex=False)
        self._title = cell.title
        self._failed: list[str] = []
        self.process = context.Process(target=_child, args=(cell, sender))
        with _without_ctrl_c():
            self.process.start()
        sender.close()  # the child has it now; its death is the end of the pipe here

    def relay(self, display: Display) -> bool:
        """Pass on what it reports; False once it has ended well. Raises if it has not."""
        try:
            while self._reports.poll():
                kind, content = self._reports.recv()
                if kind == "begin":
                    display.begin(*content)
                elif kind == "item":
                    display.item_of(self._title, content)
                elif kind == "say":
                    display.say(content)
                else:
                    self._failed += content
        except (EOFError, OSError):
            self.process.join()
            if self.process.exitcode:
                if self._failed:
                    raise SetupError(self._failed) from None
                code = self.process.exitcode
                raise CellFailed(f"{self._title}: its process ended with code {code}") from None
            return False
        return True

    def stop(self) -> None:
        """Ask it to finish its writes. Nobody reads its reports any more."""
        self._reports.close()
        self.process.terminate()


def _rows(cell: CellConfig, study: Study) -> list[RowBase]:
    rows = {row.task_id: row for row in read_rows(cell.folder, study.row_type)}
    return [rows[item] for item in study.item_ids()]


class _Sender:
    """A `Watch` that reports to the parent; if that is gone, the cell stops."""

    def __init__(self, reports: Connection) -> None:
        self._reports = reports

    def begin(self, cell: CellConfig, total: int, done: Sequence[RowBase]) -> None:
        """The cell starts."""
        self.send("begin", (cell, total, list(done)))

    def item(self, row: RowBase) -> None:
        """An item has been written."""
        self.send("item", row)

    def say(self, line: str) -> None:
        """Something worth a line."""
        self.send("say", line)

    def send(self, kind: str, content: Any) -> None:
        """One report."""
        try:
            self._reports.send((kind, content))
        except OSError:
            os.kill(os.getpid(), signal.SIGTERM)


def _child(cell: CellConfig, reports: Connection) -> None:
    sender = _Sender(reports)
    try:
        code = asyncio.run(_run_alone(cell, sender))
    except SetupError as error:
        sender.send("failed", list(error.lines))
        code = 2
    sys.exit(code)


async def _run_alone(cell: CellConfig, watch: _Sender) -> int:
    with stop_on_signals() as stop:
        (study,) = load_studies([cell])
        async with SharedModel() as models:
            await run_cell(cell, study, models, watch)
    return stop.exit_code
