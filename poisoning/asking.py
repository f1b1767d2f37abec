"""The critical question: its prompt, reading the reply, and judging the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from agents.salvage import clean_text, find_values, strip_thinking
from poisoning.schema import ValueType
from wmt.chat import ChatModel, ChatRequest, Message
from wmt.grammar import Section, section_text

CRITICAL_QUESTION = "Critical question"
UNKNOWN = "unknown"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "maxLength": 300}},
    "required": ["answer"],
    "additionalProperties": False,
}


@cache
def system_prompt() -> str:
    """The fixed instructions (`prompts/critical.j2`)."""
    environment = Environment(
        loader=PackageLoader("poisoning", "prompts"), undefined=StrictUndefined, autoescape=False
    )
    return environment.get_template("critical.j2").render()


def user_prompt(context: str, question: str) -> str:
    """The working context, then the question as a section of its own, then what is asked for."""
    asked = section_text(Section(CRITICAL_QUESTION, text=question))
    return f'{context.rstrip()}\n\n{asked}\nReply with {{"answer": "..."}}.'


def request(context: str, question: str, max_tokens: int, seed: int) -> ChatRequest:
    """The model call of a critical reasoning step; counted as the agent's."""
    return ChatRequest(
        messages=(
            Message("system", system_prompt()),
            Message("user", user_prompt(context, question)),
        ),
        role="agent",
        max_tokens=max_tokens,
        json_schema=SCHEMA,
        seed=seed,
    )


async def ask(model: ChatModel, asked: ChatRequest) -> tuple[str, str | None]:
    """The reply and the answer in it; raises `ChatError`."""
    completion = await model.complete(asked)
    reply = completion.text or completion.reasoning
    return reply, read_answer(reply)


def read_answer(reply: str) -> str | None:
    """The answer in a reply; None where there is none, which is data and not an error."""
    text, _ = clean_text(reply)
    spoken, thinking, _ = strip_thinking(text)
    for part in (spoken, thinking):
        for found in find_values(part):
            answer = found.value.get("answer") if isinstance(found.value, dict) else None
            if isinstance(answer, list):
                answer = "; ".join(str(item) for item in answer)
            if isinstance(answer, str | int | float) and str(answer).strip():
                return str(answer).strip()
    return None


def same_value(answer: str, value: str, kind: ValueType) -> bool:
    """Whether an answer is this value: equal numbers for years and numbers, else equal words.

    A number may carry a unit and thousands separators, a name an article and punctuation. A
    sentence around a name is another answer, and two numbers at once match neither.
    """
    if kind in ("year", "number"):
        joined = re.sub(r"(?<=\d)[, ](?=\d{3}\b)", "", answer)
        numbers = re.findall(r"-?\d+(?:\.\d+)?", joined)
        return len(numbers) == 1 and float(numbers[0]) == float(value)
    return _words(answer) == _words(value)


def same_list(answer: str, values: Sequence[tuple[str, ValueType]]) -> list[bool]:
    """Part by part, whether the final answer gives each value; a missing part makes all wrong."""
    parts = [re.sub(r"^\s*\d+[.)]\s+", "", part).strip() for part in answer.split(";")]
    if len(parts) != len(values):
        return [False] * len(values)
    return [
        same_value(part, value, kind) for part, (value, kind) in zip(parts, values, strict=True)
    ]


def mentions(text: str, value: str) -> bool:
    """Whether `value` stands in a text as words of its own (not as a part of a longer number)."""
    return re.search(rf"(?<![\w.,]){re.escape(value)}(?!\w|[.,]\d)", text) is not None


def _words(text: str) -> list[str]:
    words = re.findall(r"\w+", text.casefold())
    return words[1:] if words[:1] == ["the"] else words
