"""Table 4 and the poisoning figure, from made-up cells and from a small real replay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from poisoning.metrics import METRICS, CellSummary, summarise
from run import main as run
from scripts import figures, tables
from scripts.report.judge import judge_poisoning
from scripts.report.layout import Table
from scripts.report.load import load_results
from scripts.report.poison_cells import PoisonCell, _merge, poison_arms, poison_cells
from scripts.report.poisoning import poisoning_tables, table4
from scripts.report.reference import POISONING_CSV, published_poisoning, read_poisoning

OURS = {
    "prompt_tokens_mean": "prompt_tokens",
    "latency_ms_mean": "memory_ms",
    "ASR": "ASR_exposure",
}


def cell(memory: str, values: dict[str, float], **changes: Any) -> PoisonCell:
    by_scenario: dict[str, dict[str, float]] = {name: {} for name in METRICS}
    by_scenario |= {name: {"s1": value, "s2": value} for name, value in values.items()}
    made = PoisonCell(
        label="main",
        model="m",
        memory=memory,
        arm="poisoned",
        attack="none",
        scenarios=2,
        crashed=0,
        unreadable=0,
        values=by_scenario,
        pooled=dict.fromkeys(METRICS, None),
        marks=(),
    )
    return replace(made, **changes)


def published_cells() -> list[PoisonCell]:
    cells = []
    for memory, metrics in read_poisoning(POISONING_CSV).items():
        values = {OURS.get(name, name): value for name, value in metrics.items()}
        cells.append(cell(memory, {**values, "ASR_answers": metrics["ASR"]}))
    return cells


def line(table: Table, title: str) -> list[str]:
    (found,) = [x for x in table.panels[0].lines if x.values[0].text == title]
    return [f"*{value.text}*" if value.bold else value.text for value in found.values]


def test_table4_puts_ours_beside_the_published_and_bolds_ties_jointly() -> None:
    table = table4(published_cells())
    assert line(table, "ASR by exposure ↓") == [
        "ASR by exposure ↓",
        *("0.995", "0.995 t", "0.631", "0.631 t", "0.601", "0.601 t", "0.680", "0.680 t"),
        *("*0.419*", "*0.419 s*"),
    ]
    bold = [text for text in line(table, "IP ↓") if text.startswith("*")]
    assert bold == ["*0.009*", "*0.009 d*", "*0.009*", "*0.009 t*", "*0.009*", "*0.009 s*"]
    assert line(table, "TSR ↑")[-2:] == ["*0.575*", "*0.575 s*"]
    assert line(table, "CCR ↓")[5:7] == ["*0.634*", "*0.634 t*"]
    assert line(table, "Latency, ms ↓")[7:9] == ["*0.020*", "*0.020 t*"]
    assert line(table, "ASR by answers ↓")[2] == "–"
    records = [r for r in table.records if r["published"] is not None]
    assert len(records) == len(published_poisoning())
    assert all(r["value"] == r["published"] for r in records)


def test_a_memory_that_was_not_run_is_said_and_a_new_one_appears() -> None:
    cells = [c for c in published_cells() if c.memory != "a3"]
    cells.append(cell("mine", {"PRR": 0.01}))
    table = table4(cells)
    assert line(table, "PRR ↓")[7:9] == ["–", "0.139 t"]
    assert line(table, "PRR ↓")[-1] == "*0.010*"
    assert "missing all" in line(table, "Marks")


def test_claims_hold_on_cells_with_the_published_means() -> None:
    (arm,) = poison_arms(published_cells())
    assert {verdict.outcome for verdict in judge_poisoning(arm)} == {"holds"}


def test_controls_and_attackers_stand_apart() -> None:
    cells = [
        *published_cells(),
        cell("wmt", {"TSR": 0.9}, label="clean", arm="clean"),
        cell("wmt", {"TSR": 0.1}, label="attack_repeat", attack="repeat"),
        cell("linear", {}, label="attack_check", arm="attack_check", check=(10, 7)),
    ]
    main, more, arms = poisoning_tables(cells)
    assert len(main.panels) == 1
    assert {r["label"] for r in more.records} == {"main"}
    assert [(r["label"], r["TSR"]) for r in arms.records] == [
        ("clean", 0.9),
        ("attack_repeat", 0.1),
        ("attack_check", None),
    ]
    assert "of 10 poisoned entries, each alone in the context, 7 (0.700)" in arms.caption
    assert [arm.label for arm in poison_arms(cells)] == ["main"]


def test_seeds_are_one_cell_whose_scenarios_are_means() -> None:
    def part(value: float | None, pooled: float) -> CellSummary:
        estimate = SimpleNamespace(pooled=pooled)
        return cast(
            CellSummary,
            SimpleNamespace(
                values={name: {"s1": value, "s2": 0.5} for name in METRICS},
                estimates=dict.fromkeys(METRICS, estimate),
                arm="poisoned",
                attack="none",
                scenarios=2,
                crashed=["s3"],
                unreadable=1,
                check=None,
                top_k=2,
            ),
        )

    merged = _merge("main", "m", "wmt", [part(0.0, 0.2), part(1.0, 0.4), part(None, 0.6)], ())
    assert merged.values["PRR"] == {"s1": 0.5, "s2": 0.5}
    assert merged.mean("PRR") == 0.5
    assert merged.pooled["PRR"] == pytest.approx(0.4)
    assert (merged.scenarios, merged.crashed, merged.unreadable) == (6, 3, 3)


def test_a_small_replay_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for memory in ("linear", "wmt"):
        overrides = [f"memory={memory}", "model=simulated", "dataset=poisoning"]
        assert run([*overrides, "dataset.limit=2", f"results_dir={tmp_path}"]) == 0
    capsys.readouterr()
    cells = {c.memory: c for c in poison_cells(load_results(tmp_path))}
    assert list(cells) == ["linear", "wmt"]
    expected = summarise(tmp_path / "main" / "poisoning" / "simulated" / "linear" / "seed0")
    for metric in METRICS:
        assert cells["linear"].mean(metric) == pytest.approx(expected.mean(metric))
    assert cells["linear"].marks[:2] == ("simulated", "cut 2/100")
    out = tmp_path / "out"
    assert tables.main([str(tmp_path), "--out", str(out), "--only", "table4"]) == 0
    assert "cut 2/100" in (out / "table4.md").read_text()
    arguments = [str(tmp_path), "--out", str(out), "--only", "poisoning,tree,retention"]
    assert figures.main(arguments) == 0
    assert "PRR" in (out / "poisoning.svg").read_text()
    assert "Red, double border" in (out / "tree.svg").read_text()
    assert "retention: these results hold nothing for it" in capsys.readouterr().out


def test_the_number_of_memories_selected_stands_with_table_4() -> None:
    lexical = cell("wmt", {"PRR": 0.1}, taken=2)
    tables = poisoning_tables([cell("linear", {"PRR": 0.2}), lexical])
    assert "beside the active path: 2 (Full WMT [main])" in tables[0].caption
    assert "lexical" not in poisoning_tables([cell("linear", {"PRR": 0.2})])[0].caption
