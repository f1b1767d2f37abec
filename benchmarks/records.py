"""Result rows: one per question, the schema that tables, status and resume rely on."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from agents.trace import Status

SCHEMA_VERSION = 1


class RoleTokens(BaseModel):
    """Tokens and calls of one role over a question; `seconds` is the summed call latency."""

    model_config = ConfigDict(extra="forbid")

    calls: int = 0
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    seconds: float = 0.0


class Counters(BaseModel):
    """How often each part of the method was exercised; a zero says it was not (spec 8)."""

    model_config = ConfigDict(extra="forbid")

    folds: int = 0
    reopenings: int = 0
    decays: int = 0
    suppressions: int = 0
    supersessions: int = 0
    selector_calls: int = 0
    selector_retries: int = 0
    selector_fallbacks: int = 0
    selector_unknown_ids: int = 0
    selector_cut: int = 0
    summary_fallbacks: int = 0
    context_cuts: int = 0
    refused_operations: int = 0
    format_errors: int = 0
    tool_failures: int = 0
    contaminated_dropped: int = 0


class CellKey(BaseModel):
    """What a row shares with its cell, so that mixed results show in the rows alone."""

    model_config = ConfigDict(extra="forbid")

    label: str
    dataset: str
    dataset_revision: str
    dataset_ids_hash: str
    dataset_full_size: int
    dataset_cut: bool
    model: str
    model_revision: str
    server: str
    server_version: str
    simulated: bool
    smoke_only: bool
    memory: str
    seed: int
    config_digest: str
    prompt_hash: str
    git_commit: str
    git_dirty: bool
    tools_web: Literal["live", "record", "replay", "off"]
    cassette_hash: str
    concurrency: int


class RowBase(BaseModel):
    """What every row holds, whatever the study: one row per item (question or scenario).

    `tokens` has one entry per role that made a call. `started_at` is Unix time. `error` is set
    exactly when status is `error`.
    """

    model_config = ConfigDict(extra="forbid")

    schema_version: int = SCHEMA_VERSION
    cell: CellKey
    task_id: str
    status: Status
    steps: int
    tokens: dict[str, RoleTokens]
    usage_estimated: bool
    counters: Counters
    seconds: float
    started_at: float
    error: str = ""

    @property
    def prompt_tokens(self) -> int:
        """Prompt tokens over every model call of the configuration (spec 8)."""
        return sum(role.prompt for role in self.tokens.values())


class Row(RowBase):
    """One question's result. `score` is 1.0 or 0.0; an `error` row scores 0.0 and stays in the
    denominator."""

    level: int
    answer: str | None
    score: float
