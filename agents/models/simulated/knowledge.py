"""What a prompt says, item by item, and the one rule for statements that contradict each other.

Trusted statements are compared alone if there are any: those of failed actions, of failure
warnings and of marked sources count only where nothing else answers. Among what is left,
`most_support` takes the value stated by most items (ties: the value stated last), `latest` the one
stated last, `first` the one stated first. The order is that of the prompt.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from agents.models.simulated.mentions import Mention, read_mention
from agents.models.simulated.questions import Combine, Lookup, Name
from agents.models.simulated.reading import Statement

Conflict = Literal["most_support", "latest", "first"]


@dataclass(frozen=True)
class Known:
    """A value; `trusted` if some trusted statement gives it."""

    value: str
    trusted: bool


@dataclass(frozen=True)
class Need:
    """What has to be found next: `relations` of `subject`; `rumour` is a distrusted value."""

    relations: tuple[str, ...]
    subject: Mention
    rumour: str | None = None


class _Said(NamedTuple):
    """A statement in the order of the prompt, with the item that makes it."""

    order: int
    item: int
    statement: Statement


class Knowledge:
    """Statements of a prompt, and results of subtasks by the phrase that asked for them."""

    def __init__(self, conflict: Conflict) -> None:
        self._conflict = conflict
        self._statements: dict[tuple[str, str], list[_Said]] = {}
        self._results: dict[str, list[_Said]] = {}
        self._count = 0

    def add(self, item: int, statements: Iterable[Statement], trusted: bool = True) -> None:
        """Take in what item number `item` of the prompt states."""
        for statement in statements:
            if not trusted and statement.trusted:
                statement = Statement(
                    statement.relation, statement.subject, statement.value, False, statement.text
                )
            key = (statement.relation, statement.subject.name.lower())
            self._statements.setdefault(key, []).append(self._said(item, statement))

    def add_result(self, item: int, asked: Lookup, value: str) -> None:
        """Take in that a subtask which asked for a phrase came out with `value`."""
        subject = asked.subject.mention if isinstance(asked.subject, Name) else Mention("")
        statement = Statement(asked.relations[0], subject, value, True, asked.text)
        self._results.setdefault(asked.text, []).append(self._said(item, statement))

    def _said(self, item: int, statement: Statement) -> _Said:
        self._count += 1
        return _Said(self._count, item, statement)

    def value(self, relations: tuple[str, ...], subject: Mention) -> Known | None:
        """What the prompt says of one subject in any of some relations."""
        return self._decide(self._about(relations, subject))

    def _about(self, relations: tuple[str, ...], subject: Mention) -> list[_Said]:
        keys = [(relation, subject.name.lower()) for relation in relations]
        found = [said for key in keys for said in self._statements.get(key, ())]
        if len(keys) > 1:
            found.sort(key=lambda said: said.order)
        return [said for said in found if said.statement.subject.fits(subject)]

    def resolve(
        self, node: Lookup | Name, accept: Collection[Need] = (), believe_all: bool = False
    ) -> Known | Need:
        """Follow a phrase as far as the prompt goes: its value, or the first thing missing.

        A need in `accept` is met by its rumour, with `believe_all` every need that has one.
        """
        if isinstance(node, Name):
            return Known(str(node.mention), True)
        direct = self._results.get(node.text, [])
        if isinstance(node.subject, Name):
            stated = self._about(node.relations, node.subject.mention)
            direct = sorted([*direct, *stated], key=lambda said: said.order)
        known = self._decide(direct)
        if known is not None and known.trusted:
            return known
        inner = self.resolve(node.subject, accept, believe_all)
        if isinstance(inner, Need):
            return inner
        subject = read_mention(inner.value)
        if subject is None:  # a number or a word where a name was needed: a dead end
            return Need(node.relations, Mention(inner.value), None)
        known = known or self.value(node.relations, subject)
        if known is None:
            return Need(node.relations, subject)
        if known.trusted:
            return known
        need = Need(node.relations, subject, known.value)
        return known if believe_all or need in accept else need

    def _decide(self, found: list[_Said]) -> Known | None:
        trusted = [said for said in found if said.statement.trusted]
        candidates = trusted or found
        if not candidates:
            return None
        if self._conflict == "first":
            chosen = candidates[0].statement
        elif self._conflict == "latest":
            chosen = candidates[-1].statement
        else:
            support: dict[str, set[int]] = {}
            last: dict[str, int] = {}
            for at, said in enumerate(candidates):
                support.setdefault(said.statement.key, set()).add(said.item)
                last[said.statement.key] = at
            best = max(support, key=lambda key: (len(support[key]), last[key]))
            chosen = candidates[last[best]].statement
        return Known(chosen.value, bool(trusted))


def combine(question: Combine, values: list[str]) -> str:
    """The answer out of the looked-up values; "unknown" where they are not what was asked for."""
    if question.op == "value":
        return _shown(values[0])
    if question.op == "pair":
        return ", ".join(map(_shown, values))
    if question.op == "sorted":
        return ", ".join(sorted(values[0].split(", ")))
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return "unknown"
    result = {
        "sum": sum(numbers),
        "difference": abs(numbers[0] - numbers[-1]),
        "greater": max(numbers),
        "smaller": min(numbers),
    }[question.op]
    return f"{result:.10g}"


def _shown(value: str) -> str:
    mention = read_mention(value)
    return mention.name if mention is not None else value
