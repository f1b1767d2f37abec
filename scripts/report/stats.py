"""Intervals and tests on rows: statsmodels, and a bootstrap that resamples questions.

Several seeds of one question are no independent answers: wherever there is more than one, a
question is resampled whole (clustered bootstrap). Random numbers come from a fixed seed.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint, proportions_ztest

RESAMPLES = 10_000
SEED = 20631
ALPHA = 0.05

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A 95% interval."""

    low: float
    high: float


@dataclass(frozen=True)
class Paired:
    """Two configurations on the same questions.

    `wins` counts questions that only the first got right, `losses` those that only the second
    did (means over seeds are compared). `p` is from the exact McNemar test where each question
    was answered once, else from the clustered bootstrap; `difference` is in accuracy, first minus
    second.
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
    p: float


def wilson(correct: int, runs: int) -> Interval:
    """Wilson interval of a share of right answers."""
    if runs == 0:
        return Interval(0.0, 1.0)
    low, high = proportion_confint(correct, runs, alpha=ALPHA, method="wilson")
    return Interval(float(low), float(high))


def accuracy_interval(scores: pd.DataFrame) -> Interval:
    """Interval of the accuracy of one cell: Wilson with one seed, clustered bootstrap with more.

    `scores` has the columns task_id, seed and score. Where every run was right, or every run
    wrong, resampling shows no spread: then it is Wilson of the questions.
    """
    if scores["seed"].nunique() <= 1:
        return wilson(int((scores["score"] == 1.0).sum()), len(scores))
    by_question = scores.groupby("task_id")["score"].mean().to_numpy(dtype=float)
    if by_question.min() == by_question.max() and by_question[0] in (0.0, 1.0):
        return wilson(int(by_question.sum()), len(by_question))
    return bootstrap_mean(by_question)


def paired_accuracy(first: pd.DataFrame, second: pd.DataFrame) -> Paired | None:
    """Compare two sets of rows on the questions that both have; None if there is none."""
    both = _by_question(first, second, "score")
    if both is None:
        return None
    left, right = both
    difference = left - right
    wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
    mean, interval, p = bootstrap_difference(left, right)
    test = "bootstrap by question"
    if first["task_id"].is_unique and second["task_id"].is_unique:
        ties = len(difference) - wins - losses
        p = min(1.0, float(mcnemar([[ties, wins], [losses, 0]], exact=True).pvalue))
        test = "exact McNemar"
    return Paired(len(difference), wins, losses, mean, interval, p, test)


def paired_tokens(first: pd.DataFrame, second: pd.DataFrame) -> TokenDifference | None:
    """Compare prompt tokens of two sets of rows on the questions that both have."""
    both = _by_question(first, second, "prompt_tokens")
    if both is None:
        return None
    left, right = both
    mean, interval, p = bootstrap_difference(left, right)
    if right.sum() <= 0:
        unknown = Interval(float("nan"), float("nan"))
        return TokenDifference(len(left), mean, interval, float("nan"), unknown, p)
    ratio = float(left.sum() / right.sum() - 1)
    counts = _resamples(len(left))
    ratios = (counts @ left) / np.maximum(counts @ right, 1.0) - 1
    return TokenDifference(len(left), mean, interval, ratio, _percentiles(ratios), p)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction over one family of tests, in the order given."""
    if not p_values:
        return []
    # statsmodels collects garbage on every call, a tenth of a second with pandas loaded.
    gc.freeze()
    try:
        return [float(p) for p in multipletests(list(p_values), alpha=ALPHA, method="holm")[1]]
    finally:
        gc.unfreeze()


def two_proportions(correct: tuple[int, int], runs: tuple[int, int]) -> float:
    """p of two unpaired shares, for aggregates that have no rows (pooled z test)."""
    if correct[0] * runs[1] == correct[1] * runs[0]:
        return 1.0
    return float(proportions_ztest(correct, runs)[1])


def bootstrap_mean(values: Floats) -> Interval:
    """Percentile interval of a mean, resampling the values."""
    return _percentiles(_resamples(len(values)) @ values / len(values))


def bootstrap_difference(first: Floats, second: Floats) -> tuple[float, Interval, float]:
    """Mean paired difference, its interval and a two-sided p, resampling pairs.

    The p is twice the smaller share of the bootstrap distribution on either side of zero, with
    one added to numerator and denominator so that it is never zero. Resampling few pairs cannot
    show how they vary, so the p is never below what flipping signs allows: 2 / 2^k with k pairs
    that differ, as in the exact McNemar test where all of them point one way.
    """
    difference = first - second
    spread = _resamples(len(difference)) @ difference / len(difference)
    below, above = int((spread <= 0).sum()), int((spread >= 0).sum())
    least = 2.0 ** (1 - int(np.count_nonzero(difference)))
    p = min(1.0, max(least, 2 * (min(below, above) + 1) / (RESAMPLES + 1)))
    return float(difference.mean()), _percentiles(spread), p


def _by_question(
    first: pd.DataFrame, second: pd.DataFrame, column: str
) -> tuple[Floats, Floats] | None:
    left, right = _means(first, column), _means(second, column)
    shared = left.index.intersection(right.index)
    if shared.empty:
        return None
    return (
        np.asarray(left.loc[shared], dtype=np.float64),
        np.asarray(right.loc[shared], dtype=np.float64),
    )


def _means(rows: pd.DataFrame, column: str) -> pd.Series[float]:
    if rows["task_id"].is_unique:
        return rows.set_index("task_id")[column]
    return rows.groupby("task_id")[column].mean()


@lru_cache(maxsize=8)
def _resamples(size: int) -> Floats:
    """How often each of `size` questions occurs in each resample, one resample a line."""
    draws = np.random.default_rng(SEED).integers(0, size, size=(RESAMPLES, size))
    draws += np.arange(RESAMPLES)[:, None] * size
    counts = np.bincount(draws.ravel(), minlength=RESAMPLES * size)
    return counts.reshape(RESAMPLES, size).astype(np.float64)


def _percentiles(spread: Floats) -> Interval:
    low, high = np.percentile(spread, [2.5, 97.5])
    return Interval(float(low), float(high))
