"""No request to the model may depend on what is poisoned: flipped flags change no byte of any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agents.ledger import Meter
from poisoning.protocol import Replay
from poisoning.schema import Entry, Scenario, read_scenarios
from wmt.chat import ChatModel, ChatRequest, Completion
from wmt.memory import MemoryConfig

from .memories import FIVE, five, reader

Flip = Callable[[Entry], dict[str, object]]

FLIPS: dict[str, Flip] = {
    "inverted": lambda e: {
        "poisoned": not e.poisoned,
        "attack": None if e.poisoned else "compromised_tool",
        "role": "answer" if e.poisoned else "rival",
    },
    "all poisoned": lambda e: {"poisoned": True, "attack": "fabricated_claim", "role": "rival"},
    "none poisoned": lambda e: {"poisoned": False, "attack": None, "role": "support"},
    "other claims": lambda e: {"value": "something else", "style": "log", "target": "s000.0"},
}


class Recording:
    """Passes requests on and keeps them."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self.name = chat.name
        self.context_window = chat.context_window
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> Completion:
        self.requests.append(request)
        return await self._chat.complete(request)

    async def count_tokens(self, text: str) -> int:
        return await self._chat.count_tokens(text)


def flipped(scenario: Scenario, flip: Flip) -> Scenario:
    subtasks = tuple(
        subtask.model_copy(
            update={"entries": tuple(e.model_copy(update=flip(e)) for e in subtask.entries)}
        )
        for subtask in scenario.subtasks
    )
    return scenario.model_copy(update={"subtasks": subtasks})


async def requests(scenario: Scenario, memory: MemoryConfig, chat: ChatModel) -> bytes:
    """Every request of a replay, as bytes."""
    recording = Recording(chat)
    meter = Meter(recording)
    final = await Replay(scenario, memory.build(meter), meter, 100, 0).run()
    assert final.status == "answered"
    return "\n".join(map(repr, recording.requests)).encode()


@pytest.mark.parametrize(
    ("name", "selector"),
    [("linear", "lexical"), *((name, s) for name in FIVE[1:] for s in ("lexical", "llm"))],
)
async def test_requests_are_byte_equal_under_flipped_flags(
    name: str, selector: str, tmp_path: Path
) -> None:
    memory = five(selector)[name]
    async with reader().open(tmp_path) as model:
        for scenario in read_scenarios()[:1]:
            expected = await requests(scenario, memory, model.chat)
            assert expected.count(b"Critical question:") > len(scenario.subtasks)
            for how, flip in FLIPS.items():
                assert await requests(flipped(scenario, flip), memory, model.chat) == expected, how


async def test_the_comparison_would_see_a_leak(tmp_path: Path) -> None:
    """A mark in the texts of poisoned entries changes the requests."""
    scenario = read_scenarios()[0]
    leaking = flipped(scenario, lambda e: {"text": e.text + (" !" if e.poisoned else "")})
    memory = five("lexical")["linear"]
    async with reader().open(tmp_path) as model:
        plain = await requests(scenario, memory, model.chat)
        assert await requests(leaking, memory, model.chat) != plain
