"""The poisoning study's cells from their traces, by the study's own metrics."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.errors import SetupError
from poisoning.metrics import METRICS, CellSummary, summarise
from scripts.report import names
from scripts.report.claims_poisoning import LATENCY, TOKENS, PoisonArm
from scripts.report.load import Results, ResultsError
from scripts.report.marks import block_marks, cell_marks
from scripts.report.stats import Interval, bootstrap_mean

PUBLISHED = {
    "ASR_exposure": "ASR",
    "PRR": "PRR",
    "IP": "IP",
    "BR": "BR",
    "AF": "AF",
    "CCR": "CCR",
    "TSR": "TSR",
    "prompt_tokens": TOKENS,
    "memory_ms": LATENCY,
}
"""Our metric -> the name of the published one it compares with."""
SHOWN = {
    "ASR_exposure": "ASR by exposure ↓",
    "ASR_answers": "ASR by answers ↓",
    "PRR": "PRR ↓",
    "IP": "IP ↓",
    "BR": "BR ↓",
    "AF": "AF ↓",
    "CCR": "CCR ↓",
    "TSR": "TSR ↑",
    "prompt_tokens": "Tokens a prompt ↓",
    "memory_ms": "Latency, ms ↓",
}


@dataclass(frozen=True)
class PoisonCell:
    """One memory in one arm with one model, all seeds: values by metric and scenario."""

    label: str
    model: str
    memory: str
    arm: str
    attack: str
    scenarios: int
    crashed: int
    unreadable: int
    values: Mapping[str, Mapping[str, float]]
    pooled: Mapping[str, float | None]
    marks: tuple[str, ...]
    check: tuple[int, int] | None = None
    """Attack check: poisoned entries tried alone, and those of them that gave the answer."""
    taken: int | None = None
    """Memories that a lexical selector takes beside the active path; None for any other."""

    def mean(self, metric: str) -> float | None:
        """Mean over scenarios, None where no scenario has a value."""
        values = self.values.get(metric, {})
        return sum(values.values()) / len(values) if values else None

    def interval(self, metric: str) -> Interval | None:
        """95% bootstrap interval over scenarios."""
        values = self.values.get(metric, {})
        return bootstrap_mean(np.array(list(values.values()))) if values else None

    @property
    def in_table4(self) -> bool:
        """Whether it replayed the corpus as it is: no control, no adaptive attacker."""
        return self.arm == "poisoned" and self.attack == "none"


def poison_cells(results: Results) -> list[PoisonCell]:
    """Every poisoning cell of a results folder; reads their traces. Raises ResultsError where a
    trace is lacking or damaged."""
    if not results.poisoning:
        return []
    rows = poison_frame(results)
    cells = []
    for (label, model), block_rows in rows.groupby(["label", "model"], sort=True):
        shared = block_marks(block_rows)
        for memory in _order(block_rows["memory"]):
            part = block_rows[block_rows["memory"] == memory]
            folders = sorted(part["folder"].unique())
            summaries = [_summarise(Path(folder)) for folder in folders]
            marks = _marks(part, block_rows["task_id"].nunique())
            marks += tuple(mark for mark in shared if mark not in marks)
            cells.append(_merge(str(label), str(model), memory, summaries, marks))
    return cells


def poison_frame(results: Results) -> pd.DataFrame:
    """What marks need of the poisoning rows, one line a scenario and seed."""
    fields = ("task_id", "status", "usage_estimated", "folder", "setup", "settings")
    return pd.DataFrame(
        [{**data["cell"], **{name: data[name] for name in fields}} for data in results.poisoning]
    )


def _summarise(folder: Path) -> CellSummary:
    try:
        return summarise(folder)
    except FileNotFoundError as error:
        raise ResultsError(
            f"{error.filename}: no such trace; Table 4 is computed from the traces of all scenarios"
        ) from error
    except (OSError, EOFError, zlib.error, ValueError, KeyError, SetupError) as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ResultsError(f"{folder}: a trace cannot be read: {what}") from error


def _order(memories: Iterable[str]) -> list[str]:
    """Table 4's order, then the others."""
    present = names.order_memories(memories)
    return [m for m in names.POISONING if m in present] + [
        m for m in present if m not in names.POISONING
    ]


def _marks(part: pd.DataFrame, block_size: int) -> tuple[str, ...]:
    full = int(part["dataset_full_size"].max())
    seeds = part["seed"].nunique()
    cut = bool(part["dataset_cut"].any()) and part["task_id"].nunique() < full
    expected = block_size if cut else full
    return cell_marks(
        part,
        errors=int((part["status"] == "error").sum()),
        missing=max(0, expected * seeds - len(part)),
        cut=cut,
        full_size=full,
    )


def _merge(
    label: str, model: str, memory: str, parts: Sequence[CellSummary], marks: tuple[str, ...]
) -> PoisonCell:
    """Seeds of one cell as one: a scenario's value is its mean over seeds."""
    values: dict[str, dict[str, float]] = {}
    for metric in METRICS:
        found: dict[str, list[float]] = {}
        for part in parts:
            for task, value in part.values[metric].items():
                if value is not None:
                    found.setdefault(task, []).append(value)
        values[metric] = {task: sum(v) / len(v) for task, v in sorted(found.items())}
    pooled: dict[str, float | None] = {}
    for metric in METRICS:
        known = [e.pooled for part in parts if (e := part.estimates[metric]) is not None]
        pooled[metric] = sum(known) / len(known) if known else None
    checks = [part.check for part in parts if part.check is not None]
    return PoisonCell(
        label=label,
        model=model,
        memory=memory,
        arm=parts[0].arm,
        attack=parts[0].attack,
        scenarios=sum(part.scenarios for part in parts),
        crashed=sum(len(part.crashed) for part in parts),
        unreadable=sum(part.unreadable for part in parts),
        values=values,
        pooled=pooled,
        marks=marks,
        check=(sum(c.n for c in checks), sum(c.moved for c in checks)) if checks else None,
        taken=parts[0].top_k,
    )


def poison_arms(cells: Sequence[PoisonCell]) -> list[PoisonArm]:
    """The arms that the claims are held against: the corpus as it is."""
    arms = []
    for label, model in dict.fromkeys((c.label, c.model) for c in cells if c.in_table4):
        members = [c for c in cells if (c.label, c.model) == (label, model) and c.in_table4]
        metrics: dict[str, dict[str, float]] = {}
        scenarios: dict[str, dict[str, Mapping[str, float]]] = {}
        for cell in members:
            for metric in SHOWN:
                value = cell.mean(metric)
                key = PUBLISHED.get(metric, metric)
                key = metric if key == "ASR" else key
                if value is not None:
                    metrics.setdefault(cell.memory, {})[key] = value
                    scenarios.setdefault(cell.memory, {})[key] = cell.values[metric]
        marks = tuple(dict.fromkeys(mark for cell in members for mark in cell.marks))
        arms.append(PoisonArm(label, model, metrics, scenarios, marks))
    return arms
