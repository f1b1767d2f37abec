"""Every table of a results folder."""

from __future__ import annotations

from scripts.report.benchmark import benchmark_tables
from scripts.report.cells import summarize
from scripts.report.companion import companion_tables
from scripts.report.layout import Table
from scripts.report.load import Results
from scripts.report.marks import table_marks
from scripts.report.poisoning import poison_cells, poisoning_tables
from scripts.report.prose import prose_table, totals_table
from scripts.report.repeat import length_table, noise_table


def build_tables(results: Results) -> list[Table]:
    """Tables 1-4, the prose's averages, the totals and the companion tables."""
    cells = summarize(results.rows)
    shared = table_marks(results.rows) + (("torn",) if results.torn else ())
    tables = benchmark_tables(cells, shared)
    if cells:
        tables += [prose_table(cells), totals_table(cells)]
        tables += companion_tables(results.rows, cells)
        further = [noise_table(results.rows, cells), length_table(results.rows, cells)]
        tables += [table for table in further if table is not None]
    tables[3:3] = poisoning_tables(poison_cells(results))
    return tables
