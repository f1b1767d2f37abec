"""Every memory answers questions of a small world through the real entry point, simulated."""

from __future__ import annotations

import pytest

import run
from benchmarks.records import Row
from benchmarks.store import find_cells, read_rows

MEMORIES = (
    *("none", "linear", "unweighted", "tree_selection", "tree_summary", "tree_selection_summary"),
    *("wmt", "a1", "a2", "a3"),
)
CELL = (
    "model=simulated",
    "dataset=archive",
    "dataset.documents=100",
    "dataset.questions=9",
)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for memory in MEMORIES:
        results = tmp_path_factory.mktemp(memory)
        assert run.main([*CELL, f"memory={memory}", f"results_dir={results}"]) == 0
        [folder] = find_cells(results)
        found[memory] = list(read_rows(folder, Row))
    return found


def accuracy(rows: list[Row]) -> float:
    return sum(row.score for row in rows) / len(rows)


def test_every_memory_answers_without_an_error(rows: dict[str, list[Row]]) -> None:
    for memory, found in rows.items():
        assert len(found) == 9, memory
        assert {row.status for row in found} <= {"answered", "step_limit"}, memory
        assert all(row.cell.simulated and not row.usage_estimated for row in found)
        assert sum(row.counters.format_errors for row in found) == 0
        assert sum(row.counters.refused_operations for row in found) == 0
        assert sum(row.counters.selector_fallbacks for row in found) == 0
        assert sum(row.counters.summary_fallbacks for row in found) == 0


def test_no_memory_scores_strictly_lowest(rows: dict[str, list[Row]]) -> None:
    lowest = accuracy(rows["none"])
    for memory, found in rows.items():
        if memory != "none":
            assert accuracy(found) > max(lowest, 0.3), memory
    assert {(row.status, row.steps) for row in rows["none"]} == {("step_limit", 24)}


def test_a_memory_that_keeps_all_answers_all(rows: dict[str, list[Row]]) -> None:
    """The reader finds every answer, so whatever another memory misses, it did not keep."""
    assert accuracy(rows["linear"]) == 1.0
    assert accuracy(rows["unweighted"]) == 1.0


def test_folding_happens_where_it_is_on(rows: dict[str, list[Row]]) -> None:
    folds = {m: sum(row.counters.folds for row in found) for m, found in rows.items()}
    folding = ("tree_summary", "tree_selection_summary", "wmt", "a1", "a3")
    for memory in MEMORIES:
        assert (folds[memory] > 0) == (memory in folding), memory
