"""Worked examples: templates `example_N.j2`, each naming the tools that it uses."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

EXAMPLES = 3
"""How many `example_N.j2` there are."""


def worked_examples(tools: Collection[str], count: int, *, plain_text: bool = False) -> list[str]:
    """The first `count` examples whose tools are all among `tools`, in the reply format asked for.

    Fewer, if fewer fit: an example that calls a tool which is not there would teach a mistake.
    """
    texts: list[str] = []
    for number in range(1, EXAMPLES + 1):
        if len(texts) == count:
            break
        needed, text = _example(number, plain_text)
        if needed <= set(tools):
            texts.append(text)
    return texts


@cache
def _example(number: int, plain_text: bool) -> tuple[frozenset[str], str]:
    environment = Environment(
        loader=PackageLoader("agents", "prompts"), undefined=StrictUndefined, trim_blocks=True
    )
    module: Any = environment.get_template(f"example_{number}.j2").make_module(
        {"step": _plain_step if plain_text else _json_step}
    )
    return frozenset(module.tools), str(module).strip()


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
