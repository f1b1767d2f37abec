"""The incremental implementation agrees with the naive one at every step of every configuration."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.wmt.naive import Naive
from tests.wmt.scripts import header, scripts
from wmt.drive import Drive, Header, StepLine
from wmt.presets import NAMES

TREES = [name for name in NAMES if name not in ("none", "linear", "window", "running_summary")]
# Misses that carry a branch of failures under the threshold, which random scripts reach rarely.
DECLINE: list[dict[str, Any]] = [
    {"task_op": {"open": "a"}, "action": {"outcome": "failure", "content": ""}},
    {"task_op": {"open": "b"}, "action": {"outcome": "failure", "content": ""}},
    {"task_op": {"complete": True}},
    {"task_op": {"complete": True}},
    *[{"select": []}] * 4,
    {"task_op": {"resume": 1}},
    {"task_op": {"resume": 3}},
    *[{"select": [], "task_op": {"open": "c"}}] * 2,
]
# A branch that is left open and sinks with its actions alone.
LEFT: list[dict[str, Any]] = [
    {"task_op": {"open": "a"}, "action": {"outcome": "success", "content": ""}},
    {"task_op": {"open": "b"}, "action": {"outcome": "success", "content": ""}},
    {"task_op": {"resume": 0}},
    *[{"select": [1, 3]}] * 9,
    *[{"select": []}] * 6,
]
# A low branch that is hidden by an obsolete one before anybody judges it, and comes back with it.
HIDDEN: list[dict[str, Any]] = [
    {"task_op": {"open": "a"}, "action": {"outcome": "success", "content": ""}},
    {"task_op": {"open": "b"}, "action": {"outcome": "failure", "content": ""}},
    {"task_op": {"resume": 0}, "supersede": [1]},
    {"task_op": {"resume": 3}},
    {"task_op": {"resume": 0}, "supersede": [1]},
    {"task_op": {"resume": 1}},
    {"task_op": {"resume": 0}},
]


def agree(head: dict[str, Any], lines: list[dict[str, Any]]) -> None:
    naive, drive = Naive(head), Drive(Header.model_validate(head))
    with asyncio.Runner() as runner:
        for number, line in enumerate(lines):
            refused = naive.step(line)["refused"]
            state = runner.run(drive.step(StepLine.model_validate(line)))
            assert state["refused"] == refused, number
            compare(naive, state)


def compare(naive: Naive, state: dict[str, Any]) -> None:
    pool = naive.pool()
    assert len(state["nodes"]) == len(naive.nodes)
    for i, node in enumerate(naive.nodes):
        assert state["nodes"][str(i)] == {
            "kind": node.kind,
            "parent": node.parent,
            "lifecycle": node.lifecycle,
            "u": pytest.approx(node.u, abs=1e-12),
            "m": node.m,
            "in_pool": i in pool,
        }, i
    for key, branch in state["branches"].items():
        failed, obsolete = naive.shares(int(key))
        assert branch["F"] == pytest.approx(failed) and branch["O"] == pytest.approx(obsolete)
        priority = naive.priority(int(key))
        if priority is None:
            assert branch["U"] is None
        else:
            assert branch["U"] == pytest.approx(priority, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
@given(scripts, st.integers(0, 2))
@example(DECLINE, 0)
@example(LEFT, 0)
@example(HIDDEN, 0)
@settings(max_examples=20)
def test_every_configuration(name: str, lines: list[dict[str, Any]], number: int) -> None:
    agree(header(name, globals=number), lines)


@given(
    scripts,
    st.sampled_from(TREES),
    st.sampled_from(["subtree", "actions"]),
    st.sampled_from(["summary", "subtree"]),
    st.booleans(),
    st.sampled_from([(0.5, 1), (0.7, 2), (0.9, 3), (1.0, 3)]),
)
@example(HIDDEN, "wmt", "actions", "summary", True, (0.9, 3))
@example(LEFT, "wmt", "actions", "summary", True, (0.9, 3))
@example(DECLINE, "wmt", "actions", "subtree", True, (0.5, 1))
@example(DECLINE, "wmt", "actions", "summary", True, (0.5, 1))
@example(DECLINE, "wmt", "subtree", "subtree", True, (0.5, 1))
@settings(max_examples=60)
def test_every_key(
    lines: list[dict[str, Any]],
    name: str,
    nodes: str,
    folded: str,
    allow: bool,
    decay: tuple[float, int],
) -> None:
    keys = {
        "priority_nodes": nodes,
        "folded_priority": folded,
        "allow_resume_obsolete": allow,
        "retention": {"rho": decay[0], "max_streak": decay[1]},
    }
    agree(header(name, config=keys), lines)
