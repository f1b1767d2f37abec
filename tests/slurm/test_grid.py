"""The grid on a real one-machine SLURM with eight declared GPUs and the simulated model."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from benchmarks.compute import read_ledger
from benchmarks.state import read_state
from benchmarks.store import find_cells, read_trace
from tests.slurm.conftest import Cluster

pytestmark = pytest.mark.slurm

SMALL = "model=simulated dataset=archive"


def rows(folder: Path) -> list[dict[str, object]]:
    path = folder / "rows.jsonl"
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


def whole(folder: Path, items: int) -> None:
    """Every item has exactly one row, none an error, and its trace."""
    found = [str(row["task_id"]) for row in rows(folder)]
    assert len(found) == items and len(set(found)) == items
    assert read_state(folder).state == "done"
    for task_id in found:
        assert read_trace(folder, task_id)[-1]["type"] == "final"
    assert not (folder / "errors.jsonl").exists()


def test_the_42_cells_run_as_one_array_each_on_one_gpu(cluster: Cluster, tmp_path: Path) -> None:
    overrides = f"{SMALL} dataset.limit=1 seed=0,1,2 label=a,b results_dir={tmp_path}"
    job = cluster.submit("slurm/grid.sbatch", overrides=overrides)
    cluster.finish(job, 420)
    cells = find_cells(tmp_path)
    assert len(cells) == 42, cluster.tail()
    for cell in cells:
        whole(cell, 1)
    spans: dict[str, tuple[float, float]] = {}
    for cell in cells:
        ledger = read_ledger(cell)
        assert ledger is not None
        (session,) = ledger.sessions
        assert session.gpus == 1
        assert session.gpu_seconds == pytest.approx(session.wall_seconds)
        spans[session.job] = (session.started_at, session.started_at + session.wall_seconds)
    assert set(spans) == {f"{job}_{task}" for task in range(42)}
    devices = {}
    for task in range(42):
        (device,) = re.findall(r"CUDA_VISIBLE_DEVICES=(\S+):", cluster.log(job, task))
        assert re.fullmatch("[0-7]", device)
        devices[f"{job}_{task}"] = device
    assert len(set(devices.values())) > 1
    for one, (start, end) in spans.items():
        together = [two for two, (begin, until) in spans.items() if begin < end and until > start]
        used = Counter(devices[task] for task in together if spans[task][0] <= start)
        assert used[devices[one]] == 1, "two tasks had one GPU at the same time"


def running_cell(cluster: Cluster, tmp_path: Path, items: int) -> tuple[str, Path]:
    """Start a cell and wait until it has rows, but not all."""
    overrides = f"{SMALL} dataset.limit={items} results_dir={tmp_path}"
    job = cluster.submit("slurm/grid.sbatch", "--array=6", overrides=overrides)
    folder = tmp_path / "main" / "archive" / "simulated" / "wmt" / "seed0"
    cluster.until(lambda: rows(folder))
    return job, folder


@pytest.mark.parametrize("how", ["requeue", "time signal", "SIGTERM", "preemption"])
def test_interrupted_in_mid_cell_nothing_is_lost_or_repeated(
    cluster: Cluster, tmp_path: Path, how: str
) -> None:
    items = 12
    job, folder = running_cell(cluster, tmp_path, items)
    if how == "requeue":
        cluster.run("scontrol", "requeue", f"{job}_6")
    elif how != "preemption":
        number = "USR1" if how == "time signal" else "TERM"
        cluster.run("scancel", "--batch", f"--signal={number}", f"{job}_6")
    else:
        wrap = ["--partition=urgent", "--gres=gpu:8", "--output=/dev/null", "--wrap=true"]
        cluster.run("sbatch", "--parsable", *wrap)
    cluster.until(lambda: "PENDING" in " ".join(cluster.queued(job)))
    before = (folder / "rows.jsonl").read_bytes()
    assert before.endswith(b"\n") and 0 < before.count(b"\n") < items
    # SLURM lets a requeued job wait two minutes. It needs one second: the credential of the ended
    # run is revoked by time stamps in seconds, and a run begun in the same second is refused.
    cluster.run("scontrol", "update", f"JobId={job}_6", "StartTime=now+3seconds")
    cluster.finish(job)
    assert (folder / "rows.jsonl").read_bytes().startswith(before)
    whole(folder, items)
    log = cluster.log(job, 6)
    starts = [int(number) for number in re.findall(r"start (\d+),", log)]
    assert starts[0] == 0 and starts[-1] >= 1
    ledger = read_ledger(folder)
    assert ledger is not None and ledger.totals is not None
    assert len(ledger.sessions) == 2
    assert ledger.totals.items == items


def test_cancelled_cells_stay_cancelled_and_are_what_is_missing(
    cluster: Cluster, tmp_path: Path
) -> None:
    items = 15
    memories = ("none", "linear", "wmt")
    overrides = f"{SMALL} memory={','.join(memories)} dataset.limit={items} results_dir={tmp_path}"
    job = cluster.submit("slurm/grid.sbatch", "--array=0-2", overrides=overrides)
    folders = [tmp_path / "main" / "archive" / "simulated" / name / "seed0" for name in memories]
    for task in (1, 2):
        cluster.until(partial(rows, folders[task]))
        cluster.run("scancel", f"{job}_{task}")
    cluster.finish(job)

    def cells(*options: str) -> str:
        grid = "configs/grid/paper.yaml"
        python = cluster.env["WMT_PYTHON"]
        return cluster.run(python, "-m", "scripts.cells", grid, *options, *overrides.split())

    listed = cells().splitlines()
    left = [line.split()[0] for line in listed if not line.split()[1].startswith("done")]
    assert left == ["1", "2"], listed
    assert cells("--missing") == "1-2"
    again = cluster.submit(
        "slurm/grid.sbatch", f"--array={cells('--missing')}", overrides=overrides
    )
    cluster.finish(again)
    assert sorted(find_cells(tmp_path)) == sorted(folders)
    for cell in folders:
        whole(cell, items)


def test_one_task_runs_several_cells_in_turn(cluster: Cluster, tmp_path: Path) -> None:
    overrides = f"{SMALL} dataset.limit=1 results_dir={tmp_path}"
    job = cluster.submit("slurm/grid.sbatch", "--array=1", overrides=overrides, per_task=3)
    cluster.finish(job)
    assert {cell.parent.name for cell in find_cells(tmp_path)} == {
        "tree_selection",
        "tree_summary",
        "tree_selection_summary",
    }, cluster.tail()
    for cell in find_cells(tmp_path):
        whole(cell, 1)


def test_submit_takes_what_is_left_and_the_site_settings(cluster: Cluster, tmp_path: Path) -> None:
    options = f"--parsable --output={cluster.logs}/%A_%a.out"
    env = {"SBATCH_OPTIONS": options, "WMT_PARTITION": "urgent", "WMT_PRICE_PER_GPU_HOUR": "3.6"}
    overrides = ["model=simulated", "dataset=archive", "dataset.limit=1", f"results_dir={tmp_path}"]
    cluster.run(cluster.env["WMT_PYTHON"], "run.py", *overrides, "memory=none")
    job = cluster.run("slurm/submit", "grid", *overrides, env=env)
    assert "Partition=urgent" in cluster.run("scontrol", "show", "job", job)
    cluster.finish(job)
    assert len(find_cells(tmp_path)) == 7
    assert not cluster.log(job, 0), "the cell that was done ran again"
    ledger = read_ledger(tmp_path / "main" / "archive" / "simulated" / "wmt" / "seed0")
    assert ledger is not None and ledger.totals is not None
    assert ledger.totals.cost == pytest.approx(ledger.totals.wall_seconds / 1000)


def test_the_same_through_hydra_and_submitit(cluster: Cluster, tmp_path: Path) -> None:
    cluster.run(
        cluster.env["WMT_PYTHON"],
        "run.py",
        "-m",
        "+grid=paper",
        "hydra/launcher=slurm",
        "model=simulated",
        "dataset=archive",
        "dataset.limit=1",
        "memory=none,wmt",
        f"results_dir={tmp_path}",
    )
    cells = find_cells(tmp_path)
    assert {cell.parent.name for cell in cells} == {"none", "wmt"}
    for cell in cells:
        whole(cell, 1)
        ledger = read_ledger(cell)
        assert ledger is not None and [session.gpus for session in ledger.sessions] == [1]
