"""What a branch is worth, kept up to date: the terms of Eq. 6 for one task.

Sums are kept as integers of 2**-80, so that a million additions and removals leave no rounding
behind: the kept sum equals a fresh one bit for bit, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ldexp

_BITS = 80


def fixed(score: float) -> int:
    """A score in [0, 1] in units of 2**-80; exact for scores above 1e-8, else within 1e-24."""
    return int(ldexp(score, _BITS))


@dataclass(frozen=True, slots=True)
class Terms:
    """Scores that count in the max and mean terms: how many, their sum, and the best (None if
    there are none)."""

    count: int
    total: int
    best: float | None

    @property
    def mean(self) -> float:
        """Mean score; `count` must not be 0."""
        return self.total / (self.count << _BITS)


@dataclass(slots=True)
class BranchStats:
    """Counts over a task's whole subtree, itself included, and the terms of its unfolded state.

    `heap` holds (-best, child) for every value a child ever had; an entry that no longer agrees
    with its child is dropped when it surfaces. So a child that decays never makes anybody look at
    its siblings.
    """

    nodes: int = 0
    actions: int = 0
    failed: int = 0
    obsolete: int = 0
    count: int = 0
    total: int = 0
    best: float | None = None
    heap: list[tuple[float, int]] = field(default_factory=list)
