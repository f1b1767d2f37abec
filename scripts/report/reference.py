"""The paper's published values, as copied into `scripts/reference/`, and where each comes from."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scripts.report.cells import CellStat

FOLDER = Path(__file__).resolve().parent.parent / "reference"
BENCHMARK_CSV = FOLDER / "reference_benchmark.csv"
POISONING_CSV = FOLDER / "reference_poisoning.csv"
CLAIMS_YAML = FOLDER / "claims.yaml"
LABEL = "published"

SOURCE_MARKS = {"stated": "s", "derived": "d", "secondary": "t"}
SOURCE_LEGEND = (
    "Published values: s = stated in the paper's text, d = derived from stated numbers by "
    "arithmetic, t = read from a public translation and cross-checked."
)


@dataclass(frozen=True)
class Published:
    """One published value: `accuracy` in percent or `tokens` in millions, with its source mark."""

    value: float
    source: str


@dataclass(frozen=True)
class PublishedCell:
    """A cell of Tables 1-3."""

    accuracy: Published
    tokens: Published


def read_benchmark(path: Path) -> dict[tuple[str, str, str], CellStat]:
    """Aggregates in the layout of `reference_benchmark.csv`, by dataset, model and memory.

    Needs the columns dataset, model, memory, correct, questions, prompt_tokens_millions; so one's
    own aggregates can be held against the claims too. Raises ValueError naming what is missing.
    """
    cells: dict[tuple[str, str, str], CellStat] = {}
    for row in _rows(
        path, {"dataset", "model", "memory", "correct", "questions", "prompt_tokens_millions"}
    ):
        questions = int(row["questions"])
        cell = CellStat(
            label=row.get("label") or LABEL,
            dataset=row["dataset"],
            model=row["model"],
            memory=row["memory"],
            questions=questions,
            runs=questions,
            correct=int(row["correct"]),
            prompt_tokens=round(float(row["prompt_tokens_millions"]) * 1e6),
            full_size=questions,
        )
        cells[cell.dataset, cell.model, cell.memory] = cell
    return cells


def read_poisoning(path: Path) -> dict[str, dict[str, float]]:
    """Aggregates in the layout of `reference_poisoning.csv`: memory -> metric -> value."""
    table: dict[str, dict[str, float]] = {}
    for row in _rows(path, {"metric", "memory", "value"}):
        table.setdefault(row["memory"], {})[row["metric"]] = float(row["value"])
    return table


@cache
def benchmark() -> dict[tuple[str, str, str], CellStat]:
    """Tables 1-3 as counts of right answers and tokens."""
    return read_benchmark(BENCHMARK_CSV)


@cache
def published() -> dict[tuple[str, str, str], PublishedCell]:
    """Tables 1-3 as printed, with source marks."""
    return {
        (row["dataset"], row["model"], row["memory"]): PublishedCell(
            Published(float(row["accuracy_pct"]), SOURCE_MARKS[row["accuracy_source"]]),
            Published(float(row["prompt_tokens_millions"]), SOURCE_MARKS[row["tokens_source"]]),
        )
        for row in _rows(BENCHMARK_CSV, set())
    }


@cache
def published_poisoning() -> dict[tuple[str, str], Published]:
    """Table 4 as printed: (metric, memory) -> value with its source mark."""
    return {
        (row["metric"], row["memory"]): Published(float(row["value"]), SOURCE_MARKS[row["source"]])
        for row in _rows(POISONING_CSV, set())
    }


def _rows(path: Path, needed: set[str]) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        lacking = needed - set(reader.fieldnames or ())
        if lacking:
            raise ValueError(
                f"{path}: no column {', '.join(sorted(lacking))}; "
                "see scripts/reference for the layout of aggregates"
            )
        return list(reader)
