"""The compute ledger of a cell (paper, A.5 says that it lacks one): `ledger.json` beside the rows.

One session per time that a cell was worked on, model start included, so that a cell which was
preempted and resumed adds up. The file is rewritten while the session runs: a kill loses at most
the last half minute of it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.serving.gpu import GpuWatch
from benchmarks.records import RowBase
from benchmarks.store import writing

LEDGER = "ledger.json"
_SAVE_SECONDS = 30.0


class Session(BaseModel):
    """One stretch of work on a cell. What could not be measured is null, never zero.

    Seconds are wall-clock; `gpu_seconds` = allocated GPUs x wall seconds, busy or not. Memory in
    bytes (all allocated GPUs together), utilisation 0 to 1, energy in joules. Tokens are those of
    the items that finished in the session, errors included; `prompt_tokens` = cached + computed.
    """

    model_config = ConfigDict(extra="forbid")

    started_at: float
    host: str
    job: str = ""
    finished: bool = False
    wall_seconds: float = 0.0
    gpus: int | None = None
    gpu_names: list[str] = Field(default_factory=list)
    gpu_seconds: float | None = None
    gpu_memory_mean: float | None = None
    gpu_memory_peak: float | None = None
    gpu_utilisation: float | None = None
    gpu_energy: float | None = None
    items: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0


class Totals(BaseModel):
    """A cell's sessions together. `tokens_per_second` = computed prompt and new tokens a second.

    `cost` = GPU hours x price, in the price's currency. A sum is null as soon as one of its parts
    is; the means are weighted by wall seconds.
    """

    model_config = ConfigDict(extra="forbid")

    wall_seconds: float
    gpu_seconds: float | None
    gpu_memory_mean: float | None
    gpu_memory_peak: float | None
    gpu_utilisation: float | None
    gpu_energy: float | None
    items: int
    prompt_tokens: int
    prompt_tokens_computed: int
    prompt_tokens_cached: int
    completion_tokens: int
    tokens_per_second: float | None
    price_per_gpu_hour: float | None
    cost: float | None


class Ledger(BaseModel):
    """The content of `ledger.json`; `totals` is worked out anew at every save."""

    model_config = ConfigDict(extra="forbid")

    sessions: list[Session] = Field(default_factory=list)
    totals: Totals | None = None

    def add_up(self, price: float | None) -> Totals:
        """The totals at `price` per GPU hour (None: no cost)."""
        wall = sum(s.wall_seconds for s in self.sessions)
        gpu = _sum([s.gpu_seconds for s in self.sessions])
        peaks = [s.gpu_memory_peak for s in self.sessions]
        prompt = sum(s.prompt_tokens for s in self.sessions)
        cached = sum(s.cached_tokens for s in self.sessions)
        new = sum(s.completion_tokens for s in self.sessions)
        return Totals(
            wall_seconds=wall,
            gpu_seconds=gpu,
            gpu_memory_mean=_mean([(s.gpu_memory_mean, s.wall_seconds) for s in self.sessions]),
            gpu_memory_peak=max((p for p in peaks if p is not None), default=None)
            if None not in peaks
            else None,
            gpu_utilisation=_mean([(s.gpu_utilisation, s.wall_seconds) for s in self.sessions]),
            gpu_energy=_sum([s.gpu_energy for s in self.sessions]),
            items=sum(s.items for s in self.sessions),
            prompt_tokens=prompt,
            prompt_tokens_computed=prompt - cached,
            prompt_tokens_cached=cached,
            completion_tokens=new,
            tokens_per_second=(prompt - cached + new) / wall if wall else None,
            price_per_gpu_hour=price,
            cost=None if gpu is None or price is None else gpu / 3600 * price,
        )


def read_ledger(folder: Path) -> Ledger | None:
    """A cell's ledger, None if it has none or a damaged one."""
    path = folder / LEDGER
    try:
        return Ledger.model_validate_json(path.read_bytes()) if path.exists() else None
    except ValidationError:
        return None


class SessionMeter:
    """Told of each finished item; keeps `ledger.json` current."""

    def __init__(self, folder: Path, price: float | None, gpus: GpuWatch) -> None:
        self._path = folder / LEDGER
        self._price = price
        self._gpus = gpus
        self._begin = time.monotonic()
        self._lock = threading.Lock()
        self._ledger = self._kept()
        job = os.environ.get("SLURM_ARRAY_JOB_ID") or os.environ.get("SLURM_JOB_ID", "")
        task = os.environ.get("SLURM_ARRAY_TASK_ID")
        self._session = Session(
            started_at=time.time(),
            host=socket.gethostname(),
            job=f"{job}_{task}" if task else job,
        )
        self._ledger.sessions.append(self._session)

    def _kept(self) -> Ledger:
        """The earlier sessions; a damaged file is put aside, for rows are worth more than it."""
        kept = read_ledger(self._path.parent)
        if kept is None and self._path.exists():
            self._path.replace(self._path.with_name(f"{LEDGER}.damaged"))
        return kept or Ledger()

    def item(self, row: RowBase) -> None:
        """Count a finished item's tokens."""
        with self._lock:
            self._session.items += 1
            for role in row.tokens.values():
                self._session.prompt_tokens += role.prompt
                self._session.cached_tokens += role.cached
                self._session.completion_tokens += role.completion

    def save(self, finished: bool = False) -> None:
        """Rewrite the file, whole or not at all."""
        use = self._gpus.use()
        with self._lock:
            session = self._session
            session.finished = finished
            session.wall_seconds = time.monotonic() - self._begin
            session.gpus = use.count
            session.gpu_names = list(use.names)
            session.gpu_seconds = None if use.count is None else use.count * session.wall_seconds
            session.gpu_memory_mean = use.memory_mean
            session.gpu_memory_peak = use.memory_peak
            session.gpu_utilisation = use.utilisation_mean
            session.gpu_energy = use.energy
            self._ledger.totals = self._ledger.add_up(self._price)
            temporary = self._path.with_name(f".{LEDGER}.tmp")
            temporary.write_text(self._ledger.model_dump_json(indent=1) + "\n", encoding="utf-8")
            temporary.replace(self._path)


@contextlib.contextmanager
def measured(folder: Path, price_per_gpu_hour: float | None) -> Iterator[SessionMeter]:
    """Measure a stretch of work on the cell in `folder`, which must exist and be ours alone."""
    done = threading.Event()
    with GpuWatch() as gpus:
        meter = SessionMeter(folder, price_per_gpu_hour, gpus)

        def keep_current() -> None:
            while not done.wait(_SAVE_SECONDS):
                with contextlib.suppress(OSError):  # the disk is full: the rows will say so
                    meter.save()

        saver = threading.Thread(target=keep_current, daemon=True, name="ledger")
        saver.start()
        try:
            yield meter
        finally:
            done.set()
            saver.join()
            with writing(folder):
                meter.save(finished=True)


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _mean(values: list[tuple[float | None, float]]) -> float | None:
    known = [(value, weight) for value, weight in values if value is not None]
    weight = sum(weight for _, weight in known)
    if not known or len(known) < len(values) or not weight:
        return None
    return sum(value * w for value, w in known) / weight
