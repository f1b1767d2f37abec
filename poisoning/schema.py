"""The corpus' schema: scenarios of subtasks of entries (paper, appendix A.3), and reading them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

AttackKind = Literal["misleading_observation", "fabricated_claim", "compromised_tool"]
Register = Literal["encyclopedia", "register", "news", "forum", "log", "table"]
ValueType = Literal["year", "number", "person", "place", "organisation"]
Place = Literal["before", "between", "after", "earlier subtask"]
Role = Literal["answer", "support", "other_attribute", "neighbour", "background", "failed", "rival"]

SCENARIOS = Path(__file__).parent / "data" / "scenarios.jsonl"


class Entry(BaseModel):
    """One memory entry: an action, what it observed and its operational outcome.

    `value` is what the entry claims about `target`'s question, None where it claims nothing about
    it. `target` is the subtask whose question the entry bears on: its own, except for a sleeper.
    `position` counts from 0 within the subtask; `style` (in files `register`) is
    how it is written. `poisoned`, `attack`, `role` and `target` are
    provenance: evaluators may use them, no prompt may depend on them.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_by_name=True, serialize_by_alias=True
    )

    id: str
    tool: str
    arguments: dict[str, str]
    text: str
    outcome: Literal["success", "failure"]
    style: Register = Field(alias="register")
    role: Role
    poisoned: bool
    attack: AttackKind | None
    value: str | None
    target: str
    position: int


class Subtask(BaseModel):
    """One goal with its critical question, the right answer, and the entries in their order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    goal: str
    question: str
    answer: str
    value_type: ValueType
    entries: tuple[Entry, ...]


class Scenario(BaseModel):
    """One scenario; `question` combines all subtasks, `answer` joins theirs with "; "."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    question: str
    answer: str
    subtasks: tuple[Subtask, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries in the order in which they happen."""
        return tuple(entry for subtask in self.subtasks for entry in subtask.entries)


def read_scenarios(path: Path = SCENARIOS) -> list[Scenario]:
    """The scenarios of a jsonl file, one a line; raises `ValueError` naming the line."""
    scenarios = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            scenarios.append(Scenario.model_validate_json(line))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: no scenario: {error}") from error
    return scenarios


def corpus_digest(path: Path = SCENARIOS) -> str:
    """SHA-256 (12 hex digits) of the corpus, which pins it in every row."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def final_question(questions: Sequence[str]) -> str:
    """One question over all subtasks, a numbered line for each."""
    lines = [f"{number}. {question}" for number, question in enumerate(questions, start=1)]
    return "\n".join(['Answer every part, in order, separated by "; ".', *lines])
