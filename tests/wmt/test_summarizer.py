"""Summaries of branches: from the model, from its second reply, and without it."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wmt.models import DEAD, SUMMARY, Replies
from tests.wmt.test_grammar import hostile
from tests.wmt.test_selectors import bounded
from wmt.eventlog import count_events
from wmt.grammar import normal, one_line, parse, parse_summary
from wmt.memory import Action, Step, TaskOperation
from wmt.nodes import Lifecycle, Outcome, Summary
from wmt.presets import preset
from wmt.recording import RecordingMemory
from wmt.summarizer import CLOSED_WITH_PARENT, REPLY_SCHEMA


def action(text: str, outcome: Outcome = Outcome.SUCCESS) -> Action:
    return Action("read", {"page": 1}, text, outcome, {"poisoned": "PROVENANCE"})


async def folded(model: Replies, *texts: str, summarizer: str = "llm") -> RecordingMemory:
    """A branch with one action for each text, completed."""
    memory = preset("tree_summary", summarizer=summarizer).build(model)
    assert isinstance(memory, RecordingMemory)
    memory.start("Who wrote it?")
    await memory.record(Step(operation=TaskOperation("open", goal="find the year")))
    for text in texts:
        await memory.record(Step("a thought", action=action(text)))
    await memory.record(Step(operation=TaskOperation("complete", result="1912")))
    return memory


def source(memory: RecordingMemory) -> str:
    (event,) = (event for event in memory.events if event.kind == "folded")
    return str(event.detail["summarizer"])


async def test_the_model_writes_the_summary() -> None:
    model = Replies()
    memory = await folded(model, "The year was 1912.")
    assert memory.node(1).summary == Summary(
        "find the year", "1912", ("The year was 1912.",), (), ("w",)
    )
    assert source(memory) == "llm" and count_events(memory.events)["summary_fallbacks"] == 0
    (asked,) = model.requests
    assert asked.role == "summarizer" and asked.max_tokens >= 200
    assert "PROVENANCE" not in "".join(message.content for message in asked.messages)


@pytest.mark.parametrize("bad", ["", "1912", '{"result": ""}', '{"result": [1]}', '{"result": "a'])
async def test_one_retry_then_the_extractive_summary_counted(bad: str) -> None:
    model = Replies(summarizer=[bad, SUMMARY])
    assert source(await folded(model, "text")) == "llm"
    first, second = model.requests
    assert first.messages != second.messages
    memory = await folded(Replies(summarizer=[bad]), "The year was 1912.")
    assert source(memory) == "fallback" and count_events(memory.events)["summary_fallbacks"] == 1
    assert count_events(memory.events)["folds"] == 1
    summary = memory.node(1).summary
    assert summary is not None and summary.evidence == ("The year was 1912.",)


async def test_a_task_closed_with_its_parent_says_so_whoever_writes_the_summary() -> None:
    memory = preset("tree_summary").build(Replies())
    memory.start("q")
    await memory.record(Step("", TaskOperation("open", goal="outer"), action("a")))
    await memory.record(Step("", TaskOperation("open", goal="inner"), action("b")))
    await memory.record(Step("", TaskOperation("resume", task=1)))
    await memory.record(Step("", TaskOperation("complete", result="done")))
    outer, inner = memory.node(1).summary, memory.node(3).summary
    assert inner is not None and inner.unresolved == (CLOSED_WITH_PARENT,)
    assert outer is not None and outer.unresolved == ()


async def test_a_dead_server_costs_one_call() -> None:
    model = Replies(summarizer=[DEAD])
    assert source(await folded(model, "text")) == "fallback" and len(model.requests) == 1


async def test_a_branch_without_a_step_is_folded_without_a_call() -> None:
    model = Replies()
    memory = await folded(model)
    assert source(memory) == "extractive" and not model.requests
    assert memory.node(1).summary == Summary("find the year", "1912")


async def test_the_prompt_is_held_within_the_window_and_the_cut_is_counted() -> None:
    model = Replies(context_window=1200)
    memory = await folded(model, *["word " * 150] * 12)
    (event,) = (event for event in memory.events if event.kind == "folded")
    steps = parse(model.requests[0].messages[1].content)[-1].items
    assert event.detail["cut"] == 12 - len(steps) > 0
    assert [item.id for item in steps] == list(range(14 - len(steps), 14)), "the latest are kept"
    tiny = Replies(context_window=500)
    assert source(await folded(tiny, "text")) == "fallback" and not tiny.requests


@pytest.mark.parametrize("window", [720, 800, 1200])
async def test_a_step_that_exceeds_the_window_is_shortened(window: int) -> None:
    """One long page is what a small window meets first; its beginning is better than nothing."""
    model = Replies(context_window=window)
    memory = await folded(model, "The year was 1912. " + "word " * 5000)
    (event,) = (event for event in memory.events if event.kind == "folded")
    assert source(memory) == "llm" and event.detail["cut"] == 1, "a shortened step counts as cut"
    user = model.requests[0].messages[1].content
    (step,) = parse(user)[-1].items
    assert step.id == 2 and step.tool == "read" and step.thought == "a thought"
    assert step.content.startswith("The year was 1912. word") and step.content.endswith(" ...")
    used = sum((len(message.content) + 3) // 4 for message in model.requests[0].messages)
    assert window - 400 - 200 < used, "the window is used"


async def test_a_success_is_kept_before_a_later_failure() -> None:
    model = Replies(context_window=1200)
    memory = preset("wmt").build(model)
    memory.start("q")
    await memory.record(Step("", TaskOperation("open", goal="g"), action("first " * 100)))
    for _ in range(9):
        await memory.record(Step("", None, action("error " * 100, Outcome.FAILURE)))
    await memory.record(Step("", TaskOperation("complete", result="1")))
    steps = parse(model.requests[0].messages[1].content)[-1].items
    assert 1 < len(steps) < 10 and steps[0].id == 2
    assert [step.id for step in steps][1:] == list(range(12 - len(steps) + 1, 12))


async def test_a_long_step_leaves_room_for_the_others() -> None:
    model = Replies(context_window=1200)
    memory = await folded(model, "early", "page " * 5000, "page\n" * 5000, "late")
    steps = parse(model.requests[0].messages[1].content)[-1].items
    assert [step.id for step in steps] == [2, 3, 4, 5]
    assert [len(step.content) > 500 for step in steps] == [False, True, True, False]
    (event,) = (event for event in memory.events if event.kind == "folded")
    assert event.detail["cut"] == 2


async def test_two_steps_over_half_of_the_window_are_both_shown() -> None:
    model = Replies(context_window=1200)
    await folded(model, "page " * 270, "leaf " * 270)
    steps = parse(model.requests[0].messages[1].content)[-1].items
    assert [step.id for step in steps] == [2, 3]
    assert all(step.content.endswith(" ...") for step in steps)


async def test_arguments_too_long_for_the_window_drop_the_step() -> None:
    model = Replies(context_window=1200)
    memory = preset("tree_summary").build(model)
    memory.start("q")
    await memory.record(Step("", TaskOperation("open", goal="g"), action("short")))
    huge = Action("python", {"code": "x = 1\n" * 5000}, "1", Outcome.SUCCESS)
    await memory.record(Step("", None, huge))
    await memory.record(Step("", TaskOperation("complete", result="1")))
    steps = parse(model.requests[0].messages[1].content)[-1].items
    assert [step.id for step in steps] == [2]


def test_the_schema_bounds_every_string_and_list() -> None:
    assert bounded(REPLY_SCHEMA)


async def test_an_overlong_reply_is_cut() -> None:
    reply = f'{{"result": "{"r" * 5000}", "evidence": ["{"e" * 5000}"], "warnings": ["a\\nb: c"]}}'
    memory = await folded(Replies(summarizer=[reply]), "text")
    summary = memory.node(1).summary
    assert summary is not None and len(summary.result) == 400 and len(summary.evidence[0]) == 300
    assert summary.warnings == ("a b: c",)


async def test_the_extractive_summary_keeps_what_belongs_to_the_goal() -> None:
    page = "Filler about ferns. " * 30 + "The year was 1912. " + "More filler on moss. " * 30
    model = Replies()
    memory = preset("wmt", selector="lexical", summarizer="extractive").build(model)
    assert isinstance(memory, RecordingMemory)
    memory.start("q")
    await memory.record(Step("", TaskOperation("open", goal="find the year"), action(page)))
    await memory.record(Step("", None, action("Error: gone\ntrace", Outcome.FAILURE)))
    await memory.record(Step("", TaskOperation("open", goal="find the author"), action("Ana.")))
    await memory.record(Step("", TaskOperation("resume", task=1)))
    await memory.record(Step("", TaskOperation("complete")))
    summary = memory.node(1).summary
    assert summary is not None and not model.requests
    assert any("The year was 1912." in entry for entry in summary.evidence)
    assert all(len(entry) <= 300 for entry in summary.evidence)
    assert summary.warnings == ('read {"page": 1}: Error: gone',)
    assert summary.unresolved == ("find the author",)
    child = memory.node(4)
    assert (child.lifecycle, child.result) == (Lifecycle.FOLDED, CLOSED_WITH_PARENT)
    assert child.summary is not None and child.summary.unresolved == (CLOSED_WITH_PARENT,)


@given(hostile, st.lists(hostile, min_size=1, max_size=4))
@settings(max_examples=80)
def test_no_step_can_forge_another(goal: str, contents: list[str]) -> None:
    async def play() -> tuple[Replies, RecordingMemory]:
        model = Replies()
        memory = preset("tree_summary").build(model)
        assert isinstance(memory, RecordingMemory)
        memory.start("q")
        await memory.record(Step(operation=TaskOperation("open", goal=goal)))
        for text in contents:
            await memory.record(Step(text, action=action(text)))
        await memory.record(Step(operation=TaskOperation("complete", result="")))
        return model, memory

    model, memory = asyncio.run(play())
    objective, steps = parse(model.requests[0].messages[1].content)
    assert (objective.title, objective.text) == ("Objective", normal(goal))
    assert [item.id for item in steps.items] == list(range(2, 2 + len(contents)))
    assert [item.content for item in steps.items] == list(map(normal, contents))
    assert [item.thought for item in steps.items] == list(map(normal, contents))
    context = asyncio.run(memory.context())
    (item,) = {s.title: s for s in parse(context.text)}["Folded summaries"].items
    assert item.id == 1 and parse_summary(item.content).objective == one_line(goal)[:400]
