"""Running a child process that may misbehave: bounded in time and output, killed whole."""

from __future__ import annotations

import asyncio
import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_TICK = 0.1
"""Seconds between two looks at the clock while a child is silent."""


@dataclass(frozen=True)
class Finished:
    """What a child left. `status` is its exit code, negative for a signal, as in subprocess;
    `stopped` says why we ended it: "" if it ended by itself, else `time` or `output`."""

    output: bytes
    status: int
    stopped: str = ""


async def run_process(
    argv: Sequence[str],
    *,
    stdin: bytes,
    seconds: float,
    max_output: int,
    environment: Mapping[str, str],
    folder: Path,
    merge_errors: bool = False,
) -> Finished:
    """Run `argv` to its end, or end it at `seconds` or after `max_output` bytes of output.

    The child's process group is killed in any case, also when the caller is cancelled. Standard
    error is dropped unless `merge_errors`.
    """
    cancelled = threading.Event()

    def run() -> Finished:
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            child = subprocess.Popen(
                argv,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if merge_errors else subprocess.DEVNULL,
                env=dict(environment),
                cwd=folder,
                start_new_session=True,
            )
            try:
                output, stopped = _collect(child, seconds, max_output, cancelled)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                status = child.wait()
                assert child.stdout is not None
                child.stdout.close()
            return Finished(output, status, stopped)

    try:
        return await asyncio.to_thread(run)
    except asyncio.CancelledError:
        cancelled.set()  # the thread sees it at its next tick and kills the child
        raise


def _collect(
    child: subprocess.Popen[bytes], seconds: float, max_output: int, cancelled: threading.Event
) -> tuple[bytes, str]:
    """Read the child's output until it ends or must be ended; why goes second."""
    assert child.stdout is not None
    output = bytearray()
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while time.monotonic() < deadline and not cancelled.is_set():
            if selector.select(_TICK):
                chunk = os.read(child.stdout.fileno(), 65536)
                output += chunk
                if len(output) > max_output:
                    return bytes(output[:max_output]), "output"
                if chunk:
                    continue
                # The pipe is closed; the exit follows unless the child closed it by itself.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(max(0.0, min(_TICK, deadline - time.monotonic())))
            if child.poll() is not None:
                return bytes(output), ""
    return bytes(output), "time"
