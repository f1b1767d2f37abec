"""slurm/task.sh alone, with a stand-in for python and for scontrol: arguments, signals, bounds."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# scripts.cells prints the overrides that it got, a line each; run.py says so and waits for TERM.
PYTHON = """#!/bin/bash
if [ "$1" = -m ]; then shift 7; printf '%s\\n' "$@"; exit; fi
printf 'got %s\\n' "$@"
trap 'exit 143' TERM
[ -z "${WAIT:-}" ] || while :; do sleep 0.05; done
"""
SCONTROL = """#!/bin/bash
echo "scontrol $*"
[ "$1" != show ] || echo "   JobState=RUNNING Reason=None"
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder like the repository's, with the two stand-ins."""
    folder = tmp_path / "site"
    (folder / "slurm").mkdir(parents=True)
    for name in ("task.sh", "site.sh"):
        shutil.copy(ROOT / "slurm" / name, folder / "slurm" / name)
    for name, text in (("python", PYTHON), ("scontrol", SCONTROL)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def start(site: Path, **env: str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WMT_")}
    return subprocess.Popen(
        ["bash", "-c", "source slurm/task.sh configs/grid/paper.yaml"],
        cwd=site,
        env={
            **kept,
            "PATH": f"{site}:{os.environ['PATH']}",
            "WMT_PYTHON": "./python",
            "SLURM_ARRAY_TASK_ID": "3",
            "SLURM_ARRAY_JOB_ID": "77",
            **env,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def stopped(site: Path, **env: str) -> tuple[int, str]:
    """Run a task until run.py has begun, send the time signal, and wait for its end."""
    task = start(site, WAIT="1", WMT_OVERRIDES="a=1", **env)
    assert task.stdout is not None
    said = ""
    while "got a=1" not in said:
        line = task.stdout.readline()
        assert line, said
        said += line
    task.send_signal(signal.SIGUSR1)
    rest, _ = task.communicate(timeout=30)
    return task.returncode, said + rest


def test_overrides_reach_run_py_as_they_are(site: Path) -> None:
    (site / "dataset.ids=a").touch()  # brackets are a pattern for the shell, which this matches
    out, _ = start(site, WMT_OVERRIDES="dataset.ids=[a,b] seed=1").communicate(timeout=30)
    assert "got dataset.ids=[a,b]\ngot seed=1\n" in out


def test_the_time_signal_asks_for_a_requeue(site: Path) -> None:
    code, said = stopped(site, SLURM_RESTART_COUNT="2")
    assert code == 143 and "start 2," in said
    assert "scontrol requeue 77_3" in said


def test_requeueing_ends(site: Path) -> None:
    """A walltime shorter than the start of the server would go round for ever."""
    code, said = stopped(site, SLURM_RESTART_COUNT="3", WMT_MAX_RESTARTS="3")
    assert code == 143
    assert "scontrol requeue" not in said
    assert "stopped after 3 restarts" in said and "WMT_MAX_RESTARTS" in said


def test_without_site_sh_it_stops_with_one_line(site: Path) -> None:
    (site / "slurm" / "site.sh").unlink()
    task = start(site)
    out, _ = task.communicate(timeout=30)
    assert task.returncode == 2
    assert out.splitlines() == ["slurm/site.sh is not there: restore it from the repository"]


def test_a_python_that_is_not_there_stops_with_one_line(site: Path) -> None:
    task = start(site, WMT_PYTHON="nowhere/python")
    out, _ = task.communicate(timeout=30)
    assert task.returncode == 2
    assert out.splitlines() == ["nowhere/python cannot be run: set WMT_PYTHON in slurm/site.sh"]
