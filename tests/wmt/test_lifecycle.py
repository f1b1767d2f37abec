"""The order of one interaction step and the lifecycle operations (sections 2.2, 2.4 and 2.5)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.wmt.models import Replies
from wmt.grammar import parse, parse_summary
from wmt.memory import Action, Recorded, Step, TaskOperation
from wmt.nodes import Lifecycle, Outcome
from wmt.presets import NAMES, preset
from wmt.recording import RecordingMemory
from wmt.tree_memory import TreeMemory, TreeMemoryConfig

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data/wmt_numbers.json").read_text()
)["order_cases"]
TREES = [name for name in NAMES if isinstance(preset(name), TreeMemoryConfig)]
SUCCESS, FAILURE = Outcome.SUCCESS, Outcome.FAILURE


def act(outcome: Outcome = SUCCESS, text: str = "found") -> Action:
    return Action("read", {}, text, outcome)


def open_task(goal: str = "goal", parent: int | None = None) -> TaskOperation:
    return TaskOperation("open", goal=goal, parent=parent)


def resume(task: int | None) -> TaskOperation:
    return TaskOperation("resume", task=task)


DONE = TaskOperation("complete", result="the result")


def start(name: str = "wmt", selected: str = "[]", **keys: Any) -> RecordingMemory:
    keys = {"show_last_step": False, **keys} if name in TREES else keys
    memory = preset(name, **keys).build(Replies([f'{{"selected": {selected}}}']))
    memory.start("question")
    return memory


async def do(
    memory: RecordingMemory, operation: TaskOperation | None = None, action: Action | None = None
) -> Recorded:
    return await memory.record(Step("", operation, action))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
async def test_order_of_event_and_feedback(case: dict[str, Any]) -> None:
    """An outcome revised before the feedback counts first; selection, decay, eligibility."""
    selected = "[1]" if case["s"] else "[]"
    memory = start(selected=selected, retention={"rho": case.get("rho", 0.9)})
    if case["eps"] == 0 and "m_before" in case:
        await do(memory, open_task())  # a folded branch keeps its node out of the pool
        await do(memory, None, act())
        await do(memory, DONE)
        node = memory.node(2)
    else:
        await do(memory, None, act(FAILURE))
        node = memory.node(1)
    node.score = case.get("u_before", node.score)
    node.missed = case.get("m_before", 0)
    if case["id"] == "O7":
        assert (node.score, node.missed) == (case["u_after"], case["m_after"])
        return
    if "omega" in case:
        assert memory.revise(node.id, Outcome(case["omega"])) is None
    if case["eps"]:
        await memory.context()
    assert node.score == pytest.approx(case["u_after"])
    assert node.missed == case.get("m_after", node.missed)


async def test_a_new_node_is_not_decayed_in_its_own_step() -> None:
    memory = start()
    await memory.context()
    await do(memory, None, act())
    assert memory.node(1).score == 0.75
    await memory.context()
    assert memory.node(1).score == pytest.approx(0.675)


async def test_open_comes_before_the_action_and_complete_after_it() -> None:
    memory = start()
    recorded = await do(memory, open_task(), act())
    assert recorded == Recorded(task=1, action=2) and memory.node(2).parent == 1
    recorded = await do(memory, DONE, act())
    assert recorded == Recorded(action=3) and memory.node(3).parent == 1
    assert memory.node(1).lifecycle is Lifecycle.FOLDED and memory.tree.path == (0,)
    recorded = await do(memory, resume(1), act())
    assert recorded == Recorded(action=4) and memory.node(4).parent == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "operation",
    [
        DONE,  # on the root
        resume(0),  # already active
        resume(None),
        resume(99),
        resume(1),  # an action
        resume(2),  # a global memory
        open_task(parent=3),  # a task off the path
        open_task(parent=1),
        open_task(parent=99),
    ],
    ids=str,
)
async def test_what_is_refused_changes_nothing_but_the_action_is_recorded(
    name: str, operation: TaskOperation
) -> None:
    memory = start(name)
    await do(memory, None, act())
    memory.add_global("known before")
    await do(memory, open_task())
    await do(memory, resume(0))
    before = [dict(event.after) for event in memory.events]
    recorded = await do(memory, operation, act())
    (message,) = recorded.refused
    assert message.endswith(".") and "\n" not in message
    assert recorded.task is None and recorded.action == 4
    assert memory.tree.path == (0,) and memory.node(4).parent == 0
    new = [event.kind for event in memory.events[len(before) :]]
    assert set(new) <= {"created", "scored"}


async def test_open_under_a_named_task_of_the_path() -> None:
    memory = start()
    await do(memory, open_task())
    await do(memory, open_task())
    await do(memory, open_task("beside", parent=1))
    assert memory.node(3).parent == 1 and memory.tree.path == (0, 1, 3)


async def test_folding_is_bottom_up_and_closes_open_children() -> None:
    memory = start(summarizer="extractive")
    await do(memory, open_task("outer"), act())
    await do(memory, open_task("inner"), act())
    await do(memory, open_task("innermost"), act(FAILURE))
    await do(memory, open_task("given up", parent=1), act(FAILURE))
    assert memory.supersede(7) is not None, "it is on the path"
    await do(memory, resume(1))
    assert memory.supersede(7) is None
    first = len(memory.events)
    await do(memory, DONE)
    folds = [event.node for event in memory.events[first:] if event.kind == "folded"]
    assert folds == [5, 3, 1]
    assert memory.node(7).lifecycle is Lifecycle.OBSOLETE, "obsolete children stay obsolete"
    assert memory.node(6).lifecycle is Lifecycle.ACTIVE, "a node keeps its own state"
    summary = memory.node(1).summary
    assert summary is not None and set(summary.unresolved) == {"inner", "innermost"}
    assert memory.pool() == (0, 1)


async def test_folding_and_reopening_leave_all_scores_as_they_were() -> None:
    memory = start()
    await do(memory, open_task(), act())
    for outcome in (SUCCESS, SUCCESS, FAILURE):
        await memory.context()
        await do(memory, None, act(outcome))
    inside = [2, 3, 4, 5]
    await do(memory, DONE)
    frozen = [(memory.node(i).score, memory.node(i).missed) for i in inside]
    for _ in range(3):
        await memory.context()
    assert memory.node(1).missed == 3 and memory.node(1).score < 0.5, "the summary's are the task's"
    assert memory.pool() == (0, 1)
    await do(memory, resume(1))
    assert [(memory.node(i).score, memory.node(i).missed) for i in inside] == frozen
    assert memory.pool() == (0, 1, *inside) and not memory.node(1).folded
    context = await memory.context()
    (kept,) = {section.title: section for section in parse(context.text)}["Folded summaries"].items
    assert parse_summary(kept.content).result == "1912", "the summary stays at hand"


@pytest.mark.parametrize("name", TREES)
async def test_resume_reopens_every_task_above(name: str) -> None:
    memory = start(name, summarizer="extractive")
    await do(memory, open_task("outer"), act())
    await do(memory, open_task("inner"), act())
    await do(memory, DONE)
    await do(memory, DONE)
    closed = Lifecycle.FOLDED if preset(name).model_dump()["folding"] else Lifecycle.COMPLETED
    assert [memory.node(i).lifecycle for i in (1, 3)] == [closed, closed]
    recorded = await do(memory, resume(3), act())
    assert recorded == Recorded(action=5)
    assert memory.tree.path == (0, 1, 3)
    assert {memory.node(i).lifecycle for i in (1, 3)} == {Lifecycle.ACTIVE}
    reopened = [event.node for event in memory.events if event.kind == "reopened"]
    assert reopened == [1, 3]
    await do(memory, resume(1))
    assert memory.tree.path == (0, 1) and memory.node(3).lifecycle is Lifecycle.ACTIVE
    assert len([event for event in memory.events if event.kind == "reopened"]) == 2


async def test_nothing_at_or_below_an_obsolete_task_is_resumed_unless_the_key_allows_it() -> None:
    for allowed in (False, True):
        memory = start(allow_resume_obsolete=allowed)
        await do(memory, open_task("outer"), act())
        await do(memory, open_task("inner"), act())
        await do(memory, resume(0))
        assert memory.supersede(1, by=None, reason="wrong") is None
        assert memory.pool() == (0,)
        refused = (await do(memory, resume(3))).refused
        assert (refused == ()) is allowed
        expected = Lifecycle.ACTIVE if allowed else Lifecycle.OBSOLETE
        assert memory.node(1).lifecycle is expected
        assert memory.pool() == ((0, 1, 2, 3, 4) if allowed else (0,))


@pytest.mark.parametrize("name", TREES)
async def test_supersession(name: str) -> None:
    memory = start(name)
    await do(memory, open_task(), act())
    await do(memory, None, act())
    assert memory.supersede(2, by=3, reason="the later page is official") is None
    event = memory.events[-1]
    assert (event.kind, event.node) == ("superseded", 2)
    assert event.detail == {"by": 3, "reason": "the later page is official"}
    assert memory.pool() == (0, 1, 3) and 2 in memory.tree.nodes
    for refused in (0, 1, 2, 99):
        assert memory.supersede(refused) is not None
    await do(memory, resume(0))
    assert memory.supersede(1) is None and memory.pool() == (0,)


async def test_what_a_folded_branch_holds_is_superseded_only_once_it_is_reopened() -> None:
    memory = start()
    await do(memory, open_task(), act())
    await do(memory, TaskOperation("complete"))
    assert memory.pool() == (0, 1)
    assert memory.supersede(2) is not None
    assert memory.node(2).lifecycle is Lifecycle.ACTIVE
    await do(memory, resume(1))
    assert memory.supersede(2) is None


async def test_flat_memories_keep_what_is_superseded() -> None:
    for name in ("linear", "none", "window", "running_summary"):
        memory = start(name)
        await do(memory, None, act())
        assert memory.supersede(1) is not None
        assert memory.node(1).lifecycle is Lifecycle.ACTIVE


async def test_a_low_branch_is_suppressed_when_the_agent_leaves_it_and_not_before() -> None:
    memory = start(initial={"task": 0.1})
    assert isinstance(memory, TreeMemory)
    await do(memory, open_task(), act(FAILURE))
    priority = memory.priority(1)
    assert priority is not None and priority < 0.1
    assert memory.node(1).lifecycle is Lifecycle.ACTIVE, "never on the active path"
    await do(memory, resume(0))
    assert memory.node(1).lifecycle is Lifecycle.OBSOLETE
    event = memory.events[-1]
    assert event.kind == "suppressed" and event.detail == {"priority": priority}
    assert memory.node(2).lifecycle is Lifecycle.ACTIVE and memory.node(2).score == 0.3


async def test_a_task_without_an_action_below_is_not_judged() -> None:
    memory = start(initial={"task": 0.0})
    await do(memory, open_task())
    await do(memory, open_task())
    await do(memory, resume(0))
    assert memory.node(1).lifecycle is Lifecycle.ACTIVE


async def test_all_suppressions_of_one_evaluation_happen_at_once() -> None:
    """The obsolete share counts as it stood before: a suppressed child pulls its parent under the
    threshold in the next evaluation only."""
    memory = start("a3")  # nothing decays here
    assert isinstance(memory, TreeMemory)
    await do(memory, open_task("outer"), act(FAILURE))
    await do(memory, open_task("inner"), act(FAILURE))
    for node, score in ((1, 0.36), (2, 0.36), (3, 0.30), (4, 0.30)):
        memory.tree.commit("scored", node, {"score": score}, {})
    assert memory.priority(1) == pytest.approx(0.115)
    assert memory.priority(3) == pytest.approx(0.07)
    await do(memory, resume(0))
    assert memory.node(3).lifecycle is Lifecycle.OBSOLETE
    assert memory.node(1).lifecycle is Lifecycle.ACTIVE
    assert memory.priority(1) == pytest.approx(0.115 - 0.2 / 4)
    await memory.context()
    assert memory.node(1).lifecycle is Lifecycle.OBSOLETE
