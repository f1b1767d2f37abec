"""Reading a tool call's arguments: what a model sends is checked here, never trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.tools.base import ToolError


def text_argument(arguments: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """The text under `key`; `default` if it is missing or null. Raises `ToolError`."""
    value = arguments.get(key)
    if value is None:
        if default is None:
            raise ToolError(f"The argument {key!r} is missing.")
        return default
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ToolError(f"The argument {key!r} must be a text, not {type(value).__name__}.")
    try:
        text = clean(str(value))
    except ValueError:  # Python prints no number of more than 4300 digits
        raise ToolError(f"The argument {key!r} is too large a number.") from None
    if default is None and not text.strip():
        raise ToolError(f"The argument {key!r} is empty.")
    return text


def whole_argument(arguments: Mapping[str, Any], key: str, default: int) -> int:
    """The whole number from 1 up under `key`; texts such as "2" are read. Raises `ToolError`."""
    value = arguments.get(key)
    if value is None:
        return default
    try:
        number = int(str(value).strip().removesuffix(".0"))
    except ValueError:
        number = 0
    if number < 1 or isinstance(value, bool):
        raise ToolError(f"The argument {key!r} must be a whole number from 1 up.")
    return number


def refuse_unknown(arguments: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raise `ToolError` for an argument that the tool's `parameters` do not list."""
    allowed = list(known["properties"])
    unknown = sorted(set(arguments) - set(allowed))
    if unknown:
        raise ToolError(f"Unknown argument {unknown[0]!r}; known: {', '.join(allowed)}.")


def clean(text: str) -> str:
    """`text` without lone surrogates, which no file, database or server takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def schema(required: tuple[str, ...], **properties: tuple[str, str]) -> dict[str, Any]:
    """A small JSON schema: property name -> (type, description)."""
    return {
        "type": "object",
        "properties": {
            name: {"type": kind, "description": text} for name, (kind, text) in properties.items()
        },
        "required": list(required),
        "additionalProperties": False,
    }
