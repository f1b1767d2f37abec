"""The agent's prompts: Jinja2 templates in this folder, undefined names are errors.

A system message and worked examples (turns of user and assistant) that are fixed for a question,
and one user message a step: the memory's working context, notices about the step before, and a line
that asks for the next step.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agents.prompts.environment import environment
from agents.prompts.examples import worked_examples
from agents.schema import FINAL_ANSWER
from agents.tools.base import Tool
from wmt.grammar import quote

__all__ = ["question_text", "system_prompt", "user_prompt", "worked_examples"]


def question_text(question: str, files: Sequence[str] = ()) -> str:
    """The question as the memory keeps it: with the names of its attached files."""
    if not files:
        return question
    return f"{question}\n\nAttached files: {', '.join(files)}"


def system_prompt(
    tools: Sequence[Tool],
    answer_instructions: str,
    *,
    plain_text: bool = False,
    under: bool = False,
) -> str:
    """Instructions, tools, answer instructions. `under`: whether a task may be opened under another
    than the active one."""
    shown = [
        {
            "name": tool.name,
            "description": " ".join(tool.description.split()),
            "arguments": _signature(tool.parameters),
        }
        for tool in tools
    ]
    return _render(
        "system.j2",
        tools=shown,
        final=FINAL_ANSWER,
        answer_instructions=answer_instructions.strip(),
        plain_text=plain_text,
        under=under,
    )


def user_prompt(context: str, notices: Sequence[str], *, step: int, last_step: int) -> str:
    """What changes with every step."""
    return _render(
        "user.j2",
        context=context.rstrip("\n"),
        notices=quote("\n".join(notices)).rstrip("\n"),
        step=step,
        last_step=last_step,
        final=FINAL_ANSWER,
    )


def _render(template: str, **values: Any) -> str:
    return environment().get_template(template).render(values).rstrip("\n")


def _signature(schema: dict[str, Any]) -> str:
    """A schema of parameters in one line: `{"query": string, "page": integer (optional)}`."""
    required = schema.get("required", [])
    parts = []
    for name, item in schema.get("properties", {}).items():
        kind = " or ".join(map(json.dumps, item["enum"])) if "enum" in item else _kind(item)
        optional = "" if name in required else " (optional)"
        note = f", {item['description'].rstrip('.')}" if item.get("description") else ""
        parts.append(f'"{name}": {kind}{optional}{note}')
    return "{" + "; ".join(parts) + "}"


def _kind(item: dict[str, Any]) -> str:
    kind = item.get("type", "any")
    if kind == "array":
        return f"list of {_kind(item.get('items', {}))}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
