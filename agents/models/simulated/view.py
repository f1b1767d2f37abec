"""A prompt as the reader sees it: what was asked, what was done, what is known."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from agents.models.simulated.knowledge import Conflict, Knowledge
from agents.models.simulated.mentions import Mention, read_title
from agents.models.simulated.questions import Lookup, Parser
from agents.models.simulated.reading import HEADER, Reader
from wmt import grammar
from wmt.grammar import Item, Section

_PAGE = re.compile(r", page (\d+) of (\d+)")
_FILES = re.compile(r"Attached files?: (.*)")


@dataclass
class Language:
    """The two readers of one lexicon and the rule for contradictions."""

    reader: Reader
    parser: Parser
    conflict: Conflict

    def goal(self, text: str) -> Lookup | None:
        """What a goal such as `Find the mayor of X` asks for."""
        question = self.parser.question(text)
        return question.parts[0] if question is not None and question.op == "value" else None


@dataclass(frozen=True)
class Lead:
    """A page of a document that the prompt mentions."""

    document: int
    topic: Mention
    trusted: bool
    page: int
    pages: int


@dataclass
class View:
    """One agent prompt, read."""

    question: str
    files: tuple[str, ...]
    goals: list[str]
    knowledge: Knowledge
    calls: dict[str, Item] = field(default_factory=dict)
    leads: list[Lead] = field(default_factory=list)
    given_up: set[str] = field(default_factory=set)

    def done(self, tool: str, arguments: dict[str, Any]) -> Item | None:
        """The memory of a call, if the prompt shows that it was made."""
        return self.calls.get(call_key(tool, arguments))


def call_key(tool: str, arguments: dict[str, Any] | None) -> str:
    """A call in a form that can be compared."""
    return f"{tool} {json.dumps(arguments or {}, sort_keys=True)}"


def read_prompt(sections: tuple[Section, ...], language: Language) -> View:
    """Take in a working context in the order in which it stands."""
    view = View("", (), [], Knowledge(language.conflict))
    for section in sections:
        if section.title == grammar.QUESTION:
            view.question = section.text
            files = _FILES.search(section.text)
            view.files = tuple(files[1].split(", ")) if files else ()
        elif section.title == grammar.TASK_PATH:
            view.goals = [item.content for item in section.items if item.content]
        else:
            for item in section.items:
                _take_item(item, section.title, view, language)
    return view


def _take_item(item: Item, title: str, view: View, language: Language) -> None:
    if title == grammar.SUMMARIES:
        _take_summary(item, view, language)
        return
    if item.kind == "task":
        _take_task(item, view, language)
        return
    if item.tool is not None:
        view.calls[call_key(item.tool, item.arguments)] = item
    if item.kind == "global" and item.content.startswith("objective: "):
        _take_summary(item, view, language)
        return
    trusted = item.state != "failure" and title != grammar.WARNINGS
    view.knowledge.add(item.id, language.reader.statements(item.content), trusted)
    for line in item.content.splitlines():
        header = HEADER.match(line)
        if header is not None:
            _take_header(int(header["number"]), header["title"], view, language)


def _take_header(number: int, title: str, view: View, language: Language) -> None:
    topic, page = read_title(title), _PAGE.search(title)
    if topic is not None and page is not None:
        trusted = not language.reader.lexicon.distrusted(title)
        view.leads.append(Lead(number, topic, trusted, int(page[1]), int(page[2])))


def _take_task(item: Item, view: View, language: Language) -> None:
    """A task among the memories: its goal, and its result once it is completed."""
    goal, _, result = item.content.partition("\nresult: ")
    _take_result(item.id, goal, result, view, language)


def _take_summary(item: Item, view: View, language: Language) -> None:
    try:
        summary = grammar.parse_summary(item.content)
    except grammar.GrammarError:
        view.knowledge.add(item.id, language.reader.statements(item.content))
        return
    view.knowledge.add(item.id, language.reader.statements("\n".join(summary.evidence)))
    _take_result(item.id, summary.objective, summary.result, view, language)
    view.knowledge.add(item.id, language.reader.statements("\n".join(summary.warnings)), False)


def _take_result(item: int, goal: str, result: str, view: View, language: Language) -> None:
    asked = language.goal(goal)
    result = result.strip().rstrip(".")
    if asked is None or not result:
        return
    if result.lower() == "unknown":
        view.given_up.add(asked.text)
    else:
        view.knowledge.add_result(item, asked, result)
