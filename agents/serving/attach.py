"""Attaches to a server that somebody else runs: who it is, what it serves."""

from __future__ import annotations

import asyncio
import json
import os
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agents.models.base import ServerInfo
from agents.serving.base import RunningServer, ServerError

REMEDY = "start the server, or correct model.base_url (it ends in /v1)"


@dataclass(frozen=True)
class Probe:
    """What a server says of itself. `context_window` is in tokens, None where it does not say."""

    info: ServerInfo
    context_window: int | None


class AttachedServer(BaseModel):
    """Servers at `base_urls`; `model` must be among the models they serve (null: the first)."""

    model_config = ConfigDict(extra="forbid")

    base_urls: list[str] = Field(min_length=1)
    model: str | None = None
    revision: str = ""
    api_key_env: str | None = None
    timeout_seconds: float = Field(10.0, gt=0)

    def preflight(self) -> list[str]:
        """One line for each server that does not answer."""
        problems = []
        for url in self.base_urls:
            try:
                self.probe(url)
            except ServerError as error:
                problems.append(str(error))
        return problems

    @asynccontextmanager
    async def running(self, log_dir: Path) -> AsyncIterator[RunningServer]:
        """Look at every server once; the first names the model for the rows."""
        probes = [await asyncio.to_thread(self.probe, url) for url in self.base_urls]
        models = {probe.info.model for probe in probes}
        if len(models) > 1:
            raise ServerError(
                f"the servers of model.base_url serve different models: {sorted(models)}"
            )
        yield RunningServer(tuple(self.base_urls), probes[0].info)

    def probe(self, base_url: str) -> Probe:
        """Ask one server; `ServerError` says in one line why not."""
        key = os.environ.get(self.api_key_env, "") if self.api_key_env else ""
        return probe(
            base_url,
            model=self.model,
            revision=self.revision,
            key=key,
            timeout=self.timeout_seconds,
        )


def probe(
    base_url: str,
    *,
    model: str | None = None,
    revision: str = "",
    key: str = "",
    timeout: float = 10.0,
) -> Probe:
    """`/v1/models` and, where there is one, `/version` (vLLM) or `/props` (llama.cpp)."""
    base = base_url.rstrip("/")
    root = base.removesuffix("/v1")
    served = _get(f"{base}/models", key, timeout)
    entries = served.get("data") if isinstance(served, dict) else None
    if not isinstance(entries, list) or not entries or not isinstance(entries[0], dict):
        raise ServerError(f"{base}/models lists no model: {REMEDY}")
    ids = [str(entry.get("id")) for entry in entries]
    if model is not None and model not in ids:
        raise ServerError(f"{base_url} serves {', '.join(ids)}, not {model}: set model.model")
    entry = entries[ids.index(model) if model is not None else 0]
    version, properties = _optional(f"{root}/version", key, timeout), None
    window = entry.get("max_model_len")
    if isinstance(version, dict) and version.get("version"):
        name, number = "vllm", str(version["version"])
    elif properties := _optional(f"{root}/props", key, timeout):
        name, number = "llama.cpp", str(properties.get("build_info", ""))
        window = (properties.get("default_generation_settings") or {}).get("n_ctx") or window
    else:
        name, number = str(entry.get("owned_by") or "unknown"), ""
    info = ServerInfo(name, number, str(entry["id"]), revision)
    return Probe(info, int(window) if window else None)


def _optional(url: str, key: str, timeout: float) -> dict[str, Any] | None:
    try:
        answer = _get(url, key, timeout)
    except ServerError:
        return None
    return answer if isinstance(answer, dict) else None


def _get(url: str, key: str, timeout: float) -> Any:
    request = urllib.request.Request(url)
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise ServerError(f"{url} answered {error.code} {error.reason}: {REMEDY}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise ServerError(f"nothing usable answers at {url} ({reason}): {REMEDY}") from None
