"""A long history is cut by the memory to what the window leaves; it never ends the episode."""

from __future__ import annotations

import pytest

from agents.ledger import Meter
from agents.models.tokens import open_counter
from agents.react import AgentConfig, run_episode
from tests.agents.fakes import FunctionTool, ScriptedChat, step_json
from wmt.chat import ChatRequest, Completion
from wmt.presets import preset


class CountingChat(ScriptedChat):
    """Counts with a real tokenizer and keeps the size of every prompt."""

    sizes: list[int]

    async def count_tokens(self, text: str) -> int:
        self.counter = getattr(self, "counter", None) or await open_counter(None, "m", None)
        return await self.counter.count(text)

    async def complete(self, request: ChatRequest) -> Completion:
        size = sum([await self.count_tokens(message.content) for message in request.messages])
        self.sizes = [*getattr(self, "sizes", []), size]
        return await super().complete(request)


@pytest.mark.parametrize("name", ["linear", "wmt", "unweighted", "window"])
async def test_the_memory_keeps_to_the_window(name: str) -> None:
    window, new = 2000, 150
    long = FunctionTool("search", lambda query: f"{query}: ünï 木 ' \" 123.45 e=mc² " * 20)
    replies = [step_json("search", {"query": f"question number {n}"}) for n in range(30)]
    chat = CountingChat(replies, window)
    keys = {"selector": "lexical", "summarizer": "extractive"} if name == "wmt" else {}
    meter = Meter(chat)
    record = await run_episode(
        "Which question number is it?",
        preset(name, **keys).build(meter),
        meter,
        [long],
        AgentConfig(max_steps=30, max_new_tokens=new),
    )
    assert (record.status, len(record.steps)) == ("step_limit", 30)
    assert max(chat.sizes) <= window - new
    assert max(chat.sizes) > window / 2
    if name == "linear":
        assert any(step.context.cut for step in record.steps)
