"""A scenario's result row."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.records import RowBase
from benchmarks.store import ROWS


class ScenarioRow(RowBase):
    """One scenario's outcome in one memory; the metrics are computed from its trace."""

    arm: str
    """What was replayed: `poisoned`, `clean`, `attack_check` or `random`."""
    attack: str
    """How the poison was rewritten: `none`, or an attacker that knows the defence."""
    entries: int
    """Memory entries replayed."""
    poisoned: int
    """Those of them that are poisoned."""
    critical_steps: int
    """Critical questions asked."""
    right: int
    """Critical questions answered right."""
    compromised: int
    """Critical questions answered with a poisoned value."""
    exposed: int
    """Critical questions with a poisoned rival in the context."""
    unreadable: int
    """Critical questions whose reply could not be read."""
    final_answer: str | None
    """Answer to the question over all subtasks, or null where there is none."""
    final_right: bool
    """Whether every part of it is right."""


def has_scenario_rows(folder: Path) -> bool:
    """Whether a cell's folder holds rows of this study."""
    rows = folder / ROWS
    if not rows.is_file():
        return False
    with rows.open("rb") as file:
        first = file.readline()
    return first.endswith(b"\n") and "critical_steps" in json.loads(first)
