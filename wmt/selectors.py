"""Which candidates go into the working context (paper, section 2.6): one protocol, and the
selectors that need neither a model nor an index.

`SelectAll` keeps everything; `WholeBranches` (ablation A3) keeps branches whole by priority.
`wmt.llm_selector` and `wmt.lexical` hold the other two. A selector names ids from the most to the
least useful; what exceeds the budget is cut by `wmt.synthesizer` from the end of that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from wmt.memory import Selection
from wmt.nodes import MemoryNode


@dataclass(frozen=True, slots=True)
class Candidate:
    """One member of the pool that is not shown anyway (active path, last step).

    `text` is what a selector may read of it, `tokens` what it costs in the context. `score` and
    `priority` are u and U of its branch (None for a global memory, section 2.6); both are None
    where the configuration shows no scores. `unit` names the branch that it stands or falls with
    where whole branches are selected.
    """

    node: MemoryNode
    text: str
    tokens: int
    score: float | None
    priority: float | None
    unit: int

    @property
    def id(self) -> int:
        """Its node's id."""
        return self.node.id


@dataclass(frozen=True, slots=True)
class SelectionRequest:
    """What a selector decides on: the goals of the active path, the root's first and the active
    task's last; the candidates by id; the tokens that the budget leaves for them (None: no limit).
    """

    goals: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    room: int | None


@dataclass(frozen=True, slots=True)
class Chosen:
    """Ids from the most to the least useful, and how they came about. `cut` are ids that were
    chosen and do not fit, where a selector itself minds the budget."""

    ids: tuple[int, ...]
    selection: Selection
    cut: tuple[int, ...] = ()


class Selector(Protocol):
    """Chooses among candidates."""

    async def select(self, request: SelectionRequest) -> Chosen:
        """Choose; never raises for what a model replied."""
        ...


class SelectAll:
    """Everything, the latest first: over the budget, the oldest goes."""

    async def select(self, request: SelectionRequest) -> Chosen:
        """See the class."""
        ids = tuple(sorted((each.id for each in request.candidates), reverse=True))
        return Chosen(ids, Selection("all", shown=len(ids)))


class WholeBranches:
    """Branches by priority until the budget is full, each with all of its candidates (A3)."""

    async def select(self, request: SelectionRequest) -> Chosen:
        """See the class. A branch that does not fit is cut whole; a smaller one after it may
        still fit."""
        units: dict[int, list[Candidate]] = {}
        for candidate in by_usefulness(request.candidates):
            units.setdefault(candidate.unit, []).append(candidate)
        room = request.room
        fitting: list[int] = []
        too_large: list[int] = []
        for members in units.values():
            cost = sum(member.tokens for member in members)
            if room is None or cost <= room:
                fitting += [member.id for member in members]
                room = None if room is None else room - cost
            else:
                too_large += [member.id for member in members]
        selection = Selection("branches", shown=len(request.candidates))
        return Chosen(tuple(fitting), selection, tuple(too_large))


def by_usefulness(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The deterministic order: branch priority, then u, then recency. A global memory, which has
    no branch, stands by its u."""

    def key(candidate: Candidate) -> tuple[float, float, int]:
        score = candidate.score or 0.0
        priority = score if candidate.priority is None else candidate.priority
        return (-priority, -score, -candidate.id)

    return sorted(candidates, key=key)
