"""Gets data out of the text that models really send: thinking, fences, broken JSON.

Nothing here knows what a step is (see `agents.actions`), and nothing here raises on any text.
Every function names what it had to repair, so that repairs can be counted.
"""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MAX_ATTEMPTS = 40
"""Openings of an object that are tried in one reply, so that a loop of braces stays cheap."""

MAX_DEPTH = 40

MAX_PYTHON_CHARS = 20_000
"""A longer text is not given to Python's parser, whose memory grows with depth."""

# Qwen, DeepSeek and others; Gemma 4; Mistral. The closing tag alone happens where the chat template
# has opened the block inside the prompt.
_THINKING = (
    ("<think>", "</think>"),
    ("<|channel>thought", "<channel|>"),
    ("[THINK]", "[/THINK]"),
)


def clean_text(text: str) -> tuple[str, list[str]]:
    """Replace lone surrogates, which no file and no server takes, by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), [
            "lone_surrogates"
        ]
    return text, []


def clean_value(value: Any, depth: int = 0) -> Any:
    """The same for every string inside JSON data, where an escape can hide a surrogate.

    ValueError for data nested deeper than any tool's arguments, which would break whatever writes
    it to disk.
    """
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        return clean_text(value)[0]
    if isinstance(value, list):
        return [clean_value(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {clean_text(key)[0]: clean_value(item, depth + 1) for key, item in value.items()}
    return value


def strip_thinking(text: str) -> tuple[str, str, list[str]]:
    """Split a reply into answer and thinking.

    An unclosed block leaves no answer: all that follows is thinking, in which the caller may still
    look for a step. In a reply that is JSON as it stands, a tag can only be quoted text.
    """
    if _is_object(text):
        return text, "", []
    thinking: list[str] = []
    errors: list[str] = []
    for opening, closing in _THINKING:
        while (start := text.find(opening)) >= 0:
            inside = start + len(opening)
            end = text.find(closing, inside)
            if end < 0:
                thinking.append(text[inside:])
                text = text[:start]
                errors.append("unclosed_thinking")
                break
            thinking.append(text[inside:end])
            text = text[:start] + text[end + len(closing) :]
            errors.append("thinking_in_text")
        before, tag, after = text.rpartition(closing)
        if tag:
            thinking.append(before)
            text = after
            errors.append("thinking_in_text")
    return text, "\n".join(thinking).strip(), list(dict.fromkeys(errors))


def _is_object(text: str) -> bool:
    text = text.strip()
    if not text.startswith("{"):
        return False
    try:
        return _raw(text, 0)[1] == len(text)
    except ValueError:
        return False


def loads(text: str) -> Any:
    """JSON with unescaped line breaks allowed and infinities kept as text; ValueError otherwise."""
    return _raw(text, 0)[0]


@dataclass(frozen=True)
class Found:
    """A JSON object or list in a text, with its place and what had to be repaired."""

    value: Any
    start: int
    end: int
    errors: tuple[str, ...] = ()


def find_values(text: str) -> Iterator[Found]:
    """All JSON objects and lists at top level of a text, in order; broken ones repaired."""
    position = attempts = 0
    while attempts < MAX_ATTEMPTS:
        opening = re.compile(r"[{\[]").search(text, position)
        if opening is None:
            return
        attempts += 1
        start = opening.start()
        try:
            value, end = _raw(text, start)
            yield Found(clean_value(value), start, end)
        except (ValueError, RecursionError):
            repaired = _repair(text, start)
            if repaired is None:
                position = start + 1
                continue
            yield repaired
            end = repaired.end
        position = end


def _finite(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


_DECODER = json.JSONDecoder(strict=False, parse_constant=str, parse_float=_finite)


def _raw(text: str, start: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, start)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _repair(text: str, start: int) -> Found | None:
    """Trailing commas, Python literals, and an object that the token limit has cut."""
    end, last_comma = _extent(text, start)
    if end is not None:
        part = text[start:end]
        try:
            value = clean_value(loads(re.sub(r",(\s*[}\]])", r"\1", part)))
            return Found(value, start, end, ("trailing_comma",))
        except ValueError:
            value = _literal(part)
        return None if value is None else Found(value, start, end, ("python_literal",))
    if text[start] == "[" or last_comma is None:
        return None
    # Only members that were complete may count: half an argument is not what the model meant.
    try:
        value = clean_value(loads(text[start:last_comma] + "}"))
    except ValueError:
        return None
    return Found(value, start, len(text), ("cut_reply",))


def _extent(text: str, start: int) -> tuple[int | None, int | None]:
    """End of the bracketed value at `start` (None if it never closes), last comma at its level."""
    depth, quote, escaped, last_comma = 0, "", False, None
    single = text[start + 1 : start + 40].lstrip().startswith("'")
    for index in range(start, len(text)):
        character = text[index]
        if quote:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == quote:
                quote = ""
        elif character == '"' or (single and character == "'"):
            quote = character
        elif character in "{[(":
            depth += 1
        elif character in "}])":
            depth -= 1
            if depth == 0:
                return index + 1, last_comma
        elif character == "," and depth == 1:
            last_comma = index
    return None, last_comma


def _literal(text: str) -> Any:
    """A dict or list written as Python, as JSON data; else None."""
    if len(text) > MAX_PYTHON_CHARS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = as_json(ast.literal_eval(text))
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return None
    return value if isinstance(value, dict | list) else None


def as_json(value: Any) -> Any:
    """A Python literal as clean JSON data; ValueError or TypeError if it is none."""
    return clean_value(json.loads(json.dumps(value, allow_nan=False)))
