"""What starts or attaches to a model server, and what it hands to the client."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agents.models.base import ServerInfo


@dataclass(frozen=True)
class RunningServer:
    """A server that answers at `base_urls` (OpenAI-compatible, each ending in `/v1`)."""

    base_urls: tuple[str, ...]
    info: ServerInfo


class ServerConfig(Protocol):
    """How a model is served; the `server` key of `configs/model/NAME.yaml`."""

    def preflight(self) -> list[str]:
        """One line per missing thing, with the remedy."""
        ...

    def running(self, log_dir: Path) -> AbstractAsyncContextManager[RunningServer]:
        """Start it on a free loopback port, or attach; always stops what it started."""
        ...
