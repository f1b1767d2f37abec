"""What the guide leaves to a model that is too small to plan."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from agents.guide import StepSchemas, offer
from agents.react import AgentConfig, run_episode
from agents.schema import Bounds, step_schema
from tests.agents.fakes import ListMemory, ScriptedChat, read, search, step_json

TOOLS = (search(), read())


def names(schema: dict[str, object]) -> set[str]:
    """Tools that a schema allows."""
    text = json.dumps(schema)
    return {name for name in ("search", "read", "final_answer") if f'["{name}"]' in text}


def test_without_the_guide_every_step_may_do_everything() -> None:
    schemas = StepSchemas(TOOLS, Bounds(80, 80, 80), guided=False)
    first = schemas.of(step=1, last_step=5, task_open=False, last_tool=None)
    assert first is schemas.of(step=5, last_step=5, task_open=True, last_tool="read")
    assert first == step_schema(TOOLS, Bounds(80, 80, 80))
    assert names(first) == {"search", "read", "final_answer"}


def test_the_order_of_a_guided_episode() -> None:
    first = offer(TOOLS, step=1, last_step=5, task_open=False, last_tool=None)
    assert (first.operations, first.tools, first.answer) == (("open",), ("search", "read"), False)
    second = offer(TOOLS, step=2, last_step=5, task_open=True, last_tool="search")
    assert (second.operations, second.tools, second.answer) == (("none",), ("read",), False)
    third = offer(TOOLS, step=3, last_step=5, task_open=True, last_tool="read")
    assert (third.operations, third.answer) == (("none", "complete"), True)
    after = offer(TOOLS, step=4, last_step=5, task_open=False, last_tool="read")
    assert after.operations == ("none", "open")
    last = offer(TOOLS, step=5, last_step=5, task_open=True, last_tool="search")
    assert (last.tools, last.answer) == ((), True)


@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.booleans(),
    st.sampled_from([None, "search", "read", "invalid_reply"]),
    st.lists(st.sampled_from(TOOLS), unique=True, max_size=2),
)
def test_something_is_always_left(
    step: int, last_step: int, task_open: bool, last_tool: str | None, tools: list[object]
) -> None:
    schemas = StepSchemas(tools, Bounds(80, 80, 80), guided=True)  # type: ignore[arg-type]
    schema = schemas.of(
        step=min(step, last_step), last_step=last_step, task_open=task_open, last_tool=last_tool
    )
    assert schema["properties"]["action"]["anyOf"]
    assert schema["properties"]["task_operation"]["anyOf"]


async def test_the_loop_passes_the_guide_on() -> None:
    chat = ScriptedChat(
        [
            step_json("search", {"query": "a"}, operation={"open": "find a"}),
            step_json("read", {"document": 1}),
            step_json("final_answer", {"answer": "x"}),
        ]
    )
    config = AgentConfig(guided=True, max_steps=5, max_new_tokens=100)
    await run_episode("q", ListMemory(), chat, list(TOOLS), config)
    allowed = [names(request.json_schema or {}) for request in chat.requests]
    assert allowed == [{"search", "read"}, {"read"}, {"search", "final_answer"}]
