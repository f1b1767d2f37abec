"""Several servers of one model share the load; one that fails is left out for a while.

Also the clock of a server that is being restarted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Endpoint:
    """One base URL, the requests that it is answering, and until when it is left out."""

    url: str
    outstanding: int = 0
    resting_until: float = 0.0


class Endpoints:
    """Least outstanding first; ties go to the first in order, whose prefix cache is then warm.

    `cool_down` is in seconds of `clock`. Where all are resting the one that is back first is used:
    it is not for this class to give up.
    """

    def __init__(
        self,
        urls: Sequence[str],
        cool_down: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._all = [Endpoint(url) for url in urls]
        self._cool_down, self._clock = cool_down, clock

    @contextmanager
    def use(self) -> Iterator[Endpoint]:
        """The endpoint for one request."""
        now = self._clock()
        awake = [endpoint for endpoint in self._all if endpoint.resting_until <= now]
        if awake:
            chosen = min(awake, key=lambda endpoint: endpoint.outstanding)
        else:
            chosen = min(self._all, key=lambda endpoint: endpoint.resting_until)
        chosen.outstanding += 1
        try:
            yield chosen
        finally:
            chosen.outstanding -= 1

    def failed(self, endpoint: Endpoint) -> None:
        """Leave an endpoint out until the cool-down is over."""
        endpoint.resting_until = self._clock() + self._cool_down

    def answered(self, endpoint: Endpoint) -> None:
        """An answer ends the rest."""
        endpoint.resting_until = 0.0


class OutageClock:
    """How long requests have waited for a server to come back, an outage that is not over included.
    Those that wait side by side count once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting, self._began, self._ended = 0, 0.0, 0.0

    @property
    def seconds(self) -> float:
        """The sum so far."""
        return self._ended + (self._clock() - self._began if self._waiting else 0.0)

    @contextmanager
    def running(self) -> Iterator[None]:
        """While one request waits."""
        if not self._waiting:
            self._began = self._clock()
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._ended += self._clock() - self._began
