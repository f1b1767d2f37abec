"""The first questions of `make demo`, with the real small model on llama.cpp."""

from __future__ import annotations

from pathlib import Path

import pytest

import run
from benchmarks.records import Row
from benchmarks.store import find_cells, read_rows, read_trace

pytestmark = pytest.mark.slow


def test_quickstart_questions_exercise_selection_and_folding_with_a_real_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["experiment=quickstart", "dataset.limit=2", f"results_dir={tmp_path}"]
    assert run.main(arguments) == 0
    out = capsys.readouterr().out
    assert "SMOKE TEST: smollm2" in out and "CUT: 2 of the 60" in out
    linear, wmt = (read_rows(cell, Row) for cell in find_cells(tmp_path))
    assert len(linear) == len(wmt) == 2
    for row in [*linear, *wmt]:
        assert row.status != "error", row.error
        assert row.cell.smoke_only and row.cell.server == "llama.cpp"
        assert row.prompt_tokens > 0 and not row.usage_estimated
    assert set(linear[0].tokens) == {"agent"}
    assert sum(row.tokens["agent"].cached for row in wmt) > 0
    selections = [
        step["context"]["selection"]
        for row in wmt
        for step in read_trace(find_cells(tmp_path)[1], row.task_id)
        if step["type"] == "step"
    ]
    assert any(s["shown"] and not s["fallback"] for s in selections), "no selection by the model"
    folds = sum(row.counters.folds - row.counters.summary_fallbacks for row in wmt)
    assert folds >= 1, "no fold with the model's own summary"


def test_a_second_run_starts_no_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        *("experiment=quickstart", "dataset.limit=1", f"results_dir={tmp_path}"),
        "cells=[['memory=linear']]",
    ]
    assert run.main(arguments) == 0
    (cell,) = find_cells(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (cell / "log").rglob("*")}
    assert run.main(arguments) == 0
    assert {path: path.stat().st_mtime_ns for path in (cell / "log").rglob("*")} == before
    assert "resumed, 1/1 done before" in capsys.readouterr().out
