"""The paper's published values, as copied into `scripts/reference/`, and where each comes from."""

from __future__ import annotations

import csv
import math
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
    own aggregates can be held against the claims too. Raises ValueError naming what is wrong.
    """
    cells: dict[tuple[str, str, str], CellStat] = {}
    for line, row in _numbered(
        path, {"dataset", "model", "memory", "correct", "questions", "prompt_tokens_millions"}
    ):
        questions = _whole(path, line, row, "questions")
        correct = _whole(path, line, row, "correct")
        if not 0 <= correct <= questions or questions == 0:
            raise ValueError(f"{path}, line {line}: {correct} correct of {questions} questions")
        tokens = _number(path, line, row, "prompt_tokens_millions")
        cell = CellStat(
            label=row.get("label") or LABEL,
            dataset=row["dataset"],
            model=row["model"],
            memory=row["memory"],
            questions=questions,
            runs=questions,
            correct=correct,
            prompt_tokens=round(tokens * 1e6),
            full_size=questions,
        )
        if (cell.dataset, cell.model, cell.memory) in cells:
            raise ValueError(
                f"{path}, line {line}: {cell.dataset}, {cell.model}, {cell.memory} stands twice; "
                "one file for each arm"
            )
        cells[cell.dataset, cell.model, cell.memory] = cell
    return cells


def read_poisoning(path: Path) -> dict[str, dict[str, float]]:
    """Aggregates in the layout of `reference_poisoning.csv`: memory -> metric -> value."""
    table: dict[str, dict[str, float]] = {}
    for line, row in _numbered(path, {"metric", "memory", "value"}):
        metrics = table.setdefault(row["memory"], {})
        if row["metric"] in metrics:
            raise ValueError(
                f"{path}, line {line}: {row['metric']} of {row['memory']} stands twice"
            )
        metrics[row["metric"]] = _number(path, line, row, "value")
    return table


def heads(path: Path) -> list[str]:
    """The columns of a CSV file. Raises ValueError if it is none."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return list(csv.DictReader(file).fieldnames or ())
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: not CSV in UTF-8 ({error})") from error


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
    return [row for _, row in _numbered(path, needed)]


def _numbered(path: Path, needed: set[str]) -> list[tuple[int, dict[str, str]]]:
    """Rows with their line numbers; a mark of byte order, as spreadsheets write it, is skipped."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            lacking = needed - set(reader.fieldnames or ())
            if lacking:
                raise ValueError(
                    f"{path}: no column {', '.join(sorted(lacking))}; "
                    "see scripts/reference for the layout of aggregates"
                )
            return [(reader.line_num, row) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: not CSV in UTF-8 ({error})") from error


def _number(path: Path, line: int, row: dict[str, str], name: str) -> float:
    try:
        number = float(row[name])
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{path}, line {line}: {name} is {row[name]!r}, not a number")
    return number


def _whole(path: Path, line: int, row: dict[str, str], name: str) -> int:
    number = _number(path, line, row, name)
    if number != int(number):
        raise ValueError(f"{path}, line {line}: {name} is {row[name]!r}, not a whole number")
    return int(number)
