"""Whatever keeps a number from being whole and clean is marked where it stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.claims import judge_path
from scripts.report.build import build_tables
from scripts.report.cells import summarize
from scripts.report.load import ResultsError, load_results
from scripts.report.marks import MEANING, kind, legend, table_marks
from scripts.report.names import GRID
from scripts.report.synthetic import make_cell, make_row, write_rows


def marks_of(tmp_path: Path, *cells: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    rows = [row for cell in cells for row in make_cell([1, 0, 1, 0], [9] * 4, **cell)]
    table = load_results(write_rows(tmp_path, rows)).rows
    return {cell.memory: cell.marks for cell in summarize(table)}


@pytest.mark.parametrize(
    ("changes", "mark"),
    [
        ({"simulated": True}, "simulated"),
        ({"smoke_only": True}, "smoke-only"),
        ({"git_dirty": True}, "dirty"),
        ({"usage_estimated": True}, "estimated"),
        ({"dataset_full_size": 9}, "missing 5"),
        ({"dataset_full_size": 9, "dataset_cut": True}, "cut 4/9"),
    ],
)
def test_marks_of_one_cell(tmp_path: Path, changes: dict[str, Any], mark: str) -> None:
    assert marks_of(tmp_path, changes) == {"linear": (mark,)}
    assert kind(mark) in MEANING
    assert legend([mark]).startswith(f"{kind(mark)} = ")


@pytest.mark.parametrize(
    ("field", "mark"),
    [
        ("git_commit", "mixed commit"),
        ("dataset_revision", "mixed data"),
        ("dataset_ids_hash", "mixed data"),
        ("prompt_hash", "mixed prompts"),
        ("model_revision", "mixed weights"),
        ("server_version", "mixed server"),
        ("cassette_hash", "mixed pages"),
    ],
)
def test_memories_that_are_compared_must_agree(tmp_path: Path, field: str, mark: str) -> None:
    found = marks_of(tmp_path, {"memory": "linear"}, {"memory": "wmt", field: "other"})
    assert found == {"linear": (mark,), "wmt": (mark,)}


def test_a_cell_made_under_two_settings_is_mixed(tmp_path: Path) -> None:
    rows = [make_row("q1"), make_row("q2", config_digest="other"), make_row("q3"), make_row("q4")]
    (cell,) = summarize(load_results(write_rows(tmp_path, rows)).rows)
    assert cell.marks == ("mixed config",)
    seeds = [make_row("q1", dataset_full_size=1, seed=s, config_digest=str(s)) for s in (0, 1)]
    (cell,) = summarize(load_results(write_rows(tmp_path / "seeds", seeds)).rows)
    assert cell.marks == ()  # the seed is part of the digest


def test_a_cut_cell_lacks_what_its_rivals_have(tmp_path: Path) -> None:
    cut = {"dataset_full_size": 9, "dataset_cut": True}
    rows = [
        *make_cell([1] * 4, [1] * 4, memory="linear", **cut),
        *make_cell([1] * 3, [1] * 3, memory="wmt", **cut),
    ]
    found = {c.memory: c.marks for c in summarize(load_results(write_rows(tmp_path, rows)).rows)}
    assert found == {"linear": ("cut 4/9",), "wmt": ("missing 1", "cut 3/9")}


def test_models_made_by_different_code_are_a_mark_of_the_table(tmp_path: Path) -> None:
    rows = [
        *make_cell([1] * 4, [1] * 4, model="qwen3"),
        *make_cell([1] * 4, [1] * 4, model="gemma4", git_commit="other"),
    ]
    table = load_results(write_rows(tmp_path, rows)).rows
    assert table_marks(table) == ("mixed commit",)
    for built in build_tables(load_results(tmp_path)):
        assert "mixed commit" in built.marks
        assert "mixed commit = different commits of the code" in built.caption
    assert "mixed commit" in {m for v in judge_path(tmp_path) for m in v.marks}


def test_a_cell_that_a_later_run_completed_is_not_cut(tmp_path: Path) -> None:
    rows = [*make_cell([1, 1], [1, 1], dataset_cut=True), make_row("q3"), make_row("q4")]
    (cell,) = summarize(load_results(write_rows(tmp_path, rows)).rows)
    assert (cell.marks, cell.missing) == ((), 0)


def test_a_torn_last_line_is_left_out_and_said(tmp_path: Path) -> None:
    root = write_rows(tmp_path, make_cell([1] * 4, [1] * 4))
    (file,) = root.rglob("rows.jsonl")
    text = file.read_text()
    file.write_text(text[:-40])
    results = load_results(root)
    assert len(results.rows) == 3
    assert "torn" in results.torn[0]
    for table in build_tables(results):
        assert "torn" in table.marks
        assert "torn = a row" in table.caption
    assert "torn" in {mark for verdict in judge_path(root) for mark in verdict.marks}


@pytest.mark.parametrize("field", ["model_revision", "server_version"])
def test_sets_of_one_model_must_agree_too(tmp_path: Path, field: str) -> None:
    rows = [
        *make_cell([1] * 4, [1] * 4, dataset="gaia_text"),
        *make_cell([1] * 4, [1] * 4, dataset="gaia", **{field: "other"}),
    ]
    mark = {"model_revision": "mixed weights", "server_version": "mixed server"}[field]
    assert table_marks(load_results(write_rows(tmp_path, rows)).rows) == (mark,)


def test_every_table_shows_its_marks_in_itself(tmp_path: Path) -> None:
    rows = [
        row
        for memory in ("linear", "wmt")
        for dataset in ("gaia_text", "gaia")
        for row in make_cell([1, 0, 1, 0], [9] * 4, memory=memory, dataset=dataset, simulated=True)
    ]
    tables = build_tables(load_results(write_rows(tmp_path, rows)))
    assert len(tables) == 10
    for table in tables:
        texts = [v.text for panel in table.panels for line in panel.lines for v in line.values]
        assert any("simulated" in text for text in texts), table.name
        assert "simulated = " in table.caption


def test_sums_over_memories_say_that_one_is_lacking(tmp_path: Path) -> None:
    rows = [
        row
        for memory in GRID
        for dataset in ("gaia_text", "gaia")
        for row in make_cell([1, 0, 1, 0], [9] * 4, memory=memory, dataset=dataset)
        if (memory, dataset) != ("tree_summary", "gaia")
    ]
    tables = {t.name: t for t in build_tables(load_results(write_rows(tmp_path / "a", rows)))}
    for name in ("prose", "totals", "table3"):
        assert tables[name].marks == ("missing all",)
        assert "missing = " in tables[name].caption
    rows += make_cell([1, 0, 1, 0], [9] * 4, memory="tree_summary", dataset="gaia")
    assert {
        mark
        for table in build_tables(load_results(write_rows(tmp_path / "b", rows)))
        for mark in table.marks
    } == set()


def settings(root: Path, name: str, seed: int = 0, **changes: Any) -> None:
    config = {"memory": {"name": name}, "agent": {"max_steps": 10}, "seed": seed, **changes}
    folder = root / "main" / "gaia_text" / "qwen3" / name / f"seed{seed}"
    (folder / "cell.yaml").write_text(json.dumps({"digest": "x", "config": config}))


def test_memories_that_are_compared_must_share_their_other_settings(tmp_path: Path) -> None:
    rows = [row for m in ("linear", "wmt") for row in make_cell([1] * 4, [1] * 4, memory=m)]
    write_rows(tmp_path, rows)
    settings(tmp_path, "linear")
    settings(tmp_path, "wmt")
    found = summarize(load_results(tmp_path).rows)
    assert [cell.marks for cell in found] == [(), ()]
    settings(tmp_path, "wmt", agent={"max_steps": 20})
    found = summarize(load_results(tmp_path).rows)
    assert [cell.marks for cell in found] == [("mixed settings",), ("mixed settings",)]


def test_seeds_must_share_everything_but_the_seed(tmp_path: Path) -> None:
    rows = [row for seed in (0, 1) for row in make_cell([1] * 4, [1] * 4, seed=seed)]
    write_rows(tmp_path, rows)
    settings(tmp_path, "linear")
    settings(tmp_path, "linear", 1)
    assert summarize(load_results(tmp_path).rows)[0].marks == ()
    settings(tmp_path, "linear", 1, memory={"name": "linear", "budget_tokens": 99})
    assert summarize(load_results(tmp_path).rows)[0].marks == ("mixed config",)


def test_a_damaged_or_foreign_row_is_one_clear_line(tmp_path: Path) -> None:
    root = write_rows(tmp_path, make_cell([1] * 2, [1] * 2))
    (file,) = root.rglob("rows.jsonl")
    first, second = file.read_text().splitlines()
    file.write_text("{broken\n" + second + "\n")
    with pytest.raises(ResultsError, match=r"rows.jsonl, line 1: not JSON"):
        load_results(root)
    foreign = {**json.loads(first), "surprise": 1}
    file.write_text(json.dumps(foreign) + "\n")
    with pytest.raises(ResultsError, match=r"line 1: surprise: .*another schema"):
        load_results(root)


def test_a_question_found_twice_counts_once_by_its_later_row(tmp_path: Path) -> None:
    rows = [make_row("q1", 0, started_at=1.0), make_row("q1", 1, started_at=2.0)]
    table = load_results(write_rows(tmp_path, rows)).rows
    assert list(table["score"]) == [1.0]
