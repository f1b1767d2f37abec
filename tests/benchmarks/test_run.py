"""`run.py` as its users meet it: real configurations, the simulated model, a small archive."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import run
from benchmarks.records import Row
from benchmarks.store import find_cells, read_rows, read_trace
from scripts.show import main as show

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["model=simulated", "dataset=archive", "dataset.documents=60", "dataset.questions=6"]


def command(results: Path, *overrides: str) -> list[str]:
    return [sys.executable, str(ROOT / "run.py"), *SMALL, f"results_dir={results}", *overrides]


def test_a_cell_runs_resumes_and_can_be_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*SMALL, "memory=wmt", f"results_dir={tmp_path}"]
    assert run.main(arguments) == 0
    first = capsys.readouterr().out
    assert "of 6 [" in first and "SIMULATED" in first
    (cell,) = find_cells(tmp_path)
    rows = read_rows(cell, Row)
    assert len(rows) == 6
    assert run.main(arguments) == 0
    assert "resumed, 6/6 done before" in capsys.readouterr().out
    assert read_rows(cell, Row) == rows
    for row in rows:
        kinds = [line["type"] for line in read_trace(cell, row.task_id)]
        assert kinds == ["header", *["step"] * row.steps, "final"]
        assert show([str(tmp_path), row.task_id]) == 0
        shown = capsys.readouterr().out
        assert row.status in shown and "candidates" in shown and "thought" in shown


def test_show_asks_which_of_several_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = "cells=[['memory=none'],['memory=linear']]"
    assert run.main([*SMALL, cells, "dataset.limit=1", f"results_dir={tmp_path}"]) == 0
    item = read_rows(find_cells(tmp_path)[0], Row)[0].task_id
    assert show([str(tmp_path), item]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"2 runs of {item}") and "linear/seed0" in told and "none/seed0" in told
    assert show([str(tmp_path), item, "--memory", "none"]) == 0


def test_show_finds_a_cell_from_within_it_and_names_what_is_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run.main([*SMALL, "dataset.limit=1", f"results_dir={tmp_path}"]) == 0
    (cell,) = find_cells(tmp_path)
    (row,) = read_rows(cell, Row)
    monkeypatch.chdir(cell)
    assert show([".", row.task_id, "--memory", "wmt", "--model", "simulated"]) == 0
    trace = cell / "traces" / f"{row.task_id}.jsonl.gz"
    whole = trace.read_bytes()
    capsys.readouterr()
    for damaged in (whole[:300], b"garbage", b"", whole[:40] + b"x" * 20 + whole[60:]):
        trace.write_bytes(damaged)
        assert show([".", row.task_id]) == 2
        assert "damaged" in capsys.readouterr().err
    trace.write_bytes(whole)
    (cell / "cell.yaml").write_text("")
    assert show([".", row.task_id]) == 2
    assert "cell.yaml: damaged" in capsys.readouterr().err


def test_a_trace_holds_every_call_and_event_of_its_row(tmp_path: Path) -> None:
    assert run.main([*SMALL, "memory=wmt", f"results_dir={tmp_path}"]) == 0
    (cell,) = find_cells(tmp_path)
    for row in read_rows(cell, Row):
        steps = [line for line in read_trace(cell, row.task_id) if line["type"] == "step"]
        calls = [call for step in steps for call in step["calls"]]
        assert sum(call["prompt_tokens"] for call in calls) == row.prompt_tokens
        events = [event["kind"] for step in steps for event in step["events"]]
        assert events.count("folded") == row.counters.folds
        assert events.count("suppressed") == row.counters.suppressions
        assert events[0] == "created" or "started" in events[:2]


def test_the_same_cell_twice_gives_the_same_answers(tmp_path: Path) -> None:
    for arm in ("one", "two"):
        assert run.main([*SMALL, "memory=wmt", f"results_dir={tmp_path}", f"label={arm}"]) == 0
    one, two = (read_rows(cell, Row) for cell in find_cells(tmp_path))
    assert [(r.answer, r.prompt_tokens) for r in one] == [(r.answer, r.prompt_tokens) for r in two]


@pytest.mark.parametrize(
    "arguments",
    [["memory=wnt"], ["memory.retention.rho=1.5"], ["+foo=1"], ["-m", "memory=wmt,wnt"]],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.main([*arguments, *SMALL]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1 and captured.out == ""


def test_what_is_missing_is_told_before_anything_starts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    arguments = ["dataset.path=" + str(tmp_path / "nowhere"), f"results_dir={tmp_path}/r"]
    for more in ([], ["preflight=true"]):
        assert run.main([*arguments, *more]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) >= 2, lines
        assert any("dataset" in line for line in lines) and any("model" in line for line in lines)
    assert not (tmp_path / "r").exists()


def test_preflight_only_checks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run.main([*SMALL, "preflight=true", f"results_dir={tmp_path}/r"]) == 0
    assert "nothing is missing" in capsys.readouterr().out
    assert not (tmp_path / "r").exists()


def test_an_experiment_runs_its_cells_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = "cells=[['memory=linear'],['memory=none']]"
    assert run.main([*SMALL, cells, "parallel_cells=2", f"results_dir={tmp_path}"]) == 0
    assert [len(read_rows(cell, Row)) for cell in find_cells(tmp_path)] == [6, 6]
    assert "resumed" not in capsys.readouterr().out


def test_a_cell_that_fails_beside_others_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "main/archive/simulated/linear"
    blocked.mkdir(parents=True)
    (blocked / "seed0").mkdir()
    (blocked / "seed0/rows.jsonl").write_text("{}\n")
    cells = "cells=[['memory=linear'],['memory=none']]"
    assert run.main([*SMALL, cells, "parallel_cells=2", f"results_dir={tmp_path}"]) == 2
    assert "has rows.jsonl but no cell.yaml" in capsys.readouterr().err


def test_a_sweep_runs_every_combination_and_leaves_no_other_folders(tmp_path: Path) -> None:
    done = subprocess.run(
        command(tmp_path / "r", "memory=linear,none", "-m"),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert len(find_cells(tmp_path / "r")) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_every_cell_that_fails_in_a_sweep_is_named_and_the_others_run(tmp_path: Path) -> None:
    for memory in ("linear", "a1"):
        folder = tmp_path / f"main/archive/simulated/{memory}/seed0"
        folder.mkdir(parents=True)
        (folder / "rows.jsonl").write_text("{}\n")
    done = subprocess.run(
        command(tmp_path, "-m", "memory=linear,none,a1", "dataset.limit=1"),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1
    told = [line for line in done.stderr.splitlines() if "has rows.jsonl but no cell.yaml" in line]
    assert ["linear" in told[0], "a1" in told[1], len(told)] == [True, True, 2]
    assert [cell.parent.name for cell in find_cells(tmp_path)] == ["none"]


def test_a_worker_that_is_killed_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    cells = "cells=[['memory=linear'],['memory=none']]"
    many = ["dataset.documents=400", "dataset.questions=60", cells, "parallel_cells=2"]
    child = subprocess.Popen(
        command(tmp_path, *many), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    while child.poll() is None and not _rows(tmp_path):
        time.sleep(0.005)
    os.kill(_workers(child.pid)[0], signal.SIGKILL)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 1
    assert "its process ended with code -9" in err.splitlines()[0] and "Traceback" not in err


def test_flags_of_hydra_keep_their_values_wherever_they_stand(tmp_path: Path) -> None:
    for arguments in (["seed=3", "--cfg", "job"], ["--cfg", "job", "seed=3"]):
        done = subprocess.run(
            command(tmp_path / "r", *arguments), capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        assert "\nseed: 3\n" in done.stdout
    assert not (tmp_path / "r").exists()


def test_ctrl_c_in_a_terminal_ends_all_cells_quietly(tmp_path: Path) -> None:
    cells = "cells=[['memory=linear'],['memory=none']]"
    for seed in (1, 2):
        many = ["dataset.documents=400", "dataset.questions=60", f"seed={seed}", cells]
        child = subprocess.Popen(
            command(tmp_path, *many, "parallel_cells=1" if seed == 2 else "parallel_cells=2"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        # as soon as the workers are there, so that it meets them while they import
        while child.poll() is None and not _busy(child.pid, tmp_path, seed):
            time.sleep(0.005)
        os.killpg(child.pid, signal.SIGINT)
        out, err = child.communicate(timeout=60)
        assert child.returncode == 130, err
        assert "stopped by SIGINT" in out and err == ""


def _busy(pid: int, results: Path, seed: int) -> bool:
    if seed == 2:
        return any(results.rglob(f"seed{seed}/rows.jsonl"))
    return any("pydantic_core" in Path(f"/proc/{w}/maps").read_text() for w in _workers(pid))


def _workers(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(c) for c in children if "spawn_main" in Path(f"/proc/{c}/cmdline").read_text()]


def test_killed_from_outside_a_real_cell_is_finished_by_the_same_command(tmp_path: Path) -> None:
    chance = random.Random(1)
    for _ in range(2):
        child = subprocess.Popen(
            command(tmp_path, "memory=wmt"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wanted = chance.randint(1, 3)
        while child.poll() is None and _rows(tmp_path) < wanted:
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)
        child.wait()
    done = subprocess.run(command(tmp_path, "memory=wmt"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (cell,) = find_cells(tmp_path)
    ids = [json.loads(line)["task_id"] for line in (cell / "rows.jsonl").read_bytes().splitlines()]
    assert len(ids) == len(set(ids)) == 6


def _rows(results: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in results.rglob("rows.jsonl"))


def test_a_terminated_run_says_so_and_exits_143(tmp_path: Path) -> None:
    many = ["dataset.documents=400", "dataset.questions=60", "memory=wmt"]
    child = subprocess.Popen(
        command(tmp_path, *many), stdout=subprocess.PIPE, text=True, env={**os.environ}
    )
    while _rows(tmp_path) < 1 and child.poll() is None:
        time.sleep(0.01)
    child.send_signal(signal.SIGTERM)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 143
    assert "stopped by SIGTERM" in out


def test_a_folder_of_another_configuration_is_refused_before_any_cell_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = "cells=[['memory=none'],['memory=linear']]"
    common = [*SMALL, "dataset.limit=1", f"results_dir={tmp_path}"]
    assert run.main([*common, "memory=linear"]) == 0
    assert run.main([*common, cells, "agent.max_steps=3"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "agent.max_steps: " in line and " there, 3 now" in line and "label=" in line
    assert len(find_cells(tmp_path)) == 1
    assert run.main([*common, cells, "agent.max_steps=3", "label=short"]) == 0


def test_a_window_that_the_reply_alone_would_fill_is_refused_and_binds_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = [*SMALL, "memory=linear", "dataset.limit=1", f"results_dir={tmp_path}"]
    assert run.main([*common, "model.context_window=4096"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("agent.max_new_tokens=4000: ") and "4096" in line
    (cell,) = find_cells(tmp_path)
    assert read_rows(cell, Row) == []
    assert run.main(common) == 0, "no row was written, so another configuration may take the folder"
