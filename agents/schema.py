"""The JSON schema of one step, built for a set of tools; servers with structured output enforce it.

Every string is bounded: weak models run into repetition loops, and a bound ends them with a valid
reply instead of one that the token limit has cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Bounds:
    """Longest strings of a step, in characters."""

    thought: int
    goal: int
    argument: int


OPERATIONS = ("none", "open", "open_under", "complete", "resume")


def step_schema(
    tools: Sequence[Tool],
    bounds: Bounds,
    *,
    operations: Sequence[str] = OPERATIONS,
    answer: bool = True,
) -> dict[str, Any]:
    """Schema of `{"thought", "task_operation", "action"}`.

    `operations` and `tools` are what the step may use, `answer` says whether it may end the
    episode.
    """
    goal = {"type": "string", "minLength": 1, "maxLength": bounds.goal}
    operation_schemas = {
        "none": {"type": "null"},
        "open": _object({"open": goal}),
        "open_under": _object({"open": goal, "under": {"type": "integer"}}),
        "complete": _object({"complete": goal}),
        "resume": _object({"resume": {"type": "integer"}}),
    }
    offered = [(tool.name, tool.parameters) for tool in tools]
    if answer:
        offered.append((FINAL_ANSWER, FINAL_ANSWER_PARAMETERS))
    actions = [
        _object(
            {
                "tool": {"type": "string", "enum": [name]},
                "arguments": bounded(parameters, bounds.argument),
            }
        )
        for name, parameters in offered
    ]
    return _object(
        {
            "thought": {"type": "string", "maxLength": bounds.thought},
            "task_operation": {"anyOf": [operation_schemas[name] for name in operations]},
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
