"""Writes one scenario: its facts, its questions, and entries in the corpus' registers."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

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


@dataclass
class SubtaskPlan:
    """What a subtask holds beside the benign entry that answers it.

    `attacks` are kind and whether the entry is recorded as failed; `same_rival` makes two
    poisoned entries agree.
    """

    others: list[Role]
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
        self._facts, self._taken = {}, set()
        asked: list[tuple[_Subject, str]] = []
        subtasks = []
        for number, plan in enumerate(plans, start=1):
            subject, attribute = self._topic(asked)
            asked.append((subject, attribute))
            subtasks.append(self._subtask(f"{scenario_id}.{number}", plan, subject, attribute))
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
            free = [name for name in attributes if (subject, name) not in asked]
            if free:
                return subject, self._rng.choice(free)
        subject = self._subject(self._rng.choice(list(self._phrasings.kinds)))
        return subject, self._rng.choice(list(self._phrasings.kinds[subject.kind].attributes))

    def _subject(self, kind: str) -> _Subject:
        return _Subject(kind, self._names.entity(self._phrasings.kinds[kind].name))

    def _subtask(self, subtask_id: str, plan: SubtaskPlan, subject: _Subject, name: str) -> Subtask:
        attribute = self._attribute(subject, name)
        answer = self._fact(subject, name)
        drafts = [self._statement("answer", subject, name, answer)]
        drafts += [self._benign(role, subject, name) for role in plan.others]
        rival = ""
        for kind, failed in plan.attacks:
            if not (rival and plan.same_rival):
                rival = self._rival(attribute, answer)
            drafts.append(self._attack(kind, failed, subject, name, rival))
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

    def _benign(self, role: Role, subject: _Subject, name: str) -> _Draft:
        if role == "support":
            return self._statement(role, subject, name, self._fact(subject, name))
        if role == "other_attribute":
            others = [n for n in self._phrasings.kinds[subject.kind].attributes if n != name]
            other = self._rng.choice(others)
            return self._statement(role, subject, other, self._fact(subject, other), claims=False)
        if role == "neighbour":
            neighbour = self._subject(subject.kind)
            fact = self._fact(neighbour, name)
            return self._statement(role, neighbour, name, fact, claims=False)
        register = self._rng.choice(PROSE + STRUCTURED)
        source = self._rng.choice(self._phrasings.sources[register])
        failed = role == "failed"
        pool = self._phrasings.failed if failed else self._phrasings.background[register]
        text = self._fill(self._rng.choice(pool), subject, source)
        return _Draft(role, subject, register, source, text, failed=failed)

    def _statement(
        self, role: Role, subject: _Subject, name: str, value: str, claims: bool = True
    ) -> _Draft:
        register = self._rng.choice(PROSE + STRUCTURED)
        source = self._rng.choice(self._phrasings.sources[register])
        frame = self._rng.choice(self._phrasings.frames[register])
        text = self._fill(frame, subject, source, self._clause(register, subject, name, value))
        return _Draft(role, subject, register, source, text, value if claims else None)

    def _attack(
        self, kind: AttackKind, failed: bool, subject: _Subject, name: str, rival: str
    ) -> _Draft:
        register = self._rng.choice(STRUCTURED if kind == "compromised_tool" else PROSE)
        source = self._rng.choice(self._phrasings.sources[register])
        fabricated = kind == "fabricated_claim"
        frames = self._phrasings.claim_frames if fabricated else self._phrasings.frames[register]
        frame = self._rng.choice(frames)
        text = self._fill(frame, subject, source, self._clause(register, subject, name, rival))
        if failed:
            opening = self._rng.choice(self._phrasings.failed_with_text)
            text = opening.replace("{source}", source).replace("{text}", text)
        return _Draft("rival", subject, register, source, text, rival, kind, failed)

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
            "other": self._names.passing(self._phrasings.kinds[subject.kind].name),
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
