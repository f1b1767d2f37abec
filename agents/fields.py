"""The two parts of a step that models bend most: its task operation and its arguments."""

from __future__ import annotations

import math
from typing import Any

from agents import salvage
from wmt.memory import TaskOperation


def read_operation(value: Any) -> tuple[TaskOperation | None, list[str]]:
    """`{"open": goal}`, `{"open": goal, "under": id}`, `{"complete": result}`, `{"resume": id}` or
    nothing, and the repairs."""
    errors: list[str] = []
    if isinstance(value, str):
        kind, colon, rest = value.strip().strip("{}").partition(":")
        kind = kind.strip("\"' ").lower()
        if kind in ("", "null", "none", "n/a"):
            return None, []
        value = {kind: rest.strip("\"' ")} if colon else kind
    if value is None or value == {} or value is False:
        return None, []
    if not isinstance(value, dict):
        return None, ["bad_task_operation"]
    given = {key: item for key, item in value.items() if item is not None and item != ""}
    kinds = [key for key in ("open", "complete", "resume") if key in given]
    if not kinds:
        return None, ["bad_task_operation"] if given else []
    if len(kinds) > 1:
        errors.append("several_task_operations")
    kind, content = kinds[0], given[kinds[0]]
    if kind == "resume":
        task = _task_id(content)
        if task is None:
            return None, [*errors, "bad_task_operation"]
        return TaskOperation("resume", task=task), errors
    if isinstance(content, dict):
        content = next((item for item in content.values() if isinstance(item, str)), "")
    content = content if isinstance(content, str) else _plain(content)
    if not content.strip():
        return None, [*errors, "bad_task_operation"]
    if kind == "open":
        parent = _task_id(given["under"]) if "under" in given else None
        if "under" in given and parent is None:
            return None, [*errors, "bad_task_operation"]
        return TaskOperation("open", goal=content, parent=parent), errors
    return TaskOperation("complete", result=content), errors


def _task_id(value: Any) -> int | None:
    """A task's number as models write it: 3, "3" or "[3]"."""
    digits = str(value).strip("[] ")
    if isinstance(value, bool) or not (digits.isascii() and digits.isdigit()):
        return None
    return int(digits[:9])


def read_arguments(value: Any, schema: dict[str, Any]) -> tuple[dict[str, Any], list[str], str]:
    """Arguments that fit a tool's schema, what was repaired, and what is wrong with them."""
    properties: dict[str, Any] = schema.get("properties", {})
    errors: list[str] = []
    if isinstance(value, str):
        errors.append("arguments_as_string")
        try:
            loaded = salvage.clean_value(salvage.loads(value.strip()))
        except ValueError:
            loaded = None
        value = loaded if isinstance(loaded, dict | list) else [value]
    elif value is None:
        errors += ["arguments_null"] if properties else []
        value = {}
    if isinstance(value, list):
        errors.append("arguments_as_list")
        if len(value) == 1 and isinstance(value[0], dict):
            value = value[0]
        else:
            value = dict(zip(properties, value, strict=False))
    if not isinstance(value, dict):
        errors.append("arguments_as_list")
        value = dict(zip(properties, [value], strict=False))
    arguments: dict[str, Any] = {}
    for key, item in value.items():
        if properties and key not in properties:
            errors.append("unknown_argument")
            continue
        bent, changed = _coerce(item, properties.get(key, {}))
        errors += ["coerced_argument"] if changed else []
        arguments[key] = bent
    missing = [key for key in schema.get("required", []) if arguments.get(key) is None]
    if missing:
        errors.append("missing_argument")
        return arguments, errors, f"Missing argument: {', '.join(missing)}."
    return {key: item for key, item in arguments.items() if item is not None}, errors, ""


def _coerce(value: Any, schema: dict[str, Any]) -> tuple[Any, bool]:
    """Bend a value to the type its schema names where that is plain; else leave it to the tool."""
    kind = schema.get("type")
    if kind == "string" and value is not None and not isinstance(value, str):
        return _plain(value), True
    if kind in ("integer", "number") and isinstance(value, str):
        try:
            number = int(value) if kind == "integer" else float(value)
        except ValueError:
            return value, False
        return (number, True) if math.isfinite(number) else (value, False)
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value), True
    if kind == "boolean" and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true", True
    if kind == "array" and value is not None and not isinstance(value, list):
        return [value], True
    return value, False


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value)
    if isinstance(value, dict) and len(value) == 1:
        return _plain(next(iter(value.values())))
    return str(value)
