"""The JSON schema of one step, built for a set of tools; servers with structured output enforce it.

Every string is bounded: weak models run into repetition loops, and a bound ends them with a valid
reply instead of one that the token limit has cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.tools.base import Tool

FINAL_ANSWER = "final_answer"
"""The pseudo-tool that ends an episode."""

FINAL_ANSWER_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


def step_schema(
    tools: Sequence[Tool], *, thought_chars: int, goal_chars: int, argument_chars: int
) -> dict[str, Any]:
    """Schema of `{"thought", "task_operation", "action"}`; bounds are in characters."""
    goal = {"type": "string", "minLength": 1, "maxLength": goal_chars}
    operations = [
        {"type": "null"},
        _object({"open": goal}),
        _object({"complete": goal}),
        _object({"resume": {"type": "integer"}}),
    ]
    actions = [
        _object({"tool": {"type": "string", "enum": [name]}, "arguments": parameters})
        for name, parameters in (
            *((tool.name, bounded(tool.parameters, argument_chars)) for tool in tools),
            (FINAL_ANSWER, bounded(FINAL_ANSWER_PARAMETERS, argument_chars)),
        )
    ]
    return _object(
        {
            "thought": {"type": "string", "maxLength": thought_chars},
            "task_operation": {"anyOf": operations},
            "action": {"anyOf": actions},
        }
    )


def bounded(schema: dict[str, Any], characters: int) -> dict[str, Any]:
    """A copy of a schema in which every string and list without a bound gets one."""
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            result[key] = {name: bounded(item, characters) for name, item in value.items()}
        elif isinstance(value, dict):
            result[key] = bounded(value, characters)
        elif isinstance(value, list):
            result[key] = [
                bounded(item, characters) if isinstance(item, dict) else item for item in value
            ]
        else:
            result[key] = value
    if result.get("type") == "string" and "enum" not in result and "const" not in result:
        result.setdefault("maxLength", characters)
    if result.get("type") == "array":
        result.setdefault("maxItems", 20)
    if result.get("type") == "object" and "properties" in result:
        result.setdefault("additionalProperties", False)
    return result


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
