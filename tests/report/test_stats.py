"""Intervals and tests against values worked out by hand, and against statsmodels and scipy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

from scripts.report import stats


def rows(
    scores: Sequence[float], tokens: Sequence[int] | None = None, seed: int = 0
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "task_id": [f"q{n}" for n in range(len(scores))],
            "seed": seed,
            "score": [float(score) for score in scores],
            "prompt_tokens": list(tokens or [100] * len(scores)),
        }
    )


def test_wilson_by_hand_and_by_statsmodels() -> None:
    # Wilson for 2 of 4: centre 1/2, half width z sqrt(1/16 + z^2/64) / (1 + z^2/4).
    z = 1.959963984540054
    half = z * math.sqrt(1 / 16 + z**2 / 64) / (1 + z**2 / 4)
    interval = stats.wilson(2, 4)
    assert interval.low == pytest.approx(0.5 - half)
    assert interval.high == pytest.approx(0.5 + half)
    assert (round(interval.low, 2), round(interval.high, 2)) == (0.15, 0.85)
    low, high = proportion_confint(43, 127, method="wilson")
    assert (stats.wilson(43, 127).low, stats.wilson(43, 127).high) == pytest.approx((low, high))


def test_mcnemar_by_hand_and_by_statsmodels() -> None:
    # Three questions only the first got right, none only the second: p = 2 (1/2)^3 = 0.25.
    first, second = rows([1, 1, 1, 1, 0, 0]), rows([1, 0, 0, 0, 0, 0])
    paired = stats.paired_accuracy(first, second)
    assert paired is not None
    assert (paired.wins, paired.losses, paired.questions) == (3, 0, 6)
    assert paired.difference == pytest.approx(0.5)
    assert paired.p == pytest.approx(0.25)
    assert paired.test == "exact McNemar"
    other = stats.paired_accuracy(rows([1] * 9 + [0] * 2), rows([0] * 9 + [1] * 2))
    assert other is not None
    assert other.p == pytest.approx(mcnemar([[0, 9], [2, 0]], exact=True).pvalue)


def test_equal_runs_have_p_one() -> None:
    paired = stats.paired_accuracy(rows([1, 0, 1]), rows([1, 0, 1]))
    assert paired is not None
    assert (paired.p, paired.difference, paired.interval.low) == (1.0, 0.0, 0.0)


def test_only_shared_questions_are_compared() -> None:
    paired = stats.paired_accuracy(rows([1, 1, 1]), rows([0, 0]))
    assert paired is not None
    assert paired.questions == 2
    assert stats.paired_accuracy(rows([1]), rows([1]).assign(task_id="other")) is None


def test_several_seeds_are_resampled_by_question() -> None:
    # One question right with every seed, nine wrong with every seed: three seeds of a question
    # are no further evidence, so the interval is that of ten answers, not of thirty.
    single = rows([1] + [0] * 9)
    three = pd.concat([rows([1] + [0] * 9, seed=seed) for seed in range(3)])
    paired = stats.paired_accuracy(three, three.assign(score=0.0))
    once = stats.paired_accuracy(single, single.assign(score=0.0))
    assert paired is not None
    assert once is not None
    assert paired.test == "bootstrap by question"
    assert paired.interval == once.interval
    assert stats.accuracy_interval(three) == stats.bootstrap_mean(np.array([1.0] + [0.0] * 9))
    assert stats.accuracy_interval(single) == stats.wilson(1, 10)


def test_bootstrap_agrees_with_scipy() -> None:
    values = np.random.default_rng(1).normal(0.3, 1.0, size=80)
    ours = stats.bootstrap_mean(values)
    theirs = scipy_stats.bootstrap(
        (values,), np.mean, method="percentile", rng=np.random.default_rng(5)
    ).confidence_interval
    assert ours.low == pytest.approx(theirs.low, abs=0.02)
    assert ours.high == pytest.approx(theirs.high, abs=0.02)


def test_bootstrap_p_is_small_for_a_clear_difference_and_never_zero() -> None:
    ones, zeros = np.ones(30), np.zeros(30)
    mean, interval, p = stats.bootstrap_difference(ones, zeros)
    assert (mean, interval.low, interval.high) == (1.0, 1.0, 1.0)
    assert 0 < p < 0.001
    assert stats.bootstrap_difference(zeros, zeros)[2] == 1.0


@pytest.mark.parametrize("pairs", [1, 2, 4, 6])
def test_few_pairs_are_never_beyond_what_flipping_signs_allows(pairs: int) -> None:
    # All point one way: resampling alone would call even a single pair beyond noise.
    exact = mcnemar([[0, pairs], [0, 0]], exact=True).pvalue
    values = np.array([1.0] * pairs)
    assert stats.bootstrap_difference(values, np.zeros(pairs))[2] == pytest.approx(exact)
    tokens = stats.paired_tokens(rows([0] * pairs, [50] * pairs), rows([0] * pairs, [90] * pairs))
    assert tokens is not None
    assert tokens.p == pytest.approx(exact)
    padded = np.array([1.0] * pairs + [0.0] * 4)
    assert stats.bootstrap_difference(padded, np.zeros(pairs + 4))[2] >= exact


def test_seeds_that_are_all_right_leave_wilson_of_the_questions() -> None:
    for score in (0.0, 1.0):
        three = pd.concat([rows([score] * 20, seed=seed) for seed in range(3)])
        assert stats.accuracy_interval(three) == stats.wilson(20 * int(score), 20)


def test_token_differences_are_paired() -> None:
    change = stats.paired_tokens(rows([0] * 3, [50, 100, 150]), rows([0] * 3, [100, 200, 300]))
    assert change is not None
    assert change.mean == pytest.approx(-100)
    assert change.ratio == pytest.approx(-0.5)
    assert change.ratio_interval.low == pytest.approx(-0.5)
    assert change.ratio_interval.high == pytest.approx(-0.5)
    nothing = stats.paired_tokens(rows([0], [5]), rows([0], [0]))
    assert nothing is not None
    assert math.isnan(nothing.ratio)


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.02, 0.04: times 3, 2, 1, made monotone.
    assert stats.holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert stats.holm([]) == []


def test_two_proportions_of_aggregates() -> None:
    # Pooled z test: 30 of 100 against 10 of 100, z = 0.2 / sqrt(0.2 0.8 2/100) = 3.5355.
    p = stats.two_proportions((30, 10), (100, 100))
    assert p == pytest.approx(2 * scipy_stats.norm.sf(0.2 / math.sqrt(0.0032)))
    assert stats.two_proportions((5, 10), (50, 100)) == 1.0
