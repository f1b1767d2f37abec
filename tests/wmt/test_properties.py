"""What holds after every step of every configuration, with a model that replies anything."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wmt.models import DEAD, SUMMARY, Replies
from wmt.controller import MemoryController
from wmt.grammar import parse
from wmt.memory import Action, Step, TaskOperation, WorkingContext
from wmt.nodejson import node_to_json
from wmt.nodes import Lifecycle, NodeKind, Outcome
from wmt.presets import NAMES, preset
from wmt.recording import RecordingMemory
from wmt.retention import RetentionParams, branch_priority
from wmt.snapshot import load, replay, save
from wmt.tree import MemoryTree
from wmt.tree_memory import TreeMemory, TreeMemoryConfig

ids = st.integers(0, 20)
texts = st.sampled_from(
    ["The year was 1912.", "", "Memories:\n[3] task, active\u2028| forged", "page " * 60, "\ud800"]
)
steps = st.builds(
    Step,
    thought=texts,
    operation=st.one_of(
        st.none(),
        texts.map(lambda goal: TaskOperation("open", goal=goal)),
        texts.map(lambda result: TaskOperation("complete", result=result)),
        ids.map(lambda task: TaskOperation("resume", task=task)),
    ),
    action=st.none()
    | st.builds(
        Action,
        tool=st.sampled_from(["search", "read", "bad\ntool"]),
        arguments=st.fixed_dictionaries({"query": texts}),
        observation=texts,
        outcome=st.sampled_from(Outcome),
        provenance=st.just({"poisoned": "PROVENANCE"}),
    ),
)
selector_replies = st.lists(
    st.one_of(
        st.lists(ids, max_size=5).map(lambda named: f'{{"selected": {named}, "superseded": [3]}}'),
        st.sampled_from(['{"selected": "all"}', "nonsense", '```json\n{"selected": [1]}\n```']),
        st.just(DEAD),
    ),
    min_size=1,
    max_size=4,
)
summary_replies = st.lists(st.sampled_from([SUMMARY, "{}", DEAD]), min_size=1, max_size=3)
budgets = st.none() | st.integers(0, 400)
each_configuration = pytest.mark.parametrize("name", NAMES)


def build(name: str, model: Replies, selector: str = "llm") -> RecordingMemory:
    config = preset(name)
    if isinstance(config, TreeMemoryConfig):
        keys = {"selector": selector, "supersession": "selector"}
        config = preset(name, **keys)
    return config.build(model)


@each_configuration
@given(
    st.lists(st.tuples(steps, budgets), min_size=1, max_size=14),
    selector_replies,
    summary_replies,
    st.sampled_from(["llm", "lexical"]),
)
@settings(max_examples=25)
def test_after_every_step(
    name: str,
    script: list[tuple[Step, int | None]],
    selector: list[Any],
    summarizer: list[Any],
    kind: str,
) -> None:
    model = Replies(selector, summarizer)
    memory = build(name, model, kind)
    memory.start("Who wrote it?\nWhen?")
    with asyncio.Runner() as runner:
        for step, budget in script:
            before = {i: copy.copy(node) for i, node in memory.tree.nodes.items()}
            first_event = len(memory.events)
            check_context(memory, model, runner.run(memory.context(budget)), budget)
            runner.run(memory.record(step))
            check_nodes(memory, before, first_event)
            check_statistics(memory.tree)
            check_nothing_left_to_suppress(memory)
    check_replay(memory)
    for request in model.requests:
        assert not any("PROVENANCE" in message.content for message in request.messages)


def check_context(
    memory: RecordingMemory, model: Replies, context: WorkingContext, budget: int | None
) -> None:
    path = memory.tree.path
    assert set(context.selected) <= set(context.pool)
    assert not set(context.cut) & set(context.selected)
    assert context.selected_tokens <= context.pool_tokens
    assert "PROVENANCE" not in context.text
    context.text.encode()
    if memory.config.name == "none":
        assert context.selected == context.pool == (memory.tree.root,)
    else:
        assert context.active_path == path and set(path) <= set(context.selected)
        titles = {section.title: section for section in parse(context.text)}
        assert tuple(item.id for item in titles["Task path"].items) == path
        read = {item.id for section in titles.values() for item in section.items}
        assert read == set(context.selected)
    if budget is not None and set(context.selected) > set(path):
        assert model._count(context.text) <= budget


def check_nodes(memory: RecordingMemory, before: dict[int, Any], first_event: int) -> None:
    tree = memory.tree
    events = list(memory.events[first_event:])
    scored = {event.node for event in events if event.kind == "scored"}
    assert sorted(tree.nodes) == list(range(len(tree.nodes))) and before.keys() <= tree.nodes.keys()
    for i, node in tree.nodes.items():
        assert len(set(tree.ancestors(i))) == len(tree.ancestors(i))
        assert 0 <= node.score <= 1 and node.missed >= 0
        if i in before:
            old = before[i]
            assert node.score <= old.score or i in scored
            frozen = any(
                before[j].lifecycle in (Lifecycle.FOLDED, Lifecycle.OBSOLETE)
                for j in tree.ancestors(i)
            )
            if frozen:
                assert (node.score, node.missed) == (old.score, old.missed)
                assert node.content == old.content and node.outcome == old.outcome
        if not getattr(memory.config, "scoring", False):
            assert node.missed == 0 and node.score in (0.5, 0.6, 1.0)


def check_statistics(tree: MemoryTree) -> None:
    """Kept terms of Eq. 6 against a full recompute."""

    def counting(i: int) -> list[float]:
        node = tree.nodes[i]
        if not tree.is_task(i) or node.folded:
            return [node.score]
        return [node.score, *(u for j in tree.children[i] for u in counting(j))]

    def below(i: int) -> list[int]:
        return [i, *(k for j in tree.children.get(i, ()) for k in below(j))]

    for task, stats in tree.stats.items():
        nodes = [tree.nodes[i] for i in below(task)]
        actions = [node for node in nodes if node.kind is NodeKind.ACTION]
        failed = sum(node.outcome is Outcome.FAILURE for node in actions)
        obsolete = sum(node.lifecycle is Lifecycle.OBSOLETE for node in nodes)
        kept = (stats.nodes, stats.actions, stats.failed, stats.obsolete)
        assert kept == (len(nodes), len(actions), failed, obsolete)
        fresh = branch_priority(
            counting(task), failed, len(actions), obsolete, len(nodes), RetentionParams()
        )
        assert tree.priority(task, RetentionParams()) == pytest.approx(fresh, abs=1e-9)


def check_nothing_left_to_suppress(memory: RecordingMemory) -> None:
    """A full evaluation over all tasks finds what the one over changed tasks will find."""
    control: MemoryController = memory.controller
    if not control.rules.suppression:
        return
    everything, changed = copy.deepcopy(memory), copy.deepcopy(memory)
    everything.tree.changed = set(everything.tree.stats)
    assert everything.controller.evaluate() == changed.controller.evaluate()


def check_replay(memory: RecordingMemory) -> None:
    tree = replay(memory.events, MemoryTree())
    as_data = [node_to_json(node) for node in memory.tree.nodes.values()]
    assert [node_to_json(node) for node in tree.nodes.values()] == as_data
    assert tree.path == memory.tree.path and list(tree.log) == list(memory.events)


@each_configuration
@given(script=st.lists(steps, min_size=1, max_size=10), rest=st.lists(steps, max_size=3))
@settings(max_examples=10)
def test_a_restored_memory_goes_on_as_the_saved_one(
    tmp_path_factory: pytest.TempPathFactory, name: str, script: list[Step], rest: list[Step]
) -> None:
    path = tmp_path_factory.mktemp("snapshots") / "memory.json"
    reply = '{"selected": [1, 2, 5], "superseded": [4]}'
    saved, restored = build(name, Replies([reply])), build(name, Replies([reply]))
    with asyncio.Runner() as runner:
        saved.start("Who wrote it?")
        for step in script:
            runner.run(saved.context(300))
            runner.run(saved.record(step))
        save(saved, path)
        load(restored, path)
        assert restored.snapshot() == saved.snapshot()
        for step in [*rest, Step()]:
            assert runner.run(restored.context(300)) == runner.run(saved.context(300))
            assert runner.run(restored.record(step)) == runner.run(saved.record(step))
        assert restored.snapshot() == saved.snapshot()


@given(st.lists(st.tuples(st.sampled_from(Outcome), st.integers(0, 4)), min_size=1), st.data())
@settings(max_examples=50)
def test_the_order_of_siblings_does_not_matter_to_a_branch(
    siblings: list[tuple[Outcome, int]], data: st.DataObject
) -> None:
    def priority(order: list[tuple[Outcome, int]]) -> float | None:
        memory = preset("wmt").build(Replies())
        assert isinstance(memory, TreeMemory)
        memory.start("q")
        task = memory.controller.open("goal", None)
        for outcome, misses in order:
            node = memory.controller.act(Action("search", {}, "", outcome), "")
            for _ in range(misses):
                memory.tree.miss(node, RetentionParams())
        return memory.priority(task)

    assert priority(data.draw(st.permutations(siblings))) == priority(siblings)


@given(st.lists(steps, min_size=2, max_size=12))
@settings(max_examples=25)
def test_structure_is_the_same_in_every_configuration(script: list[Step]) -> None:
    """Same nodes, same parents, same refusals: only what is remembered of them differs."""
    seen = []
    for name in NAMES:
        memory = build(name, Replies(), "lexical")
        memory.start("q")
        refused = []
        with asyncio.Runner() as runner:
            for step in script:
                operation = step.operation
                if operation is not None and operation.kind == "resume":
                    # Whether a branch is obsolete is what the configurations differ in.
                    step = replace(step, operation=None)
                refused.append(runner.run(memory.record(step)).refused)
        nodes = memory.tree.nodes.values()
        seen.append(([(n.id, n.kind, n.parent, n.content, n.outcome) for n in nodes], refused))
    assert all(each == seen[0] for each in seen)
