"""Golden tables on hand-made rows, checked against values worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.records import Row
from scripts import tables as command
from scripts.report import reference
from scripts.report.benchmark import benchmark_tables, components, table1
from scripts.report.build import build_tables
from scripts.report.cells import CellStat, summarize
from scripts.report.companion import companion_tables
from scripts.report.layout import Line, Table, best
from scripts.report.load import Results, load_results
from scripts.report.prose import prose_numbers, prose_table, totals_table
from scripts.report.repeat import length_table, noise_table
from scripts.report.synthetic import make_cell, make_row, paper_grid, write_rows


def load(tmp_path: Path, rows: list[Row]) -> Results:
    return load_results(write_rows(tmp_path, rows))


def cells_of(tmp_path: Path, rows: list[Row]) -> list[CellStat]:
    return summarize(load(tmp_path, rows).rows)


def texts(line: Line) -> list[str]:
    return [f"*{value.text}*" if value.bold else value.text for value in line.values]


def block_of(table: Table, heading: str, panel: int = 0) -> list[list[str]]:
    lines = list(table.panels[panel].lines)
    start = next(
        n for n, line in enumerate(lines) if line.kind == "block" and line.values[0].text == heading
    )
    end = next((n for n in range(start + 1, len(lines)) if lines[n].kind == "block"), len(lines))
    return [texts(line) for line in lines[start + 1 : end]]


HAND = [
    *make_cell([0, 0, 0, 0], [5, 5, 5, 5], memory="none"),
    *make_cell([1, 1, 0, 0], [100, 200, 300, 400], memory="linear"),
    *make_cell([1, 1, 0, 0], [100, 200, 300, 400], memory="wmt"),
]
"""Linear and WMT tie in both columns; the plain tree has not been run."""


def test_table1_ties_are_best_jointly_and_a_missing_cell_is_said(tmp_path: Path) -> None:
    table = table1(cells_of(tmp_path, HAND))
    qwen = block_of(table, "Qwen3-8B")
    assert qwen[0][:6] == ["No Memory", "0.00", "9.45 t", "0.000", "0.20 t", ""]
    assert qwen[1][:6] == ["Linear History", "*50.00*", "20.47 t", "*0.001*", "43.67 t", ""]
    assert qwen[2][:6] == ["Unweighted Tree", "–", "15.75 t", "–", "39.24 t", "missing all"]
    assert qwen[3][:6] == ["Full WMT", "*50.00*", "*33.86 t*", "*0.001*", "*32.48 t*", ""]
    assert table.marks == ("missing all",)
    assert "missing = questions without a row yet" in table.caption


def test_no_memory_never_wins_in_table1(tmp_path: Path) -> None:
    rows = [
        *make_cell([1, 1, 1, 1], [1, 1, 1, 1], memory="none"),
        *make_cell([0, 0, 0, 1], [9, 9, 9, 9], memory="linear"),
    ]
    lines = block_of(table1(cells_of(tmp_path, rows)), "Qwen3-8B")
    assert lines[0][1:4] == ["100.00", "9.45 t", "0.000"]
    assert lines[1][1] == "*25.00*"


def test_tables_2_and_3_have_the_tree_rows_only(tmp_path: Path) -> None:
    table = components(cells_of(tmp_path, HAND), "gaia_text")
    qwen = block_of(table, "Qwen3-8B")
    assert [line[0] for line in qwen] == [
        "Unweighted Tree",
        "Tree + Selection",
        "Tree + Summary",
        "Tree + Selection + Summary",
        "Full WMT",
    ]
    assert qwen[4][1:3] == ["*50.00*", "*33.86 t*"]
    llama = block_of(table, "Llama-3.1-8B")
    assert llama[2][2] == "*19.69 s*"  # the best published one is not WMT here
    assert llama[4][4] == "*51.17 t*"


def test_an_error_row_counts_as_wrong_and_is_marked(tmp_path: Path) -> None:
    rows = make_cell([1, 1, 1], [10, 10, 10], memory="wmt")
    rows.append(make_row("q4", memory="wmt", status="error"))
    (cell,) = cells_of(tmp_path, rows)
    assert (cell.runs, cell.correct, cell.errors, cell.missing) == (4, 3, 1, 0)
    assert cell.percent == 75.0
    assert cell.marks == ("error 1",)
    table = table1([cell])
    assert block_of(table, "Qwen3-8B")[3][1] == "*75.00*"
    assert block_of(table, "Qwen3-8B")[3][5] == "error 1"


def test_an_unfinished_cell_cannot_be_best(tmp_path: Path) -> None:
    rows = [
        *make_cell([1, 1], [10, 10], memory="wmt"),
        *make_cell([1, 0, 0, 0], [10, 10, 10, 10], memory="linear"),
    ]
    lines = block_of(table1(cells_of(tmp_path, rows)), "Qwen3-8B")
    assert lines[3][1::2][:3] == ["100.00", "0.000", "missing 2"]
    assert lines[1][1] == "*25.00*"


def test_three_seeds_are_pooled_and_tokens_are_of_one_pass(tmp_path: Path) -> None:
    rows = [
        *make_cell([1, 1, 0, 0], [100, 100, 100, 100], memory="wmt", seed=0),
        *make_cell([1, 0, 0, 0], [200, 200, 200, 200], memory="wmt", seed=1),
        *make_cell([1, 1, 1, 0], [300, 300, 300, 300], memory="wmt", seed=2),
        *make_cell([1, 0, 0, 0], [400, 400, 400, 400], memory="linear", seed=0),
    ]
    results = load(tmp_path, rows)
    cells = summarize(results.rows)
    (wmt,) = [cell for cell in cells if cell.memory == "wmt"]
    assert (wmt.questions, wmt.runs, wmt.correct, wmt.seeds) == (4, 12, 6, (0, 1, 2))
    assert wmt.percent == 50.0
    assert wmt.prompt_tokens == 800
    accuracy = companion_tables(results.rows, cells)[0]
    (record,) = [r for r in accuracy.records if r["memory"] == "wmt"]
    assert (record["seed_min_pct"], record["seed_max_pct"]) == (25.0, 75.0)
    assert record["seed_sd_pct"] == pytest.approx(25.0)
    assert record["test"] == "bootstrap by question"
    # by question: wmt 1, 2/3, 1/3, 0 against linear 1, 0, 0, 0
    assert record["difference_pct"] == pytest.approx(25.0)
    assert (record["only_this"], record["only_linear"]) == (2, 0)
    assert record["token_difference"] == pytest.approx(-200)
    noise = noise_table(results.rows, cells)
    assert noise is not None
    assert [r["pair"] for r in noise.records] == [
        "GAIA-Text, seeds 0 and 1",
        "GAIA-Text, seeds 0 and 2",
        "GAIA-Text, seeds 1 and 2",
    ]
    assert [r["disagreement"] for r in noise.records] == [0.25, 0.25, 0.5]


def test_accuracy_companion_by_hand(tmp_path: Path) -> None:
    rows = [
        *make_cell([1, 1, 1, 1], [50, 50, 50, 50], memory="wmt"),
        *make_cell([1, 0, 0, 0], [100, 100, 100, 100], memory="linear"),
        *make_cell([0, 0, 0, 0], [10, 10, 10, 10], memory="none"),
    ]
    results = load(tmp_path, rows)
    table = companion_tables(results.rows, summarize(results.rows))[0]
    records = {record["memory"]: record for record in table.records}
    assert records["wmt"]["p"] == pytest.approx(0.25)  # 3 wins, 0 losses
    assert records["none"]["p"] == 1.0  # 0 wins, 1 loss
    assert records["wmt"]["p_holm"] == pytest.approx(0.5)  # smallest of two, doubled
    assert records["none"]["p_holm"] == 1.0
    assert records["wmt"]["token_change_pct"] == pytest.approx(-50)
    assert "p" not in records["linear"]
    assert (records["wmt"]["accuracy_low_pct"], records["wmt"]["accuracy_high_pct"]) == (
        pytest.approx(51.01, abs=0.01),  # Wilson of 4 in 4: 4 / (4 + z^2)
        pytest.approx(100),
    )


def test_token_and_run_companions_by_hand(tmp_path: Path) -> None:
    rows = [
        make_row("q1", 1, 100, memory="wmt", selector=40, folds=2, steps=4),
        make_row("q2", 0, 300, memory="wmt", summarizer=60, decays=5, steps=6),
        make_row("q3", 0, 200, memory="wmt", status="step_limit", steps=8),
        make_row("q4", memory="wmt", prompt=0, status="error", steps=0),
    ]
    results = load(tmp_path, rows)
    tables = companion_tables(results.rows, summarize(results.rows))
    (tokens,) = tables[1].records
    assert tokens["prompt_tokens"] == 700
    assert (tokens["prompt_agent"], tokens["prompt_selector"]) == (600, 40)
    assert (tokens["cached_tokens"], tokens["computed_tokens"]) == (150, 550)
    assert tokens["cached_share"] == pytest.approx(150 / 700)
    (runs,) = tables[2].records
    assert (runs["answered"], runs["step_limit"], runs["error"]) == (2, 1, 1)
    assert (runs["folds"], runs["decays"], runs["suppressions"]) == (2, 5, 0)
    assert runs["steps_mean"] == 4.5


def test_length_is_that_of_linear_on_the_same_question(tmp_path: Path) -> None:
    rows = [
        make_row("q1", 1, 100, memory="linear", steps=2),
        make_row("q2", 0, 100, memory="linear", steps=8),
        make_row("q1", 0, 10, memory="wmt", steps=9),
        make_row("q2", 1, 30, memory="wmt", steps=1),
    ]
    results = load(tmp_path, rows)
    table = length_table(results.rows, summarize(results.rows))
    assert table is not None
    found = {(r["memory"], r["steps"]): r["accuracy_pct"] for r in table.records}
    assert found == {
        ("linear", "1 to 3"): 100,
        ("linear", "7 to 10"): 0,
        ("wmt", "1 to 3"): 0,
        ("wmt", "7 to 10"): 100,
    }
    without = summarize(load(tmp_path / "b", rows[2:]).rows)
    assert length_table(load(tmp_path / "b", rows[2:]).rows, without) is None


def test_seeds_of_a_question_are_resampled_together_in_the_length_table(tmp_path: Path) -> None:
    rows = [
        row
        for seed in range(3)
        for memory in ("linear", "wmt")
        for row in make_cell([1, 1, 0, 0], [10] * 4, memory=memory, seed=seed)
    ]
    results = load(tmp_path, rows)
    table = length_table(results.rows, summarize(results.rows))
    assert table is not None
    for record in table.records:
        # every seed repeats the four answers: 12 rows say no more than 4, all between 0 and 100
        assert (record["rows"], record["accuracy_low_pct"]) == (12, 0.0)
        assert record["accuracy_high_pct"] == 100.0
        assert record["steps"] == "1 to 3"


def test_what_linear_failed_at_once_has_a_length_of_its_own(tmp_path: Path) -> None:
    rows = [
        make_row("q1", memory="linear", status="error", steps=0),
        make_row("q2", 1, memory="linear", steps=2),
        make_row("q1", 1, memory="wmt"),
        make_row("q2", 0, memory="wmt"),
    ]
    results = load(tmp_path, rows)
    table = length_table(results.rows, summarize(results.rows))
    assert table is not None
    found = {(r["memory"], r["steps"]): r["accuracy_pct"] for r in table.records}
    assert found["linear", "0"] == 0
    assert found["wmt", "0"] == 100
    assert found["wmt", "1 to 3"] == 0


def test_noise_floor_of_the_questions_that_both_sets_ran(tmp_path: Path) -> None:
    rows = [
        *make_cell([1, 1, 0, 0], [100] * 4, memory="wmt", dataset="gaia_text"),
        *make_cell([1, 0, 1, 0, 1], [110] * 5, memory="wmt", dataset="gaia", dataset_full_size=5),
    ]
    results = load(tmp_path, rows)
    table = noise_table(results.rows, summarize(results.rows))
    assert table is not None
    (record,) = table.records
    assert (record["questions"], record["only_first"], record["only_second"]) == (4, 1, 1)
    assert record["disagreement"] == 0.5
    assert record["difference_pct"] == 0
    assert record["noise_pct"] == pytest.approx(196 * (0.5 / 4) ** 0.5)
    assert record["token_change_pct"] == pytest.approx(10)
    alone = [row for row in rows if row.cell.dataset == "gaia"]
    results = load(tmp_path / "alone", alone)
    assert noise_table(results.rows, summarize(results.rows)) is None


def test_the_unknown_appears_by_itself(tmp_path: Path) -> None:
    rows = [
        *make_cell([1, 0, 0, 0], [9] * 4, memory="linear"),
        *make_cell([1, 1, 1, 0], [7] * 4, memory="mine"),
        *make_cell([1, 1, 0, 0], [9] * 4, memory="wmt", label="rho95"),
        *make_cell([1, 1, 0, 0], [9] * 4, memory="wmt", model="other"),
        *make_cell([1, 0, 0, 0], [9] * 4, memory="tree_summary", dataset="own", model="other"),
        *make_cell([1, 1, 0, 0], [9] * 4, memory="wmt", dataset="own", model="other"),
    ]
    tables = {table.name: table for table in benchmark_tables(cells_of(tmp_path, rows))}
    assert list(tables) == ["table1", "table2", "table3", "components_own"]
    main = tables["table1"]
    assert block_of(main, "Qwen3-8B [main]")[4][:4] == ["mine", "*75.00*", "–", "*0.000*"]
    assert block_of(main, "Qwen3-8B [rho95]")[3][1] == "*50.00*"
    assert block_of(main, "other [main]")[3][1:3] == ["*50.00*", "–"]
    assert block_of(main, "other [main]", panel=1)[3][:2] == ["Full WMT", "*50.00*"]
    assert block_of(tables["components_own"], "other [main]")[2][:2] == ["Tree + Summary", "25.00"]


def test_reference_rows_recompute_what_the_prose_states() -> None:
    stated = {
        ("WMT accuracy minus Linear", "gaia_text"): [13.39, 8.66, 7.87, 9.97],
        ("WMT accuracy minus Linear", "gaia"): [9.70, 4.85, 15.76, 10.10],
        ("WMT tokens saved against Linear", "gaia_text"): [25.6, 42.0, 30.8, 32.8],
        ("WMT tokens saved against Linear", "gaia"): [25.8, 38.5, 32.5, 32.2],
        ("WMT accuracy", "gaia_text"): [28.08],
        ("WMT accuracy", "gaia"): [28.49],
        ("WMT tokens", "gaia_text"): [40.50],
        ("WMT tokens", "gaia"): [52.93],
        ("Best partial system: accuracy", "gaia_text"): [21.78],
        ("Best partial system: tokens", "gaia_text"): [51.98],
        ("Best partial system: accuracy", "gaia"): [21.41],
        ("Best partial system: tokens", "gaia"): [73.99],
    }
    numbers = prose_numbers(reference.benchmark(), printed=True)
    for (what, dataset), values in stated.items():
        digits = 1 if "saved" in what else 2
        found = [f.value for f in numbers if (f.what, f.dataset) == (what, dataset)]
        assert [round(value, digits) for value in found] == values, what
    gaps = [f.value for f in numbers if f.what == "WMT accuracy minus Unweighted Tree"]
    assert (round(min(gaps), 2), round(max(gaps), 2)) == (5.46, 18.11)


def test_a_whole_grid_with_the_published_counts(tmp_path: Path) -> None:
    results = load(tmp_path, paper_grid())
    cells = summarize(results.rows)
    assert len(results.rows) == 6132
    assert len(cells) == 42
    for table in benchmark_tables(cells):
        assert table.marks == ()
        for record in table.records:
            assert round(record["accuracy_pct"], 2) == record["published_accuracy_pct"]
            assert round(record["prompt_tokens_millions"], 2) == record["published_tokens_millions"]
    totals = {(r["dataset"], r["what"]): r["value"] for r in totals_table(cells).records}
    assert totals["all", "question runs"] == 6132
    assert round(totals["gaia_text", "prompt tokens, all memories, M"] / 1000, 3) == 1.028
    assert round(totals["gaia", "prompt tokens, all memories, M"] / 1000, 3) == 1.363
    assert round(totals["all", "prompt tokens, all memories, M"] / 1000, 3) == 2.391
    assert round(totals["gaia_text", "prompt tokens, WMT, M"], 2) == 121.50
    assert round(totals["gaia", "prompt tokens, WMT, M"], 2) == 158.78
    assert round(totals["all", "prompt tokens, WMT, M"], 2) == 280.28
    prose = prose_table(cells)
    assert all(abs(r["value"] - r["published"]) < 0.02 for r in prose.records)
    means = block_of(components(cells, "gaia"), "Mean over models")
    assert means[4][:5] == ["Full WMT", "*28.48*", "*28.49 d*", "*52.93*", "*52.93 d*"]


def test_best_leaves_out_what_is_missing() -> None:
    assert best([3, None, 3, 1], highest=True) == [True, False, True, False]
    assert best([3, None, 3, 1], highest=False) == [False, False, False, True]
    assert best([None, None], highest=True) == [False, False]


def test_the_command_writes_four_forms_and_knows_its_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_rows(tmp_path / "results", HAND)
    out = tmp_path / "out"
    assert command.main([str(root), "--out", str(out), "--only", "table1,prose"]) == 0
    printed = capsys.readouterr().out
    assert "Table 1" in printed
    assert "Full WMT" in printed
    assert sorted(path.name for path in out.iterdir()) == sorted(
        ["document.tex", *(f"{n}.{s}" for n in ("table1", "prose") for s in ("md", "tex", "csv"))]
    )
    assert command.main([str(root), "--only", "table9"]) == 2
    assert "no table table9; these results have table1" in capsys.readouterr().err


def test_strict_passes_a_clean_whole_grid_and_refuses_a_marked_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clean = write_rows(tmp_path / "clean", paper_grid())
    assert command.main([str(clean), "--strict", "--only", "table1,table2,table3"]) == 0
    capsys.readouterr()
    marked = write_rows(tmp_path / "marked", make_cell([1] * 4, [1] * 4, simulated=True))
    assert command.main([str(marked), "--strict"]) == 1
    assert "strict: table1: missing all, simulated" in capsys.readouterr().err


def test_every_table_of_a_set_of_results_is_built(tmp_path: Path) -> None:
    names = [table.name for table in build_tables(load(tmp_path, HAND))]
    assert names == [
        "table1",
        "table2",
        "table3",
        "prose",
        "totals",
        "companion_accuracy",
        "companion_tokens",
        "companion_runs",
        "companion_length",
    ]
