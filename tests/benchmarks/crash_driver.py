"""Kills a cell again and again at chosen operations, then checks what is on disk.

Run as `python -m tests.benchmarks.crash_driver FOLDER SEEDS`; prints the number of kills, and how
many of them left a torn row and a torn trace. Every
attempt is a forked process that runs the real runner and store on instant items, some of which end
as errors the first time. The process counts its file operations and, at a chosen one, kills itself
with SIGKILL: in the middle of a write (half its bytes are written), before or after a sync, a
rename, a lock.
"""

from __future__ import annotations

import asyncio
import gzip
import io
import os
import random
import signal
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from benchmarks import store as store_module
from benchmarks.records import Row
from benchmarks.runner import run_cell
from benchmarks.shared_model import SharedModel
from benchmarks.store import ERRORS, ROWS, read_rows, read_trace
from benchmarks.study import CellContext, ItemResult
from tests.benchmarks.fakes import FakeDataset, FakeStudy, Silent, fake_cell, fake_row

ITEMS = 12
DONE = 0


class FirstTimeErrors(FakeStudy):
    """Every third item is an error until there is an error row for it."""

    async def run(self, item_id: str, cell: CellContext) -> ItemResult:
        failed = {row.task_id for row in read_rows(cell.folder, Row) if row.status == "error"}
        fails = int(item_id.partition("/")[2]) % 3 == 0 and item_id not in failed
        row = fake_row(cell, item_id, "error" if fails else "answered")
        return ItemResult(row, [{"type": "header", "id": item_id, "text": "x" * 4000}])


class Bomb:
    """Counts operations (of one `kind`, or all) and goes off at one of them."""

    def __init__(self, at: int, kind: str = "") -> None:
        self.left = at
        self.kind = kind

    def tick(self, kind: str, halfway: Callable[[], object] | None = None) -> None:
        self.left -= self.kind in ("", kind)
        if self.left == 0:
            if halfway is not None:
                halfway()
            os.kill(os.getpid(), signal.SIGKILL)


def arm(bomb: Bomb) -> None:
    """Put the bomb into every way in which the store touches the disk."""
    sync, replace, opener = os.fsync, Path.replace, Path.open

    def fsync(descriptor: int) -> None:
        bomb.tick("sync")
        sync(descriptor)
        bomb.tick("sync")

    def rename(self: Path, target: Path) -> Path:
        bomb.tick("rename")
        moved = replace(self, target)
        bomb.tick("rename")
        return moved

    class Raw(io.FileIO):
        def write(self, data: Any) -> int:
            half = bytes(data)[: len(data) // 2]
            bomb.tick(self.mode, lambda: super(Raw, self).write(half))
            written = super().write(data)
            bomb.tick("written")
            return written

    def open_(self: Path, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if mode in ("ab", "wb"):
            return Raw(str(self), mode)
        return opener(self, mode, *rest, **more)

    store_module.os.fsync = fsync  # type: ignore[attr-defined]
    Path.replace = rename  # type: ignore[assignment, method-assign]
    Path.open = open_  # type: ignore[method-assign]


def attempt(folder: Path, bomb: Bomb | None) -> NoReturn:
    """In the forked process: one run of the cell."""

    async def run() -> None:
        cell = fake_cell(folder, concurrency=3)
        async with SharedModel() as models:
            study = FirstTimeErrors(FakeDataset(items=ITEMS))
            await run_cell(cell, study, models, Silent())

    code = 1
    try:
        if bomb is not None:
            arm(bomb)
        asyncio.run(run())
        code = DONE
    finally:
        os._exit(code)


def check(folder: Path, before: set[str]) -> set[str]:
    """No row twice, none lost, none without its trace; returns the ids that have a row."""
    rows = read_rows(folder, Row)
    ids = [row.task_id for row in rows]
    assert len(ids) == len(set(ids)), f"twice: {ids}"
    assert before <= set(ids), f"lost: {before - set(ids)}"
    for item in ids:
        assert read_trace(folder, item)[0]["id"] == item
    return set(ids)


def torn(folder: Path) -> tuple[bool, bool]:
    """Whether the kill left half a row, and half a trace under its temporary name."""
    rows = folder / ROWS
    half_row = rows.exists() and not rows.read_bytes().endswith(b"\n") and rows.stat().st_size > 0
    traces = list((folder / "traces").glob(".*.tmp"))
    return half_row, any(_broken(trace) for trace in traces)


def _broken(trace: Path) -> bool:
    try:
        gzip.decompress(trace.read_bytes())
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return True
    return False


def next_bomb(kills: int, chance: random.Random) -> Bomb:
    """The first operations in turn; then within rows, within traces, and anywhere, by turns."""
    if kills < 12:
        return Bomb(kills + 1)
    kind = ("ab", "wb", "")[kills % 3]
    return Bomb(chance.randint(1, 3) if kind else chance.randint(6, 40), kind)


def main(results: Path, seed: int) -> tuple[int, int, int]:
    """Kill at every early operation in turn, then at random ones, until the cell is complete."""
    chance = random.Random(seed)
    folder = fake_cell(results).folder
    seen: set[str] = set()
    kills = torn_rows = torn_traces = 0
    bomb: Bomb | None = Bomb(1)
    while True:
        child = os.fork()
        if child == 0:
            attempt(results, bomb)
        _, status = os.waitpid(child, 0)
        seen = check(folder, seen)
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL
            half_row, half_trace = torn(folder)
            torn_rows, torn_traces = torn_rows + half_row, torn_traces + half_trace
            kills += 1
            bomb = next_bomb(kills, chance)
            continue
        assert os.WEXITSTATUS(status) == DONE, "the cell itself failed"
        statuses = {row.task_id: row.status for row in read_rows(folder, Row)}
        assert len(statuses) == ITEMS
        if set(statuses.values()) == {"answered"}:
            break
        bomb = None  # errors of a whole run are retried by the next
    errors = (folder / ERRORS).read_bytes().splitlines()
    assert len(errors) == len(set(errors)) == 4
    assert (folder / ROWS).read_bytes().count(b"\n") == ITEMS
    return kills, torn_rows, torn_traces


if __name__ == "__main__":
    counts = [main(Path(sys.argv[1]) / str(seed), seed) for seed in range(int(sys.argv[2]))]
    print(*(sum(column) for column in zip(*counts, strict=True)))
