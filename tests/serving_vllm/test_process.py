"""A server of ours never outlives us, and two never meet on a port."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.serving.process import GuardedProcess, reserved_port

GUARD = Path("agents/serving/guard.py").resolve()
PARENT = """
import sys, subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("pids", {extra}__import__("os").getpid(), child.pid, flush=True)
import time; time.sleep(600)
"""


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    """Wait for something another process does."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 (another process, so no event)
            await asyncio.sleep(0.02)


def pids(log: Path) -> list[int]:
    text = log.read_text() if log.exists() else ""
    lines = [line for line in text.splitlines(keepends=True) if line.startswith("pids")]
    return [int(word) for word in lines[-1].split()[1:]] if "\n" in "".join(lines) else []


async def start(tmp_path: Path, code: str = PARENT.format(extra="")) -> GuardedProcess:
    return await GuardedProcess.start(
        [sys.executable, "-c", code], tmp_path / "log", tmp_path / "scratch", os.environ, grace=1.0
    )


async def test_stop_takes_the_children_and_the_scratch_folder_along(tmp_path: Path) -> None:
    process = await start(tmp_path)
    await until(lambda: bool(pids(process.log)))
    running = pids(process.log)
    assert len(running) == 2 and all(map(alive, running))
    assert (tmp_path / "scratch").is_dir()
    await process.stop()
    assert not any(map(alive, running))
    assert not (tmp_path / "scratch").exists()
    assert process.exit_code == 128 + signal.SIGTERM


async def test_a_server_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)" + PARENT.format(extra="")
    process = await start(tmp_path, deaf)
    await until(lambda: bool(pids(process.log)))
    await process.stop()
    assert not any(map(alive, pids(process.log)))
    assert process.exit_code == 128 + signal.SIGKILL


async def test_a_server_that_dies_leaves_no_child(tmp_path: Path) -> None:
    process = await start(tmp_path)
    await until(lambda: bool(pids(process.log)))
    server, child = pids(process.log)
    os.kill(server, signal.SIGKILL)
    assert await process.wait() == 128 + signal.SIGKILL
    assert not alive(child)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
async def test_the_server_ends_when_we_are_killed(tmp_path: Path, number: int) -> None:
    ours = textwrap.dedent(
        f"""
        import asyncio, os, signal, sys
        from pathlib import Path
        from agents.serving.process import GuardedProcess
        if {int(number)} != signal.SIGKILL:
            signal.signal({int(number)}, signal.SIG_DFL)  # ignored where the tests run under nohup
        async def main():
            await GuardedProcess.start(
                [sys.executable, "-c", {PARENT.format(extra="")!r}],
                Path({str(tmp_path / "log")!r}), Path({str(tmp_path / "scratch")!r}), os.environ)
            await asyncio.sleep(600)
        asyncio.run(main())
        """
    )
    we = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ours, env={**os.environ, "PYTHONPATH": "."}
    )
    log = tmp_path / "log"
    await until(lambda: log.exists() and bool(pids(log)))
    we.send_signal(number)
    await we.wait()
    await until(lambda: not any(map(alive, pids(log))))
    await until(lambda: not (tmp_path / "scratch").exists())


async def test_the_server_ends_when_its_guard_is_killed(tmp_path: Path) -> None:
    process = await start(tmp_path)
    await until(lambda: bool(pids(process.log)))
    server, child = pids(process.log)
    guard = parent_of(server)
    os.kill(guard, signal.SIGKILL)
    await until(lambda: not alive(server))
    os.kill(child, signal.SIGKILL)  # a child that does not follow its parent is beyond our reach
    await process.stop()


def test_a_reserved_port_can_be_served_and_is_given_to_nobody_else() -> None:
    with reserved_port() as port:
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(("127.0.0.1", port))
            server.listen()
            with socket.create_connection(("127.0.0.1", port)):
                pass
        # A restarted server gets it back, although the old connection lingers.
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(("127.0.0.1", port))
            server.listen()


def test_reserved_ports_differ() -> None:
    from contextlib import ExitStack

    with ExitStack() as stack:
        ports = [stack.enter_context(reserved_port()) for _ in range(50)]
    assert len(set(ports)) == 50


async def test_the_tail_begins_at_the_given_byte(tmp_path: Path) -> None:
    process = await start(tmp_path, "print('one'); print('two'); print('three')")
    assert await process.wait() == 0
    assert process.tail(2) == "two\nthree"
    assert process.tail(5, offset=4) == "two\nthree"
    await process.stop()
