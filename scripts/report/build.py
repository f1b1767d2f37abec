"""Every table of a results folder."""

from __future__ import annotations

from scripts.report.benchmark import benchmark_tables
from scripts.report.cells import summarize
from scripts.report.companion import companion_tables
from scripts.report.layout import Table
from scripts.report.load import Results
from scripts.report.marks import table_marks, with_marks
from scripts.report.poison_cells import poison_cells, poison_frame
from scripts.report.poisoning import poisoning_tables
from scripts.report.prose import prose_table, totals_table
from scripts.report.repeat import length_table, noise_table


def build_tables(results: Results) -> list[Table]:
    """Tables 1-4, the prose's averages, the totals and the companion tables."""
    cells = summarize(results.rows)
    torn = ("torn",) if results.torn else ()
    tables = benchmark_tables(cells)
    if cells:
        tables += [prose_table(cells), totals_table(cells)]
        tables += companion_tables(results.rows, cells)
        further = [noise_table(results.rows, cells), length_table(results.rows, cells)]
        tables += [table for table in further if table is not None]
        shared = (*table_marks(results.rows), *torn)
        tables = [with_marks(table, shared) for table in tables]
    poisoned = poisoning_tables(poison_cells(results))
    shared = (*table_marks(poison_frame(results)), *torn)
    tables[3:3] = [with_marks(table, shared) for table in poisoned]
    return tables
