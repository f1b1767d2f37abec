"""How long the tables take: python -m scripts.perf.report

Writes 6,132 synthetic rows (the paper's grid), reads them, builds every table with its statistics
and renders them. Aim: all tables in under 5 seconds on one idle core, imports
included; CPU seconds tell how far a busy machine is to blame.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.report.need import need_report_extra


class Clock:
    """Wall and CPU seconds by name, in order."""

    def __init__(self) -> None:
        self.parts: dict[str, tuple[float, float]] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Measure a block."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.parts[name] = (time.perf_counter() - wall, time.process_time() - cpu)

    def total(self) -> tuple[float, float]:
        """Sums so far."""
        return sum(w for w, _ in self.parts.values()), sum(c for _, c in self.parts.values())


def main() -> None:
    """Print seconds for each part."""
    need_report_extra()
    clock = Clock()
    with clock.part("imports"):
        from scripts.report.build import build_tables
        from scripts.report.cells import summarize
        from scripts.report.judge import judge_rows
        from scripts.report.load import load_results
        from scripts.report.render import write_tables
        from scripts.report.synthetic import paper_grid, write_rows

    with tempfile.TemporaryDirectory() as folder:
        root = write_rows(Path(folder) / "results", paper_grid())
        with clock.part("reading 6,132 rows"):
            results = load_results(root)
        with clock.part("cells and their marks"):
            cells = summarize(results.rows)
        with clock.part("tables with their statistics"):
            tables = build_tables(results)
        with clock.part("writing Markdown, LaTeX, CSV"):
            write_tables(tables, Path(folder) / "out")
        clock.parts[f"all of {len(tables)} tables"] = clock.total()
        with clock.part("claims, beyond that"):
            judge_rows(results.rows, cells)
    print(f"{'':32s} {'wall s':>8s} {'CPU s':>8s}")
    for name, (wall, cpu) in clock.parts.items():
        print(f"{name:32s} {wall:8.2f} {cpu:8.2f}")


if __name__ == "__main__":
    main()
