"""Hold the paper's claims against results.

    python -m scripts.claims RESULTS [--details] [--strict] [--csv FILE]
    python -m scripts.claims scripts/reference/reference_*.csv

RESULTS is a results folder, or aggregates as CSV in the layout of scripts/reference. Each claim
holds, fails, is a tie (a strict inequality that came out equal), or lacks data; where rows are
there, the differences are tested against noise. --strict exits 1 if the results are marked as
incomplete, mixed or simulated, or a claim lacks data.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.report.need import need_report_extra

if TYPE_CHECKING:
    from scripts.report.verdict import Verdict


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.claims", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("results", type=Path, nargs="+", help="results folder or CSV aggregates")
    parser.add_argument("--details", action="store_true", help="print every comparison")
    parser.add_argument("--strict", action="store_true", help="exit 1 on marks or lacking data")
    parser.add_argument("--csv", type=Path, help="write the comparisons to this file")
    options = parser.parse_args(arguments)
    need_report_extra()
    from scripts.report.load import ResultsError

    verdicts: list[Verdict] = []
    try:
        for path in options.results:
            verdicts += judge_path(path)
    except (ResultsError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print_verdicts(verdicts, details=options.details)
    if options.csv:
        write_csv(verdicts, options.csv)
    marks = sorted({mark for verdict in verdicts for mark in verdict.marks})
    lacking = [verdict.id for verdict in verdicts if verdict.outcome == "not enough data"]
    if options.strict and (marks or lacking):
        reasons = [*marks, *(f"{name} lacks data" for name in dict.fromkeys(lacking))]
        print(f"strict: {', '.join(reasons)}", file=sys.stderr)
        return 1
    return 0


def judge_path(path: Path) -> list[Verdict]:
    """Verdicts over a results folder or one CSV of aggregates."""
    from scripts.report import reference
    from scripts.report.cells import summarize
    from scripts.report.claims_benchmark import Bench
    from scripts.report.claims_poisoning import PoisonArm
    from scripts.report.judge import judge_benchmark, judge_poisoning, judge_rows
    from scripts.report.load import load_results
    from scripts.report.marks import table_marks
    from scripts.report.poison_cells import poison_arms, poison_cells, poison_frame

    if path.suffix == ".csv":
        if "metric" in reference.heads(path):
            metrics = reference.read_poisoning(path)
            return judge_poisoning(PoisonArm(path.stem, "", metrics), path.name)
        return judge_benchmark(Bench(reference.read_benchmark(path)), path.name)
    results = load_results(path)
    for line in results.torn:
        print(line, file=sys.stderr)
    torn = ("torn",) if results.torn else ()
    shared = (*table_marks(results.rows), *torn)
    verdicts = [v.marked(shared) for v in judge_rows(results.rows, summarize(results.rows))]
    shared = (*table_marks(poison_frame(results)), *torn)
    for arm in poison_arms(poison_cells(results)):
        scope = f"poisoning, {arm.model}, arm {arm.label}"
        verdicts += [verdict.marked(shared) for verdict in judge_poisoning(arm, scope)]
    return verdicts


def print_verdicts(verdicts: Sequence[Verdict], *, details: bool) -> None:
    """One line a claim, grouped by what it was held against; then the count of outcomes."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    styles = {"holds": "green", "fails": "red", "tie": "yellow", "not enough data": "dim"}
    for scope in dict.fromkeys(verdict.scope for verdict in verdicts):
        part = [verdict for verdict in verdicts if verdict.scope == scope]
        marks = dict.fromkeys(mark for verdict in part for mark in verdict.marks)
        title = scope + (f" (marked: {', '.join(marks)})" if marks else "")
        grid = Table(title=title, title_justify="left", show_edge=False)
        for head in ("Claim", "Verdict", "What", "Numbers and noise"):
            grid.add_column(head, no_wrap=head == "Claim")
        for verdict in part:
            name = f"{verdict.id} ({verdict.reading})" if verdict.reading else verdict.id
            short = [c.describe() for c in verdict.comparisons if c.outcome != "holds"]
            lines = [*verdict.numbers, *([verdict.noise] if verdict.noise else [])]
            if details:
                lines += [comparison.describe() for comparison in verdict.comparisons]
            else:
                lines += short[:3] + ([f"and {len(short) - 3} more"] if len(short) > 3 else [])
            outcome = Text(verdict.outcome, style=styles[verdict.outcome])
            grid.add_row(name, outcome, Text(verdict.claim), Text("\n".join(lines)))
        console.print(grid)
        counts = {name: sum(v.outcome == name for v in part) for name in styles}
        console.print(", ".join(f"{n} {name}" for name, n in counts.items() if n) + "\n")


def write_csv(verdicts: Sequence[Verdict], path: Path) -> None:
    """Every comparison with its numbers."""
    heads = ["scope", "id", "reading", "verdict", "where", "what", "left", "relation", "right"]
    heads += ["left_value", "right_value", "outcome", "p", "test", "beyond_noise", "lacking"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heads)
        for verdict in verdicts:
            for c in verdict.comparisons:
                values = [None if v is None else float(v) for v in (c.left_value, c.right_value)]
                who = [verdict.scope, verdict.id, verdict.reading, verdict.outcome, c.where, c.what]
                sides = [c.left, c.relation, c.right, *values]
                writer.writerow([*who, *sides, c.outcome, c.p, c.test, c.beyond, c.lacking])


if __name__ == "__main__":
    sys.exit(main())
