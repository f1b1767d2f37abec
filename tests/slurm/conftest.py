"""A real SLURM on this machine for the tests marked `slurm`, started once and then stopped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@dataclass
class Cluster:
    """Commands against the test SLURM; a task's output is in `logs`."""

    env: dict[str, str]
    logs: Path

    def run(self, *command: str, env: Mapping[str, str] | None = None) -> str:
        """The output of a command that must succeed."""
        done = subprocess.run(
            command,
            env={**self.env, **(env or {})},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def submit(self, script: str, *options: str, overrides: str = "", per_task: int = 1) -> str:
        """Submit one of ours; returns the job id."""
        env = {"WMT_OVERRIDES": overrides, "WMT_CELLS_PER_TASK": str(per_task)}
        output = f"--output={self.logs}/%A_%a.out"
        return self.run("sbatch", "--parsable", output, *options, script, env=env)

    def queued(self, job: str) -> list[str]:
        """What is left of a job: a line `id state` per task or group of tasks."""
        lines = self.run("squeue", "-h", "-o", "%i %T").splitlines()
        return [line for line in lines if line.split("_")[0].split()[0] == job]

    def finish(self, job: str, seconds: float = 300) -> None:
        """Wait until no task of a job is queued or running."""
        self.until(lambda: not self.queued(job), seconds)

    def until(self, condition: Callable[[], object], seconds: float = 120) -> None:
        """Wait for something that the cluster does."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"waited {seconds} s; {self.tail()}"
            time.sleep(0.2)

    def log(self, job: str, task: int) -> str:
        path = self.logs / f"{job}_{task}.out"
        return path.read_text() if path.exists() else ""

    def tail(self) -> str:
        newest = max(self.logs.glob("*"), key=lambda path: path.stat().st_mtime, default=None)
        return "" if newest is None else f"{newest}: {newest.read_text()[-1500:]}"


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if shutil.which("slurmctld") is None or os.geteuid() != 0:
        pytest.fail("the slurm tests need root and SLURM: bash tests/slurm/install.sh")
    folder = tmp_path_factory.mktemp("slurm")
    try:
        # The daemons keep the script's output open, so it goes to a file and not to a pipe.
        with (folder / "up.log").open("w") as log:
            up = subprocess.run(
                ["bash", HERE / "up.sh", folder],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=120,
            )
        assert up.returncode == 0, (folder / "up.log").read_text()
        logs = folder / "tasks"
        logs.mkdir()
        # What a surrounding job or a test before us set is not to reach the tasks.
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "CUDA_", "WMT_"))}
        env |= {"SLURM_CONF": str(folder / "slurm.conf"), "WMT_PYTHON": sys.executable}
        yield Cluster(env, logs)
    finally:
        subprocess.run(["bash", HERE / "down.sh", folder], timeout=120)
