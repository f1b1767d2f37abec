"""hydra/launcher=local: a worker per GPU, a failed job is that job's alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hydra.errors import HydraException

from benchmarks.compute import read_ledger
from benchmarks.store import find_cells
from hydra_plugins.wmt_local import slots

ROOT = Path(__file__).parents[2]


def test_every_gpu_is_a_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert slots(None, None) == ["2", "3"]
    assert slots(None, 1) == ["2"]
    assert slots(["0", "5", "7"], 8) == ["0", "5", "7"]


def test_without_a_gpu_the_workers_have_to_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert slots(None, 2) == ["", ""]
    with pytest.raises(HydraException, match=r"hydra\.launcher\.workers"):
        slots(None, None)


@pytest.mark.parametrize("workers", [0, -1])
def test_no_workers_is_a_mistake_and_no_endless_wait(workers: int) -> None:
    with pytest.raises(HydraException, match=r"hydra\.launcher\.workers=.*at least 1"):
        slots(["0"], workers)


def test_nothing_to_run_on_is_one_line(tmp_path: Path) -> None:
    line = [
        *[sys.executable, "run.py", "-m", "+grid=paper", "model=simulated", "dataset=archive"],
        *["memory=none", f"results_dir={tmp_path}", "hydra/launcher=local"],
    ]
    done = subprocess.run(
        line,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and "no GPU found" in done.stderr


@pytest.mark.slow
def test_cells_run_side_by_side_each_with_its_gpu(tmp_path: Path) -> None:
    line = [
        *[sys.executable, "run.py", "-m", "+grid=paper", "model=simulated", "dataset=archive"],
        *["dataset.limit=1", "memory=none,linear", f"results_dir={tmp_path}"],
        *["hydra/launcher=local", "hydra.launcher.gpus=[3,5]"],
    ]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "#0 GPU 3:" in done.stdout and "#1 GPU 5:" in done.stdout
    cells = find_cells(tmp_path)
    assert {cell.parent.name for cell in cells} == {"none", "linear"}
    for cell in cells:
        ledger = read_ledger(cell)
        assert ledger is not None and [session.gpus for session in ledger.sessions] == [1]
