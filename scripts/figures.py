"""The figures from a results folder, as PNG at print size and SVG.

    python -m scripts.figures RESULTS [--out DIR] [--only pareto,tree] [--trace FILE]

Figures of single runs (retention, tree) take the trace that --trace names, a traces/*.jsonl.gz
file of a question or of a poisoning scenario; without it, a run of WMT in which much happened.
Traces are read only by the figures that need them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.report.need import need_report_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scripts.report.cells import CellStat
    from scripts.report.load import Results
    from scripts.report.poison_cells import PoisonCell
    from scripts.report.replay import StepView

Lines = list[dict[str, Any]]


class Material:
    """What the figures draw from, read when first asked for."""

    def __init__(self, results: Results, trace: Path | None) -> None:
        self.results = results
        self._trace = trace

    @cached_property
    def cells(self) -> list[CellStat]:
        """Cells of the question benchmarks."""
        from scripts.report.cells import summarize

        return summarize(self.results.rows)

    @cached_property
    def marks(self) -> list[str]:
        """Kinds of marks of the question benchmarks."""
        from scripts.report.plots_grid import all_marks

        return all_marks(self.cells)

    @cached_property
    def views(self) -> dict[tuple[str, str, str, str], list[list[StepView]]]:
        """Steps of every traced question run."""
        from scripts.report.plots_traces import collect

        return collect(self.results.rows)

    @cached_property
    def poisoning(self) -> list[PoisonCell]:
        """Cells of the poisoning study."""
        from scripts.report.poison_cells import poison_cells

        return poison_cells(self.results)

    def run_trace(self) -> tuple[str, Lines] | None:
        """The chosen trace, or the traced question run of WMT with the most decays."""
        if self._trace:
            return _read(self._trace)
        rows = self.results.rows
        if rows.empty:
            return None
        runs = rows[rows["memory"] == "wmt"].sort_values(["decays", "task_id"], ascending=False)
        return self._first(zip(runs["folder"], runs["task_id"], strict=True))

    def tree_trace(self) -> tuple[str, Lines] | None:
        """The chosen trace, or a poisoning scenario of WMT with a suppression, or a question."""
        if self._trace:
            return _read(self._trace)
        wmt = [row for row in self.results.poisoning if row["cell"]["memory"] == "wmt"]
        wmt.sort(key=lambda row: (-row["counters"]["suppressions"], row["task_id"]))
        places = ((row["folder"], row["task_id"]) for row in wmt)
        return self._first(places) or self.run_trace()

    def _first(self, places: Any) -> tuple[str, Lines] | None:
        from scripts.report.replay import traced_tasks

        for folder, task_id in places:
            for name, lines in traced_tasks(Path(folder), [task_id]):
                return name, lines
        return None


def _read(path: Path) -> tuple[str, Lines]:
    from scripts.report.load import ResultsError
    from scripts.report.replay import as_trace

    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read as a trace ({error})") from error
    return path.name.removesuffix(".jsonl.gz"), as_trace(lines, path)


def _pareto(material: Material) -> Figure | None:
    from scripts.report.plots_grid import pareto

    return pareto(material.results.rows, material.cells)


def _token_reduction(material: Material) -> Figure | None:
    from scripts.report.plots_grid import token_reduction

    return token_reduction(material.results.rows, material.cells)


def _by_level(material: Material) -> Figure | None:
    from scripts.report.plots_grid import by_level

    return by_level(material.results.rows, material.cells)


def _prompt_by_step(material: Material) -> Figure | None:
    from scripts.report.plots_traces import prompt_by_step

    return prompt_by_step(material.views, material.marks)


def _pool_by_step(material: Material) -> Figure | None:
    from scripts.report.plots_traces import pool_by_step

    return pool_by_step(material.views, material.marks)


def _lifecycle_by_step(material: Material) -> Figure | None:
    from scripts.report.plots_traces import lifecycle_by_step

    return lifecycle_by_step(material.views, material.marks)


def _retention(material: Material) -> Figure | None:
    from scripts.report.plots_traces import retention

    found = material.run_trace()
    return retention(found[1], f"Retention scores, {found[0]}", _of(found[1])) if found else None


def _poisoning(material: Material) -> Figure | None:
    from scripts.report.plots_poisoning import small_multiples

    return small_multiples(material.poisoning)


def _tree(material: Material) -> Figure | None:
    from scripts.report.plots_tree import tree
    from scripts.report.replay import final_tree

    found = material.tree_trace()
    if not found:
        return None
    return tree(final_tree(found[1]), f"Memory at the end of {found[0]}", _of(found[1]))


def _of(lines: Lines) -> list[str]:
    """Marks of a single trace, from its header."""
    cell = lines[0].get("cell", {})
    names = {"simulated": "simulated", "smoke_only": "smoke-only", "git_dirty": "dirty"}
    return [mark for key, mark in names.items() if cell.get(key)]


FIGURES: Mapping[str, Callable[[Material], Figure | None]] = {
    "pareto": _pareto,
    "token_reduction": _token_reduction,
    "by_level": _by_level,
    "prompt_by_step": _prompt_by_step,
    "pool_by_step": _pool_by_step,
    "lifecycle_by_step": _lifecycle_by_step,
    "retention": _retention,
    "poisoning": _poisoning,
    "tree": _tree,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.figures", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("results", type=Path, help="results folder")
    parser.add_argument("--out", type=Path, default=Path("build/figures"), help="output folder")
    parser.add_argument("--only", help=f"some of {', '.join(FIGURES)}")
    parser.add_argument("--trace", type=Path, help="trace for the figures of a single run")
    options = parser.parse_args(arguments)
    need_report_extra()
    from matplotlib import pyplot as plt

    from scripts.report.load import ResultsError, load_results
    from scripts.report.style import project_style, save

    wanted = options.only.split(",") if options.only else list(FIGURES)
    unknown = [name for name in wanted if name not in FIGURES]
    if unknown:
        print(
            f"--only: no figure {', '.join(unknown)}; there are {', '.join(FIGURES)}",
            file=sys.stderr,
        )
        return 2
    try:
        material = Material(load_results(options.results), options.trace)
    except ResultsError as error:
        print(error, file=sys.stderr)
        return 2
    with project_style():
        for name in wanted:
            try:
                figure = FIGURES[name](material)
            except ResultsError as error:
                print(f"{name}: {error}", file=sys.stderr)
                return 2
            if figure is None:
                print(f"{name}: these results hold nothing for it")
                continue
            print(f"{name}: {', '.join(str(path) for path in save(figure, options.out, name))}")
            plt.close(figure)
    return 0


if __name__ == "__main__":
    sys.exit(main())
