"""Result rows: one per question, the schema that tables, status and resume rely on."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from agents.trace import Status

SCHEMA_VERSION = 1


class RoleTokens(BaseModel):
    """Tokens and calls of one role over a question; `seconds` is the summed call latency."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    calls: int = 0
    """Model calls of this role."""
    prompt: int = 0
    """Prompt tokens, cached ones included."""
    completion: int = 0
    """New tokens."""
    cached: int = 0
    """The share of the prompt tokens that the server took from its prefix cache."""
    seconds: float = 0.0
    """Summed latency of the calls, in seconds."""


class Counters(BaseModel):
    """How often each part of the method was exercised; a zero says it was not (spec 8)."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    folds: int = 0
    """Branches replaced by their summary (section 2.5)."""
    reopenings: int = 0
    """Folded or completed tasks that the agent resumed."""
    decays: int = 0
    """Missed selections that lowered a score (Eq. 3-5)."""
    suppressions: int = 0
    """Branches made obsolete because their priority fell below the threshold (Eq. 7)."""
    supersessions: int = 0
    """Tasks or nodes made obsolete by an explicit event."""
    selector_calls: int = 0
    """Model calls of the selector, retries included."""
    selector_retries: int = 0
    """Selections asked for once more, since the first reply could not be read."""
    selector_fallbacks: int = 0
    """Selections that the deterministic order made in the selector's place."""
    selector_unknown_ids: int = 0
    """Ids in the selector's replies that do not exist; they are ignored."""
    selector_cut: int = 0
    """Candidates for which the selector's own prompt had no room."""
    summary_fallbacks: int = 0
    """Summaries put together without the model, since its reply could not be read."""
    context_cuts: int = 0
    """Memories that were chosen but did not fit the budget B."""
    refused_operations: int = 0
    """Task operations that the memory refused."""
    format_errors: int = 0
    """Replies of the agent that had to be repaired or asked for again."""
    tool_failures: int = 0
    """Actions whose outcome was a failure."""
    contaminated_dropped: int = 0
    """Search results or pages kept from the agent, since they hold the benchmark's answers."""


class CellKey(BaseModel):
    """What a row shares with its cell, so that mixed results show in the rows alone."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    label: str
    """The arm, e.g. `rho95`."""
    dataset: str
    """Name of the dataset configuration."""
    dataset_revision: str
    """What pins the data: a commit, a seed, a digest."""
    dataset_ids_hash: str
    """Digest of the ids of the uncut set."""
    dataset_full_size: int
    """Items of the uncut set."""
    dataset_cut: bool
    """Whether the invocation that made this row ran fewer items than the full set."""
    model: str
    """Name of the model configuration."""
    model_revision: str
    """Revision of the weights."""
    server: str
    """What served the model, e.g. `vllm`."""
    server_version: str
    """Its version."""
    simulated: bool
    """True for the rule-based reader, which is no language model."""
    smoke_only: bool
    """True for a model too weak to show differences between memories."""
    memory: str
    """Name of the memory configuration."""
    seed: int
    """Sampling seed."""
    config_digest: str
    """Digest of every setting that can change a result."""
    prompt_hash: str
    """Digest of the prompt templates."""
    git_commit: str
    """Commit of this repository."""
    git_dirty: bool
    """Whether the working tree differed from that commit."""
    tools_web: Literal["live", "record", "replay", "off"]
    """Where web pages came from."""
    cassette_hash: str
    """Digest of the recorded pages, empty without any."""
    concurrency: int
    """Items that ran at once; does not enter the digest."""


class RowBase(BaseModel):
    """What every row holds, whatever the study: one row per item (question or scenario).

    `tokens` has one entry per role that made a call. `started_at` is Unix time. `error` is set
    exactly when status is `error`.
    """

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    schema_version: int = SCHEMA_VERSION
    """Version of this schema."""
    cell: CellKey
    """What the row shares with its cell."""
    task_id: str
    """Id of the question or scenario; one row each."""
    status: Status
    """How it ended: with an answer, at a limit, or with an error."""
    steps: int
    """Interaction steps taken."""
    tokens: dict[str, RoleTokens]
    """One entry per role that made a call: agent, selector, summarizer, tool."""
    usage_estimated: bool
    """Whether any token count is an estimate because the server reported none."""
    counters: Counters
    """How often each part of the method was exercised."""
    seconds: float
    """Wall time in seconds."""
    started_at: float
    """Start, Unix time in seconds."""
    error: str = ""
    """What went wrong; set exactly when the status is `error`."""

    @property
    def prompt_tokens(self) -> int:
        """Prompt tokens over every model call of the configuration (spec 8)."""
        return sum(role.prompt for role in self.tokens.values())


class Row(RowBase):
    """One question's result. `score` is 1.0 or 0.0; an `error` row scores 0.0 and stays in the
    denominator."""

    level: int
    """Difficulty, 1 to 3."""
    answer: str | None
    """The final answer, or null where there is none."""
    score: float
    """1.0 if right, else 0.0."""
