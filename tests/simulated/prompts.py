"""Prompts written with the grammar, and a reader to answer them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agents.models.base import OpenModel
from agents.models.simulated import SimulatedModelConfig
from wmt import grammar
from wmt.chat import CallRole, ChatRequest, Message
from wmt.grammar import Item, Section

ARCHIVE = "benchmarks/archive/lexicon.yaml"


def config(**keys: Any) -> SimulatedModelConfig:
    return SimulatedModelConfig(**{"lexicons": (ARCHIVE,), **keys})


def prompt(*sections: Section) -> str:
    return "\n".join(grammar.section_text(section) for section in sections)


def question(text: str) -> Section:
    return Section(grammar.QUESTION, text)


def path(*goals: str) -> Section:
    tasks = [Item(at, "task", "active", content=goal) for at, goal in enumerate(goals, 1)]
    return Section(grammar.TASK_PATH, items=(Item(0, "task", "active"), *tasks))


def did(id: int, tool: str, content: str, state: str = "success", **arguments: Any) -> Item:
    return Item(id, "action", state, tool, arguments, content=content)


def memories(*items: Item) -> Section:
    return Section(grammar.MEMORIES, items=items)


def told(*texts: str) -> Section:
    """Memories of one document each, in order."""
    return memories(*(did(10 + at, "read", text, document=at) for at, text in enumerate(texts)))


async def ask(opened: OpenModel, text: str, role: CallRole = "agent") -> dict[str, Any]:
    messages = (Message("system", "Instructions."), Message("user", text))
    completion = await opened.chat.complete(ChatRequest(messages, role, max_tokens=500))
    assert completion.finish_reason == "stop"
    reply: dict[str, Any] = json.loads(completion.text)
    return reply


async def answer_of(asked: str, *sections: Section, **keys: Any) -> str:
    """What the reader answers to a critical question after a context."""
    async with config(**keys).open(Path()) as opened:
        reply = await ask(opened, prompt(*sections, Section("Critical question", asked)))
    assert set(reply) == {"answer"}
    return str(reply["answer"])


async def step_of(*sections: Section, **keys: Any) -> dict[str, Any]:
    """The reader's next step."""
    async with config(**keys).open(Path()) as opened:
        return await ask(opened, prompt(*sections) + "\nWhat is the next step?\n")
