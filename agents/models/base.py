"""What a model configuration offers: checks before anything starts, and an opened model."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wmt.chat import ChatModel


@dataclass(frozen=True)
class ServerInfo:
    """Who answered, for the rows: e.g. `vllm`, `0.33.0`, `Qwen/Qwen3-8B` and its revision."""

    server: str
    version: str
    model: str
    revision: str = ""


@dataclass(frozen=True)
class OpenModel:
    """A model that answers."""

    chat: ChatModel
    info: ServerInfo


class ModelConfig(Protocol):
    """A validated `configs/model/NAME.yaml`.

    `simulated` marks the rule-based reader, `smoke_only` a model too weak to show differences
    between memories; both are carried into every row and table.
    """

    name: str
    simulated: bool
    smoke_only: bool

    def preflight(self) -> list[str]:
        """One line per missing thing, with the remedy; touches no GPU and starts nothing."""
        ...

    def open(self, log_dir: Path) -> AbstractAsyncContextManager[OpenModel]:
        """Start or attach to the server; stops what it started on exit, whatever happens."""
        ...
