"""python -m scripts.perf.memory_scale [--sizes 100 1000 10000 100000] [--memories linear wmt]

How a memory's cost grows with its tree: microseconds per recorded step, milliseconds per context,
and resident megabytes, for `linear` and for `wmt` with the lexical selector. No model is called.

A run is a question of many tasks: each is opened, holds three actions, one in eight of them failed,
and completes. `wmt` builds a context at every step, as an agent does, so its branches decay and are
suppressed; `linear`, whose context holds everything, builds one at each size only. Every memory
grows in a process of its own. Times are medians over the last thousand steps of a size.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import sys
from collections.abc import Iterator
from multiprocessing import get_context
from time import perf_counter

from wmt.memory import Action, Step, TaskOperation
from wmt.nodes import Outcome
from wmt.offline import OfflineModel
from wmt.presets import preset
from wmt.recording import RecordingMemory

SIZES = (100, 1_000, 10_000, 100_000)
_WORDS = ("river", "bridge", "tower", "ferry", "harbour", "chapel", "archive", "mill")


def build(name: str) -> RecordingMemory:
    """The memory under measurement."""
    keys = {"selector": "lexical", "summarizer": "extractive"} if name == "wmt" else {}
    return preset(name, **keys).build(OfflineModel(context_window=1_000_000))


def steps() -> Iterator[Step]:
    """The steps of the question, without end."""
    number = 0
    while True:
        word = _WORDS[number % len(_WORDS)]
        for part in range(3):
            number += 1
            failed = number % 8 == 0
            text = f"Page {number}: the {word} was completed in {1700 + number % 300}. " * 3
            action = Action(
                "read",
                {"page": number},
                "no such page" if failed else text,
                Outcome.FAILURE if failed else Outcome.SUCCESS,
            )
            opened = TaskOperation("open", goal=f"find the year of {word} {number}")
            yield Step("look it up", opened if part == 0 else None, action)
        yield Step("done", TaskOperation("complete", result=f"{1700 + number % 300}"))


async def measure(name: str, sizes: list[int]) -> None:
    """Grow one memory and print a line at every size."""
    memory = build(name)
    memory.start("In which years were the works of the town completed?")
    script = steps()
    for size in sizes:
        recorded: list[float] = []
        built: list[float] = []
        while len(memory.tree.nodes) < size:
            if name == "wmt":
                started = perf_counter()
                await memory.context()
                built.append(perf_counter() - started)
            started = perf_counter()
            await memory.record(next(script))
            recorded.append(perf_counter() - started)
        if not built:
            started = perf_counter()
            await memory.context()
            built.append(perf_counter() - started)
        print(
            f"{name:8} {len(memory.tree.nodes):>8,} {len(memory.pool()):>8,} "
            f"{len(memory.events):>10,} {1e6 * statistics.median(recorded[-1000:]):>10.1f} "
            f"{1e3 * statistics.median(built[-1000:]):>11.3f} {resident_mb():>8.0f}",
            flush=True,
        )


def resident_mb() -> float:
    """Peak resident memory of this process in megabytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def run(name: str, sizes: list[int]) -> None:
    """Entry of a process."""
    asyncio.run(measure(name, sizes))


def main() -> None:
    """Parse the command line and measure each memory in turn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2].strip())
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--memories", nargs="+", default=["linear", "wmt"])
    options = parser.parse_args()
    print("memory      nodes     pool     events  us/record  ms/context  peak MB")
    for name in options.memories:
        process = get_context("spawn").Process(target=run, args=(name, sorted(options.sizes)))
        process.start()
        process.join()
        if process.exitcode:
            sys.exit(f"measuring {name} ended with exit code {process.exitcode}")


if __name__ == "__main__":
    main()
