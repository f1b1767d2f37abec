"""What each configuration does, and what it does NOT do (section 3.1, appendix A.2 and A.3)."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wmt.models import Replies
from tests.wmt.scripts import header
from wmt.drive import Drive, Header, StepLine
from wmt.memory import Action, Step, TaskOperation, WorkingContext
from wmt.nodes import Lifecycle, Outcome
from wmt.presets import NAMES, preset
from wmt.recording import RecordingMemory
from wmt.tree_memory import TreeMemory, TreeMemoryConfig

CONFIGS = Path(__file__).parents[2] / "configs/memory"
TREES = [name for name in NAMES if isinstance(preset(name), TreeMemoryConfig)]
FOLDING = {"tree_summary", "tree_selection_summary", "wmt", "a1", "a3"}
SCORING = {"wmt", "a2", "a3"}
SUPPRESSION = {"wmt", "a3"}
SELECTING = {"tree_selection", "tree_selection_summary", "wmt", "a1", "a2"}


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_yaml_says_what_the_preset_says(path: Path) -> None:
    keys: dict[str, Any] = yaml.safe_load(path.read_text())
    if keys.pop("defaults", None) is not None:
        keys = {**yaml.safe_load((CONFIGS / "base/tree.yaml").read_text()), **keys}
    target, convert = keys.pop("_target_"), keys.pop("_convert_")
    config = preset(path.stem)
    assert target == f"{type(config).__module__}.{type(config).__name__}" and convert == "all"
    assert type(config).model_validate(keys) == config
    # Every key stands in the yaml, so that a reader sees it and its value there.
    assert set(keys) == set(type(config).model_fields)


def test_there_is_a_yaml_for_every_preset() -> None:
    assert {path.stem for path in CONFIGS.glob("*.yaml")} == set(NAMES)


def act(text: str = "The year was 1912.", outcome: Outcome = Outcome.SUCCESS) -> Action:
    return Action("read", {}, text, outcome)


def open_task(goal: str) -> TaskOperation:
    return TaskOperation("open", goal=goal)


DONE = TaskOperation("complete", result="1912")
STORY = [
    Step("", open_task("find the year"), act()),
    Step("", None, act("no such page", Outcome.FAILURE)),
    Step("", DONE),
    Step("", open_task("find the author"), act("no page", Outcome.FAILURE)),
    Step("", DONE, act("no page", Outcome.FAILURE)),
    *[Step("", open_task(f"go on {i}"), act("Ana Torr.")) for i in range(12)],
]
# Several memories of one branch that compete for few places.
RIVALS = [
    Step("", open_task("find the year"), act("The year may be 1911.", Outcome.FAILURE)),
    Step("", None, act("The year of the year: 1912.")),
    Step("", open_task("find the year again"), act("The year was 1913.", Outcome.FAILURE)),
    Step("", DONE, act("The year was 1914.", Outcome.FAILURE)),
    *[Step("", None, act(f"The year was {1915 + i}.")) for i in range(4)],
    *[Step()] * 6,
]
FEW: dict[str, Any] = {"selector": "lexical", "lexical_top_k": 2}


def play(
    name: str, story: list[Step] = STORY, reply: str = '{"selected": []}', **keys: Any
) -> tuple[RecordingMemory, list[WorkingContext], Replies]:
    model = Replies([reply])
    memory = preset(name, **keys).build(model)
    contexts = []
    with asyncio.Runner() as runner:
        memory.start("Who wrote it, and when?")
        for step in story:
            contexts.append(runner.run(memory.context()))
            runner.run(memory.record(step))
    return memory, contexts, model


def kinds(memory: RecordingMemory) -> set[str]:
    return {event.kind for event in memory.events}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_row_does_and_does_not_do(name: str) -> None:
    memory, contexts, model = play(name)
    assert any(event.after.get("lifecycle") == "folded" for event in memory.events) is (
        name in FOLDING
    )
    assert ("missed" in kinds(memory)) is (name in SCORING - {"a3"}), "nothing is missed in a3"
    assert ("scored" in kinds(memory)) is (name in SCORING)
    assert ("suppressed" in kinds(memory)) is (name == "wmt"), "nothing decays in a3"
    assert bool(model.asked("selector")) is (name in SELECTING)
    assert bool(model.asked("summarizer")) is (name in FOLDING or name == "running_summary")
    if name in TREES:
        assert isinstance(memory, TreeMemory)
        assert (memory.priority(0) is not None) is (name in SCORING)
    if name not in SCORING:
        assert {node.missed for node in memory.tree.nodes.values()} == {0}
    everything = all(context.selected == context.pool for context in contexts)
    assert everything is (name not in SELECTING)


@pytest.mark.parametrize("name", sorted(SELECTING))
def test_only_a_selector_of_a_scoring_row_sees_scores(name: str) -> None:
    _, _, model = play(name)
    seen = any("u=" in each.messages[1].content for each in model.asked("selector"))
    assert seen is (name in SCORING)


def test_a3_puts_whole_branches_in_until_the_budget_binds() -> None:
    story = [
        Step("", open_task("first"), act("x " * 40)),
        Step("", None, act("y " * 40)),
        Step("", TaskOperation("resume", task=0)),
        Step("", open_task("second"), act("no page", Outcome.FAILURE)),
        Step("", None, act("z " * 40, Outcome.FAILURE)),
        Step("", TaskOperation("resume", task=0)),
    ]
    keys: dict[str, Any] = {"show_last_step": False}
    memory, _, _ = play("a3", story, **keys)
    free = asyncio.run(memory.context())
    assert set(free.selected) == set(free.pool) and "missed" not in kinds(memory)
    memory, _, _ = play("a3", story, **keys)
    tight = asyncio.run(memory.context(free.pool_tokens - 5))
    assert {1, 2, 3} <= set(tight.selected), "the branch of higher priority is whole"
    assert tight.cut == (4, 5, 6) and not {4, 5, 6} & set(tight.selected)
    assert [event.node for event in memory.events if event.kind == "missed"] == [4, 5, 6]


def test_a2_does_not_fold_and_keeps_poisoned_entries_as_candidates() -> None:
    memory, _, _ = play("a2")
    assert set(memory.pool()) == set(memory.tree.nodes)


def test_a1_has_the_switches_of_tree_selection_summary() -> None:
    first, second = (preset(name).model_dump() for name in ("a1", "tree_selection_summary"))
    assert {**first, "name": ""} == {**second, "name": ""}


@pytest.mark.parametrize(
    ("base", "story", "keys", "switch"),
    [
        ("wmt", STORY, FEW, {"selection": "none"}),
        ("wmt", STORY, FEW, {"selection": "branches"}),
        ("wmt", STORY, FEW, {"folding": False}),
        ("wmt", STORY, FEW, {"suppression": False}),
        ("wmt", STORY, FEW, {"scoring": False, "suppression": False, "selection": "relevance"}),
        ("a2", RIVALS, {**FEW, "lexical_top_k": 3}, {"scoring": False, "selection": "relevance"}),
        ("wmt", STORY, FEW, {"show_last_step": False}),
        ("wmt", STORY, FEW, {"folded_priority": "subtree"}),
        (
            "wmt",
            STORY,
            {**FEW, "folding": False, "initial": {"task": 1.0}},
            {"priority_nodes": "actions"},
        ),
        ("wmt", STORY, FEW, {"retention": {"rho": 0.99}}),
        ("wmt", STORY, FEW, {"initial": {"task": 1.0}}),
        ("wmt", RIVALS, FEW, {"lexical_top_k": 1}),
        ("wmt", RIVALS, FEW, {"budget_tokens": 1}),
        ("linear", STORY, {}, {"budget_tokens": 150}),
        ("window", STORY, {}, {"last_steps": 2}),
        ("running_summary", STORY, {}, {"last_steps": 2}),
    ],
    ids=lambda value: str(value) if isinstance(value, str | dict) else "",
)
def test_every_switch_and_key_changes_a_context(
    base: str, story: list[Step], keys: dict[str, Any], switch: dict[str, Any]
) -> None:
    _, before, _ = play(base, story, **keys)
    _, after, _ = play(base, story, **{**keys, **switch})
    assert [(c.text, c.pool) for c in before] != [(c.text, c.pool) for c in after]


def test_supersession_by_the_selector_is_off_unless_asked_for() -> None:
    reply = '{"selected": [2], "superseded": [3]}'
    off, _, _ = play("wmt", RIVALS, reply=reply)
    assert "superseded" not in kinds(off)
    on, _, _ = play("wmt", RIVALS, reply=reply, supersession="selector")
    (event,) = (event for event in on.events if event.kind == "superseded")
    assert event.node == 3 and on.node(3).lifecycle is Lifecycle.OBSOLETE


@given(st.integers(0, 2**32))
@settings(max_examples=15)
def test_without_decay_and_failures_wmt_ranks_as_tree_selection_summary(seed: int) -> None:
    """With rho 1 and nothing failed or obsolete, the pools are the same at every step."""
    choose = random.Random(seed)
    story = [
        Step(
            "",
            choose.choice([None, None, open_task("find"), DONE, TaskOperation("resume", task=1)]),
            act(),
        )
        for _ in range(15)
    ]
    keys: dict[str, Any] = {"selector": "lexical", "summarizer": "extractive"}
    _, weighted, _ = play("wmt", story, retention={"rho": 1.0}, **keys)
    _, plain, _ = play("tree_selection_summary", story, **keys)
    assert [context.pool for context in weighted] == [context.pool for context in plain]


def test_random_sequences_reach_every_lifecycle_transition() -> None:
    """So the property tests above walk through all of section 2.5. Counted, not assumed."""
    found: Counter[tuple[str, str, str]] = Counter()
    choose = random.Random(0)

    def line() -> StepLine:
        operations = [None, {"open": "find"}, {"complete": True}, {"resume": choose.randrange(15)}]
        outcome = choose.choice(["success", "failure", "failure", None])
        return StepLine.model_validate(
            {
                "select": choose.sample(range(25), choose.randrange(4)),
                "task_op": choose.choice(operations),
                "action": outcome and {"outcome": outcome, "content": "text"},
                "supersede": [choose.randrange(15)] if choose.random() < 0.2 else [],
            }
        )

    for number in range(60):
        config = {
            "allow_resume_obsolete": number % 4 > 1,
            "retention": {"rho": choose.choice([0.5, 0.95])},
        }
        drive = Drive(Header.model_validate(header(("wmt", "a2")[number % 2], config=config)))
        with asyncio.Runner() as runner:
            for _ in range(30):
                runner.run(drive.step(line()))
        for event in drive.memory.events:
            if "lifecycle" in event.before:
                change = event.before["lifecycle"], event.after["lifecycle"]
                found[(event.kind, *change)] += 1
    expected = {
        ("completed", "active", "completed"),
        ("folded", "completed", "folded"),
        ("reopened", "folded", "active"),
        ("reopened", "completed", "active"),
        ("reopened", "obsolete", "active"),
        ("suppressed", "active", "obsolete"),
        ("suppressed", "folded", "obsolete"),
        ("superseded", "active", "obsolete"),
        ("superseded", "completed", "obsolete"),
        ("superseded", "folded", "obsolete"),
    }
    assert set(found) == expected, found
