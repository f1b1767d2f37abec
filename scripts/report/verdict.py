"""Claims as comparisons: what each says of given results, and whether noise could explain it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from scripts.report.stats import ALPHA, holm

Relation = Literal[">", "<", ">=", "<=", "="]
Outcome = Literal["holds", "fails", "tie", "not enough data"]
Number = Fraction | float

EXACT = 1e-12
EQUAL_TO_PRINT = 5e-4
"""Two metrics count as equal if they agree to the three digits that the paper prints."""


@dataclass(frozen=True)
class Comparison:
    """`left relation right`, e.g. WMT's accuracy > linear's, in one place of the grid.

    `lacking` says why there is nothing to compare. `p` is of the difference, from rows (paired)
    or from aggregates (`test` says which); None where the noise is unknown.
    """

    where: str
    what: str
    left: str
    right: str
    relation: Relation
    left_value: Number | None = None
    right_value: Number | None = None
    lacking: str = ""
    p: float | None = None
    test: str = ""
    beyond: bool | None = None
    equal_within: float = EXACT

    @property
    def outcome(self) -> Outcome:
        """What this comparison alone says."""
        if self.left_value is None or self.right_value is None or self.lacking:
            return "not enough data"
        difference = float(self.left_value - self.right_value)
        equal = abs(difference) <= self.equal_within
        if self.relation in ("=", ">=", "<=") and equal:
            return "holds"
        if equal:
            return "tie"
        wanted = {">": difference > 0, ">=": difference > 0, "<": difference < 0}
        return (
            "holds"
            if wanted.get(self.relation, self.relation != "=" and difference < 0)
            else "fails"
        )

    def describe(self) -> str:
        """One line with the numbers."""
        where = f"{self.where}: " if self.where else ""
        if self.outcome == "not enough data":
            return f"{where}{self.what}: {self.lacking or 'no value'}"
        assert self.left_value is not None and self.right_value is not None
        noise = ""
        if self.beyond is not None:
            noise = ", beyond noise" if self.beyond else ", within noise"
        return (
            f"{where}{self.what}: {self.left} {show(self.left_value, self.what)} "
            f"{self.relation} {self.right} {show(self.right_value, self.what)}: "
            f"{self.outcome}{noise}"
        )


@dataclass(frozen=True)
class Verdict:
    """A claim held against results. `reading` is the reading of ASR, empty where it has none."""

    id: str
    claim: str
    outcome: Outcome
    comparisons: tuple[Comparison, ...]
    numbers: tuple[str, ...] = ()
    reading: str = ""
    scope: str = ""
    marks: tuple[str, ...] = field(default=())

    def marked(self, marks: Sequence[str]) -> Verdict:
        """The same verdict with these marks too."""
        return replace(self, marks=tuple(dict.fromkeys((*self.marks, *marks))))

    @property
    def noise(self) -> str:
        """How many of the claimed differences are beyond noise."""
        tested = [c for c in self.comparisons if c.beyond is not None]
        unknown = [
            c for c in self.comparisons if c.beyond is None and c.relation != "=" and not c.lacking
        ]
        parts = []
        for test in dict.fromkeys(c.test for c in tested):
            part = [c for c in tested if c.test == test]
            clear = sum(c.beyond is True and c.outcome == "holds" for c in part)
            parts.append(f"{clear} of {len(part)} beyond noise ({test}, Holm)")
        if unknown:
            parts.append(f"{len(unknown)} without rows, noise unknown")
        return "; ".join(parts)


def decide(comparisons: Sequence[Comparison]) -> Outcome:
    """A claim fails on one counterexample, whatever is missing; it holds only if all is there."""
    outcomes = [comparison.outcome for comparison in comparisons]
    if "fails" in outcomes:
        return "fails"
    if not outcomes or "not enough data" in outcomes:
        return "not enough data"
    return "tie" if "tie" in outcomes else "holds"


def with_noise(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Say of each tested comparison whether it is beyond noise, Holm-corrected over the claim."""
    tested = [place for place, c in enumerate(comparisons) if c.p is not None]
    corrected = holm([p for c in comparisons if (p := c.p) is not None])
    out = list(comparisons)
    for place, p in zip(tested, corrected, strict=True):
        out[place] = replace(out[place], beyond=p < ALPHA)
    return tuple(out)


def show(value: Number, what: str) -> str:
    """A value as the tables print it."""
    if what == "accuracy":
        return f"{100 * float(value):.2f}%"
    if what == "prompt tokens":
        return f"{float(value) / 1e6:.2f} M"
    return f"{float(value):.3f}"
