"""Calls that a model writes as text: as code, or as `Action:` lines. Raises on no text."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from agents.salvage import MAX_ATTEMPTS, MAX_PYTHON_CHARS, as_json


@dataclass(frozen=True)
class Call:
    """A call written as code: positional and named arguments."""

    name: str
    positional: tuple[Any, ...]
    named: dict[str, Any]
    start: int
    end: int


def find_call(text: str, names: Collection[str]) -> Call | None:
    """The first call of one of `names` written as code, such as `[f(x='y')]` or `f.call(x=1)`."""
    if not names:
        return None
    alternatives = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w.])({alternatives})(?:\.call)?\(")
    for match in list(pattern.finditer(text))[:MAX_ATTEMPTS]:
        opening = match.end() - 1
        end = _call_end(text, opening)
        if end is None or end - opening > MAX_PYTHON_CHARS:
            continue
        parsed = _arguments(text[opening:end])
        if parsed is not None:
            return Call(match[1], parsed[0], parsed[1], match.start(), end)
    return None


def _call_end(text: str, opening: int) -> int | None:
    depth, quote, escaped = 0, "", False
    for index in range(opening, min(len(text), opening + MAX_PYTHON_CHARS)):
        character = text[index]
        if quote:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth == 0:
                return index + 1
    return None


def _arguments(text: str) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call = ast.parse("f" + text, mode="eval").body
            if not isinstance(call, ast.Call):
                return None
            positional = tuple(as_json(ast.literal_eval(item)) for item in call.args)
            named = {
                item.arg: as_json(ast.literal_eval(item.value))
                for item in call.keywords
                if item.arg is not None
            }
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return None
    return positional, named


_LABEL = re.compile(
    r"^[ \t]*[*_#]*(thought|task(?: operation)?|action input|action|observation|final answer)"
    r"[*_]*[ \t]*:[*_]*[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)


def labelled_lines(text: str) -> tuple[dict[str, str], bool]:
    """`Thought:`, `Task:`, `Action:`, `Action Input:`, `Final Answer:` of the first step.

    Whatever follows a self-written `Observation:` or a second action is dropped; the second value
    says whether there was any.
    """
    parts: dict[str, str] = {}
    matches = list(_LABEL.finditer(text))
    for number, match in enumerate(matches):
        label = match[1].lower().replace("task operation", "task")
        end = matches[number + 1].start() if number + 1 < len(matches) else len(text)
        if label == "observation" or label in parts:
            return parts, True
        if label == "thought" and ("action" in parts or "final answer" in parts):
            return parts, True
        parts[label] = text[match.end() : end].strip()
    return parts, False
