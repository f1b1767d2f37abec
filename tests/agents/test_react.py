"""The loop: its limits, its failures, and what it tells memory and model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agents.ledger import Meter
from agents.react import AgentConfig, run_episode
from agents.tools.base import ToolResult
from agents.trace import EpisodeRecord
from benchmarks.composition import compose
from tests.agents.fakes import FunctionTool, ListMemory, ScriptedChat, read, search, step_json
from wmt.chat import ChatError, ChatRequest, Completion, ContextOverflow, Usage
from wmt.memory import TaskOperation
from wmt.nodes import Outcome


async def run(
    replies: Any, memory: ListMemory | None = None, tools: Any = None, **limits: Any
) -> tuple[EpisodeRecord, ScriptedChat, ListMemory]:
    window = limits.pop("window", 8000)
    chat = replies if isinstance(replies, ScriptedChat) else ScriptedChat(replies, window)
    memory = memory or ListMemory()
    config = AgentConfig(**{"max_new_tokens": 100, **limits})
    record = await run_episode(
        "Where is it?", memory, Meter(chat), tools or [search(), read()], config
    )
    return record, chat, memory


def user_texts(chat: ScriptedChat) -> list[str]:
    return [request.messages[-1].content for request in chat.requests]


async def test_answers_and_records_every_step() -> None:
    record, chat, memory = await run(
        [
            step_json("search", {"query": "it"}, operation={"open": "find it"}),
            step_json("read", {"document": 3}, operation={"complete": "here"}),
            step_json("final_answer", {"answer": "here"}),
        ]
    )
    assert (record.status, record.answer, record.error) == ("answered", "here", "")
    assert [step.tool for step in record.steps] == ["search", "read", "final_answer"]
    assert record.steps[0].observation == "found it"
    assert record.steps[0].operation == {"open": "find it"}
    assert record.steps[1].operation == {"complete": "here"}
    assert memory.steps[0].operation == TaskOperation("open", goal="find it")
    assert memory.steps[1].operation == TaskOperation("complete", result="here")
    assert memory.steps[2].action is None
    assert memory.finished == ["here"]
    assert "| found it" in user_texts(chat)[1]
    assert "search: does search" in chat.requests[0].messages[0].content
    assert chat.requests[0].json_schema is not None


async def test_events_and_calls_are_given_to_their_steps_once() -> None:
    record, _, memory = await run(
        [step_json("search", {"query": "a"}), step_json("final_answer", {"answer": "b"})]
    )
    assert [[event["kind"] for event in step.events] for step in record.steps] == [
        ["started", "created"],
        ["created", "completed"],
    ]
    assert sum(len(step.events) for step in record.steps) == len(memory.events)
    assert [[call.role for call in step.calls] for step in record.steps] == [["agent"], ["agent"]]
    assert record.steps[0].calls[0].cached_tokens == 40


async def test_attached_files_are_part_of_the_question() -> None:
    memory = ListMemory()
    chat = ScriptedChat([step_json("final_answer", {"answer": "x"})])
    await run_episode(
        "How many?", memory, chat, [], AgentConfig(), files=[Path("/data/a.csv"), Path("b.txt")]
    )
    assert memory.question == "How many?\n\nAttached files: a.csv, b.txt"


async def test_step_limit() -> None:
    record, chat, memory = await run([step_json("search", {"query": "a"})], max_steps=3)
    assert (record.status, record.answer, len(record.steps)) == ("step_limit", None, 3)
    assert memory.finished == [None]
    assert "the last" in user_texts(chat)[2] and "the last" not in user_texts(chat)[1]


async def test_token_limit() -> None:
    record, _, _ = await run([step_json("search", {"query": "a"})], max_total_tokens=250)
    assert (record.status, len(record.steps)) == ("token_limit", 3)


async def test_time_limit_covers_tool_calls_and_keeps_the_broken_step() -> None:
    class Hanging(FunctionTool):
        async def call(self, arguments: dict[str, Any]) -> ToolResult:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

    record, _, memory = await run(
        [step_json("hang", {"query": "a"})], tools=[Hanging("hang", str)], max_seconds=0.05
    )
    assert (record.status, record.answer) == ("time_limit", None)
    assert len(record.steps) == 1 and len(record.steps[0].calls) == 1
    assert memory.finished == [None]


async def test_answer_in_time_stands_when_the_memory_takes_too_long() -> None:
    class Slow(ListMemory):
        async def record(self, step: Any) -> Any:
            await asyncio.Event().wait()

    record, _, memory = await run(
        [step_json("final_answer", {"answer": "b"})], Slow(), max_seconds=0.05
    )
    assert (record.status, record.answer, memory.finished) == ("answered", "b", ["b"])


async def test_a_tools_own_timeout_is_not_the_question_s() -> None:
    def late(query: str) -> str:
        raise TimeoutError("socket")

    with pytest.raises(TimeoutError, match="socket"):
        await run([step_json("late", {"query": "a"})], tools=[FunctionTool("late", late)])


async def test_prompt_over_the_window_is_never_sent() -> None:
    long = FunctionTool("search", lambda query: "word " * 2000)
    record, chat, _ = await run([step_json("search", {"query": "a"})], tools=[long], window=1200)
    assert (record.status, record.answer) == ("context_limit", None)
    assert len(chat.requests) == 1


async def test_memory_is_told_what_the_window_leaves() -> None:
    _, _, memory = await run([step_json("final_answer", {"answer": "x"})], window=2000)
    assert memory.available[0] is not None and 0 < memory.available[0] < 2000 - 100


async def test_dead_server_is_data() -> None:
    record, _, memory = await run([ChatError("no answer from http://127.0.0.1:1/v1")])
    assert record.status == "error" and "no answer" in record.error
    assert record.steps[0].calls[0].finish_reason == "error"
    assert memory.finished == [None]


async def test_tool_error_is_a_failed_action() -> None:
    record, _, memory = await run(
        [step_json("read", {"document": 10}), step_json("final_answer", {"answer": "x"})]
    )
    assert record.steps[0].outcome == "failure"
    assert memory.steps[0].action is not None
    assert memory.steps[0].action.observation == "there is no such document"
    assert memory.steps[0].action.outcome is Outcome.FAILURE


async def test_a_bug_in_a_tool_propagates() -> None:
    def broken(query: str) -> str:
        raise KeyError("bug")

    with pytest.raises(KeyError):
        await run([step_json("b", {"query": "a"})], tools=[FunctionTool("b", broken)])


async def test_unusable_reply_is_a_failed_action_and_a_notice() -> None:
    record, chat, memory = await run(["I do not know", step_json("final_answer", {"answer": "x"})])
    action = memory.steps[0].action
    assert action is not None
    assert (action.tool, action.arguments, action.outcome) == ("invalid_reply", {}, Outcome.FAILURE)
    assert "held no action" in action.observation
    assert "no_action" in record.steps[0].format_errors
    assert "Notices:\n| Your reply held no action" in user_texts(chat)[1]


async def test_refusals_are_said_in_the_next_prompt_and_not_after() -> None:
    memory = ListMemory(refuse=("the question itself\ncannot be completed",))
    replies = [step_json("search", {"query": "a"}, operation={"complete": "x"})]
    record, chat, _ = await run(replies, memory, max_steps=2)
    assert record.steps[0].refused == ["the question itself\ncannot be completed"]
    first, second = user_texts(chat)
    assert "Notices:" not in first
    assert "Notices:\n| the question itself\n| cannot be completed\n" in second


async def test_reply_cut_at_the_limit() -> None:
    loop = Completion('{"thought": "and and and and', "length", Usage(5, 5), 0.0)
    record, _, memory = await run([loop, step_json("final_answer", {"answer": "x"})])
    assert record.status == "answered"
    assert "cut_reply" in record.steps[0].format_errors
    assert memory.steps[0].action is not None
    assert "cut at the token limit" in memory.steps[0].action.observation


async def test_long_observation_is_cut_the_same_for_every_memory() -> None:
    page = FunctionTool("search", lambda query: "x" * 300_000)
    record, _, _ = await run(
        [step_json("search", {"query": "a"}), step_json("final_answer", {"answer": "x"})],
        tools=[page],
        max_observation_chars=500,
    )
    assert record.steps[0].observation is not None
    assert record.steps[0].observation.startswith("x" * 500 + "\n[cut: the first 500 of 300000")


async def test_images_are_shown_with_the_next_prompt_only() -> None:
    see = FunctionTool("see", lambda query: ToolResult("a picture", images=("data:image/png,x",)))
    _, chat, _ = await run(
        [step_json("see", {"query": "a"}), step_json("search", {"query": "b"})],
        tools=[see, search()],
        max_steps=3,
    )
    assert [request.messages[-1].images for request in chat.requests] == [
        (),
        ("data:image/png,x",),
        (),
    ]


async def test_plain_text_where_the_server_has_no_structured_output() -> None:
    class NoSchema(ScriptedChat):
        structured_output = False

    chat = NoSchema(
        [
            'Thought: look\nTask: open: find it\nAction: search\nAction Input: {"query": "q"}',
            "Thought: done\nFinal Answer: 42",
        ]
    )
    record, _, _ = await run(chat)
    assert (record.status, record.answer) == ("answered", "42")
    assert record.steps[0].operation == {"open": "find it"}
    assert [step.format_errors for step in record.steps] == [[], []]
    assert chat.requests[0].json_schema is None
    assert "Action Input:" in chat.requests[0].messages[0].content


async def test_memory_time_is_without_its_model_calls() -> None:
    class Selecting(ListMemory):
        meter: Meter

        async def context(self, available_tokens: int | None = None) -> Any:
            await self.meter.complete(chat.requests[0] if chat.requests else request)
            return await super().context(available_tokens)

    class SlowChat(ScriptedChat):
        async def complete(self, request: Any) -> Completion:
            await asyncio.sleep(0.05)
            return await super().complete(request)

    from wmt.chat import ChatRequest, Message

    request = ChatRequest((Message("user", "x"),), "selector", 10)
    chat = SlowChat([step_json("final_answer", {"answer": "x"})])
    memory = Selecting()
    memory.meter = Meter(chat)
    record = await run_episode("q", memory, memory.meter, [], AgentConfig())
    assert [call.role for call in record.steps[0].calls] == ["selector", "agent"]
    assert record.steps[0].memory_seconds < 0.05


async def test_a_lone_surrogate_in_question_or_observation_breaks_nothing() -> None:
    odd = FunctionTool("search", lambda query: "found \ud800 it")
    chat = ScriptedChat(
        [step_json("search", {"query": "a"}), step_json("final_answer", {"answer": "x"})]
    )
    record = await run_episode("Where \udcff?", ListMemory(), chat, [odd], AgentConfig())
    assert record.status == "answered"
    assert record.steps[0].observation == "found \ufffd it"
    assert "Where \ufffd?" in user_texts(chat)[0]
    record.model_dump_json()


async def test_a_call_that_the_time_limit_cuts_off_is_counted_by_its_prompt() -> None:
    class Hanging(ScriptedChat):
        async def complete(self, request: ChatRequest) -> Completion:
            self.requests.append(request)
            if len(self.requests) > 1:
                await asyncio.Event().wait()
            return await super().complete(request)

    chat = Hanging([step_json("search", {"query": "a"})])
    meter = Meter(chat)
    config = AgentConfig(max_seconds=0.1)
    record = await run_episode("q", ListMemory(), meter, [search()], config)
    assert record.status == "time_limit"
    cut = meter.calls[-1]
    words = sum(len(message.content.split()) for message in chat.requests[-1].messages)
    assert (cut.role, cut.finish_reason, cut.estimated) == ("agent", "cut_off", True)
    assert (cut.prompt_tokens, cut.completion_tokens) == (words, 0)
    assert meter.estimated and meter.totals["agent"].calls == 2
    assert [call.finish_reason for step in record.steps for call in step.calls] == [
        "stop",
        "cut_off",
    ]


async def test_a_cut_off_call_is_counted_even_if_the_server_is_gone() -> None:
    class Gone(ScriptedChat):
        async def complete(self, request: ChatRequest) -> Completion:
            self.gone = True
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

        async def count_tokens(self, text: str) -> int:
            if getattr(self, "gone", False):
                raise ChatError("gone")
            return await super().count_tokens(text)

    meter = Meter(Gone([]))
    record = await run_episode("q", ListMemory(), meter, [search()], AgentConfig(max_seconds=0.05))
    assert record.status == "time_limit"
    assert [call.finish_reason for call in meter.calls] == ["cut_off"]
    assert meter.calls[0].prompt_tokens > 0


@pytest.mark.parametrize("failure", [ChatError("gone"), ContextOverflow("too long")])
async def test_an_answer_stands_when_the_memory_s_last_work_fails(failure: ChatError) -> None:
    class Failing(ListMemory):
        async def record(self, step: Any) -> Any:
            raise failure

        async def finish(self, answer: str | None) -> None:
            await super().finish(answer)
            raise failure

    record, _, memory = await run([step_json("final_answer", {"answer": "b"})], Failing())
    assert (record.status, record.answer, record.error) == ("answered", "b", "")
    assert memory.finished == ["b"]


async def test_time_that_ran_out_while_the_server_restarted_is_an_error() -> None:
    """Errors are tried again on resume; a time limit would stay a wrong answer."""

    class Restarting(ScriptedChat):
        outage_seconds = 7.0

        async def complete(self, request: ChatRequest) -> Completion:
            self.outage_seconds += 60.0
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

    record, _, _ = await run(Restarting([]), max_seconds=0.05)
    assert record.status == "error" and "restarted" in record.error
    assert record.answer is None


async def test_images_take_room_in_the_window() -> None:
    images = tuple(f"data:image/png,{number}" for number in range(20))
    see = FunctionTool("see", lambda query: ToolResult("pictures", images=images))
    record, chat, memory = await run(
        [step_json("see", {"query": "a"}), step_json("final_answer", {"answer": "x"})],
        tools=[see],
        window=4000,
    )
    assert record.status == "context_limit" and len(chat.requests) == 1
    first, second = memory.available
    assert first is not None and first > 3000 and second == 0


async def test_a_task_can_be_opened_under_a_named_task_of_the_path() -> None:
    """Spec 3: under the active task, or under a named task of the path."""
    chat = ScriptedChat(
        [
            step_json("search", {"query": "a"}, operation={"open": "first"}),
            step_json("search", {"query": "b"}, operation={"open": "second", "under": 0}),
            step_json("search", {"query": "c"}, operation={"open": "third", "under": 1}),
            step_json("final_answer", {"answer": "x"}),
        ]
    )
    config = compose(["model=simulated", "dataset=archive", "memory=unweighted"]).cells[0].memory
    meter = Meter(chat)
    memory = config.build(meter)
    limits = AgentConfig(max_new_tokens=100)
    record = await run_episode("Where?", memory, meter, [search()], limits)
    paths = [step.context.active_path for step in record.steps]
    assert paths == [[0], [0, 1], [0, 3], [0, 3]]
    assert record.steps[1].operation == {"open": "second", "under": 0}
    assert record.steps[2].refused == ["A task can only be opened under a task of the path: 0, 3."]
    assert '"under": number' in chat.requests[0].messages[0].content
    schema = json.dumps(chat.requests[0].json_schema)
    assert '"under": {"type": "integer"}' in schema


async def test_small_models_are_spared_the_parent() -> None:
    _, chat, _ = await run([step_json("final_answer", {"answer": "x"})], guided=True)
    assert "under" not in json.dumps(chat.requests[0].json_schema)
    assert '"under"' not in chat.requests[0].messages[0].content
