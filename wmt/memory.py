"""The `Memory` protocol: what an agent and an evaluator may know of a memory.

One interaction step is `context()` (pool, selection, feedback, suppression), the agent's answer,
and `record()` (task operation, action, outcome, fold); see section 2.2 of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from wmt.chat import ChatModel
from wmt.events import Event
from wmt.nodes import Outcome


@dataclass(frozen=True)
class TaskOperation:
    """What a step does to the task hierarchy.

    `open` puts a new task with `goal` under `parent` (a task of the active path; the active task if
    None); `complete` closes the active task with `result`; `resume` makes `task` active again.
    `open` and `resume` take effect before the action of their step, `complete` after it.
    """

    kind: Literal["open", "complete", "resume"]
    goal: str = ""
    parent: int | None = None
    result: str = ""
    task: int | None = None


@dataclass(frozen=True)
class Action:
    """One operation with its observation and operational outcome."""

    tool: str
    arguments: dict[str, Any]
    observation: str
    outcome: Outcome
    provenance: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """What the agent did: a thought, at most one task operation, at most one action."""

    thought: str = ""
    operation: TaskOperation | None = None
    action: Action | None = None


@dataclass(frozen=True)
class Selection:
    """How a selection came about.

    `selector` is `llm`, `lexical`, `all` or `branches`; `shown` counts the candidates that it was
    shown, `cut` those its own prompt had no room for; `unknown` the ids it made up; `superseded`
    what it named as superseded; `fallback` says that the deterministic order took over.
    """

    selector: str
    shown: int = 0
    cut: int = 0
    unknown: int = 0
    retries: int = 0
    fallback: bool = False
    superseded: tuple[int, ...] = ()


@dataclass(frozen=True)
class WorkingContext:
    """What one prompt holds of a memory, and all that metrics need to know of how it came to be.

    `selected` are the ids whose content stands in `text`, the active path included; `pool` the ids
    that were candidates; `cut` those that were chosen but did not fit the budget B. Token counts
    are sums over nodes by the model's tokenizer: what Eq. 13 calls T_sel and T_cand.
    """

    text: str
    selected: tuple[int, ...]
    pool: tuple[int, ...]
    active_path: tuple[int, ...]
    cut: tuple[int, ...]
    selected_tokens: int
    pool_tokens: int
    selection: Selection


@dataclass(frozen=True)
class Recorded:
    """Ids of the nodes that a step made, and one message for each operation that was refused.

    The messages are for the model: why the operation is not allowed, and what is.
    """

    task: int | None = None
    action: int | None = None
    refused: tuple[str, ...] = ()


class Memory(Protocol):
    """A memory of one question (of a whole conversation, in conversation mode)."""

    @property
    def events(self) -> Sequence[Event]:
        """Everything that happened so far, in order; only ever grows."""
        ...

    def start(self, question: str) -> None:
        """Begin a question."""
        ...

    async def context(self, available_tokens: int | None = None) -> WorkingContext:
        """Build the working context of the next prompt and give selection feedback.

        `available_tokens` is what the model's window leaves for memory in this prompt; the budget B
        is the smaller of it and the configured one.
        """
        ...

    async def record(self, step: Step) -> Recorded:
        """Record what the agent did; fold and suppress where that follows."""
        ...

    async def finish(self, answer: str | None) -> None:
        """The final answer completes the root; None where the episode ended without one."""
        ...

    def snapshot(self) -> dict[str, Any]:
        """The whole state as JSON-ready data (see `wmt.snapshot`)."""
        ...


class MemoryConfig(Protocol):
    """A validated memory configuration: a factory of fresh memories."""

    def build(self, model: ChatModel) -> Memory:
        """A fresh memory that uses `model` for selection, summaries and token counts."""
        ...
