"""Hold every claim against results: the registry in `claims.yaml` and the checks in code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import yaml

from scripts.report import claims_benchmark, claims_poisoning, names, reference
from scripts.report.cells import CellStat
from scripts.report.claims_benchmark import Bench
from scripts.report.claims_poisoning import PoisonArm
from scripts.report.prose import scope_of
from scripts.report.verdict import Comparison, Outcome, Verdict, decide, with_noise


@dataclass(frozen=True)
class Claim:
    """A claim as the registry words it; `holds_in_paper` is true or says what it is instead."""

    id: str
    claim: str
    check: str
    holds_in_paper: bool | str
    note: str = ""
    readings: tuple[str, ...] = ()


def registry() -> list[Claim]:
    """The claims of `scripts/reference/claims.yaml`."""
    entries: list[dict[str, Any]] = yaml.safe_load(
        reference.CLAIMS_YAML.read_text(encoding="utf-8")
    )
    return [
        Claim(**{**entry, "readings": tuple(r for r in entry.get("readings", ()) if r != "-")})
        for entry in entries
    ]


def judge_benchmark(bench: Bench, scope: str = "", *, general_only: bool = False) -> list[Verdict]:
    """W01-W20 against one arm. `general_only` leaves out claims that name the paper's models."""
    verdicts = []
    for claim in registry():
        check = claims_benchmark.CHECKS.get(claim.id)
        if check is None or (general_only and claim.id in claims_benchmark.MODEL_SPECIFIC):
            continue
        comparisons = with_noise(check(bench))
        used = [
            cell.marks
            for key, cell in bench.cells.items()
            if key[0] in bench.datasets and key[1] in bench.models
        ]
        verdicts.append(
            Verdict(
                claim.id,
                claim.claim,
                decide(comparisons),
                comparisons,
                claims_benchmark.numbers(claim.id, bench),
                scope=scope,
                marks=tuple(dict.fromkeys(mark for marks in used for mark in marks)),
            )
        )
    return verdicts


def judge_poisoning(arm: PoisonArm, scope: str = "") -> list[Verdict]:
    """P01-P08 against one arm, once for each reading of ASR."""
    verdicts = []
    for claim in registry():
        check = claims_poisoning.CHECKS.get(claim.id)
        if check is None:
            continue
        for reading in claim.readings or ("",):
            comparisons: Sequence[Comparison] = with_noise(check(arm, reading))
            verdicts.append(
                Verdict(
                    claim.id,
                    claim.claim,
                    decide(comparisons),
                    tuple(comparisons),
                    reading=reading,
                    scope=scope,
                    marks=arm.marks,
                )
            )
    return verdicts


def judge_rows(rows: pd.DataFrame, cells: Sequence[CellStat]) -> list[Verdict]:
    """Every arm: the paper's grid, and the general claims on every set and model beyond it."""
    verdicts: list[Verdict] = []
    frames = {
        tuple(map(str, key)): part
        for key, part in rows.groupby(["label", "dataset", "model", "memory"])
    }
    for label in sorted({cell.label for cell in cells}):
        own = [cell for cell in cells if cell.label == label]
        scope = scope_of(own, label)
        of_arm = {(key[1], key[2], key[3]): part for key, part in frames.items() if key[0] == label}
        found: Mapping[str, list[str]] = {
            dataset: names.order_models(cell.model for cell in own if cell.dataset == dataset)
            for dataset in names.order_datasets(cell.dataset for cell in own)
        }
        paper = {m for d in names.PAPER_DATASETS for m in found.get(d, ()) if m in names.MODELS}
        if paper:
            verdicts += judge_benchmark(Bench(scope, of_arm), f"paper's grid, arm {label}")
        for dataset, models in found.items():
            known = dataset in names.PAPER_DATASETS
            further = [model for model in models if not (known and model in names.MODELS)]
            if further:
                bench = Bench(scope, of_arm, (dataset,), further)
                who = ", ".join(names.show_model(model) for model in further)
                title = f"{names.show_dataset(dataset)}, {who}, arm {label}"
                verdicts += judge_benchmark(bench, title, general_only=True)
    return verdicts


def noted_outcome(claim: Claim) -> Outcome:
    """What the registry notes for the paper's own tables."""
    if claim.holds_in_paper is True:
        return "holds"
    return "tie" if str(claim.holds_in_paper).startswith("tie") else "fails"
