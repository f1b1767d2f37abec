"""The paper's own rows give the noted verdicts; a mutated set makes each claim fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from scripts import claims as command
from scripts.report import claims_benchmark, claims_poisoning, reference
from scripts.report.cells import CellStat, summarize
from scripts.report.claims_benchmark import Bench
from scripts.report.claims_poisoning import PoisonArm
from scripts.report.judge import (
    judge_benchmark,
    judge_poisoning,
    judge_rows,
    noted_outcome,
    registry,
)
from scripts.report.load import load_results
from scripts.report.synthetic import make_cell, paper_grid, write_rows
from scripts.report.verdict import Comparison, decide

Key = tuple[str, str, str]

# One change for each claim: cell -> (correct or None, prompt tokens in millions or None).
MUTATIONS: dict[str, dict[Key, tuple[int | None, float | None]]] = {
    "W01": {("gaia", "gemma4", "linear"): (52, None)},
    "W02": {("gaia_text", "llama31", "wmt"): (None, 74.0)},
    "W03": {("gaia", "qwen3", "none"): (None, 50.0)},
    "W04": {("gaia_text", "llama31", "none"): (13, None)},
    "W05": {("gaia", "gemma4", "wmt"): (42, None)},
    "W06": {("gaia", "llama31", "wmt"): (None, 103.0)},
    "W07": {("gaia_text", "llama31", "unweighted"): (13, None)},
    "W08": {("gaia", "gemma4", "unweighted"): (44, None)},
    "W09": {("gaia_text", "qwen3", "wmt"): (None, 39.25)},
    "W10": {("gaia", "qwen3", "tree_selection"): (None, 58.0)},
    "W11": {("gaia_text", "gemma4", "tree_selection"): (31, None)},
    "W12": {("gaia", "llama31", "tree_summary"): (None, 102.0)},
    "W13": {("gaia", "qwen3", "tree_summary"): (31, None)},
    "W14": {("gaia", "llama31", "tree_selection_summary"): (32, None)},
    "W15": {("gaia_text", "qwen3", "tree_selection_summary"): (49, None)},
    "W16": {("gaia", "qwen3", "wmt"): (None, 65.0)},
    "W17": {("gaia", "qwen3", "unweighted"): (36, None)},
    "W18": {("gaia_text", "gemma4", "wmt"): (None, 28.0)},
    "W19": {("gaia_text", "llama31", "tree_summary"): (21, None)},
    "W20": {("gaia", "llama31", "tree_selection"): (34, None)},
}

# One change for each claim: (memory, metric) -> value.
POISON_MUTATIONS: dict[str, dict[tuple[str, str], float]] = {
    "P01": {("linear", "IP"): 0.9},
    "P02": {("a1", "IP"): 0.2},
    "P03": {("a1", "PRR"): 0.09},
    "P04": {("a2", "IP"): 0.009},
    "P05": {("a3", "prompt_tokens_mean"): 120.0},
    "P06": {("a2", "IP"): 0.0},
    "P07": {("wmt", "CCR"): 0.5},
    "P08": {("a1", "TSR"): 0.46},
}


def mutated(changes: Mapping[Key, tuple[int | None, float | None]]) -> dict[Key, CellStat]:
    cells = dict(reference.benchmark())
    for key, (correct, tokens) in changes.items():
        cell = cells[key]
        cells[key] = replace(
            cell,
            correct=cell.correct if correct is None else correct,
            prompt_tokens=cell.prompt_tokens if tokens is None else tokens * 1e6,
        )
    return cells


def test_every_claim_of_the_registry_has_a_check_and_a_mutation() -> None:
    ids = [claim.id for claim in registry()]
    assert ids == [*claims_benchmark.CHECKS, *claims_poisoning.CHECKS]
    assert ids == [*MUTATIONS, *POISON_MUTATIONS]


def test_the_paper_s_rows_give_the_noted_verdicts() -> None:
    noted = {claim.id: noted_outcome(claim) for claim in registry()}
    verdicts = judge_benchmark(Bench(reference.benchmark()))
    assert {v.id: v.outcome for v in verdicts} == {k: v for k, v in noted.items() if k[0] == "W"}
    arm = PoisonArm("published", "", reference.read_poisoning(reference.POISONING_CSV))
    poisoning = judge_poisoning(arm)
    assert len(poisoning) == 15  # P07 has one reading, the other seven have two
    assert {v.outcome for v in poisoning} == {"holds"}
    assert noted["W14"] == "tie"


def test_w14_is_a_tie_on_gaia_and_only_there() -> None:
    (verdict,) = [v for v in judge_benchmark(Bench(reference.benchmark())) if v.id == "W14"]
    tied = [c for c in verdict.comparisons if c.outcome == "tie"]
    assert [(c.where, c.right) for c in tied] == [("GAIA, mean over models", "Tree + Selection")]


@pytest.mark.parametrize("claim", MUTATIONS)
def test_a_mutated_set_makes_the_claim_fail(claim: str) -> None:
    verdicts = {v.id: v for v in judge_benchmark(Bench(mutated(MUTATIONS[claim])))}
    assert verdicts[claim].outcome == "fails"


@pytest.mark.parametrize("claim", POISON_MUTATIONS)
def test_a_mutated_poisoning_set_makes_the_claim_fail(claim: str) -> None:
    table = {m: dict(v) for m, v in reference.read_poisoning(reference.POISONING_CSV).items()}
    for (memory, metric), value in POISON_MUTATIONS[claim].items():
        table[memory][metric] = value
    outcomes = {v.outcome for v in judge_poisoning(PoisonArm("", "", table)) if v.id == claim}
    assert outcomes == {"fails"}


def test_p07_fails_by_the_latency_alone() -> None:
    table = {m: dict(v) for m, v in reference.read_poisoning(reference.POISONING_CSV).items()}
    table["wmt"]["latency_ms_mean"] = 0.001
    (verdict,) = [v for v in judge_poisoning(PoisonArm("", "", table)) if v.id == "P07"]
    assert [c.outcome for c in verdict.comparisons] == ["holds", "fails"]


def test_readings_of_asr_are_judged_apart() -> None:
    table = {m: dict(v) for m, v in reference.read_poisoning(reference.POISONING_CSV).items()}
    for metrics in table.values():
        metrics["ASR_exposure"] = metrics["ASR_answers"] = metrics.pop("ASR")
    table["wmt"]["ASR_answers"] = 0.999
    outcomes = {
        v.reading: v.outcome for v in judge_poisoning(PoisonArm("", "", table)) if v.id == "P06"
    }
    assert outcomes == {"exposure": "holds", "answers": "fails"}


def test_a_lacking_cell_is_not_enough_data_but_a_counterexample_still_fails() -> None:
    cells = dict(reference.benchmark())
    del cells["gaia", "qwen3", "linear"]
    verdicts = {v.id: v for v in judge_benchmark(Bench(cells))}
    assert verdicts["W05"].outcome == "not enough data"
    assert verdicts["W12"].outcome == "holds"  # does not need linear
    cells["gaia", "gemma4", "wmt"] = replace(cells["gaia", "gemma4", "wmt"], correct=1)
    assert {v.id: v for v in judge_benchmark(Bench(cells))}["W05"].outcome == "fails"


def test_nothing_to_compare_decides_nothing() -> None:
    assert decide([]) == "not enough data"
    assert decide([Comparison("", "accuracy", "a", "b", ">", 0.5, 0.5)]) == "tie"
    assert decide([Comparison("", "accuracy", "a", "b", ">=", 0.5, 0.5)]) == "holds"
    assert decide([Comparison("", "accuracy", "a", "b", "=", 0.5, 0.6)]) == "fails"
    assert decide([Comparison("", "accuracy", "a", "b", "<=", 0.6, 0.5)]) == "fails"


def test_rows_with_the_published_counts_give_the_same_verdicts(tmp_path: Path) -> None:
    rows = load_results(write_rows(tmp_path, paper_grid())).rows
    verdicts = judge_rows(rows, summarize(rows))
    noted = {claim.id: noted_outcome(claim) for claim in registry() if claim.id[0] == "W"}
    assert {v.id: v.outcome for v in verdicts} == noted
    paired = [c for v in verdicts for c in v.comparisons if c.relation != "="]
    assert all(c.test == "paired" and c.beyond is not None for c in paired)


def test_differences_beyond_noise_are_told_from_those_within(tmp_path: Path) -> None:
    ones, zeros = [1.0] * 40, [0.0] * 40
    big = {"dataset_full_size": 40, "model": "m", "dataset": "d"}
    rows = [
        *make_cell(zeros, range(1000, 1040), memory="linear", **big),
        *make_cell([1.0, *zeros[1:]], range(100, 140), memory="unweighted", **big),
        *make_cell(ones, range(40), memory="wmt", **big),
    ]
    frame = load_results(write_rows(tmp_path, rows)).rows
    verdicts = {v.id: v for v in judge_rows(frame, summarize(frame))}
    assert verdicts["W01"].outcome == "holds"
    assert [c.beyond for c in verdicts["W01"].comparisons] == [True, True]
    assert "2 of 2 beyond noise (paired, Holm)" in verdicts["W01"].noise
    assert "W07" not in verdicts  # names the paper's models
    close = [*make_cell([1.0, *zeros[1:]], range(40), memory="wmt", **big), *rows[:40]]
    frame = load_results(write_rows(tmp_path / "close", close)).rows
    (w05,) = [v for v in judge_rows(frame, summarize(frame)) if v.id == "W05"]
    assert (w05.outcome, [c.beyond for c in w05.comparisons]) == ("holds", [False])


def test_cells_over_different_questions_are_not_compared(tmp_path: Path) -> None:
    place = {"model": "m", "dataset": "d"}
    rows = [
        *make_cell([1, 1, 0, 0], [5, 5, 5, 5], memory="linear", **place),
        *make_cell([1, 1, 1], [1, 1, 1], memory="wmt", **place),
    ]
    frame = load_results(write_rows(tmp_path, rows)).rows
    (w05,) = [v for v in judge_rows(frame, summarize(frame)) if v.id == "W05"]
    assert w05.outcome == "not enough data"
    assert w05.comparisons[0].lacking == "wmt and linear ran different questions"


def test_the_command_takes_aggregates_and_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(reference.BENCHMARK_CSV), str(reference.POISONING_CSV)]
    table = tmp_path / "claims.csv"
    assert command.main([*files, "--strict", "--csv", str(table)]) == 0
    assert "19 holds, 1 tie" in capsys.readouterr().out
    assert table.read_text().count("\n") > 200
    broken = tmp_path / "broken.csv"
    broken.write_text("dataset,model\n")
    assert command.main([str(broken)]) == 2
    assert "no column correct, memory" in capsys.readouterr().err
    assert command.main([str(tmp_path / "nothing")]) == 2
    assert "no rows.jsonl" in capsys.readouterr().err


def test_strict_refuses_lacking_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = reference.BENCHMARK_CSV.read_text().splitlines()
    part = tmp_path / "part.csv"
    part.write_text("\n".join(lines[:8]) + "\n")
    assert command.main([str(part)]) == 0
    assert command.main([str(part), "--strict", "--details"]) == 1
    assert "W01 lacks data" in capsys.readouterr().err
