"""Quirks, endpoints, the ledger and prompts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.ledger import Meter
from agents.models.endpoints import Endpoints, OutageClock
from agents.models.quirks import Quirks
from agents.models.served import ServedModelConfig
from agents.prompts import question_text, system_prompt, user_prompt, worked_examples
from agents.prompts.examples import EXAMPLES
from agents.schema import Bounds, bounded, step_schema
from benchmarks.composition import compose
from tests.agents.fakes import FunctionTool, ScriptedChat, read, search
from wmt.chat import CallRole, ChatError, ChatRequest, Message
from wmt.grammar import parse

SYSTEM, USER, ASSISTANT = (
    Message("system", "s"),
    Message("user", "u", ("data:x",)),
    Message("assistant", "a"),
)


def test_a_refused_system_role_goes_into_the_first_user_message() -> None:
    messages = Quirks(system_role=False).apply((SYSTEM, USER, ASSISTANT, USER))
    assert [m.role for m in messages] == ["user", "assistant", "user"]
    assert (messages[0].content, messages[0].images) == ("s\n\nu", ("data:x",))


def test_alternation_joins_messages_of_one_role() -> None:
    messages = Quirks(alternation=True).apply((SYSTEM, USER, USER, ASSISTANT))
    assert [m.content for m in messages] == ["s", "u\n\nu", "a"]
    assert Quirks().apply((SYSTEM, USER, USER)) == (SYSTEM, USER, USER)


def test_the_thinking_switch() -> None:
    assert Quirks().template_switches("agent") == {}
    assert Quirks(thinking=True, thinking_switch="think").template_switches("agent") == {
        "think": True
    }
    assert Quirks(thinking=False).template_switches("agent") == {"enable_thinking": False}


@pytest.mark.parametrize("role", ["selector", "summarizer"])
def test_only_the_agent_thinks(role: CallRole) -> None:
    """Their replies are bounded to a few hundred tokens, which thinking would use up."""
    assert Quirks(thinking=True).template_switches(role) == {"enable_thinking": False}


@pytest.mark.parametrize("name", ["qwen3", "gemma4"])
def test_thinking_models_say_so_in_every_request(name: str) -> None:
    """vLLM's parser must be told, or it holds the grammar back until thinking has ended."""
    for thinking in (False, True):
        model = compose([f"model={name}", f"model.quirks.thinking={thinking}"]).cells[0].model
        assert isinstance(model, ServedModelConfig)
        assert model.quirks.template_switches("agent") == {"enable_thinking": thinking}
        assert model.quirks.template_switches("selector") == {"enable_thinking": False}


def test_least_outstanding_first_and_failures_rest() -> None:
    now = [0.0]
    endpoints = Endpoints(["a", "b"], cool_down=10, clock=lambda: now[0])
    with endpoints.use() as first, endpoints.use() as second, endpoints.use() as third:
        assert [first.url, second.url, third.url] == ["a", "b", "a"]
    endpoints.failed(first)
    with endpoints.use() as one, endpoints.use() as two:
        assert [one.url, two.url] == ["b", "b"]
    now[0] = 10.0
    with endpoints.use() as again:
        assert again.url == "a"


def test_an_outage_is_seen_while_it_lasts_and_counted_once() -> None:
    now = [5.0]
    outages = OutageClock(clock=lambda: now[0])
    assert outages.seconds == 0
    with outages.running():
        now[0] = 7.0
        with pytest.raises(KeyError), outages.running():
            now[0] = 8.0
            raise KeyError
        assert outages.seconds == 3.0
        now[0] = 9.0
    now[0] = 20.0
    assert outages.seconds == 4.0
    with outages.running():
        now[0] = 21.0
    assert outages.seconds == 5.0


def test_where_all_rest_the_next_to_wake_is_used() -> None:
    now = [0.0]
    endpoints = Endpoints(["a", "b"], cool_down=10, clock=lambda: now[0])
    for _ in range(2):
        with endpoints.use() as endpoint:
            endpoints.failed(endpoint)
        now[0] += 1
    with endpoints.use() as endpoint:
        assert endpoint.url == "a"
        endpoints.answered(endpoint)
    now[0] += 0.5
    with endpoints.use() as endpoint:
        assert endpoint.url == "a"


async def test_the_ledger_counts_every_role_and_failure() -> None:
    meter = Meter(ScriptedChat(["x", "x", ChatError("gone")]))
    requests = [ChatRequest((USER,), role, 5) for role in ("agent", "selector", "selector")]
    for request in requests[:2]:
        await meter.complete(request)
    with pytest.raises(ChatError):
        await meter.complete(requests[2])
    assert meter.totals["agent"].prompt == 100 and meter.totals["agent"].cached == 40
    assert (meter.totals["selector"].calls, meter.totals["selector"].completion) == (2, 10)
    assert meter.calls[2].finish_reason == "error"
    assert meter.total_tokens == 220 and not meter.estimated


@given(st.text(), st.lists(st.text(), max_size=3))
def test_notices_cannot_forge_structure(question: str, notices: list[str]) -> None:
    context = "Question:\n| x\n"
    text = user_prompt(context, [*notices, question], step=2, last_step=10)
    titles = [section.title for section in parse(text)]
    quoted = any("\n".join([*notices, question]).splitlines())
    assert titles[0] == "Question" and set(titles[1:]) <= {"Notices"}
    assert not quoted or titles == ["Question", "Notices"]


def test_the_system_prompt_names_tools_and_their_arguments() -> None:
    text = system_prompt([search(), read()], "Answer with a number.")
    assert '- search: does search Arguments: {"query": string}' in text
    assert '{"document": integer; "page": integer (optional)}' in text
    assert "Answer with a number." in text and "Action Input" not in text
    assert "Action Input:" in system_prompt([search()], "", plain_text=True)


def test_the_prompts_line_by_line() -> None:
    lines = user_prompt("Question:\n| x\n", ["no such task"], step=2, last_step=10).split("\n")
    assert lines == ["Question:", "| x", "Notices:", "| no such task", "Give step 2 of at most 10."]
    last = user_prompt("Question:\n| x", [], step=10, last_step=10).split("\n")
    assert last[:2] == ["Question:", "| x"] and len(last) == 3 and "final_answer" in last[2]
    system = system_prompt([search()], "Be brief.").split("\n")
    assert system[-4].startswith("Text behind > and |") and system[-2:] == [
        "The answer:",
        "Be brief.",
    ]


def test_question_text() -> None:
    assert question_text("q") == "q"


@pytest.mark.parametrize("plain_text", [False, True])
def test_worked_examples_are_valid_steps_of_their_tools(plain_text: bool) -> None:
    from agents.actions import parse_reply

    tools = {tool.name: tool.parameters for tool in (search(), read())}
    turns = worked_examples(tools, EXAMPLES, plain_text=plain_text)
    assert [m.role for m in turns] == ["user", "assistant"] * (len(turns) // 2)
    for prompt, reply in zip(turns[::2], turns[1::2], strict=True):
        assert parse(prompt.content)[0].title == "Question"
        step = parse_reply(reply.content, tools, plain_text=plain_text)
        assert (step.problem, step.format_errors) == ("", ())
    assert any(parse_reply(m.content, tools, plain_text=plain_text).answer for m in turns[1::2])


def test_an_example_without_its_tools_is_left_out() -> None:
    assert worked_examples(["browse"], EXAMPLES) == ()


def test_every_string_of_the_schema_is_bounded() -> None:
    nested = FunctionTool(
        "t", str, {"a": {"type": "array", "items": {"type": "string"}}, "b": {"enum": ["x"]}}
    )
    schema = step_schema([nested], Bounds(50, 40, 30))
    text = json.dumps(schema)
    assert text.count('"type": "string"') == text.count('"maxLength"') + text.count(
        '"enum": ["t"]'
    ) + text.count('"enum": ["final_answer"]')
    assert schema["properties"]["thought"]["maxLength"] == 50
    assert '"maxItems": 20' in text
    own = {"type": "string", "maxLength": 5}
    assert bounded(own, 100) == own
