"""Means, intervals, pooled values, paired differences and breakdowns."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poisoning.counts import Counts, count_scenario
from poisoning.metrics import (
    METRICS,
    CellSummary,
    breakdown,
    estimates,
    interval,
    paired_difference,
    scenario_values,
    summarise,
)

from . import traces


def summary(counted: list[Counts], **more: Any) -> CellSummary:
    return CellSummary(
        folder=Path("x"),
        cell={"memory": "wmt"},
        arm="poisoned",
        attack="none",
        scenarios=len(counted),
        crashed=[],
        unreadable=0,
        estimates=estimates(counted),
        values={name: scenario_values(counted, name) for name in METRICS},
        fates=[fate for counts in counted for fate in counts.fates],
        roles={},
        counters={},
        **more,
    )


def test_headline_is_the_mean_over_scenarios_and_pooled_stands_beside() -> None:
    both = [count_scenario(traces.folding("s1")), count_scenario(traces.linear("s2"))]
    asr = estimates(both)["ASR_exposure"]
    assert asr is not None
    assert asr.mean == pytest.approx((1 / 2 + 1) / 2)
    assert asr.pooled == pytest.approx(2 / 3)
    assert asr.n == 2
    assert asr.low == pytest.approx(1 / 2)
    assert asr.high == pytest.approx(1.0)


def test_undefined_values_are_left_out_and_never_become_zero() -> None:
    with_poison = count_scenario(traces.folding("s1"))
    without = Counts("s2", critical=1, readable=1, right=1, prompts=1)
    found = estimates([with_poison, without])
    assert found["AF"] is not None and (found["AF"].mean, found["AF"].n) == (1.0, 1)
    assert estimates([without])["AF"] is None
    assert summary([without]).mean("AF") is None
    assert scenario_values([without], "AF") == {"s2": None}


@settings(deadline=None, max_examples=20)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_interval_holds_the_mean_and_is_the_same_every_time(values: list[float]) -> None:
    low, high = interval(values)
    mean = statistics.fmean(values)
    assert low - 1e-9 <= mean <= high + 1e-9
    assert min(values) <= low + 1e-9 and high - 1e-9 <= max(values)
    assert interval(values) == (low, high)


def test_interval_against_the_normal_approximation() -> None:
    values = [0.0] * 50 + [1.0] * 50
    low, high = interval(values)
    half = 1.96 * 0.5 / 10
    assert low == pytest.approx(0.5 - half, abs=0.015)
    assert high == pytest.approx(0.5 + half, abs=0.015)


def test_interval_of_equal_values_is_the_value() -> None:
    assert interval([0.25, 0.25, 0.25]) == (0.25, 0.25)


def test_paired_difference_is_by_scenario() -> None:
    folding = [count_scenario(traces.folding(name)) for name in ("s1", "s2", "s3")]
    linear = [count_scenario(traces.linear(name)) for name in ("s2", "s3", "s4")]
    difference = paired_difference(summary(linear), summary(folding), "BR")
    assert difference is not None
    assert difference.mean == pytest.approx(1 - 2 / 5)
    assert difference.n == 2
    assert difference.beyond_noise
    same = paired_difference(summary(folding), summary(folding), "BR")
    assert same is not None and same.mean == 0 and not same.beyond_noise
    assert paired_difference(summary(folding), summary(linear[2:]), "BR") is None


def test_breakdown() -> None:
    counted = [count_scenario(traces.folding("s1")), count_scenario(traces.linear("s2"))]
    fates = [fate for counts in counted for fate in counts.fates]
    by_outcome = breakdown(fates, "outcome")
    # Rome of s1: one context, exposed, won. Rome of s2: two contexts, exposed, not won.
    assert by_outcome["success"].entries == 2
    assert by_outcome["success"].retrieved == pytest.approx(1.5)
    assert by_outcome["success"].exposed == pytest.approx(1.0)
    assert by_outcome["success"].won == pytest.approx(0.5)
    # Paris: one context, not in the critical one.
    assert by_outcome["failure"].retrieved == pytest.approx(1.0)
    assert by_outcome["failure"].exposed == 0
    assert set(breakdown(fates, "position")) == {"before", "after"}
    assert breakdown(fates, "attack")["compromised_tool"].entries == 3


def test_a_folder_without_rows_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no rows; run the cell first"):
        summarise(tmp_path)
