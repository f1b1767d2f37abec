"""Equations 2-7 and 15 against worked numbers and their properties."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from wmt.nodes import Outcome
from wmt.retention import (
    InitialScores,
    RetentionParams,
    branch_priority,
    cumulative_decay_exponent,
    decayed_score,
    event_score,
    is_suppressed,
)

NUMBERS: dict[str, Any] = json.loads((Path(__file__).parent / "data/wmt_numbers.json").read_text())
DEFAULTS = RetentionParams()
units = st.floats(0, 1)
counts = st.integers(0, 20)


def params(row: dict[str, Any]) -> RetentionParams:
    return RetentionParams(rho=row.get("rho", 0.9), max_streak=row.get("M", 3))


def test_defaults_are_those_of_the_paper_and_the_documented_choices() -> None:
    assert DEFAULTS.model_dump() == {
        "u_success": 0.75,
        "u_failure": 0.30,
        "rho": 0.90,
        "rho_global": 0.95,
        "max_streak": 3,
        "alpha": 0.60,
        "beta": 0.30,
        "gamma": 0.20,
        "delta": 0.20,
        "tau_obsolete": 0.10,
    }
    assert InitialScores().model_dump() == {
        "root": 1.0,
        "task": 0.5,
        "action": 0.5,
        "global_memory": 0.6,
    }


def test_event_scores_are_absolute() -> None:
    assert event_score(Outcome.SUCCESS, DEFAULTS) == 0.75
    assert event_score(Outcome.FAILURE, DEFAULTS) == 0.30
    with pytest.raises(ValueError, match="maybe"):
        event_score("maybe", DEFAULTS)  # type: ignore[arg-type]


@pytest.mark.parametrize("row", NUMBERS["decay_trajectories"])
def test_decay_trajectories(row: dict[str, Any]) -> None:
    score = row["u0"]
    for misses, (exponent, expected) in enumerate(zip(row["h"], row["u"], strict=True)):
        if misses:
            score = decayed_score(score, misses, False, params(row))
        assert score == pytest.approx(expected, abs=1e-9)
        assert cumulative_decay_exponent(misses, row["M"]) == exponent


@pytest.mark.parametrize("row", NUMBERS["global_decay"])
def test_a_global_memory_decays_by_one_factor_a_miss(row: dict[str, Any]) -> None:
    score = row["u0"]
    for misses, expected in enumerate(row["u"]):
        if misses:
            score = decayed_score(score, misses, True, RetentionParams(rho_global=row["rho_G"]))
        assert score == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("row", NUMBERS["fresh_compositions"])
def test_priorities_of_fresh_branches(row: dict[str, Any]) -> None:
    actions = [0.75] * row["successes"] + [0.30] * row["failures"]
    failed, number = row["failures"], len(actions)
    assert failed / number == pytest.approx(row["F"])
    alone = branch_priority(actions, failed, number, 0, number, DEFAULTS)
    assert alone == pytest.approx(row["U_actions_only"])
    assert is_suppressed(alone, DEFAULTS) is row["suppressed_actions_only"]
    for task in (0.3, 0.5, 0.75, 1.0):
        with_task = branch_priority([task, *actions], failed, number, 0, number + 1, DEFAULTS)
        assert with_task == pytest.approx(row[f"U_with_task_{task}"])
        assert is_suppressed(with_task, DEFAULTS) is row[f"suppressed_with_task_{task}"]


MIXES = {
    "all_success": (4, 0),
    "half_failed": (2, 2),
    "one_success_three_failed": (1, 3),
    "all_failed": (0, 4),
}
VARIANTS = [
    (mix, key, task)
    for mix in MIXES
    for key, task in (
        (f"{mix}(actions only)", None),
        (f"{mix}, task node 0.5 frozen", "frozen"),
        (f"{mix}, task node 0.5 decays too", "decays"),
    )
    if key in NUMBERS["missed_selections_until_suppression"][0]
]


@pytest.mark.parametrize("row", NUMBERS["missed_selections_until_suppression"])
@pytest.mark.parametrize(("mix", "key", "task"), VARIANTS)
def test_misses_until_a_branch_is_suppressed(
    row: dict[str, Any], mix: str, key: str, task: str | None
) -> None:
    good, bad = MIXES[mix]
    own = [] if task is None else [0.5]
    scores = [*own, *[0.75] * good, *[0.30] * bad]
    expected = row[key]
    limit = 1000 if expected is None else expected
    for misses in range(limit + 1):
        if misses:
            frozen = 1 if task == "frozen" else 0
            scores[frozen:] = [
                decayed_score(u, misses, False, params(row)) for u in scores[frozen:]
            ]
        low = is_suppressed(branch_priority(scores, bad, 4, 0, len(scores), DEFAULTS), DEFAULTS)
        assert low is (misses == expected), misses


@pytest.mark.parametrize("row", NUMBERS["boundary"][:2])
def test_the_threshold_itself_is_not_below_it(row: dict[str, Any]) -> None:
    assert not is_suppressed(float(row.get("value", 0.1)), DEFAULTS)
    third = branch_priority([1 / 3] * 4, 4, 4, 0, 4, DEFAULTS)
    assert third < 0.1 and not is_suppressed(third, DEFAULTS)
    assert is_suppressed(0.1 - 1e-9, DEFAULTS)


def test_boundary_compositions() -> None:
    rows = {row["desc"]: row for row in NUMBERS["boundary"]}
    empty = rows["empty branch (task node only, no actions)"]["U_with_task_0.5"]
    assert branch_priority([0.5], 0, 0, 0, 1, DEFAULTS) == pytest.approx(empty)
    obsolete = rows["completed branch all obsolete children, scores .75"]["U"]
    assert branch_priority([0.75] * 3, 0, 3, 3, 3, DEFAULTS) == pytest.approx(obsolete)
    worst = next(row["U"] for desc, row in rows.items() if desc.startswith("max possible penalty"))
    assert branch_priority([0.75, 0.30], 1, 2, 1, 2, DEFAULTS) == pytest.approx(worst)


@given(st.lists(units, min_size=1, max_size=8), counts, counts, counts, counts, st.data())
def test_priority_is_monotone(
    scores: list[float], failed: int, good: int, gone: int, live: int, data: st.DataObject
) -> None:
    actions, nodes = failed + good, gone + live
    priority = branch_priority(scores, failed, actions, gone, nodes, DEFAULTS)
    i = data.draw(st.integers(0, len(scores) - 1))
    raised = [*scores[:i], data.draw(st.floats(scores[i], 1)), *scores[i + 1 :]]
    assert branch_priority(raised, failed, actions, gone, nodes, DEFAULTS) >= priority - 1e-12
    assert (
        branch_priority(scores, failed + 1, actions + 1, gone, nodes, DEFAULTS) <= priority + 1e-12
    )
    assert (
        branch_priority(scores, failed, actions, gone + 1, nodes + 1, DEFAULTS) <= priority + 1e-12
    )
    shuffled = data.draw(st.permutations(scores))
    assert branch_priority(shuffled, failed, actions, gone, nodes, DEFAULTS) == pytest.approx(
        priority, abs=1e-12
    )


@given(units, st.integers(1, 60), units.filter(lambda rho: rho > 0), st.integers(1, 8))
def test_decay_stays_within_the_event_score_and_follows_eq_15(
    start: float, misses: int, rho: float, cap: int
) -> None:
    given_params = RetentionParams(rho=rho, max_streak=cap)
    score = start
    for miss in range(1, misses + 1):
        decayed = decayed_score(score, miss, False, given_params)
        assert 0 <= decayed <= score
        score = decayed
    assert score == pytest.approx(start * rho ** cumulative_decay_exponent(misses, cap), abs=1e-12)


@given(st.integers(0, 200), st.integers(1, 20))
def test_eq_15_is_the_sum_it_abbreviates(misses: int, cap: int) -> None:
    assert cumulative_decay_exponent(misses, cap) == sum(min(k, cap) for k in range(1, misses + 1))


def test_what_was_not_missed_does_not_decay() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        decayed_score(0.5, 0, False, DEFAULTS)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rho", 0.0),
        ("rho", 1.5),
        ("rho", float("nan")),
        ("rho_global", -0.1),
        ("max_streak", 0),
        ("alpha", -0.6),
        ("beta", -1.0),
        ("gamma", -0.2),
        ("delta", float("inf")),
        ("u_success", 0.2),
        ("u_success", 0.3),
        ("u_failure", 0.9),
        ("tau_obsolete", float("nan")),
    ],
)
def test_invalid_parameters_are_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(ValidationError, match=field):
        RetentionParams.model_validate({field: value})
