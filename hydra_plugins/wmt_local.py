"""`hydra/launcher=local`: the jobs of a sweep on one machine, each worker with a GPU of its own.

    python run.py -m +grid=paper hydra/launcher=local
    python run.py -m +grid=paper model=simulated hydra/launcher=local hydra.launcher.workers=2

A job is `python run.py OVERRIDES` as a process, so a crash is that job's alone. Its output goes to
a log beside the results. Ctrl-C or SIGTERM asks every running job to stop, waits until it has
finished its writes, and starts no more; the same command goes on from there. (Hydra loads plugins
from the package `hydra_plugins` only, hence this folder.)
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, JobStatus, filter_overrides
from hydra.errors import HydraException
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

_RUN = Path(__file__).resolve().parents[1] / "run.py"
_POLL_SECONDS = 0.1
_PR_SET_PDEATHSIG = 1


class LocalLauncher(Launcher):
    """A pool of worker slots; see the module's docstring.

    `gpus`: indices or UUIDs; None takes CUDA_VISIBLE_DEVICES, else all that `nvidia-smi` lists.
    `workers`: at most so many at once; it may exceed the GPUs only where there are none (the
    simulated model).
    """

    def __init__(self, gpus: Any = None, workers: int | None = None) -> None:
        if OmegaConf.is_config(gpus):
            gpus = OmegaConf.to_container(gpus)
        self._gpus = None if gpus is None else [str(gpu) for gpu in gpus]
        self._workers = workers
        self._config: DictConfig | None = None

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Hydra's call before `launch`."""
        self._config = config

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        """Run every job; a failed one is reported when all are done, the others keep running."""
        assert self._config is not None
        logs = Path(str(self._config.hydra.sweep.dir)) / "local"
        logs.mkdir(parents=True, exist_ok=True)
        jobs = [
            _Job(number, list(overrides), logs / f"{number}.log")
            for number, overrides in enumerate(job_overrides, start=initial_job_idx)
        ]
        _run_all(jobs, slots(self._gpus, self._workers))
        return [job.result() for job in jobs]


class _Job:
    """One process. (No dataclass: Hydra executes plugin modules outside `sys.modules`.)"""

    def __init__(self, number: int, overrides: list[str], log: Path) -> None:
        self.number, self.overrides, self.log = number, overrides, log
        self.code: int | None = None

    def start(self, gpu: str) -> subprocess.Popen[bytes]:
        where = f"GPU {gpu}" if gpu else "no GPU"
        print(f"#{self.number} {where}: {' '.join(filter_overrides(self.overrides))}", flush=True)
        with self.log.open("ab") as out:
            return subprocess.Popen(
                [sys.executable, str(_RUN), *self.overrides],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "CUDA_VISIBLE_DEVICES": gpu},
                start_new_session=True,  # Ctrl-C is ours to pass on, once
                preexec_fn=_stop_with_parent,
            )

    def result(self) -> JobReturn:
        done = JobReturn(overrides=self.overrides)
        if self.code == 0:
            done.status = JobStatus.COMPLETED
            done.return_value = 0
        else:
            done.status = JobStatus.FAILED
            done.return_value = HydraException(
                f"job #{self.number} ended with exit code {self.code}; see {self.log}"
            )
        return done


def slots(gpus: list[str] | None, workers: int | None) -> list[str]:
    """The CUDA_VISIBLE_DEVICES of each worker; HydraException if there is nothing to run on."""
    if workers is not None and workers < 1:
        raise HydraException(f"hydra.launcher.workers={workers}: must be at least 1, or null")
    found = _visible_gpus() if gpus is None else gpus
    if found:
        return found[:workers]
    if workers:
        return [""] * workers
    raise HydraException(
        "hydra/launcher=local: no GPU found. Give hydra.launcher.gpus=[0,1] or, for a model "
        "without one, hydra.launcher.workers=2"
    )


def _visible_gpus() -> list[str]:
    value = os.environ.get("CUDA_VISIBLE_DEVICES")
    if value is not None:
        return [part.strip() for part in value.split(",") if part.strip() not in ("", "-1")]
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    listed = subprocess.run(
        [tool, "--query-gpu=index", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    )
    return listed.stdout.split() if listed.returncode == 0 else []


def _run_all(jobs: Sequence[_Job], free: list[str]) -> None:
    """Keep every slot busy until all jobs are done, or until we are told to stop."""
    waiting = list(jobs)
    running: dict[str, tuple[_Job, subprocess.Popen[bytes]]] = {}
    names = {f"{index}:{gpu}": gpu for index, gpu in enumerate(free)}
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        while waiting or running:
            for slot, gpu in names.items():
                if slot not in running and waiting:
                    job = waiting.pop(0)
                    running[slot] = (job, job.start(gpu))
            for slot, (job, process) in list(running.items()):
                job.code = process.poll()
                if job.code is not None:
                    del running[slot]
                    if job.code:
                        print(f"#{job.number} ended with exit code {job.code}: {job.log}")
            time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        for job, process in running.values():
            process.terminate()
            print(f"#{job.number}: asked to stop", flush=True)
        for job, process in running.values():
            job.code = process.wait()
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _stop_with_parent() -> None:
    """In the child: SIGTERM if the launcher dies, however it dies (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
