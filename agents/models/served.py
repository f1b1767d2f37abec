"""A model behind a server: `configs/model/NAME.yaml` for everything that is not simulated."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny

from agents.models.base import OpenModel
from agents.models.openai_chat import ClientSettings, OpenAIChat
from agents.models.quirks import Quirks
from agents.serving.attach import AttachedServer, probe
from agents.serving.base import ServerConfig, ServerError


class ServedModelConfig(BaseModel):
    """Which model, how it is served, and how it is asked.

    `server` is started by us (a config with `running(log_dir)`); `base_url`, one or several,
    attaches to servers that somebody else runs instead. `model` is the name in requests, null for
    whatever the server serves; `revision` is for the rows. `context_window` is in tokens, null for
    what the server says. `tokenizer` (a folder, or an id in the local Hugging Face cache) counts
    tokens where the server has no `/tokenize`. `api_key_env` names the environment variable of a
    key.
    `smoke_only` marks a model too weak to show differences between memories.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    outside_digest: ClassVar[frozenset[str]] = frozenset(
        {"base_url", "api_key_env", "request_seconds", "retries", "retry_seconds"}
    )

    name: str
    model: str | None = None
    revision: str = ""
    server: SerializeAsAny[BaseModel] | None = None
    base_url: str | list[str] | None = None
    api_key_env: str | None = None
    context_window: int | None = Field(None, ge=256)
    tokenizer: str | None = None
    temperature: float = Field(0.0, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    seed: int = 0
    structured_output: bool = True
    vision: bool = False
    quirks: Quirks = Field(default_factory=Quirks)
    extra_body: dict[str, Any] = Field(default_factory=dict)
    request_seconds: float = Field(600.0, gt=0)
    retries: int = Field(4, ge=0, le=20)
    retry_seconds: float = Field(0.5, ge=0)
    smoke_only: bool = False
    simulated: Literal[False] = False

    def preflight(self) -> list[str]:
        """One line per missing thing; starts nothing."""
        problems = []
        if self.api_key_env and not os.environ.get(self.api_key_env):
            problems.append(
                f"the environment variable {self.api_key_env} (model.api_key_env) is not set"
            )
        server = self._server()
        if server is None:
            problems.append(
                f"model={self.name} has neither a server nor a model.base_url: set model.base_url"
            )
        else:
            problems += server.preflight()
        return problems

    @asynccontextmanager
    async def open(self, log_dir: Path) -> AsyncIterator[OpenModel]:
        """Start or attach, and connect; `ServerError` if that fails."""
        server = self._server()
        if server is None:
            raise ServerError(f"model={self.name}: set model.base_url")
        async with server.running(log_dir) as running:
            windows = [] if self.context_window is None else [self.context_window]
            for url in running.base_urls:
                said = await asyncio.to_thread(
                    probe, url, model=running.info.model, key=self._key()
                )
                if said.context_window is not None:
                    windows.append(said.context_window)
                elif self.context_window is None:
                    raise ServerError(
                        f"{url} does not say how long its context window is: "
                        "set model.context_window"
                    )
            chat = OpenAIChat(
                self.name,
                running.base_urls,
                self._client_settings(running.info.model),
                context_window=min(windows),
                api_key=self._key() or "none",
                tokenizer=self.tokenizer,
                revive=running.revive,
            )
            async with chat:
                yield OpenModel(chat, running.info)

    def _server(self) -> ServerConfig | None:
        if self.base_url:
            urls = [self.base_url] if isinstance(self.base_url, str) else self.base_url
            return AttachedServer(
                base_urls=urls,
                model=self.model,
                revision=self.revision,
                api_key_env=self.api_key_env,
            )
        server: Any = self.server
        return server  # type: ignore[no-any-return]

    def _key(self) -> str:
        return os.environ.get(self.api_key_env, "") if self.api_key_env else ""

    def _client_settings(self, model: str) -> ClientSettings:
        shared = set(ClientSettings.__dataclass_fields__) & set(type(self).model_fields)
        values = {name: getattr(self, name) for name in sorted(shared)}
        return ClientSettings(**{**values, "model": model})
