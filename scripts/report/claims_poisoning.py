"""Claims P01-P08 of `scripts/reference/claims.yaml`, under both readings of ASR."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from scripts.report import names
from scripts.report.stats import bootstrap_difference
from scripts.report.verdict import EQUAL_TO_PRINT, EXACT, Comparison, Relation

READINGS = ("exposure", "answers")
ASR = "ASR"
TOKENS, LATENCY = "prompt_tokens_mean", "latency_ms_mean"

Metrics = Mapping[str, float]


@dataclass(frozen=True)
class PoisonArm:
    """Results of one arm and model: memory -> metric -> value, as in `reference_poisoning.csv`.

    ASR stands under `ASR_exposure` and `ASR_answers`; aggregates that only know `ASR` have it
    under both readings. `scenarios` holds the values scenario by scenario, where there are rows:
    memory -> metric -> scenario id -> value.
    """

    label: str
    model: str
    metrics: Mapping[str, Metrics]
    scenarios: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    marks: tuple[str, ...] = ()

    def compare(
        self,
        metric: str,
        left: str,
        relation: Relation,
        right: str,
        *,
        reading: str = "",
    ) -> Comparison:
        """Compare two memories on one metric."""
        key = f"{ASR}_{reading}" if metric == ASR else metric
        labels = (names.show_memory(left), names.show_memory(right))
        left_value, right_value = self._value(key, left), self._value(key, right)
        if left_value is None or right_value is None:
            lacking = left if left_value is None else right
            return Comparison("", metric, *labels, relation, lacking=f"no {metric} for {lacking}")
        within = EQUAL_TO_PRINT if relation in ("=", "<=", ">=") else EXACT
        p, test = (None, "") if relation == "=" else self._noise(key, left, right)
        return Comparison(
            "",
            metric,
            *labels,
            relation,
            left_value,
            right_value,
            p=p,
            test=test,
            equal_within=within,
        )

    def equals(self, metric: str, memory: str, value: float) -> Comparison:
        """Compare a metric with a fixed value, to the digits that the paper prints."""
        found = self._value(metric, memory)
        label = names.show_memory(memory)
        if found is None:
            lacking = f"no {metric} for {memory}"
            return Comparison("", metric, label, "", "=", lacking=lacking)
        return Comparison(
            "", metric, label, "complete", "=", found, value, equal_within=EQUAL_TO_PRINT
        )

    def beaten(self, metric: str, memory: str) -> Comparison:
        """Some other memory has a lower value than this one."""
        rivals = [name for name in names.POISONING if name != memory]
        found = {name: v for name in rivals if (v := self._value(metric, name)) is not None}
        if len(found) < len(rivals):
            label = names.show_memory(memory)
            lacking = f"no {metric} for every memory"
            return Comparison("", metric, label, "", ">", lacking=lacking)
        return self.compare(metric, memory, ">", min(found, key=lambda name: found[name]))

    def _value(self, metric: str, memory: str) -> float | None:
        metrics = self.metrics.get(memory, {})
        if metric in metrics:
            return metrics[metric]
        return metrics.get(ASR) if metric.startswith(ASR) else None

    def _noise(self, metric: str, left: str, right: str) -> tuple[float | None, str]:
        one, two = (self.scenarios.get(m, {}).get(metric, {}) for m in (left, right))
        shared = sorted(set(one) & set(two))
        if len(shared) < 2:
            return None, ""
        first, second = (np.array([side[key] for key in shared]) for side in (one, two))
        return bootstrap_difference(first, second)[2], "bootstrap over scenarios"


Check = Callable[[PoisonArm, str], list[Comparison]]


def _rows(*wanted: tuple[str, str, Relation, str]) -> Check:
    """A list of (metric, left, relation, right)."""

    def check(arm: PoisonArm, reading: str) -> list[Comparison]:
        return [
            arm.compare(metric, left, relation, right, reading=reading)
            for metric, left, relation, right in wanted
        ]

    return check


def _extreme(
    metrics: Sequence[str], memory: str, relation: Relation
) -> list[tuple[str, str, Relation, str]]:
    """One memory against all others on each metric."""
    return [
        (metric, memory, relation, rival)
        for metric in metrics
        for rival in names.POISONING
        if rival != memory
    ]


def _order(metric: str, relation: Relation, *memories: str) -> list[tuple[str, str, Relation, str]]:
    """A full ordering: every neighbour pair."""
    return [(metric, left, relation, right) for left, right in pairwise(memories)]


def _p01(arm: PoisonArm, reading: str) -> list[Comparison]:
    worst = _rows(*_extreme((ASR, "BR", "AF"), "linear", ">"))
    return [*worst(arm, reading), arm.equals("IP", "linear", 1.0)]


def _p04(arm: PoisonArm, reading: str) -> list[Comparison]:
    gains = _rows((ASR, "a2", "<", "linear"), ("TSR", "a2", ">", "linear"))
    return [arm.equals("IP", "a2", 1.0), *gains(arm, reading)]


def _p07(arm: PoisonArm, reading: str) -> list[Comparison]:
    return [arm.beaten("CCR", "wmt"), arm.beaten(LATENCY, "wmt")]


CHECKS: dict[str, Check] = {
    "P01": _p01,
    "P02": _rows(
        *((metric, "a1", "<", "linear") for metric in (ASR, "PRR", "BR", "AF")),
        ("IP", "a1", "=", "wmt"),
    ),
    "P03": _rows((ASR, "a1", ">", "wmt"), ("PRR", "a1", ">", "wmt"), ("TSR", "a1", "<", "wmt")),
    "P04": _p04,
    "P05": _rows(
        *((metric, "a3", ">", "wmt") for metric in (ASR, "BR", "AF", TOKENS)),
        ("TSR", "a3", "<", "wmt"),
    ),
    "P06": _rows(
        *_extreme((ASR, "PRR", "BR", "AF", TOKENS), "wmt", "<"),
        *_extreme(("IP",), "wmt", "<="),
        *_extreme(("TSR",), "wmt", ">"),
    ),
    "P07": _p07,
    "P08": _rows(
        *_order(ASR, "<", "wmt", "a2", "a1", "a3", "linear"),
        *_order("PRR", "<", "wmt", "a1", "a3", "a2", "linear"),
        *_order("BR", "<", "wmt", "a1", "a2", "a3", "linear"),
        *_order("AF", "<", "wmt", "a1", "a2", "a3", "linear"),
        *_order("TSR", ">", "wmt", "a2", "a1", "a3", "linear"),
        *_order(TOKENS, "<", "wmt", "a1", "a2", "a3", "linear"),
    ),
}
"""One function for each claim, given the arm and the reading of ASR."""
