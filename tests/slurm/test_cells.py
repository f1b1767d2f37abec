"""The grid's cells: what they are, how far they are, what is left, what it will cost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from benchmarks.composition import CONFIGS, compose
from benchmarks.compute import Ledger, Session
from benchmarks.state import CellState, read_state
from scripts import status
from scripts.cells import array_string, grid_overrides, main, missing, read_cells, task_arguments

PAPER = CONFIGS / "grid" / "paper.yaml"
TREES = ["unweighted", "tree_selection", "tree_summary", "tree_selection_summary", "wmt"]
MEMORIES = ["none", "linear", *TREES]


def cell_on_disk(
    folder: Path, items: int, statuses: Sequence[str], full: int = 60, tail: str = ""
) -> None:
    """A cell folder as a run leaves it."""
    folder.mkdir(parents=True)
    described = {"digest": "x", "items": items, "full_size": full, "config": {}}
    (folder / "cell.yaml").write_text(yaml.safe_dump(described))
    rows = [
        {
            "task_id": f"t{number}",
            "status": status,
            "score": float(status == "answered"),
            "seconds": 1.0,
            "cell": {"simulated": True},
            "tokens": {"agent": {"prompt": 100}},
        }
        for number, status in enumerate(statuses)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + tail)


def test_the_papers_grid_is_its_42_cells_in_order_of_model() -> None:
    jobs = grid_overrides(PAPER, [])
    assert len(jobs) == 42 and len({tuple(job) for job in jobs}) == 42
    assert [job[0] for job in jobs] == [
        f"model={name}" for name in ("qwen3", "gemma4", "llama31") for _ in range(14)
    ]
    assert [job[2] for job in jobs[:7]] == [f"memory={name}" for name in MEMORIES]
    assert {job[1] for job in jobs} == {"dataset=gaia_text", "dataset=gaia"}


def test_the_poisoning_grid_is_tables_4s_five_rows_for_each_model() -> None:
    jobs = grid_overrides(CONFIGS / "grid" / "poisoning.yaml", [])
    assert len(jobs) == 15
    assert {job[2] for job in jobs} == {f"memory={m}" for m in ("linear", "a1", "a2", "a3", "wmt")}


@pytest.mark.parametrize("name", ["paper", "poisoning"])
def test_the_sbatch_array_has_the_grids_size(name: str) -> None:
    script = {"paper": "grid", "poisoning": "poisoning"}[name]
    text = (CONFIGS.parent / "slurm" / f"{script}.sbatch").read_text()
    last = len(grid_overrides(CONFIGS / "grid" / f"{name}.yaml", [])) - 1
    assert f"--array=0-{last}%8\n" in text
    assert f"configs/grid/{name}.yaml" in text


def test_overrides_replace_and_add_parameters() -> None:
    jobs = grid_overrides(PAPER, ["model=simulated", "dataset=archive", "seed=0,1"])
    assert len(jobs) == 14
    assert jobs[1] == ["model=simulated", "dataset=archive", "memory=none", "seed=1"]


@given(st.sets(st.integers(0, 200), min_size=1))
def test_an_array_string_names_exactly_its_indices(indices: set[int]) -> None:
    text = array_string(sorted(indices))
    named: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        named += range(int(first), int(last or first) + 1)
    assert named == sorted(indices)


def test_a_task_of_several_cells_composes_to_them() -> None:
    extra = ["model=simulated", "dataset=archive", "dataset.limit=2"]
    jobs = grid_overrides(PAPER, extra)
    arguments = task_arguments(jobs, 1, 3)
    cells = compose(arguments).cells
    assert [cell.memory.name for cell in cells] == MEMORIES[3:6]
    assert [cell.digest for cell in cells] == [compose(job).cells[0].digest for job in jobs[3:6]]
    assert task_arguments(jobs, 2, 3) == jobs[6]


def test_an_index_beyond_the_grid_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(PAPER), "--task", "42"]) == 2
    assert "tasks 0 to 41" in capsys.readouterr().err


def test_a_grid_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["configs/grid/no.yaml"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("statuses", "state", "text"),
    [
        ([], "partial", "partial 0/3"),
        (["answered"], "partial", "partial 1/3"),
        (["answered", "error"], "partial", "partial 1/3, 1 errors"),
        (["answered", "step_limit", "error"], "errors", "errors 2/3, 1 errors"),
        (["answered", "step_limit", "context_limit"], "done", "done"),
    ],
)
def test_states_come_from_the_rows(
    tmp_path: Path, statuses: list[str], state: str, text: str
) -> None:
    cell_on_disk(tmp_path / "c", 3, statuses, tail='{"task_id": "torn')
    found = read_state(tmp_path / "c")
    assert (found.state, str(found)) == (state, text)
    assert found.left == 3 - len([status for status in statuses if status != "error"])


def test_a_folder_without_a_cell_has_not_begun(tmp_path: Path) -> None:
    assert str(read_state(tmp_path)) == "not begun"
    assert read_state(tmp_path).left is None


def test_missing_lists_what_is_not_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = tmp_path / "main" / "archive" / "simulated"
    cell_on_disk(base / "none" / "seed0", 2, ["answered", "answered"])
    cell_on_disk(base / "linear" / "seed0", 2, ["answered", "error"])
    cell_on_disk(base / "wmt" / "seed0", 2, ["answered"])
    grid = [str(PAPER), "model=simulated", "dataset=archive", f"results_dir={tmp_path}"]
    cells = read_cells(PAPER, [*grid[1:], "dataset.limit=2"])
    assert [str(cell.state) for cell in cells] == [
        "done",
        "errors 1/2, 1 errors",
        *["not begun"] * 4,
        "partial 1/2",
    ]
    assert missing(cells, 1) == [1, 2, 3, 4, 5, 6]
    assert missing(cells, 3) == [0, 1, 2]
    assert main([*grid, "memory=none", "dataset.limit=2", "--missing"]) == 1
    assert capsys.readouterr().err == "nothing is missing\n"
    # Without the cut two items are not enough.
    assert main([*grid, "memory=none", "--missing"]) == 0
    assert capsys.readouterr().out == "0\n"


def test_an_estimate_scales_what_was_measured_and_says_what_was_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "main" / "archive" / "simulated" / "none" / "seed0"
    cell_on_disk(folder, 10, ["answered"] * 2)
    session = Session(
        started_at=0, host="h", wall_seconds=7200, gpus=1, gpu_seconds=7200, items=2, finished=True
    )
    ledger = Ledger(sessions=[session])
    ledger.totals = ledger.add_up(0.5)
    (folder / "ledger.json").write_text(ledger.model_dump_json())
    grid = [str(PAPER), "dataset=archive", "memory=none", f"results_dir={tmp_path}"]
    assert (
        main([*grid, "model=simulated,qwen3", "dataset.limit=10", "--estimate", "--price=0.5"]) == 0
    )
    rows = [line for line in capsys.readouterr().out.splitlines() if "│" in line]
    simulated, qwen3 = ([part.strip() for part in row.split("│")][1:-1] for row in rows)
    # 8 items at an hour each; nothing is known of the other model.
    assert simulated == ["simulated", "1", "8", "2.00", "8.00", "4.00", "0"]
    assert qwen3[0] == "qwen3" and qwen3[4] == "0.00" and qwen3[6] == "1"


def test_the_status_table_shows_every_cell_and_their_sum(tmp_path: Path) -> None:
    base = tmp_path / "results" / "main" / "archive"
    cell_on_disk(base / "simulated" / "none" / "seed0", 2, ["answered", "step_limit"], full=2)
    cell_on_disk(base / "simulated" / "wmt" / "seed0", 3, ["answered", "error"])
    console = Console(width=200, record=True, file=(tmp_path / "out").open("w"))
    with console.file:
        console.print(status.build(status.read_all(tmp_path), now=0.0))
        text = console.export_text()
    assert "2 cells, 1 done" in text
    assert "done 2/2 " in text and "partial 1/3 of 60" in text
    assert "400" in text  # prompt tokens of all


def test_status_of_an_empty_folder_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status.main([str(tmp_path), "--once"]) == 2
    assert "no cells here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("cell.yaml", ": [", "cell.yaml"),
        ("cell.yaml", "a: 1\n", "cell.yaml"),
        ("cell.yaml", "config: {}\nitems: many\nfull_size: 3\n", "cell.yaml"),
        ("cell.yaml", "", "cell.yaml"),
        ("rows.jsonl", '!\n{"task_id": "x"', "rows.jsonl:1"),
        ("rows.jsonl", "[]\n", "rows.jsonl:1"),
        ("rows.jsonl", '{"a": 1}\n', "rows.jsonl:1"),
    ],
)
def test_what_cannot_be_read_is_said_and_stays_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, content: str, said: str
) -> None:
    base = tmp_path / "main" / "archive" / "simulated"
    cell_on_disk(base / "none" / "seed0", 1, ["answered"])
    cell_on_disk(base / "wmt" / "seed0", 1, ["answered"])
    (base / "none" / "seed0" / file).write_text(content)
    assert str(read_state(base / "none" / "seed0")) == f"damaged: {said}"
    assert status.main([str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert f"damaged: {said}" in shown and "1 done" in shown
    memories = "memory=none,wmt"
    grid = [str(PAPER), "model=simulated", "dataset=archive", memories, f"results_dir={tmp_path}"]
    assert main(grid) == 0
    assert f"damaged: {said}" in capsys.readouterr().out
    assert main([*grid, "dataset.limit=1", "--missing"]) == 0
    assert capsys.readouterr().out.startswith("0")
    assert main([*grid, "--estimate"]) == 0


def test_an_estimate_passes_over_a_ledger_that_is_no_cell_s(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(started_at=0, host="h", gpus=1, gpu_seconds=7200, items=2, finished=True)
    ledger = Ledger(sessions=[session])
    ledger.totals = ledger.add_up(None)
    (tmp_path / "ledger.json").write_text(ledger.model_dump_json())
    monkeypatch.chdir(tmp_path)
    grid = [str(PAPER), "model=simulated", "dataset=archive", "memory=none", "results_dir=."]
    assert main([*grid, "--estimate"]) == 0
    assert "0.00" in capsys.readouterr().out


def test_a_state_survives_a_cell_that_was_asked_for_less_later() -> None:
    assert CellState(Path("c"), items=2, full_size=60, done=5).state == "done"
    assert CellState(Path("c"), items=2, full_size=60, done=5).left == 0
