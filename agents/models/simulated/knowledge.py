"""What a prompt says, item by item, and the one rule for statements that contradict each other.

Trusted statements are compared alone if there are any: those of failed actions, of failure
warnings and of marked sources count only where nothing else answers. Among what is left,
`most_support` takes the value stated by most items (ties: the value stated last), `latest` the one
stated last, `first` the one stated first. The order is that of the prompt.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

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
    """What has to be found next: `relation` of `subject`; `rumour` is a distrusted value."""

    relation: str
    subject: Mention
    rumour: str | None = None


class Knowledge:
    """Statements of a prompt, and results of subtasks by the phrase that asked for them."""

    def __init__(self, conflict: Conflict) -> None:
        self._conflict = conflict
        self._statements: dict[tuple[str, str], list[tuple[int, Statement]]] = {}
        self._results: dict[str, list[tuple[int, Statement]]] = {}

    def add(self, item: int, statements: Iterable[Statement], trusted: bool = True) -> None:
        """Take in what item number `item` of the prompt states."""
        for statement in statements:
            if not trusted and statement.trusted:
                statement = Statement(
                    statement.relation, statement.subject, statement.value, False, statement.text
                )
            key = (statement.relation, statement.subject.name.lower())
            self._statements.setdefault(key, []).append((item, statement))

    def add_result(self, item: int, asked: Lookup, value: str) -> None:
        """Take in that a subtask which asked for a phrase came out with `value`."""
        subject = asked.subject.mention if isinstance(asked.subject, Name) else Mention("")
        statement = Statement(asked.relation, subject, value, True, asked.text)
        self._results.setdefault(asked.text, []).append((item, statement))

    def value(self, relation: str, subject: Mention) -> Known | None:
        """What the prompt says of one relation of one subject."""
        found = self._statements.get((relation, subject.name.lower()), ())
        return self._decide([(i, s) for i, s in found if s.subject.fits(subject)])

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
            key = (node.relation, node.subject.mention.name.lower())
            stated = self._statements.get(key, ())
            direct = direct + [(i, s) for i, s in stated if s.subject.fits(node.subject.mention)]
            direct.sort(key=lambda pair: pair[0])
        known = self._decide(direct)
        if known is not None and known.trusted:
            return known
        inner = self.resolve(node.subject, accept, believe_all)
        if isinstance(inner, Need):
            return inner
        subject = read_mention(inner.value)
        if subject is None:  # a number or a word where a name was needed: a dead end
            return Need(node.relation, Mention(inner.value), None)
        known = known or self.value(node.relation, subject)
        if known is None:
            return Need(node.relation, subject)
        if known.trusted:
            return known
        need = Need(node.relation, subject, known.value)
        return known if believe_all or need in accept else need

    def _decide(self, found: list[tuple[int, Statement]]) -> Known | None:
        trusted = [pair for pair in found if pair[1].trusted]
        candidates = trusted or found
        if not candidates:
            return None
        if self._conflict == "first":
            chosen = candidates[0][1]
        elif self._conflict == "latest":
            chosen = candidates[-1][1]
        else:
            support: dict[str, set[int]] = {}
            last: dict[str, int] = {}
            for at, (item, statement) in enumerate(candidates):
                support.setdefault(statement.key, set()).add(item)
                last[statement.key] = at
            best = max(support, key=lambda key: (len(support[key]), last[key]))
            chosen = candidates[last[best]][1]
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
