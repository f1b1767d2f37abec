"""Reading the JSON object out of a model's reply, whatever stands around it."""

from __future__ import annotations

import json
import re
from typing import Any

# Thinking that no reasoning parser took off, also unclosed; the second form is Gemma 4's.
_THINKING = re.compile(
    r"<think>.*?(?:</think>|\Z)|<\|channel>thought.*?(?:<channel\|>|\Z)", re.DOTALL
)
_DECODER = json.JSONDecoder()


def without_thinking(text: str) -> str:
    """`text` without what a model thought before it answered."""
    # A chat template may have opened the thinking itself; then only its end stands in the reply.
    return _THINKING.sub("", text).rpartition("</think>")[2]


def first_json_object(text: str, key: str) -> dict[str, Any] | None:
    """The first JSON object in `text` that has `key`, outside of thinking text; None if there is
    none."""
    text = without_thinking(text)
    start = text.find("{")
    while start >= 0:
        try:
            value, _ = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and key in value:
            return value
        start = text.find("{", start + 1)
    return None
