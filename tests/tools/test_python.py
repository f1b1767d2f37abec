"""The python tool against code that means harm. All of it runs inside the cell only."""

from __future__ import annotations

import asyncio
import io
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from agents.tools import process, sandbox
from agents.tools.base import ToolError
from agents.tools.process import Finished
from agents.tools.python import PythonConfig, RunPython, why_not_isolated

ROOT = Path(__file__).resolve().parents[2]
QUICK = PythonConfig(seconds=30, cpu_seconds=2, processes=8, scratch_mb=16, file_mb=4)


@pytest.fixture(autouse=True)
def isolation() -> None:
    """Code below forks, floods and pries: it may never run outside the cell."""
    if why := why_not_isolated():
        pytest.skip(f"this machine cannot isolate code: {why}")


async def run(code: str, *files: Path, config: PythonConfig = QUICK) -> tuple[bool, str]:
    assert not config.unsafe
    result = await RunPython(files, config=config).call({"code": code})
    return result.ok, result.text


async def test_prints() -> None:
    assert await run("print(6 * 7)") == (True, "42")


async def test_nothing_printed_is_not_ok() -> None:
    ok, text = await run("6 * 7")
    assert not ok
    assert "print" in text


async def test_a_traceback_is_a_result_that_is_not_ok() -> None:
    ok, text = await run("1 / 0")
    assert not ok
    assert "ZeroDivisionError" in text
    assert "[exit status 1]" in text


async def test_forks_are_bounded_and_die() -> None:
    code = """
import os, time
made = 0
try:
    while True:
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
        made += 1
except OSError:
    print("made", made)
"""
    ok, text = await run(code)
    assert ok
    assert 0 < int(text.split()[1]) <= QUICK.processes


async def test_endless_output_is_stopped() -> None:
    ok, text = await run("while True: print('x' * 1000)")
    assert not ok
    assert "bytes of output" in text
    assert "[cut here" in text


async def test_endless_computing_is_stopped() -> None:
    ok, text = await run("while True: pass", config=PythonConfig(seconds=60, cpu_seconds=1))
    assert not ok
    assert "1 s of computing" in text


async def test_endless_waiting_is_stopped() -> None:
    ok, text = await run("import time; time.sleep(600)", config=PythonConfig(seconds=0.5))
    assert not ok
    assert "stopped after 0.5 s" in text


async def test_deep_recursion() -> None:
    ok, text = await run("def f(): f()\nf()")
    assert not ok
    assert "RecursionError" in text
    code = "import sys\nsys.setrecursionlimit(10**9)\nf = lambda: f() + [0].__getitem__(0)\nf()"
    assert not (await run(code))[0]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("bytearray(4 << 30)", "MemoryError"),
        ("open('f', 'wb').write(bytes(8 << 20))", "File too large"),
        ("[open(f'f{n}', 'wb').write(bytes(3 << 20)) for n in range(9)]", "No space left"),
    ],
)
async def test_memory_and_disk_are_bounded(code: str, error: str) -> None:
    ok, text = await run(code)
    assert not ok
    assert error in text


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "1.1.1.1", "169.254.169.254"])
async def test_no_network(host: str) -> None:
    code = f"import socket; socket.create_connection(({host!r}, 80), 2)"
    ok, text = await run(code)
    assert not ok
    assert "unreachable" in text


async def test_the_parents_environment_is_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WMT_TEST_SECRET", "hunter2")
    code = """
import os, pathlib
print(sorted(os.environ))
for entry in pathlib.Path("/proc").glob("[0-9]*/environ"):
    try:
        print(entry, entry.read_bytes())
    except OSError as error:
        print(entry, error.strerror)
print(os.getppid(), [e.name for e in pathlib.Path("/proc").glob("[0-9]*")])
"""
    ok, text = await run(code)
    assert ok
    assert "hunter2" not in text
    assert "WMT_TEST_SECRET" not in text
    assert str(os.getpid()) not in text.splitlines()[-1].split()


async def test_files_of_the_machine_are_out_of_reach(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("hunter2")
    places = [secret, ROOT / "pyproject.toml", ROOT / "agents", "/etc/passwd"]
    places += ["/etc/shadow", "/tmp", "/var", "/sys", "/home", "/proc/1/root"]
    places += [Path.home() / ".bashrc"]
    # A folder above the interpreter's own is there, with nothing in it but the way to it.
    code = f"""
import os, sys
python = [os.path.realpath(p).split("/") for p in (sys.prefix, sys.base_prefix, sys.executable)]
python += [p.split("/") for p in (sys.prefix, sys.base_prefix, sys.executable)]
def names(place):
    depth = len(place.split("/"))
    way = {{p[depth] for p in python if p[:depth] == place.split("/") and len(p) > depth}}
    return set(os.listdir(place)) - way
for place in {[str(place) for place in places]!r}:
    try:
        if os.path.isdir(place) and not names(place):
            continue
        os.listdir(place) if os.path.isdir(place) else open(place).read()
    except OSError:
        continue
    print("reached", place)
print("done")
"""
    assert await run(code) == (True, "done")


async def test_nothing_but_the_scratch_folder_can_be_written() -> None:
    code = """
import os, sys, tempfile
library = os.path.dirname(os.__file__)
for place in (sys.prefix, library, "/", "/usr/bin", "/dev", "/proc/sys/kernel"):
    try:
        open(os.path.join(place, "planted"), "w")
    except OSError:
        continue
    print("wrote to", place)
with tempfile.NamedTemporaryFile() as file:
    file.write(b"x")
print(os.getcwd(), os.getuid())
"""
    assert await run(code) == (True, "/scratch 65534")


async def test_no_way_back_to_privileges() -> None:
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print([libc.unshare(0x10000000), libc.unshare(0x20000), libc.chroot(b"/proc"), libc.setuid(0)])
print(libc.mount(b"none", b"/scratch", b"tmpfs", 0, None), libc.ptrace(16, 1, 0, 0))
"""
    assert await run(code) == (True, "[-1, -1, -1, -1]\n-1 -1")


async def test_memory_that_no_limit_counts_and_keys_are_closed() -> None:
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def tried(result):
    return (result, os.strerror(ctypes.get_errno()))
print(tried(libc.shmget(0, ctypes.c_size_t(4096), 0o1600)))
print(tried(libc.msgget(0, 0o1600)))
print(tried(libc.memfd_create(b"x", 0)))
keyctl = {"x86_64": 250, "aarch64": 219}[os.uname().machine]
print(tried(libc.syscall(keyctl, 0, -3, 0)), tried(libc.syscall(425, 1, 0)))
"""
    ok, text = await run(code)
    assert ok, text
    assert text.count("(-1, 'Operation not permitted')") == 5


async def test_the_tasks_files_are_there_read_only(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("a,b\n1,2\n")
    link = tmp_path / "linked.csv"  # as the hub's cache has them
    link.symlink_to(file)
    ok, text = await run("print(open('data.csv').read(), open('linked.csv').read())", file, link)
    assert ok
    assert text.count("a,b") == 2
    ok, text = await run("open('data.csv', 'w')", file)
    assert not ok
    assert "Read-only" in text


async def test_files_of_any_name_are_read_only(tmp_path: Path) -> None:
    names = ["tábla.csv", "two words.csv", "a\\b.csv", "line\u2028end.csv"]
    for name in names:
        (tmp_path / name).write_text("given")
        (tmp_path / name).chmod(0o666)  # only the mount protects it
    code = f"""
for name in {names!r}:
    assert open(name).read() == "given"
    try:
        open(name, "w")
    except OSError as error:
        print(error.strerror)
"""
    ok, text = await run(code, *[tmp_path / name for name in names])
    assert (ok, text.splitlines()) == (True, ["Read-only file system"] * len(names))


async def test_every_call_starts_afresh() -> None:
    assert (await run("open('left', 'w').write('x'); print('ok')"))[0]
    assert await run("import os; print(os.listdir())") == (True, "['.code.py']")


async def test_libraries_can_be_used() -> None:
    assert await run("import numpy; print(numpy.arange(4).sum())") == (True, "6")


async def test_two_at_once_do_not_meet() -> None:
    code = "import os; open('mine', 'w'); print(sorted(os.listdir()))"
    results = await asyncio.gather(*[run(code) for _ in range(3)])
    assert results == [(True, "['.code.py', 'mine']")] * 3


def family(pid: int) -> list[int]:
    """`pid` and all its descendants."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def gone(pidfds: list[int], seconds: float) -> bool:
    """Whether every process ends in time, without looking again and again."""
    poller = select.poll()
    waiting = set(pidfds)
    for fd in pidfds:
        poller.register(fd, select.POLLIN)
    while waiting:
        ready = poller.poll(seconds * 1000)
        if not ready:
            return False
        for fd, _ in ready:
            poller.unregister(fd)
            waiting.discard(fd)
    return True


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_when_the_run_is_killed_midway(how: signal.Signals) -> None:
    code = "import os, sys, time\\nos.fork()\\nprint('up', flush=True)\\ntime.sleep(600)"
    program = (
        "import asyncio, sys, agents.tools.process as p\n"
        "from agents.tools.python import RunPython\n"
        "collect = p._collect\n"
        "def tell(child, *rest):\n"
        "    child.stdout.peek(1); print('ready', flush=True)\n"
        "    return collect(child, *rest)\n"
        "p._collect = tell\n"
        f"asyncio.run(RunPython().call({{'code': {code!r}.replace('\\\\n', chr(10))}}))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        processes = family(parent.pid)
        assert len(processes) >= 5  # the run, the launcher, its child, the first, the code
        pidfds = [os.pidfd_open(pid) for pid in processes]
        parent.send_signal(how)
        try:
            assert gone(pidfds, seconds=20)
        finally:
            for fd in pidfds:
                os.close(fd)


async def test_a_cancelled_call_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    up, collect = threading.Event(), process._collect

    def tell(child: subprocess.Popen[bytes], *rest: Any) -> tuple[bytes, str]:
        assert isinstance(child.stdout, io.BufferedReader)
        child.stdout.peek(1)
        up.set()
        return collect(child, *rest)

    monkeypatch.setattr(process, "_collect", tell)
    others = family(os.getpid())
    call = asyncio.create_task(run("import time; print('up'); time.sleep(600)"))
    assert await asyncio.to_thread(up.wait, 20)
    pidfds = [os.pidfd_open(pid) for pid in family(os.getpid()) if pid not in others]
    assert len(pidfds) >= 4  # the launcher, its child, the first process of the cell, the code
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    try:
        assert await asyncio.to_thread(gone, pidfds, 20)
    finally:
        for fd in pidfds:
            os.close(fd)


async def test_the_status_of_a_refusal_is_no_refusal() -> None:
    ok, text = await run("import sys; sys.exit(97)")
    assert (ok, text) == (False, "[exit status 97]")


async def test_refused_where_the_machine_cannot_isolate(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_: object) -> Finished:
        return Finished(sandbox.REFUSAL + b"unshare: Operation not permitted", 97)

    monkeypatch.setattr("agents.tools.python._run", refused)
    with pytest.raises(ToolError, match=r"cannot be isolated .*Operation not permitted"):
        await run("print(1)")


async def test_unsafe_runs_without_a_cell_but_with_limits(tmp_path: Path) -> None:
    # Harmless code only: it has this user's rights.
    (tmp_path / "data.txt").write_text("given")
    tool = RunPython([tmp_path / "data.txt"], config=PythonConfig(unsafe=True))
    code = "import os, resource\nprint(open('data.txt').read(), len(os.environ) < 10)\n"
    code += "print(resource.getrlimit(resource.RLIMIT_CPU)[0])"
    assert (await tool.call({"code": code})).text == "given True\n20"
