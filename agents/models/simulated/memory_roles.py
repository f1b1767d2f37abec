"""The simulated reader in its other roles: selector, summarizer, and answers to one question."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from agents.models.simulated.knowledge import Knowledge, Known, combine
from agents.models.simulated.mentions import Mention, read_mention
from agents.models.simulated.questions import Combine, Lookup, Name
from agents.models.simulated.reading import Statement
from agents.models.simulated.view import Language
from wmt import grammar
from wmt.grammar import Item, Section

UNKNOWN = "unknown"
REPORTED_RESULT = "Reported result"
MOST_SELECTED = 12
LEAST_SHARE = 0.3
"""A candidate is taken if it reaches this share of the best one's overlap."""
MOST_EVIDENCE = 8

_WORDS = re.compile(r"[^\W_]{3,}")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "the and for that with was were are from into has have had its his her their which who "
        "whom what when where this these those find give name list document page search read query",
    )
)
_NUMBERED = re.compile(r"\d+[.)] +(.*)")


@lru_cache(maxsize=20_000)
def words(text: str) -> frozenset[str]:
    """Content words of a text, in lower case."""
    return frozenset(_WORDS.findall(text.lower())) - _COMMON


def select(sections: tuple[Section, ...], language: Language) -> dict[str, Any]:
    """Pick the candidates that share words with the active task.

    The task's words are first extended by what the candidates state along the chain of the task:
    who was found to be the mayor is part of the question where that mayor was born. A candidate's
    overlap is the number of distinct content words that it shares; where it shows u and U, that is
    multiplied by their mean. Taken are the best, at most `MOST_SELECTED`, later ones first among
    equals, that reach `LEAST_SHARE` of the best overlap.
    """
    task = "\n".join(section.text for section in sections if section.title == grammar.ACTIVE_TASK)
    items = [i for s in sections if s.title == grammar.CANDIDATES for i in s.items]
    wanted = words(task) | _found_on_the_way(task, items, language)
    ranked = []
    for item in items:
        scores = [score for score in (item.score, item.priority) if score is not None]
        factor = sum(scores) / len(scores) if scores else 1.0
        ranked.append((len(words(_shown(item)) & wanted) * factor, item.id))
    ranked.sort(key=lambda pair: (-pair[0], -pair[1]))
    least = LEAST_SHARE * ranked[0][0] if ranked else 0.0
    chosen = [i for overlap, i in ranked[:MOST_SELECTED] if overlap > 0 and overlap >= least]
    return {"selected": sorted(chosen)}


def _shown(item: Item) -> str:
    call = f"{item.tool} {item.arguments}" if item.tool else ""
    return f"{call}\n{item.content}"


def _found_on_the_way(task: str, items: list[Item], language: Language) -> frozenset[str]:
    """Words of the values that candidates state for the hops of the task's lines."""
    knowledge = Knowledge(language.conflict)
    for item in items:
        knowledge.add(item.id, language.reader.statements(item.content))
    found: set[str] = set()
    for line in task.splitlines():
        question = language.parser.question(line)
        for part in question.parts if question is not None else ():
            for _, value in _chain(part, knowledge):
                found |= words(value)
    return frozenset(found)


def _hops(part: Lookup) -> tuple[Mention, list[Lookup]]:
    """What a phrase starts from, and its hops from the inside out."""
    hops = [part]
    while isinstance(hops[0].subject, Lookup):
        hops.insert(0, hops[0].subject)
    start = hops[0].subject
    assert isinstance(start, Name)
    return start.mention, hops


def _chain(part: Lookup, knowledge: Knowledge) -> list[tuple[Mention, str]]:
    """Subject and value of each hop, from the inside out, as far as they are known."""
    subject: Mention | None
    subject, hops = _hops(part)
    found: list[tuple[Mention, str]] = []
    for hop in hops:
        known = None if subject is None else knowledge.value(hop.relations, subject)
        if subject is None or known is None:
            break
        found.append((subject, known.value))
        subject = read_mention(known.value)
    return found


def summarize(sections: tuple[Section, ...], language: Language) -> dict[str, Any]:
    """Keep the sentences that answer the objective, hop by hop; trusted ones where there are any.

    The result is the one that the agent reported, right or wrong; only where it reported none, the
    steps are asked. Evidence from a source that says itself that it should not be trusted keeps
    that mark.
    """
    objective = "\n".join(s.text for s in sections if s.title == grammar.OBJECTIVE)
    steps = [item for s in sections if s.title == grammar.STEPS for item in s.items]
    reported = " ".join(s.text for s in sections if s.title == REPORTED_RESULT).strip()
    knowledge, said = Knowledge(language.conflict), []
    for item in steps:
        statements = language.reader.statements(item.content)
        trusted = item.state != "failure"
        knowledge.add(item.id, statements, trusted)
        said += [(statement, trusted and statement.trusted) for statement in statements]
    question = language.parser.question(objective)
    parts = question.parts if question is not None else ()
    evidence = [line for part in parts for line in _evidence(part, knowledge, said, language)]
    missing = [p for p in parts if not isinstance(knowledge.resolve(p, believe_all=True), Known)]
    failed = [item for item in steps if item.state == "failure"]
    return {
        "result": reported
        if reported.lower() not in ("", UNKNOWN)
        else _found(question, knowledge),
        "evidence": list(dict.fromkeys(evidence))[:MOST_EVIDENCE],
        "unresolved": [f"No statement was found on {part.text}." for part in missing],
        "warnings": list(dict.fromkeys(map(_warning, failed)))[:MOST_EVIDENCE],
    }


def _found(question: Combine | None, knowledge: Knowledge) -> str:
    """What the steps say to an objective; a name keeps its descriptor, which later steps need."""
    if question is not None and question.op == "value":
        value = knowledge.resolve(question.parts[0], believe_all=True)
        return value.value if isinstance(value, Known) else UNKNOWN
    return _one(question, knowledge)


def _warning(item: Item) -> str:
    return f"{item.tool} failed: {(item.content.splitlines() or ['no result'])[0]}"


def _evidence(
    part: Lookup, knowledge: Knowledge, said: list[tuple[Statement, bool]], language: Language
) -> list[str]:
    marks = language.reader.lexicon.marks
    kept: list[str] = []
    for hop, (subject, _) in zip(_hops(part)[1], _chain(part, knowledge), strict=False):
        about = [
            (statement.text, trusted)
            for statement, trusted in said
            if statement.relation in hop.relations and statement.subject.fits(subject)
        ]
        believed = [text for text, trusted in about if trusted]
        kept += believed or [f"{text} ({marks[0] if marks else 'doubtful'})" for text, _ in about]
    return kept


def answer(question: str, knowledge: Knowledge, language: Language) -> str:
    """Answer one question, or several numbered ones joined by "; ", from what a context says."""
    lines = [match[1] for line in question.splitlines() if (match := _NUMBERED.match(line.strip()))]
    asked = lines or [question]
    return "; ".join(_one(language.parser.question(line), knowledge) for line in asked)


def _one(question: Combine | None, knowledge: Knowledge) -> str:
    if question is None:
        return UNKNOWN
    values = [knowledge.resolve(part, believe_all=True) for part in question.parts]
    known = [value.value for value in values if isinstance(value, Known)]
    return combine(question, known) if len(known) == len(values) else UNKNOWN
