"""A completed branch -> the summary that stands for it (paper, section 2.5).

It keeps the objective, the final result, supporting evidence, unresolved issues and failure
warnings. `LLMSummarizer` asks the model (one retry, then the extractive summary, counted);
`ExtractiveSummarizer` picks sentences and calls nobody. Provenance is not among what they see.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from wmt.chat import ChatError, ChatModel, ChatRequest, Message
from wmt.grammar import OBJECTIVE, STEPS, Section, call_text, one_line, section_text
from wmt.nodes import Lifecycle, MemoryNode, Outcome, Summary
from wmt.prompts import render
from wmt.replies import first_json_object
from wmt.summary_prompt import steps_within
from wmt.tree import MemoryTree
from wmt.views import first_line

Source = Literal["llm", "extractive", "fallback"]

MAX_TOKENS = 400
CLOSED_WITH_PARENT = "Unresolved: closed together with its parent task."
_RESULT_CHARS = 400
_ENTRY_CHARS = 300
_ENTRIES = 8
_MARGIN_TOKENS = 64  # what a chat template adds around two messages
_CLOSING = "Write the summary as one JSON object."
_AGAIN = "That was not the JSON object asked for. Reply with the JSON object alone."
_SENTENCE = re.compile(r"(?<=[.!?])\s+|[\r\n]+")
_WORD = re.compile(r"\w\w+")


@dataclass(frozen=True)
class Summarized:
    """A summary, who wrote it, and how many steps of the branch its prompt did not show in whole:
    the window had no room for them, or for the beginning of them only."""

    summary: Summary
    source: Source
    cut: int = 0

    def detail(self) -> dict[str, Any]:
        """What the event of the fold says of it."""
        return {
            "summarizer": self.source,
            "fallback": self.source == "fallback",
            "cut": self.cut,
        }


class Summarizer(Protocol):
    """Writes the summary of a branch."""

    async def summarize(self, tree: MemoryTree, task: int) -> Summarized:
        """The summary of the branch of `task`."""
        ...


class ExtractiveSummarizer:
    """The deterministic summary: from every successful action the sentences that share most words
    with the goal and the result, every failure as a warning, what subtasks found as evidence."""

    async def summarize(self, tree: MemoryTree, task: int) -> Summarized:
        """See the class."""
        return Summarized(extractive(tree, task), "extractive")


class LLMSummarizer:
    """Asks the model. A branch without any step is summarized without a call."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def summarize(self, tree: MemoryTree, task: int) -> Summarized:
        """See the class."""
        node = tree.nodes[task]
        members = branch_members(tree, task)
        fallback = extractive(tree, task)
        if not members:
            return Summarized(fallback, "extractive")
        made = await self.write(node.content, "Reported result", node.result, members, fallback)
        if node.result == CLOSED_WITH_PARENT and node.result not in made.summary.unresolved:
            noted = (node.result, *made.summary.unresolved)
            made = replace(made, summary=replace(made.summary, unresolved=noted))
        return made

    async def write(
        self,
        objective: str,
        known_title: str,
        known: str,
        members: list[MemoryNode],
        fallback: Summary,
    ) -> Summarized:
        """A summary of `members`, with what is `known` already under a title of its own."""
        head = section_text(Section(OBJECTIVE, objective))
        if known:
            head += "\n" + section_text(Section(known_title, known))
        system = render("summarizer_system.j2")
        room = self._model.context_window - MAX_TOKENS - _MARGIN_TOKENS
        room -= await self._model.count_tokens(f"{system}{head}\n{STEPS}:\n\n{_CLOSING}\n{_AGAIN}")
        steps, cut = await steps_within(self._model, members, room)
        body = f"{head}\n{STEPS}:\n{''.join(steps)}\n{_CLOSING}"
        messages = (Message("system", system), Message("user", body))
        for _ in range(2 if steps else 0):
            try:
                done = await self._model.complete(
                    ChatRequest(messages, "summarizer", MAX_TOKENS, json_schema=REPLY_SCHEMA)
                )
            except ChatError:
                break
            reply = _read(done.text)
            if reply is not None:
                return Summarized(_summary(objective, reply), "llm", cut)
            # At temperature 0 the same prompt would only bring the same reply.
            messages = (messages[0], Message("user", f"{body}\n{_AGAIN}"))
        return Summarized(fallback, "fallback", cut)


def branch_members(tree: MemoryTree, task: int) -> list[MemoryNode]:
    """What a summary of the branch is made of: its actions and subtasks in the order they happened,
    a folded subtask by its summary alone, nothing that is obsolete."""
    found: list[MemoryNode] = []
    stack = [task]
    while stack:
        for child in tree.live_children(stack.pop()):
            node = tree.nodes[child]
            found.append(node)
            if tree.is_task(child) and node.lifecycle is not Lifecycle.FOLDED:
                stack.append(child)
    return sorted(found, key=lambda node: node.id)


def extractive(tree: MemoryTree, task: int) -> Summary:
    """The extractive summary of a branch."""
    node = tree.nodes[task]
    return extract(node.content, node.result, branch_members(tree, task))


def extract(
    objective: str, result: str, members: list[MemoryNode], earlier: Summary | None = None
) -> Summary:
    """The extractive summary of `members`, carrying on an `earlier` one."""
    wanted = _words(f"{objective} {result}")
    evidence = [] if earlier is None else list(earlier.evidence)
    unresolved = [] if earlier is None else list(earlier.unresolved)
    warnings = [] if earlier is None else list(earlier.warnings)
    if result == CLOSED_WITH_PARENT:
        unresolved.append(CLOSED_WITH_PARENT)
    for member in members:
        if member.outcome is Outcome.SUCCESS:
            evidence.append(_excerpt(member.content, wanted))
        elif member.outcome is Outcome.FAILURE:
            warnings.append(failure_line(member))
        elif member.summary is not None:
            if member.result != CLOSED_WITH_PARENT:
                found = one_line(f"{member.content}: {member.summary.result}")
                evidence.append(found[:_ENTRY_CHARS])
            evidence += member.summary.evidence
            warnings += member.summary.warnings
            unresolved += (it for it in member.summary.unresolved if it != CLOSED_WITH_PARENT)
        if member.result == CLOSED_WITH_PARENT:
            unresolved.append(one_line(member.content)[:_ENTRY_CHARS])
    found = one_line(result) or (evidence[-1] if evidence else "nothing found")
    return Summary(
        objective=one_line(objective)[:_RESULT_CHARS],
        result=found[:_RESULT_CHARS],
        evidence=_last(evidence),
        unresolved=_last(unresolved),
        warnings=_last(warnings),
    )


def failure_line(node: MemoryNode) -> str:
    """A failed action as one line: the call and the first line of what came back."""
    call = call_text(node.tool or "none", node.arguments)
    return f"{call[:_ENTRY_CHARS]}: {one_line(first_line(node.content))[:_ENTRY_CHARS]}"


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _excerpt(text: str, wanted: set[str]) -> str:
    """The best sentences of a text up to the length of an entry, in their order."""
    sentences = [line for part in _SENTENCE.split(text) if (line := one_line(part))]
    ranked = sorted(range(len(sentences)), key=lambda i: (-len(wanted & _words(sentences[i])), i))
    if not ranked:
        return ""
    chosen = [ranked[0]]
    room = _ENTRY_CHARS - len(sentences[ranked[0]])
    for i in ranked[1:]:
        room -= len(sentences[i]) + 1
        if room < 0:
            break
        chosen.append(i)
    return " ".join(sentences[i] for i in sorted(chosen))[:_ENTRY_CHARS]


def _last(entries: list[str]) -> tuple[str, ...]:
    """The latest distinct entries, at most as many as a summary holds."""
    distinct = list(dict.fromkeys(entry for entry in entries if entry))
    return tuple(distinct[-_ENTRIES:])


class _Reply(BaseModel):
    """What the model is asked for; anything of another shape is a bad reply."""

    model_config = ConfigDict(extra="ignore")

    result: str
    evidence: list[str] = []
    unresolved: list[str] = []
    warnings: list[str] = []


def _strings(count: int) -> dict[str, Any]:
    text = {"type": "string", "maxLength": _ENTRY_CHARS}
    return {"type": "array", "items": text, "maxItems": count}


# Every string and list is bounded: a small model in a repetition loop stops at the bound.
REPLY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "result": {"type": "string", "maxLength": _RESULT_CHARS},
        "evidence": _strings(4),
        "unresolved": _strings(2),
        "warnings": _strings(2),
    },
    "required": ["result", "evidence", "unresolved", "warnings"],
    "additionalProperties": False,
}


def _read(text: str) -> _Reply | None:
    value = first_json_object(text, "result")
    if value is None:
        return None
    try:
        reply = _Reply.model_validate(value)
    except ValidationError:
        return None
    return reply if reply.result.strip() else None


def _summary(objective: str, reply: _Reply) -> Summary:
    def entries(values: list[str]) -> tuple[str, ...]:
        return _last([one_line(value)[:_ENTRY_CHARS] for value in values])

    return Summary(
        objective=one_line(objective)[:_RESULT_CHARS],
        result=one_line(reply.result)[:_RESULT_CHARS],
        evidence=entries(reply.evidence),
        unresolved=entries(reply.unresolved),
        warnings=entries(reply.warnings),
    )
