"""What models really send, and what becomes of it. Each repair is named, none raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.actions import INVALID_REPLY, Reply, parse_reply
from agents.fields import read_arguments, read_operation
from wmt.memory import TaskOperation

TOOLS: dict[str, dict[str, Any]] = {
    "search": {
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["query"],
    },
    "now": {"type": "object", "properties": {}},
    "sum": {
        "type": "object",
        "properties": {"numbers": {"type": "array", "items": {"type": "number"}}},
        "required": ["numbers"],
    },
}
STEP = (
    '{"thought": "look", "task_operation": {"open": "find x"}, '
    '"action": {"tool": "search", "arguments": {"query": "x"}}}'
)


def parse(text: str, **options: Any) -> Reply:
    return parse_reply(text, TOOLS, **options)


def is_the_step(reply: Reply) -> bool:
    return (
        reply.thought == "look"
        and reply.operation == TaskOperation("open", goal="find x")
        and (reply.tool, reply.arguments, reply.problem) == ("search", {"query": "x"}, "")
    )


def test_a_plain_step_needs_no_repair() -> None:
    reply = parse(STEP)
    assert is_the_step(reply) and reply.format_errors == () and reply.answer is None


def test_final_answer() -> None:
    reply = parse('{"thought":"","action":{"tool":"final_answer","arguments":{"answer":"42"}}}')
    assert reply.answer == "42"


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        (f"<think>I should {{look}}</think>\n{STEP}", {"thinking_in_text"}),
        (f"I should look</think>{STEP}", {"thinking_in_text"}),
        (f"<|channel>thought\nhm\n<channel|>{STEP}", {"thinking_in_text"}),
        (f"[THINK]hm[/THINK]{STEP}", {"thinking_in_text"}),
        (f"<think>so the step is {STEP}", {"unclosed_thinking", "step_in_reasoning"}),
        (f"<|channel>thought so {STEP}", {"unclosed_thinking", "step_in_reasoning"}),
        (f"```json\n{STEP}\n```", {"fenced_json"}),
        (f"```\n{STEP}\n```", {"fenced_json"}),
        (f"Here it is:\n```json\n{STEP}\n```\nDone.", {"text_before_step", "text_after_step"}),
        (f"{STEP}\nObservation: found\n", {"text_after_step"}),
        (f"{STEP}\nObservation: found y\n{STEP.replace('x', 'y')}", {"several_actions"}),
        (f"[{STEP}, {STEP.replace('x', 'y')}]", {"several_actions"}),
        (STEP.replace("}}}", "},}}"), {"trailing_comma"}),
        (str(json.loads(STEP)), {"python_literal"}),
        (STEP[:-1] + ', "more": "and and and', {"cut_reply"}),
        (
            '{"thought": "look", "task_operation": {"open": "find x"}, '
            '"action": [{"tool": "search", "arguments": {"query": "x"}}, {"tool": "now"}]}',
            {"several_actions"},
        ),
        (STEP.replace('"tool": "search", "arguments":', '"search":'), {"tool_as_key"}),
        (
            '{"thought": "look", "task_operation": {"open": "find x"}, "action": "search", '
            '"action_input": {"query": "x"}}',
            {"action_as_string"},
        ),
    ],
)
def test_repairs(text: str, errors: set[str]) -> None:
    reply = parse(text)
    assert is_the_step(reply)
    assert errors <= set(reply.format_errors)


@pytest.mark.parametrize(
    "text",
    [
        "[search(query='x')]",
        "<|python_tag|>search.call(query='x')",
        '<|python_tag|>search(query="x")',
        "I call search('x') now",
        '<|python_tag|>{"name": "search", "parameters": {"query": "x"}}',
        '<tool_call>\n{"name": "search", "arguments": {"query": "x"}}\n</tool_call>',
        '{"type": "function", "function": {"name": "search", "arguments": {"query": "x"}}}',
        '{"tool": "search", "query": "x"}',
        '{"search": {"query": "x"}}',
        "Thought: look\nAction: search\nAction Input: x\nObservation: y\nAction: now",
        '**Action:** search\n**Action Input:** ```json\n{"query": "x"}\n```',
        "Action: search(query='x')",
    ],
)
def test_calls_in_other_shapes(text: str) -> None:
    reply = parse(text)
    assert (reply.tool, reply.arguments, reply.problem) == ("search", {"query": "x"}, "")
    assert reply.format_errors


def test_the_first_of_several_bare_calls_counts() -> None:
    reply = parse("[search(query='x'), search(query='y')]")
    assert reply.arguments == {"query": "x"}
    assert {"bare_call", "several_actions"} <= set(reply.format_errors)


@pytest.mark.parametrize(
    ("arguments", "expected", "error"),
    [
        ('"x"', {"query": "x"}, "arguments_as_string"),
        (r'"{\"query\": \"x\"}"', {"query": "x"}, "arguments_as_string"),
        ('["x", 3]', {"query": "x", "limit": 3}, "arguments_as_list"),
        ('[{"query": "x"}]', {"query": "x"}, "arguments_as_list"),
        ('{"query": "x", "limit": "3"}', {"query": "x", "limit": 3}, "coerced_argument"),
        ('{"query": 12}', {"query": "12"}, "coerced_argument"),
        ('{"query": ["a", "b"]}', {"query": "a, b"}, "coerced_argument"),
        ('{"query": "x", "sort": "up"}', {"query": "x"}, "unknown_argument"),
    ],
)
def test_arguments(arguments: str, expected: dict[str, Any], error: str) -> None:
    reply = parse(f'{{"action": {{"tool": "search", "arguments": {arguments}}}}}')
    assert (reply.arguments, reply.problem) == (expected, "")
    assert error in reply.format_errors


def test_null_arguments_are_fine_where_none_are_needed() -> None:
    assert parse('{"action": {"tool": "now", "arguments": null}}').problem == ""
    reply = parse('{"action": {"tool": "search", "arguments": null}}')
    assert reply.problem == "Missing argument: query."
    assert (reply.tool, reply.arguments) == ("search", {})
    assert {"arguments_null", "missing_argument"} <= set(reply.format_errors)


def test_one_number_for_a_list() -> None:
    assert read_arguments({"numbers": 3}, TOOLS["sum"])[0] == {"numbers": [3]}


def test_unknown_tool_is_said_to_the_model() -> None:
    reply = parse('{"action": {"tool": "browse", "arguments": {"url": "u"}}}')
    assert reply.tool == "browse" and "search, now, sum, final_answer" in reply.problem
    assert reply.arguments == {"url": "u"}


@pytest.mark.parametrize(
    ("text", "finish", "error"),
    [
        ("", "stop", "empty_reply"),
        ("   \n", "stop", "empty_reply"),
        ("I think the answer is near.", "stop", "no_action"),
        ('{"thought": "and and and and and', "length", "cut_reply"),
        ('{"thought": "look", "action": {"tool": "search", "argum', "length", "cut_reply"),
        ("{}", "stop", "no_action"),
        ('{"thought": "hm", "task_operation": null}', "stop", "no_action"),
    ],
)
def test_replies_without_an_action(text: str, finish: str, error: str) -> None:
    reply = parse(text, finish_reason=finish)
    assert reply.tool == INVALID_REPLY and reply.problem
    assert error in reply.format_errors


def test_half_an_argument_is_never_run() -> None:
    reply = parse(
        '{"thought": "t", "action": {"tool": "search", "arguments": {"query": "half a que',
        finish_reason="length",
    )
    assert reply.problem and reply.arguments == {}


def test_separate_reasoning_counts_only_without_content() -> None:
    assert is_the_step(parse(STEP, reasoning='{"action": {"tool": "now"}}'))
    reply = parse("", reasoning=f"So: {STEP}")
    assert is_the_step(reply) and "step_in_reasoning" in reply.format_errors


@pytest.mark.parametrize("tag", ["<think>", "</think>", "<|channel>thought", "[/THINK]"])
def test_a_tag_that_a_step_quotes_is_no_thinking(tag: str) -> None:
    reply = parse(STEP.replace('"look"', f'"the page says {tag}"'))
    assert (reply.thought, reply.tool) == (f"the page says {tag}", "search")
    assert reply.format_errors == ()


def test_braces_in_prose_do_not_hide_a_step() -> None:
    assert is_the_step(parse(f"The set {{a, b}} and the open {{ brace. {STEP}"))


@pytest.mark.parametrize(
    "text", [STEP.replace("look", "lo\ud800ok"), STEP.replace("look", r"\ud800")]
)
def test_lone_surrogates_never_leave(text: str) -> None:
    thought = parse(text).thought
    assert "\ufffd" in thought
    assert thought.encode()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ({}, None),
        ("none", None),
        ({"open": "g", "complete": None}, TaskOperation("open", goal="g")),
        ({"open": "g", "under": 0}, TaskOperation("open", goal="g", parent=0)),
        ({"open": "g", "under": "[12]"}, TaskOperation("open", goal="g", parent=12)),
        ({"open": "g", "under": None}, TaskOperation("open", goal="g")),
        ({"complete": 1844}, TaskOperation("complete", result="1844")),
        ({"complete": {"result": "r"}}, TaskOperation("complete", result="r")),
        ({"resume": "[3]"}, TaskOperation("resume", task=3)),
        ("open: find it", TaskOperation("open", goal="find it")),
        ('{"complete": "r"}', TaskOperation("complete", result="r")),
    ],
)
def test_task_operations(value: Any, expected: TaskOperation | None) -> None:
    assert read_operation(value) == (expected, [])


@pytest.mark.parametrize(
    "value", [{"resume": "x"}, {"resume": True}, {"close": 1}, 7, [1], "later"]
)
def test_bad_task_operations_are_named(value: Any) -> None:
    assert read_operation(value) == (None, ["bad_task_operation"])


def test_plain_text_format() -> None:
    reply = parse(
        "Thought: it is\nlong\nTask: complete: 1844\nAction: final_answer\n"
        'Action Input: {"answer": "1844"}',
        plain_text=True,
    )
    assert reply.thought == "it is\nlong"
    assert reply.operation == TaskOperation("complete", result="1844")
    assert reply.answer == "1844" and reply.format_errors == ()


def test_plain_text_with_a_self_written_observation() -> None:
    text = "Action: search\nAction Input: x\nObservation: y\nThought: so\nFinal Answer: y"
    reply = parse(text, plain_text=True)
    assert (reply.tool, reply.arguments) == ("search", {"query": "x"})
    assert "text_after_step" in reply.format_errors


FRAGMENTS = st.sampled_from(
    [STEP, "{", "}", "[", "]", '"', "'", "\\", "<think>", "</think>", "<|channel>thought",
     "<channel|>", "```json", "search(", ")", "Action:", "Action Input:", "Observation:",
     '{"action":', '"arguments": ', "null", "NaN", "1e999", "9" * 5000, "\ud800", "\u2028", "\x00",
     '{"a":' * 2000, "[" * 2000]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(st.text(), st.lists(st.one_of(FRAGMENTS, st.text(max_size=5)), max_size=12)),
    st.text(max_size=20),
    st.booleans(),
)
def test_never_raises(text: Any, reasoning: str, plain: bool) -> None:
    text = text if isinstance(text, str) else "".join(text)
    reply = parse_reply(text, TOOLS, reasoning=reasoning, plain_text=plain)
    # What comes out can be written to disk and sent to a server.
    json.dumps([reply.thought, reply.arguments, reply.tool], allow_nan=False).encode()
    "".join([reply.thought, reply.tool, reply.problem]).encode()
    assert bool(reply.problem) or reply.tool in {*TOOLS, "final_answer"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["tool", "action", "arguments", "thought", "task_operation", "open", "q"]
            )
            | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(JSON)
def test_never_raises_on_any_json(value: Any) -> None:
    reply = parse(json.dumps(value))
    assert bool(reply.problem) or reply.tool in {*TOOLS, "final_answer"}


@given(st.text(max_size=40), st.text(max_size=40), st.text(min_size=1, max_size=40))
def test_what_a_good_model_writes_comes_through_unchanged(
    thought: str, query: str, goal: str
) -> None:
    value = {
        "thought": thought,
        "task_operation": {"open": goal},
        "action": {"tool": "search", "arguments": {"query": query}},
    }
    reply = parse(json.dumps(value))
    assert (reply.thought, reply.arguments) == (thought, {"query": query})
    if goal.strip():
        assert reply.operation == TaskOperation("open", goal=goal)
