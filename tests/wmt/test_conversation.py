"""The end of a question, conversation mode, and global memories (sections 2.2, 2.3 and 2.5)."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tests.wmt.test_lifecycle import TREES, act, do, open_task, resume, start
from wmt.grammar import parse, parse_summary
from wmt.nodes import Lifecycle, NodeKind
from wmt.presets import NAMES, preset
from wmt.tree_memory import TreeMemory


@pytest.mark.parametrize("name", NAMES)
async def test_the_final_answer_completes_the_root_without_a_summary_call(name: str) -> None:
    memory = start(name, summarizer="llm") if name in TREES else start(name)
    await do(memory, open_task(), act())
    await memory.finish("1912")
    assert memory.node(0).lifecycle is Lifecycle.COMPLETED and memory.node(0).result == "1912"
    assert memory.node(1).lifecycle is Lifecycle.COMPLETED
    assert "folded" not in {event.kind for event in memory.events}
    for late in (memory.context(), do(memory), memory.finish("again")):
        with pytest.raises(RuntimeError, match="start"):
            await late
    with pytest.raises(RuntimeError, match="fresh"):
        memory.start("another question")


async def test_an_episode_without_an_answer_leaves_the_root_open() -> None:
    memory = start()
    await do(memory, open_task(), act())
    await memory.finish(None)
    assert {node.lifecycle for node in memory.tree.nodes.values()} == {Lifecycle.ACTIVE}


async def test_conversation_mode_promotes_the_root_summary_and_goes_on() -> None:
    memory = start(conversation=True, selected="[3]")
    assert isinstance(memory, TreeMemory)
    await do(memory, open_task(), act())
    await memory.finish("1912")
    (promoted,) = (event for event in memory.events if event.kind == "promoted")
    known = memory.node(promoted.node)
    assert (known.id, known.kind, known.parent) == (3, NodeKind.GLOBAL, None)
    assert parse_summary(known.content).result == "1912" and known.score == 0.6
    memory.start("second question")
    assert memory.tree.path == (4,) and memory.pool() == (3, 4)
    first = await memory.context()
    assert first.selected == (3, 4) and known.missed == 0, "selected, so nothing decays"
    assert "[3] global, active" in first.text
    recorded = await do(memory, resume(1))
    assert len(recorded.refused) == 1, "a task of an earlier question"
    await memory.finish("the second answer")
    memory.start("third question")
    assert memory.pool() == (3, 5, 6)
    await memory.context()
    assert memory.node(5).score == pytest.approx(0.6 * 0.95) and memory.node(5).missed == 1
    await memory.context()
    assert memory.node(5).score == pytest.approx(0.6 * 0.95**2) and memory.node(5).missed == 1


async def test_a_global_memory_has_no_branch_and_no_priority() -> None:
    memory = start()
    memory.add_global("known before")
    await memory.context()
    (asked,) = memory._synthesizer._model.requests  # type: ignore[attr-defined]
    (item,) = parse(asked.messages[1].content)[1].items
    assert (item.kind, item.score, item.priority) == ("global", 0.6, None)


def test_switches_that_do_not_go_together_are_refused() -> None:
    for keys in (
        {"suppression": True},
        {"selection": "branches"},
        {"selection": "relevance_scores"},
    ):
        with pytest.raises(ValidationError, match="scoring"):
            preset("wmt", **{"scoring": False, "suppression": False, "selection": "none", **keys})
    with pytest.raises(ValidationError, match="foo"):
        preset("linear", foo=1)
