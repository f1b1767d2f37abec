"""One question's run as data: what `react` yields, what traces on disk hold."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from wmt.chat import CallRole
from wmt.events import Event
from wmt.memory import TaskOperation, WorkingContext

Status = Literal["answered", "step_limit", "time_limit", "token_limit", "context_limit", "error"]


class CallRecord(BaseModel):
    """One model call: its role, tokens, latency in seconds and finish reason."""

    model_config = ConfigDict(extra="forbid")

    role: CallRole
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    estimated: bool = False
    seconds: float
    finish_reason: str


class ContextRecord(BaseModel):
    """The ids and token counts of one working context (see `wmt.memory.WorkingContext`)."""

    model_config = ConfigDict(extra="forbid")

    selected: list[int]
    pool: list[int]
    active_path: list[int]
    cut: list[int]
    selected_tokens: int
    pool_tokens: int
    selection: dict[str, Any]


class StepRecord(BaseModel):
    """One interaction step.

    `events` are the memory's events from this step's context to its record; `memory_seconds` is
    time inside the memory without its model calls; `format_errors` says what was repaired in the
    model's replies.
    """

    model_config = ConfigDict(extra="forbid")

    step: int
    context: ContextRecord
    calls: list[CallRecord] = Field(default_factory=list)
    reply: str = ""
    thought: str = ""
    operation: dict[str, Any] | None = None
    tool: str | None = None
    arguments: dict[str, Any] | None = None
    observation: str | None = None
    outcome: Literal["success", "failure"] | None = None
    refused: list[str] = Field(default_factory=list)
    format_errors: list[str] = Field(default_factory=list)
    events: list[dict[str, Any]] = Field(default_factory=list)
    memory_seconds: float = 0.0
    tool_seconds: float = 0.0


class EpisodeRecord(BaseModel):
    """A whole run of one question. `error` is set exactly when status is `error`."""

    model_config = ConfigDict(extra="forbid")

    status: Status
    answer: str | None
    steps: list[StepRecord]
    seconds: float
    error: str = ""


def context_record(context: WorkingContext) -> ContextRecord:
    """A working context as data, without its text."""
    return ContextRecord(
        selected=list(context.selected),
        pool=list(context.pool),
        active_path=list(context.active_path),
        cut=list(context.cut),
        selected_tokens=context.selected_tokens,
        pool_tokens=context.pool_tokens,
        selection=asdict(context.selection),
    )


def event_record(event: Event) -> dict[str, Any]:
    """A memory event as data. Not `asdict`, which would copy every node that it holds."""
    return {name: getattr(event, name) for name in Event.__dataclass_fields__}


def operation_record(operation: TaskOperation | None) -> dict[str, Any] | None:
    """A task operation as it stands in a reply: `{"open": goal}`, `{"open": goal, "under": id}`."""
    if operation is None:
        return None
    value = {"open": operation.goal, "complete": operation.result, "resume": operation.task}
    under = {} if operation.parent is None else {"under": operation.parent}
    return {operation.kind: value[operation.kind], **under}
