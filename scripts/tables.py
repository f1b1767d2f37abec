"""The paper's tables from a results folder, beside the published values.

    python -m scripts.tables RESULTS [--out DIR] [--only table1,prose] [--strict]

Prints every table; with --out also writes each as NAME.md, NAME.tex, NAME.csv, and document.tex,
which sets them all. --strict exits 1 if anything is incomplete, mixed, simulated or otherwise
marked (see the captions).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.report.need import need_report_extra


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.tables", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("results", type=Path, help="results folder")
    parser.add_argument("--out", type=Path, help="folder for Markdown, LaTeX and CSV")
    parser.add_argument("--only", help="names of tables, separated by commas")
    parser.add_argument("--strict", action="store_true", help="exit 1 if anything is marked")
    options = parser.parse_args(arguments)
    need_report_extra()
    from rich.console import Console

    from scripts.report.build import build_tables
    from scripts.report.load import ResultsError, load_results
    from scripts.report.render import print_tables, write_tables

    try:
        results = load_results(options.results)
        tables = build_tables(results)
    except ResultsError as error:
        print(error, file=sys.stderr)
        return 2
    for line in results.torn:
        print(line, file=sys.stderr)
    if options.only:
        wanted = options.only.split(",")
        known = [table.name for table in tables]
        unknown = [name for name in wanted if name not in known]
        if unknown:
            print(
                f"--only: no table {', '.join(unknown)}; these results have {', '.join(known)}",
                file=sys.stderr,
            )
            return 2
        tables = [table for table in tables if table.name in wanted]
    if options.out:
        write_tables(tables, options.out)
    print_tables(tables, Console())
    if options.out:
        print(f"{len(tables)} tables written to {options.out}")
    marked = {table.name: table.marks for table in tables if table.marks}
    if options.strict and marked:
        for name, marks in marked.items():
            print(f"strict: {name}: {', '.join(marks)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
