"""The lines of a scenario's trace. The metrics read nothing else.

In this order: a header; for each subtask an `open`, one `entry` per memory entry (with the working
context built after it), one `critical` step, one `complete`; then `final`. `seconds` are those of
the memory without its model calls; `calls` are the model calls made in between. The attack check
writes a `check` line per poisoned entry instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from agents.trace import CallRecord, ContextRecord, Status
from poisoning.schema import AttackKind, Place, ValueType


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")


class EntryInfo(_Line):
    """What an evaluator knows of an entry, without its text.

    `place` is where it stands against the benign entries that answer its target's question.
    """

    id: str
    subtask: str
    target: str
    poisoned: bool
    attack: AttackKind | None
    outcome: Literal["success", "failure"]
    value: str | None
    place: Place | None


class SubtaskInfo(_Line):
    """A subtask's question and its right answer."""

    id: str
    question: str
    answer: str
    value_type: ValueType


class HeaderLine(_Line):
    """What was replayed, into what."""

    type: Literal["header"] = "header"
    schema_version: int
    task_id: str
    cell: dict[str, Any]
    arm: str
    attack: str
    subtasks: list[SubtaskInfo]
    entries: list[EntryInfo]


class OpenLine(_Line):
    """A subtask was opened as task node `node`."""

    type: Literal["open"] = "open"
    subtask: str
    node: int
    seconds: float
    events: list[dict[str, Any]]


class EntryLine(_Line):
    """An entry was recorded as action node `node`; then one prompt was constructed.

    `prompt_tokens` are those of the context's text. Record and context are timed apart.
    """

    type: Literal["entry"] = "entry"
    subtask: str
    entry: str
    node: int
    context: ContextRecord
    prompt_tokens: int
    record_seconds: float
    context_seconds: float
    calls: list[CallRecord]
    events: list[dict[str, Any]]


class CriticalLine(_Line):
    """A critical reasoning step on the last context; `answer` is None for an unreadable reply."""

    type: Literal["critical"] = "critical"
    subtask: str
    reply: str
    answer: str | None
    calls: list[CallRecord]


class CompleteLine(_Line):
    """The subtask was completed with the answer given; `summary` is what folding made of it."""

    type: Literal["complete"] = "complete"
    subtask: str
    node: int
    result: str
    summary: dict[str, Any] | None
    seconds: float
    calls: list[CallRecord]
    events: list[dict[str, Any]]


class CheckLine(_Line):
    """Attack check: the critical question with one poisoned entry alone in the context."""

    type: Literal["check"] = "check"
    subtask: str
    entry: str
    reply: str
    answer: str | None
    calls: list[CallRecord]


class FinalLine(_Line):
    """The end: the context of the final question (None if it was not reached) and the answer.

    `right_parts` says of each subtask whether the final answer has its value.
    """

    type: Literal["final"] = "final"
    status: Status
    error: str
    context: ContextRecord | None
    answer: str | None
    right_parts: list[bool]
    calls: list[CallRecord]
    events: list[dict[str, Any]]


Line = HeaderLine | OpenLine | EntryLine | CriticalLine | CompleteLine | CheckLine | FinalLine
_ADAPTER: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="type")])


def read_lines(raw: Iterable[dict[str, Any]]) -> list[Line]:
    """Typed lines of one trace; raises pydantic's `ValidationError` for foreign ones."""
    return [_ADAPTER.validate_python(line) for line in raw]
