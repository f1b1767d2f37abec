"""Intervals and tests on rows, by statsmodels and scipy.

Several seeds of one question are no independent answers: wherever there is more than one, a
question is resampled whole (clustered bootstrap). Random numbers come from a fixed seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats as scipy_stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint, test_proportions_2indep

RESAMPLES = 2000
SEED = 20631
ALPHA = 0.05

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A 95% interval."""

    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Paired:
    """Two configurations on the same questions.

    `wins` counts questions that only the first got right, `losses` those that only the second
    did (means over seeds are compared). `p` is from the exact McNemar test with one seed each,
    else from the clustered bootstrap; `difference` is in accuracy, first minus second.
    """

    questions: int
    wins: int
    losses: int
    difference: float
    interval: Interval
    p: float
    test: str


@dataclass(frozen=True)
class TokenDifference:
    """Prompt tokens a question, first minus second, and the relative change of the totals."""

    questions: int
    mean: float
    interval: Interval
    ratio: float
    ratio_interval: Interval


def wilson(correct: int, runs: int) -> Interval:
    """Wilson interval of a share of right answers."""
    if runs == 0:
        return Interval(0.0, 1.0)
    low, high = proportion_confint(correct, runs, alpha=ALPHA, method="wilson")
    return Interval(float(low), float(high))


def accuracy_interval(scores: pd.DataFrame) -> Interval:
    """Interval of the accuracy of one cell: Wilson with one seed, clustered bootstrap with more.

    `scores` has the columns task_id, seed and score.
    """
    if scores["seed"].nunique() <= 1:
        return wilson(int((scores["score"] == 1.0).sum()), len(scores))
    by_question = scores.groupby("task_id")["score"].mean().to_numpy(dtype=float)
    return _bootstrap_mean(by_question)[0]


def paired_accuracy(first: pd.DataFrame, second: pd.DataFrame) -> Paired | None:
    """Compare two cells on the questions that both have; None if there is none."""
    both = _by_question(first, second, "score")
    if both is None:
        return None
    left, right = both
    difference = left - right
    wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
    interval, spread = _bootstrap_mean(difference)
    if first["seed"].nunique() == 1 and second["seed"].nunique() == 1:
        ties = len(difference) - wins - losses
        p = float(mcnemar([[ties, wins], [losses, 0]], exact=True).pvalue)
        test = "exact McNemar"
    else:
        p = _two_sided(spread)
        test = "bootstrap by question"
    return Paired(
        len(difference), wins, losses, float(difference.mean()), interval, min(p, 1.0), test
    )


def paired_tokens(first: pd.DataFrame, second: pd.DataFrame) -> TokenDifference | None:
    """Compare prompt tokens of two cells on the questions that both have."""
    both = _by_question(first, second, "prompt_tokens")
    if both is None:
        return None
    left, right = both
    interval, _ = _bootstrap_mean(left - right)
    if right.sum() == 0:
        nothing = Interval(float("nan"), float("nan"))
        return TokenDifference(
            len(left), float((left - right).mean()), interval, float("nan"), nothing
        )
    ratio = float(left.sum() / right.sum() - 1)
    if len(left) < 2:
        return TokenDifference(
            len(left), float((left - right).mean()), interval, ratio, Interval(-1.0, float("inf"))
        )
    rows = _resampled_rows(len(left))
    ratios = left[rows].sum(axis=1) / np.maximum(right[rows].sum(axis=1), 1.0) - 1
    low, high = np.percentile(ratios, [2.5, 97.5])
    return TokenDifference(
        len(left),
        float((left - right).mean()),
        interval,
        ratio,
        Interval(float(low), float(high)),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction over one family of tests, in the order given."""
    if not p_values:
        return []
    return [float(p) for p in multipletests(list(p_values), alpha=ALPHA, method="holm")[1]]


def two_proportions(correct: tuple[int, int], runs: tuple[int, int]) -> float:
    """p of two unpaired shares, for aggregates that have no rows (score test)."""
    if correct[0] == correct[1] and runs[0] == runs[1]:
        return 1.0
    result: Any = test_proportions_2indep(
        correct[0], runs[0], correct[1], runs[1], method="score", compare="diff"
    )
    return float(result.pvalue)


def bootstrap_difference(first: Floats, second: Floats) -> tuple[float, Interval, float]:
    """Mean paired difference, its interval and a two-sided p, by resampling pairs."""
    interval, spread = _bootstrap_mean(first - second)
    return float((first - second).mean()), interval, _two_sided(spread)


def bootstrap_mean(values: Floats) -> Interval:
    """Interval of a mean by resampling."""
    return _bootstrap_mean(values)[0]


def _by_question(
    first: pd.DataFrame, second: pd.DataFrame, column: str
) -> tuple[Floats, Floats] | None:
    left = first.groupby("task_id")[column].mean()
    right = second.groupby("task_id")[column].mean()
    shared = left.index.intersection(right.index)
    if shared.empty:
        return None
    return (
        left.loc[shared].to_numpy(dtype=float),
        right.loc[shared].to_numpy(dtype=float),
    )


def _bootstrap_mean(values: Floats) -> tuple[Interval, Floats]:
    """Percentile interval of a mean and its bootstrap distribution."""
    mean = float(values.mean())
    if len(values) < 2 or np.ptp(values) == 0:
        return Interval(mean, mean), np.full(RESAMPLES, mean)
    result = scipy_stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=RESAMPLES,
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(SEED),
    )
    bounds = result.confidence_interval
    return Interval(float(bounds.low), float(bounds.high)), result.bootstrap_distribution


def _resampled_rows(size: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(SEED).integers(0, size, size=(RESAMPLES, size))


def _two_sided(spread: Floats) -> float:
    """Share of the bootstrap distribution beyond zero, twice, with the +1 that keeps it off 0."""
    below, above = int((spread <= 0).sum()), int((spread >= 0).sum())
    return min(1.0, 2 * (min(below, above) + 1) / (len(spread) + 1))
