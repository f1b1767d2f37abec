"""Worked examples: templates `example_N.j2`, each naming the tools that it uses."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import cache
from typing import Any, Literal

from agents.prompts.environment import environment
from wmt.chat import Message

EXAMPLES = 2
"""How many `example_N.j2` there are."""


def worked_examples(
    tools: Collection[str], count: int, *, plain_text: bool = False
) -> tuple[Message, ...]:
    """The first `count` examples whose tools are all among `tools`, as turns of user and assistant.

    Fewer, if fewer fit: an example that calls a tool which is not there would teach a mistake.
    """
    fitting = [
        turns
        for needed, turns in (_example(number, plain_text) for number in range(1, EXAMPLES + 1))
        if needed <= set(tools)
    ]
    return tuple(turn for turns in fitting[:count] for turn in turns)


@cache
def _example(number: int, plain_text: bool) -> tuple[frozenset[str], tuple[Message, ...]]:
    """The tools that an example needs, and its turns: `=== prompt` and `=== reply` in its file."""
    module: Any = (
        environment()
        .get_template(f"example_{number}.j2")
        .make_module({"step": _plain_step if plain_text else _json_step})
    )
    turns = []
    for part in str(module).split("=== ")[1:]:
        label, _, content = part.partition("\n")
        role: Literal["user", "assistant"] = "user" if label == "prompt" else "assistant"
        turns.append(Message(role, content.strip()))
    return frozenset(module.tools), tuple(turns)


def _json_step(
    thought: str, operation: dict[str, Any] | None, tool: str, arguments: dict[str, Any]
) -> str:
    return json.dumps(
        {
            "thought": thought,
            "task_operation": operation,
            "action": {"tool": tool, "arguments": arguments},
        },
        ensure_ascii=False,
    )


def _plain_step(
    thought: str, operation: dict[str, Any] | None, tool: str, arguments: dict[str, Any]
) -> str:
    task = ", ".join(f"{kind}: {value}" for kind, value in (operation or {"none": ""}).items())
    return (
        f"Thought: {thought}\nTask: {task.removesuffix(': ')}\nAction: {tool}\n"
        f"Action Input: {json.dumps(arguments, ensure_ascii=False)}"
    )
