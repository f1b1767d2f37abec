"""The one place where SIGINT and SIGTERM are handled: work stops, writes finish, servers stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass

STOPPING = (signal.SIGINT, signal.SIGTERM)


@dataclass
class Stop:
    """Which signal asked to stop, if any."""

    signal: signal.Signals | None = None

    @property
    def exit_code(self) -> int:
        """128 + signal (130 for Ctrl-C, 143 for SIGTERM: a scheduler may requeue), else 0."""
        return 0 if self.signal is None else 128 + self.signal


@contextlib.contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Within a running task: the first signal cancels it once, and it ends without a traceback.

    Rows are written without an await, so cancelling never tears one; context managers on the way
    out stop the servers. Further signals are ignored until that is done.
    """
    stop = Stop()
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None

    def cancel(received: signal.Signals) -> None:
        if stop.signal is None:
            stop.signal = received
            task.cancel()

    for number in STOPPING:
        loop.add_signal_handler(number, cancel, number)
    try:
        yield stop
    except asyncio.CancelledError:
        if stop.signal is None:
            raise
        task.uncancel()
    finally:
        for number in STOPPING:
            loop.remove_signal_handler(number)
