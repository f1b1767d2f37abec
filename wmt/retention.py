"""Equations 2-7 and 15 of the paper as pure functions, and their parameters.

Nothing here knows of trees: `wmt.tree` keeps the terms, `wmt.controller` acts on the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from wmt.nodes import NodeKind, Outcome

Unit = Annotated[float, Field(ge=0.0, le=1.0)]
Rate = Annotated[float, Field(gt=0.0, le=1.0)]
Weight = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]

TOLERANCE = 1e-12
"""Eq. 7 compares strictly; in doubles 0.9/3 - 0.2 lies a rounding error below 0.10 and must not
count as below it."""


class RetentionParams(BaseModel):
    """Parameters of equations 2-7. Defaults: appendix A.2; rho, rho_global and M are our choice,
    since the paper names them without values."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    u_success: Unit = 0.75
    u_failure: Unit = 0.30
    rho: Rate = 0.90
    rho_global: Rate = 0.95
    max_streak: Annotated[int, Field(ge=1)] = 3
    alpha: Weight = 0.60
    beta: Weight = 0.30
    gamma: Weight = 0.20
    delta: Weight = 0.20
    tau_obsolete: Annotated[float, Field(allow_inf_nan=False)] = 0.10

    @model_validator(mode="after")
    def _success_counts_more(self) -> Self:
        if self.u_success <= self.u_failure:
            raise ValueError(
                f"u_success must be above u_failure (Eq. 2), not {self.u_success} <= "
                f"{self.u_failure}"
            )
        return self


class InitialScores(BaseModel):
    """Type-specific initial scores (section 2.4). An action has its until its outcome is known."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    root: Unit = 1.0
    task: Unit = 0.50
    action: Unit = 0.50
    global_memory: Unit = 0.60

    def of(self, kind: NodeKind) -> float:
        """The initial score of a node of `kind`."""
        match kind:
            case NodeKind.ROOT:
                return self.root
            case NodeKind.TASK:
                return self.task
            case NodeKind.ACTION:
                return self.action
            case NodeKind.GLOBAL:
                return self.global_memory


def event_score(outcome: Outcome, params: RetentionParams) -> float:
    """Eq. 2: the score that a recorded or revised outcome assigns, whatever it was before. Raises
    ValueError for anything but an outcome."""
    return params.u_success if Outcome(outcome) is Outcome.SUCCESS else params.u_failure


def decayed_score(score: float, misses: int, is_global: bool, params: RetentionParams) -> float:
    """Eq. 4 and 5: the score after a missed selection, `misses` counting this one too.

    A global memory's streak is reset before each decay, so its factor is always rho_global.
    Raises ValueError for `misses` below 1: what was not missed does not decay.
    """
    if misses < 1:
        raise ValueError(f"misses counts the present miss and is at least 1, not {misses}")
    factor = params.rho_global if is_global else params.rho ** min(misses, params.max_streak)
    return min(1.0, max(0.0, score * factor))


def cumulative_decay_exponent(misses: int, max_streak: int) -> int:
    """Eq. 15: h_M(r), the exponent of rho after `misses` consecutive missed selections."""
    if misses <= max_streak:
        return misses * (misses + 1) // 2
    return max_streak * misses - max_streak * (max_streak - 1) // 2


def branch_priority(
    scores: Sequence[float],
    failed: int,
    actions: int,
    obsolete: int,
    nodes: int,
    params: RetentionParams,
) -> float:
    """Eq. 6: U of a branch.

    `scores` are the scores that count in the max and mean terms (not empty); `failed` of `actions`
    and `obsolete` of `nodes` count the whole subtree.
    """
    return priority_of_terms(
        max(scores), sum(scores) / len(scores), failed, actions, obsolete, nodes, params
    )


def priority_of_terms(
    best: float,
    mean: float,
    failed: int,
    actions: int,
    obsolete: int,
    nodes: int,
    params: RetentionParams,
) -> float:
    """Eq. 6 with its max and mean terms given, as `wmt.stats` keeps them up to date."""
    return (
        params.alpha * best
        + params.beta * mean
        - params.gamma * share(failed, actions)
        - params.delta * share(obsolete, nodes)
    )


def share(part: int, whole: int) -> float:
    """A proportion of Eq. 6, 0 where there is nothing to count."""
    return part / whole if whole else 0.0


def is_suppressed(priority: float, params: RetentionParams) -> bool:
    """Eq. 7: whether an eligible branch of this priority becomes obsolete."""
    return priority < params.tau_obsolete - TOLERANCE
