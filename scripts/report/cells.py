"""One cell of the grid as numbers: from result rows, or from published aggregates."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

import pandas as pd

from scripts.report.marks import block_marks, cell_marks

CELL = ["label", "dataset", "model", "memory"]
BLOCK = ["label", "dataset", "model"]


@dataclass(frozen=True)
class CellStat:
    """Results of one memory with one model on one set in one arm, all seeds together.

    `runs` counts rows (questions times seeds), `correct` the right ones among them. Errors are
    rows and stay in the denominator; `missing` questions have no row and cannot. `prompt_tokens`
    is the total over the questions, averaged over seeds. `ids` is empty for aggregates.
    """

    label: str
    dataset: str
    model: str
    memory: str
    questions: int
    runs: int
    correct: int
    prompt_tokens: float
    full_size: int
    seeds: tuple[int, ...] = (0,)
    errors: int = 0
    missing: int = 0
    marks: tuple[str, ...] = ()
    ids: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def accuracy(self) -> Fraction:
        """Share of right answers, exact, so that ties are ties."""
        return Fraction(self.correct, self.runs) if self.runs else Fraction(0)

    @property
    def percent(self) -> float:
        """Accuracy in percent."""
        return float(100 * self.accuracy)

    @property
    def millions(self) -> float:
        """Prompt tokens of one pass over the set, in millions."""
        return self.prompt_tokens / 1e6


def lacking(cells: Iterable[CellStat], memories: Collection[str]) -> bool:
    """Whether some block has no cell for one of these memories."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for cell in cells:
        found.setdefault((cell.label, cell.dataset, cell.model), set()).add(cell.memory)
    return any(not present.issuperset(memories) for present in found.values())


def summarize(rows: pd.DataFrame) -> list[CellStat]:
    """Every cell of a frame of question rows (see `scripts.report.load`)."""
    cells: list[CellStat] = []
    if rows.empty:
        return cells
    for _, block in rows.groupby(BLOCK, sort=True):
        expected_ids = frozenset(block["task_id"])
        shared = block_marks(block)
        for _, cell in block.groupby("memory", sort=True):
            cells.append(_summarize(cell, len(expected_ids), shared))
    return cells


def _summarize(cell: pd.DataFrame, block_size: int, shared: Iterable[str]) -> CellStat:
    seeds = tuple(sorted(int(seed) for seed in cell["seed"].unique()))
    first = cell.iloc[0]
    full_size = int(cell["dataset_full_size"].max())
    ids = frozenset(cell["task_id"])
    cut = bool(cell["dataset_cut"].any()) and len(ids) < full_size
    expected = block_size if cut else full_size
    runs = len(cell)
    missing = max(0, expected * len(seeds) - runs)
    errors = int((cell["status"] == "error").sum())
    marks = cell_marks(cell, errors=errors, missing=missing, cut=cut, full_size=full_size)
    return CellStat(
        label=str(first["label"]),
        dataset=str(first["dataset"]),
        model=str(first["model"]),
        memory=str(first["memory"]),
        questions=len(ids),
        runs=runs,
        correct=int((cell["score"] == 1.0).sum()),
        prompt_tokens=float(cell["prompt_tokens"].sum()) / len(seeds),
        full_size=full_size,
        seeds=seeds,
        errors=errors,
        missing=missing,
        marks=(*marks, *(mark for mark in shared if mark not in marks)),
        ids=ids,
    )
