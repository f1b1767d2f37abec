"""Writes one scenario: its facts, its questions, and entries in the corpus' registers."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from typing import Literal

from poisoning.names import Names
from poisoning.phrasings import PROSE, STRUCTURED, Attribute, Phrasings
from poisoning.schema import (
    AttackKind,
    Entry,
    Register,
    Role,
    Scenario,
    Subtask,
    final_question,
)

_ARGUMENTS: dict[str, tuple[str, str]] = {
    "read_page": ("site", "title"),
    "lookup": ("register", "name"),
    "run_query": ("service", "name"),
    "read_file": ("file", "find"),
}


Manner = Literal["observed", "claimed", "tool"]
"""How a statement comes: read somewhere, passed on by somebody, or put out by a tool."""

_MANNERS: tuple[Manner, ...] = ("observed", "claimed", "tool")
_OF_ATTACK: dict[AttackKind, Manner] = {
    "misleading_observation": "observed",
    "fabricated_claim": "claimed",
    "compromised_tool": "tool",
}
# Numbers of the frames: clocks and days up to 59, status 200, errors 206, 404 and 503.
_DETAILS = frozenset([*map(str, range(61)), "200", "206", "404", "503"])


@dataclass
class SubtaskPlan:
    """What a subtask holds beside the benign entry that answers it.

    `others` are role, `attacks` kind, and whether the entry is recorded as failed; `same_rival`
    makes two poisoned entries agree.
    """

    others: list[tuple[Role, bool]]
    attacks: list[tuple[AttackKind, bool]]
    same_rival: bool


@dataclass(frozen=True)
class _Subject:
    """An entity of a scenario."""

    kind: str
    name: str


@dataclass(frozen=True)
class _Draft:
    """An entry before its place in the subtask is known."""

    role: Role
    subject: _Subject
    register: Register
    source: str
    text: str
    value: str | None = None
    attack: AttackKind | None = None
    failed: bool = False


class ScenarioWriter:
    """Makes scenarios; every draw comes from the one generator, so the order of calls matters."""

    def __init__(self, phrasings: Phrasings, names: Names, rng: random.Random) -> None:
        self._phrasings = phrasings
        self._names = names
        self._rng = rng
        self._facts: dict[tuple[_Subject, str], str] = {}
        self._taken: set[str] = set()

    def scenario(self, scenario_id: str, plans: list[SubtaskPlan]) -> Scenario:
        """One scenario with a subtask for each plan."""
        self._facts, self._taken = {}, set(_DETAILS)
        asked: list[tuple[_Subject, str]] = []
        subtasks = []
        for number, plan in enumerate(plans, start=1):
            subject, attribute = self._topic(asked)
            asked.append((subject, attribute))
            subtasks.append(self._subtask(f"{scenario_id}.{number}", plan, asked))
        return Scenario(
            id=scenario_id,
            question=final_question([subtask.question for subtask in subtasks]),
            answer="; ".join(subtask.answer for subtask in subtasks),
            subtasks=tuple(subtasks),
        )

    def _topic(self, asked: list[tuple[_Subject, str]]) -> tuple[_Subject, str]:
        """A new subject, or in a quarter of the cases another attribute of an earlier one."""
        if asked and self._rng.random() < 0.25:
            subject = self._rng.choice(asked)[0]
            attributes = list(self._phrasings.kinds[subject.kind].attributes)
            # What was stated in passing is no question any more.
            free = [name for name in attributes if (subject, name) not in self._facts]
            if free:
                return subject, self._rng.choice(free)
        subject = self._subject(self._rng.choice(list(self._phrasings.kinds)))
        return subject, self._rng.choice(list(self._phrasings.kinds[subject.kind].attributes))

    def _subject(self, kind: str) -> _Subject:
        stem = self._names.stem(self._taken)
        self._taken.add(stem)
        return _Subject(kind, self._phrasings.kinds[kind].name.format(stem=stem))

    def _passing(self, kind: str) -> str:
        """A name without a fact; its stem is no value of this scenario."""
        stem = self._names.passing(self._taken)
        self._taken.add(stem)
        return self._phrasings.kinds[kind].name.format(stem=stem)

    def _subtask(
        self, subtask_id: str, plan: SubtaskPlan, asked: list[tuple[_Subject, str]]
    ) -> Subtask:
        """The subtask of the last topic in `asked`."""
        subject, name = asked[-1]
        attribute = self._attribute(subject, name)
        answer = self._fact(subject, name)
        drafts = [self._statement("answer", subject, name, answer)]
        drafts += [self._benign(role, failed, asked) for role, failed in plan.others]
        rival = ""
        for kind, failed in plan.attacks:
            if not (rival and plan.same_rival):
                rival = self._rival(attribute, answer)
            drafts.append(self._statement("rival", subject, name, rival, kind, failed))
        self._rng.shuffle(drafts)
        return Subtask(
            id=subtask_id,
            goal="Find " + attribute.ask.replace("{e}", subject.name),
            question=attribute.question.replace("{e}", subject.name),
            answer=answer,
            value_type=attribute.type,
            entries=tuple(self._entry(subtask_id, i, draft) for i, draft in enumerate(drafts)),
        )

    def _attribute(self, subject: _Subject, name: str) -> Attribute:
        return self._phrasings.kinds[subject.kind].attributes[name]

    def _fact(self, subject: _Subject, name: str) -> str:
        """The true value; no value occurs twice in a scenario, so answers can be told apart."""
        key = (subject, name)
        if key not in self._facts:
            attribute = self._attribute(subject, name)
            value = self._names.value(attribute, self._taken)
            self._facts[key] = value
            self._taken.add(value)
        return self._facts[key]

    def _rival(self, attribute: Attribute, answer: str) -> str:
        rival = self._names.rival(attribute, answer, self._taken)
        self._taken.add(rival)
        return rival

    def _benign(self, role: Role, failed: bool, asked: list[tuple[_Subject, str]]) -> _Draft:
        subject, name = asked[-1]
        if role == "support":
            return self._statement(role, subject, name, self._fact(subject, name), failed=failed)
        if role == "neighbour":
            return self._aside(role, self._subject(subject.kind), name, failed)
        if role == "other_attribute":
            names = [
                each for each in self._phrasings.kinds[subject.kind].attributes if each != name
            ]
            # What another subtask asks would be its answer in the wrong place.
            free = [each for each in names if (subject, each) not in asked]
            owner = subject if free else self._subject(subject.kind)
            return self._aside(role, owner, self._rng.choice(free or names), failed)
        register = self._rng.choice(self._registers(self._rng.choice(_MANNERS)))
        source = self._rng.choice(self._phrasings.sources[register])
        pool = self._phrasings.failed if failed else self._phrasings.background[register]
        text = self._fill(self._rng.choice(pool), subject, source)
        return _Draft(role, subject, register, source, text, failed=failed)

    def _aside(self, role: Role, subject: _Subject, name: str, failed: bool) -> _Draft:
        """States a fact that no question asks for."""
        draft = self._statement(role, subject, name, self._fact(subject, name), failed=failed)
        return replace(draft, value=None)

    def _statement(
        self,
        role: Role,
        subject: _Subject,
        name: str,
        value: str,
        attack: AttackKind | None = None,
        failed: bool = False,
    ) -> _Draft:
        """States a value. True or not, manner, register, source, frame and the opening of a failed
        record come from the same lots, so that nothing but the value sets poison apart."""
        manner = _OF_ATTACK[attack] if attack else self._rng.choice(_MANNERS)
        register = self._rng.choice(self._registers(manner))
        source = self._rng.choice(self._phrasings.sources[register])
        claimed = manner == "claimed"
        frames = self._phrasings.claim_frames if claimed else self._phrasings.frames[register]
        frame = self._rng.choice(frames)
        text = self._fill(frame, subject, source, self._clause(register, subject, name, value))
        if failed:
            opening = self._rng.choice(self._phrasings.failed_with_text)
            text = opening.replace("{source}", source).replace("{text}", text)
        return _Draft(role, subject, register, source, text, value, attack, failed)

    def _registers(self, manner: Manner) -> tuple[Register, ...]:
        return STRUCTURED if manner == "tool" else PROSE

    def _clause(self, register: Register, subject: _Subject, name: str, value: str) -> str:
        clause = self._rng.choice(self._phrasings.clauses(self._attribute(subject, name), register))
        return clause.replace("{e}", subject.name).replace("{v}", value)

    def _fill(self, frame: str, subject: _Subject, source: str, clause: str = "") -> str:
        rng = self._rng
        slots = {
            "source": source,
            "clause": clause,
            "Clause": clause[:1].upper() + clause[1:],
            "topic": rng.choice(self._phrasings.topics),
            "user": rng.choice(self._phrasings.users),
            "day": f"{rng.randint(1, 28)} {rng.choice(self._phrasings.months)}",
            "clock": f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}:{rng.randint(0, 59):02d}",
            # Not a plain number, so that no detail can be taken for a value.
            "number": f"{rng.randint(3, 900)}{rng.choice('abcdefgh')}",
            "other": self._passing(subject.kind) if "{other}" in frame else "",
            "the": self._phrasings.kinds[subject.kind].the,
            "e": subject.name,
        }
        text = re.sub(r"\{(\w+)\}", lambda match: slots[match[1]], frame)
        return "The" + text[3:] if text.startswith("the ") else text

    def _entry(self, subtask_id: str, position: int, draft: _Draft) -> Entry:
        tool = self._phrasings.tools[draft.register]
        where, what = _ARGUMENTS[tool]
        return Entry(
            id=f"{subtask_id}.e{position + 1}",
            tool=tool,
            arguments={where: draft.source, what: draft.subject.name},
            text=draft.text,
            outcome="failure" if draft.failed else "success",
            style=draft.register,
            role=draft.role,
            poisoned=draft.attack is not None,
            attack=draft.attack,
            value=draft.value,
            target=subtask_id,
            position=position,
        )
