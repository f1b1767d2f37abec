"""Memory nodes and their states (paper, section 2.3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class NodeKind(StrEnum):
    """What a node is; a folded branch's summary is carried by its task node."""

    ROOT = "root"
    TASK = "task"
    ACTION = "action"
    GLOBAL = "global"


class Lifecycle(StrEnum):
    """A node's own state; a node inside a folded or obsolete branch keeps its own."""

    ACTIVE = "active"
    COMPLETED = "completed"
    FOLDED = "folded"
    OBSOLETE = "obsolete"


class Outcome(StrEnum):
    """Operational outcome of an action. A failure is an exception, a timeout, an invalid call or
    an empty result, never a judgement of truth (appendix A.4)."""

    SUCCESS = "success"
    FAILURE = "failure"


@dataclass(frozen=True)
class Summary:
    """What stands for a folded branch (section 2.5)."""

    objective: str
    result: str
    evidence: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(eq=False, slots=True)
class MemoryNode:
    """One memory.

    `score` is the retention score u in [0, 1]; `missed` the missed-selection count m (Eq. 3).
    `folded` says that the node stands for its whole branch in the priority terms; it stays set when
    a folded branch becomes obsolete, and is cleared when the branch is reopened.
    `provenance` is for evaluators only and never reaches a prompt.
    """

    id: int
    kind: NodeKind
    content: str
    parent: int | None
    score: float
    created_step: int
    lifecycle: Lifecycle = Lifecycle.ACTIVE
    missed: int = 0
    last_event_step: int | None = None
    last_access_step: int | None = None
    outcome: Outcome | None = None
    tool: str | None = None
    arguments: dict[str, Any] | None = None
    thought: str = ""
    result: str = ""
    summary: Summary | None = None
    folded: bool = False
    provenance: dict[str, Any] = field(default_factory=dict)
