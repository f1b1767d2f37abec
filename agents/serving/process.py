"""A server process of ours: guarded, logged, in its own process group, on its own port."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_GUARD = Path(__file__).with_name("guard.py")
_TAIL_BYTES = 64_000


@contextlib.contextmanager
def reserved_port() -> Iterator[int]:
    """A loopback port that nobody else is handed while the context is open.

    The socket stays bound but never listens. Linux lets a server that sets SO_REUSEADDR, as all
    do, bind and listen on it, while it gives a port in use to nobody who asks for any free one. So
    two jobs on one node never meet, and a server that is restarted gets its port back.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])


def _make(log: Path) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    log.touch()


class GuardedProcess:
    """A running server under `guard.py`; see there for how it is stopped with its children."""

    def __init__(self, guard: asyncio.subprocess.Process, log: Path, grace: float) -> None:
        self._guard = guard
        self._grace = grace
        self.log = log

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        log: Path,
        scratch: Path,
        env: Mapping[str, str],
        grace: float = 10.0,
    ) -> GuardedProcess:
        """Start `command`, its output appended to `log`.

        `scratch` is made for it and removed after it. `grace` seconds pass from TERM to KILL.
        """
        _make(log)
        guard = await asyncio.create_subprocess_exec(
            sys.executable,
            "-S",
            str(_GUARD),
            str(log),
            str(grace),
            str(scratch),
            *command,
            stdin=asyncio.subprocess.PIPE,
            env=dict(env),
            start_new_session=True,  # Ctrl-C in our terminal reaches us, not the server
        )
        return cls(guard, log, grace)

    @property
    def exit_code(self) -> int | None:
        """None while it runs; 128 + N after a signal N."""
        return self._guard.returncode

    async def wait(self) -> int:
        """Wait until it has ended, by itself or by `stop`."""
        return await self._guard.wait()

    async def stop(self) -> None:
        """Stop it with its children. If this is interrupted, the guard finishes it alone."""
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        try:
            await asyncio.wait_for(self._guard.wait(), self._grace + 15)
        except TimeoutError:
            self._guard.kill()
            await self._guard.wait()

    def tail(self, lines: int, offset: int = 0) -> str:
        """The log's last lines, of what was written from byte `offset` on."""
        with self.log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(offset, size - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
        return "\n".join(text.rstrip().splitlines()[-lines:])
