"""A real vLLM on the CPU with a tiny model of random weights, one server for all tests but one."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agents.serving.base import RunningServer
from agents.serving.vllm import VllmServer

HERE = Path(__file__).parent
WINDOW = 8192


@dataclass(frozen=True)
class Tiny:
    """vLLM's environment and the model in it."""

    executable: Path
    model: Path

    def server(self) -> VllmServer:
        return VllmServer(
            model=str(self.model),
            executable=str(self.executable),
            device="cpu",
            dtype="float32",  # in bfloat16 a batched request differs from a single one
            max_model_len=WINDOW,
            extra_args=["--enforce-eager"],
            env={"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"},
            start_seconds=400,
        )


@pytest.fixture(scope="session")
def tiny() -> Tiny:
    """Made once per machine (minutes), found again afterwards; see make_venv.sh."""
    made = subprocess.run(
        ["bash", HERE / "make_venv.sh"], stdout=subprocess.PIPE, text=True, check=True
    )
    venv = Path(made.stdout.splitlines()[-1])
    model = venv.parent / "tiny-llama-1"
    if not (model / "complete").exists():
        subprocess.run([venv / "bin" / "python", HERE / "make_model.py", model], check=True)
    return Tiny(venv / "bin" / "vllm", model)


@pytest.fixture(scope="session")
def vllm(tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A running server; its life is an event loop in a thread, beside the tests' own loops."""
    folder = tmp_path_factory.mktemp("vllm")
    up, done = threading.Event(), asyncio.Event()
    found: list[RunningServer] = []
    failed: list[BaseException] = []
    loop = asyncio.new_event_loop()

    async def live() -> None:
        async with tiny.server().running(folder) as running:
            found.append(running)
            up.set()
            await done.wait()

    def run() -> None:
        try:
            loop.run_until_complete(live())
        except BaseException as error:
            failed.append(error)
        finally:
            up.set()
            loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    up.wait()
    if failed:
        thread.join()
        raise failed[0]
    yield found[0]
    loop.call_soon_threadsafe(done.set)
    thread.join()


def descendants(pid: int) -> list[int]:
    """The processes below one, parents first."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(folder.name))
    found = [pid]
    for known in found:
        found += parents.get(known, [])
    return found[1:]


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def environment(**extra: str) -> dict[str, str]:
    return {**os.environ, **extra}
