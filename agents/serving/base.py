"""What starts or attaches to a model server, and what it hands to the client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agents.models.base import ServerInfo


class ServerError(Exception):
    """A server did not start or cannot be reached; the first line says what, where and what to do.

    Raised while a server is being started or attached to, so before any question begins.
    """


@dataclass(frozen=True)
class RunningServer:
    """A server that answers at `base_urls` (OpenAI-compatible, each ending in `/v1`).

    `revive`, where the server is watched: waits until it answers again after a crash, and says
    whether it does. False means that it is gone for good.
    """

    base_urls: tuple[str, ...]
    info: ServerInfo
    revive: Callable[[], Awaitable[bool]] | None = None


class ServerConfig(Protocol):
    """How a model is served; the `server` key of `configs/model/NAME.yaml`."""

    def preflight(self) -> list[str]:
        """One line per missing thing, with the remedy."""
        ...

    def running(self, log_dir: Path) -> AbstractAsyncContextManager[RunningServer]:
        """Start it on a free loopback port, or attach; always stops what it started."""
        ...
