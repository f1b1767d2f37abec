"""What a person sees: progress, the closing table, and the run of one question."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from agents.models.base import OpenModel, ServerInfo
from benchmarks.closing import accuracy, caveats, figures, print_closing
from benchmarks.progress import Display, Tally
from benchmarks.records import Counters, RoleTokens, Row
from benchmarks.runner import key
from benchmarks.study import CellContext
from scripts.show import main as show
from tests.benchmarks.fakes import (
    FakeChat,
    FakeDataset,
    FakeMemoryConfig,
    FakeModelConfig,
    FakeStudy,
    fake_cell,
    fake_row,
)


def rows(folder: Path, right: int, wrong: int, limit: int | None = None) -> list[Row]:
    cell = fake_cell(folder)
    study = FakeStudy(FakeDataset(limit=limit))
    model = OpenModel(FakeChat(), ServerInfo("fake", "1", "fake"))
    context = CellContext(key(cell, study, model), FakeChat(), FakeMemoryConfig(), folder)
    made = [fake_row(context, f"item/{n}") for n in range(right + wrong)]
    return [row.model_copy(update={"score": float(n < right)}) for n, row in enumerate(made)]


def test_accuracy_has_n_and_a_wilson_interval(tmp_path: Path) -> None:
    # Wilson, z = 1.96, 8 of 10: centre 0.7167, half width 0.2266 (by hand)
    assert accuracy(rows(tmp_path, 8, 2)) == "80.0% of 10 [49.0, 94.3]"


def test_errors_stay_in_the_denominator(tmp_path: Path) -> None:
    made = rows(tmp_path, 1, 1)
    made[1] = made[1].model_copy(update={"status": "error", "error": "gone"})
    cell = fake_cell(tmp_path)
    assert figures(cell, made)["accuracy (95% interval)"].startswith("50.0% of 2 ")
    assert figures(cell, made)["errors"] == "1"


def test_tokens_are_shown_by_role_with_the_cached_share(tmp_path: Path) -> None:
    made = rows(tmp_path, 2, 0)
    made[0].tokens["selector"] = RoleTokens(calls=2, prompt=300, completion=5, cached=0)
    made[0].counters = Counters(folds=3, selector_fallbacks=1)
    shown = figures(fake_cell(tmp_path), made)
    assert shown["prompt tokens"] == "500"
    assert (shown["  agent"], shown["  selector"], shown["  summarizer"]) == ("200", "300", "0")
    assert shown["  cached share"] == "20%"
    assert shown["model calls"] == "4"
    assert (shown["folds"], shown["  selector fallbacks"]) == ("3", "1")


def test_simulated_small_and_cut_runs_are_said_plainly(tmp_path: Path) -> None:
    small = fake_cell(
        tmp_path, model=FakeModelConfig(name="tiny", simulated=False, smoke_only=True)
    )
    said = caveats([fake_cell(tmp_path), small], [rows(tmp_path, 3, 0, limit=3), []])
    assert [line.partition(":")[0] for line in said] == ["SIMULATED", "CUT", "SMOKE TEST"]
    assert "3 of the 5 items" in said[1]
    real = fake_cell(tmp_path, model=FakeModelConfig(simulated=False))
    assert caveats([real], [rows(tmp_path, 5, 0)]) == []


def test_the_closing_table_has_a_column_per_cell(tmp_path: Path) -> None:
    out = io.StringIO()
    cells = [fake_cell(tmp_path), fake_cell(tmp_path, label="arm")]
    print_closing(Console(file=out, width=120), cells, [rows(tmp_path, 5, 0), rows(tmp_path, 0, 5)])
    text = out.getvalue()
    assert "100.0% of 5" in text and " 0.0% of 5" in text
    assert str(cells[1].folder) in text.replace("\n", "")


def test_without_a_terminal_progress_is_plain_lines(tmp_path: Path) -> None:
    out = io.StringIO()
    cell, made = fake_cell(tmp_path), rows(tmp_path, 5, 0)
    with Display(Console(file=out, width=200)) as display:
        display.begin(cell, 5, made[:2])
        for row in made[2:]:
            display.item(row)
    lines = out.getvalue().splitlines()
    assert lines[0] == f"{cell.title}: resumed, 2/5 done before"
    assert lines[-1] == f"{cell.title}: 5/5, 5 right, 500 prompt tokens, done"
    assert "\x1b" not in out.getvalue()


def test_on_a_terminal_progress_is_a_live_bar(tmp_path: Path) -> None:
    out = io.StringIO()
    cell, made = fake_cell(tmp_path), rows(tmp_path, 5, 0)
    with Display(Console(file=out, width=160, force_terminal=True)) as display:
        display.begin(cell, 5, [])
        display.item(made[0])
    assert "1/5" in out.getvalue() and "1 right, 100 prompt tokens" in out.getvalue()


def test_the_time_left_counts_only_what_was_done_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("benchmarks.progress.time.monotonic", lambda: now)
    made = rows(tmp_path, 5, 0)
    tally = Tally("x", 5, made[:3])
    assert str(tally).endswith("time left unknown")
    now = 190.0
    tally.add(made[3])
    assert str(tally).endswith("1:30 left")


def test_show_names_the_runs_to_choose_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert show([str(tmp_path), "q1"]) == 2
    assert "no run of q1" in capsys.readouterr().err
