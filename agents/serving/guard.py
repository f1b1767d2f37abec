"""Run a server so that it cannot outlive the process that wanted it.

    python guard.py LOGFILE GRACE_SECONDS SCRATCH COMMAND...

The parent holds the write end of this process's standard input. When it closes it, or dies in any
way, even by SIGKILL, the end of file is seen here and the server's whole process group is stopped:
SIGTERM, `GRACE_SECONDS`, SIGKILL. Exits with the server's exit code (128 + N for a signal N) once
none of its processes is left and the folder SCRATCH, which it made for it, is removed. Standard
library only, so that it starts in an instant.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_POLL_SECONDS = 0.2


def _prctl(option: int, value: int) -> None:
    """Linux only; elsewhere the pipe alone has to do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _die_with_guard() -> None:
    """In the server's process: if the guard itself is killed, the server gets SIGTERM."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _parent_gone() -> bool:
    readable, _, _ = select.select([0], [], [], _POLL_SECONDS)
    return bool(readable) and os.read(0, 4096) == b""


def _group_alive(group: int) -> bool:
    # The server's orphans are handed to us (subreaper) and count as alive until they are reaped.
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _stop_group(server: subprocess.Popen[bytes], grace: float) -> None:
    """Stop the server and everything it started; returns when nothing of it is left."""
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, number)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            # poll() first, so that the server's own exit code is not reaped by _group_alive.
            if server.poll() is not None and not _group_alive(server.pid):
                return
            time.sleep(0.05)


def main(log: Path, grace: float, scratch: Path, command: list[str]) -> int:
    """Start `command`, wait for its end or for the parent's, and leave nothing behind."""
    stop = False

    def ask_to_stop(_number: int, _frame: object) -> None:
        nonlocal stop
        stop = True

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, ask_to_stop)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    scratch.mkdir(mode=0o700, exist_ok=True)
    with log.open("ab") as out:
        try:
            server = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with_guard,
            )
        except OSError as error:
            out.write(f"{error}\n".encode())
            shutil.rmtree(scratch, ignore_errors=True)
            return 127
    while server.poll() is None and not stop and not _parent_gone():
        pass
    _stop_group(server, grace)
    shutil.rmtree(scratch, ignore_errors=True)
    code = server.returncode
    if code is None:
        return 1
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]))
