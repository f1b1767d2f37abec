"""python -m scripts.perf.overhead [--questions 1000] [--calls 5] [--concurrency 8]

What the harness itself costs, with a scripted model of fixed replies: whole cells through
`benchmarks.runner`, rows and traces written, with memory `linear` and memory `wmt` (lexical
selector, extractive summaries), the model in process and behind loopback HTTP in a process of its
own. Prints CPU milliseconds per model call, questions per second and peak memory, each arm in a
fresh process, and what importing costs. Exit code 1 if an aim is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

AIMS = {"in process": 2.0, "loopback HTTP": 5.0}
"""Milliseconds of CPU per model call."""

AIM_MEMORY, AIM_IMPORT = 200.0, 1.5
"""Megabytes at the peak; seconds of `import run`."""


def arm(name: str, memory: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run one arm in this process and measure it."""
    from agents.models.served import ServedModelConfig
    from agents.react import AgentConfig
    from agents.tools.config import ToolsConfig
    from benchmarks.runner import load_studies, run_cell
    from benchmarks.settings import CellConfig
    from benchmarks.shared_model import SharedModel
    from scripts.perf.scripted_model import ScriptedDatasetConfig, ScriptedModelConfig, script
    from wmt.presets import preset

    replies = script(options.calls)
    keys = {"selector": "lexical", "summarizer": "extractive"} if memory == "wmt" else {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        model: Any = ScriptedModelConfig(replies=replies)
        if name == "loopback HTTP":
            url = stack.enter_context(_server(replies, Path(folder)))
            model = ServedModelConfig(name="scripted", base_url=url)
        cell = CellConfig(
            model=model,
            memory=preset(memory, **keys),
            dataset=ScriptedDatasetConfig(size=options.questions),
            agent=AgentConfig(max_steps=max(10, options.calls)),
            tools=ToolsConfig(name="none"),
            seed=0,
            label="overhead",
            results_dir=Path(folder),
            concurrency=options.concurrency,
            preflight=False,
            parallel_cells=1,
            price_per_gpu_hour=None,
        )

        async def run() -> list[Any]:
            async with SharedModel() as models:
                return await run_cell(cell, load_studies([cell])[0], models, _Silent())

        cpu, wall = time.process_time(), time.perf_counter()
        rows = asyncio.run(run())
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    assert all(row.score == 1.0 for row in rows), "a scripted question was not answered"
    calls = sum(role.calls for row in rows for role in row.tokens.values())
    return {
        "model": name,
        "memory": memory,
        "calls": calls,
        "cpu_ms": 1000 * cpu / calls,
        "questions_per_second": len(rows) / wall,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


@contextmanager
def _server(replies: list[str], folder: Path) -> Iterator[str]:
    """The scripted server in a process of its own; its base URL."""
    path = folder / "replies.json"
    path.write_text(json.dumps(replies), encoding="utf-8")
    command = [sys.executable, "-m", "scripts.perf.scripted_server", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as own:
        assert own.stdout is not None and own.stdin is not None
        yield f"http://127.0.0.1:{own.stdout.readline().strip()}/v1"
        own.stdin.close()


class _Silent:
    def begin(self, *args: Any) -> None: ...
    def item(self, *args: Any) -> None: ...
    def say(self, *args: Any) -> None: ...


def importing() -> float:
    """CPU seconds of importing everything that `run.py` does, in a fresh process."""
    program = "import time; import run; print(time.process_time())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    done.check_returncode()
    return float(done.stdout)


def main() -> int:
    """Measure every arm and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=5, help="model calls a question, at least 3")
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--arm", nargs=2, metavar=("MODEL", "MEMORY"), help="one arm, as JSON")
    options = parser.parse_args()
    if options.arm:
        model, memory = options.arm
        print(json.dumps(arm(model, memory, options)))
        return 0
    own = [f"--{name}={getattr(options, name)}" for name in ("questions", "calls", "concurrency")]
    missed = []
    print("model          memory   calls  CPU ms/call  questions/s    MB")
    for model, aim in AIMS.items():
        for memory in ("linear", "wmt"):
            command = [sys.executable, "-m", "scripts.perf.overhead", *own, "--arm", model, memory]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
            done.check_returncode()
            got = json.loads(done.stdout)
            print(
                f"{model:<14} {memory:<7} {got['calls']:>6} {got['cpu_ms']:>12.2f} "
                f"{got['questions_per_second']:>12.1f} {got['peak_mb']:>5.0f}"
            )
            if got["cpu_ms"] > aim:
                missed.append(f"{model}, {memory}: more than {aim} ms of CPU a call")
            if got["peak_mb"] > AIM_MEMORY:
                missed.append(f"{model}, {memory}: more than {AIM_MEMORY:.0f} MB")
    seconds = importing()
    print(f"import run: {seconds:.2f} s of CPU")
    if seconds > AIM_IMPORT:
        missed.append(f"importing takes more than {AIM_IMPORT} s")
    for line in missed:
        print("MISSED:", line)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
