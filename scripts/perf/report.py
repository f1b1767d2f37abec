"""How long the tables take: python -m scripts.perf.report

Writes 6,132 synthetic rows (the paper's grid), reads them, builds every table with its statistics
and renders them. Aim: under 5 seconds on one core, imports included.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path


def main() -> None:
    """Print seconds for each part."""
    started = time.perf_counter()
    from scripts.report.build import build_tables
    from scripts.report.cells import summarize
    from scripts.report.judge import judge_rows
    from scripts.report.load import load_results
    from scripts.report.render import write_tables
    from scripts.report.synthetic import paper_grid, write_rows

    parts = {"imports": time.perf_counter() - started}
    with tempfile.TemporaryDirectory() as folder:
        root = write_rows(Path(folder) / "results", paper_grid())
        started = time.perf_counter()
        results = load_results(root)
        parts["reading 6,132 rows"] = time.perf_counter() - started
        started = time.perf_counter()
        tables = build_tables(results)
        parts[f"{len(tables)} tables with statistics"] = time.perf_counter() - started
        started = time.perf_counter()
        write_tables(tables, Path(folder) / "out")
        parts["rendering"] = time.perf_counter() - started
        total = sum(parts.values())
        started = time.perf_counter()
        judge_rows(results.rows, summarize(results.rows))
        claims = time.perf_counter() - started
    for name, seconds in parts.items():
        print(f"{name:35s} {seconds:6.2f} s")
    print(f"{'all tables':35s} {total:6.2f} s")
    print(f"{'claims, beyond that':35s} {claims:6.2f} s")


if __name__ == "__main__":
    main()
