"""The event log: every change of a memory, in order, so that every score can be explained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

EventKind = Literal[
    "started",
    "created",
    "scored",
    "missed",
    "selected",
    "completed",
    "folded",
    "suppressed",
    "superseded",
    "reopened",
    "activated",
    "promoted",
]


@dataclass(frozen=True, slots=True)
class Event:
    """One change of one node at interaction step `step`.

    `before` and `after` hold the fields that changed (`score`, `missed`, `lifecycle`, ...); a
    `created` event holds the whole node in `after`. `detail` says why (`by`, `reason`, `priority`).
    """

    step: int
    kind: EventKind
    node: int
    before: dict[str, Any]
    after: dict[str, Any]
    detail: dict[str, Any]
