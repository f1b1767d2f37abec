"""The study's tables from results: `python -m poisoning.report RESULTS`.

Label `main` in full: Table 4 beside the paper's values, intervals, paired differences, what the
traces say of each part; then controls and other arms, and attackers that know the defence. The
claims that the paper draws from Table 4 are judged by `python -m scripts.claims RESULTS`.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.errors import SetupError
from benchmarks.store import find_cells
from poisoning.metrics import GROUPINGS, CellSummary, breakdown, paired_difference, summarise
from poisoning.report_parts import TABLE_4, adaptive, arms, number, ordered, selectors, table
from poisoning.rows import has_scenario_rows

REFERENCE = Path(__file__).parents[1] / "scripts" / "reference" / "reference_poisoning.csv"
MAIN = "main"


_BESIDE = {
    "evidence": "critical contexts with the evidence",
    "final_success": "final question right",
    "final_parts": "parts of it right",
    "laundering": "summaries that carry poison",
    "laundering_result": "summaries whose result is poison",
    "BR_with_summaries": "BR, summaries and results included",
    "suppressed": "finished subtasks suppressed",
    "suppressed_right": "of these, answered right",
    "PRR_chance": "PRR of as many random draws",
    "selected": "memories per prompt",
    "candidates": "candidates per prompt",
    "call_prompt_tokens": "prompt tokens of all calls, per scenario",
    "call_ms": "ms per model call",
}
_PARTS = ("folds", "suppressions", "supersessions", "decays", "selector_calls", "summary_fallbacks")


def main() -> int:
    """Entry point; exit code 2 where there is nothing to report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="a results folder, or a part of one")
    arguments = parser.parse_args()
    try:
        folders = [folder for folder in find_cells(arguments.results) if has_scenario_rows(folder)]
        cells = [summarise(folder) for folder in folders]
    except SetupError as error:
        print(error, file=sys.stderr)
        return 2
    if not cells:
        print(
            f"{arguments.results}: no poisoning cells; run python run.py experiment=poisoning",
            file=sys.stderr,
        )
        return 2
    print(render(cells))
    return 0


def render(cells: Sequence[CellSummary]) -> str:
    """The whole report as Markdown, a chapter for each model and seed."""
    groups: dict[tuple[str, int], list[CellSummary]] = {}
    for cell in cells:
        groups.setdefault((str(cell.cell["model"]), int(cell.cell["seed"])), []).append(cell)
    return "\n".join(
        _chapter(f"{model}, seed {seed}", members)
        for (model, seed), members in sorted(groups.items())
    )


def _chapter(title: str, cells: Sequence[CellSummary]) -> str:
    mark = " (simulated: a rule-based reader, no language model)" if _simulated(cells) else ""
    parts = [f"# {title}{mark}", ""]
    labels: dict[str, list[CellSummary]] = {}
    for cell in cells:
        labels.setdefault(str(cell.cell["label"]), []).append(cell)
    poisoned = {
        label: ordered(members)
        for label, members in sorted(labels.items())
        if members[0].arm == "poisoned" and members[0].attack == "none"
    }
    whole = [label for label in poisoned if label == MAIN] or list(poisoned)
    for label in whole:
        everything = [cell for members in poisoned.values() for cell in members]
        parts += _table_4(label, poisoned[label], everything)
    parts += arms([cell for cell in cells if cell.cell["label"] not in whole])
    parts += adaptive(cells)
    parts += ["Claims of the paper's Table 4: python -m scripts.claims RESULTS", ""]
    return "\n".join(parts)


def _simulated(cells: Iterable[CellSummary]) -> bool:
    return any(cell.cell["simulated"] for cell in cells)


def _table_4(
    label: str, cells: Sequence[CellSummary], everything: Sequence[CellSummary]
) -> list[str]:
    paper = read_reference()
    names = [str(cell.cell["memory"]) for cell in cells]
    beside = []
    for metric, (name, published) in TABLE_4.items():
        row = [name]
        for cell, memory in zip(cells, names, strict=True):
            value = paper.get((published, memory))
            row.append(f"{number(cell.mean(metric))} ({number(value)})")
        beside.append(row)
    intervals = [
        [name, *(_with_interval(cell, metric) for cell in cells)]
        for metric, (name, _) in TABLE_4.items()
    ]
    further = [
        [name, *(_with_interval(cell, metric) for cell in cells)]
        for metric, name in _BESIDE.items()
    ]
    exercised = [[part, *(str(cell.counters[part]) for cell in cells)] for part in _PARTS]
    counted = [
        ["scenarios", *(str(cell.scenarios) for cell in cells)],
        ["crashed, in no mean", *(str(len(cell.crashed)) for cell in cells)],
        ["critical steps with an unreadable reply", *(str(cell.unreadable) for cell in cells)],
    ]
    return [
        f"## Table 4, label {label}: mean over scenarios (the paper's value)",
        "",
        *table(["", *names], beside),
        *selectors(cells, everything),
        "### With 95% bootstrap interval over scenarios; pooled value",
        "",
        *table(["", *names], intervals),
        "### Beside the paper's metrics",
        "",
        *table(["", *names], further + counted),
        "### How often each part was exercised (0: not exercised)",
        "",
        *table(["", *names], exercised),
        *_differences(cells),
        *_breakdowns(cells),
    ]


def _differences(cells: Sequence[CellSummary]) -> list[str]:
    """Paired by scenario against wmt; a star where the interval leaves out zero."""
    wmt = next((cell for cell in cells if cell.cell["memory"] == "wmt"), None)
    others = [cell for cell in cells if cell is not wmt]
    if wmt is None or not others:
        return []
    rows = []
    for metric, (name, _) in TABLE_4.items():
        row = [name]
        for other in others:
            difference = paired_difference(other, wmt, metric)
            if difference is None:
                row.append("-")
                continue
            star = " *" if difference.beyond_noise else ""
            low, high = number(difference.low), number(difference.high)
            row.append(f"{number(difference.mean)} [{low}, {high}]{star}")
        rows.append(row)
    heads = ["", *(f"{cell.cell['memory']} - wmt" for cell in others)]
    return [
        "### Paired differences by scenario (*: the 95% interval leaves out zero)",
        "",
        *table(heads, rows),
    ]


def _breakdowns(cells: Sequence[CellSummary]) -> list[str]:
    """By sort of poisoned entry: contexts per entry / in the critical context / was the answer."""
    rows = []
    for by in GROUPINGS:
        groups = [breakdown(cell.fates, by) for cell in cells]
        for name in sorted({name for group in groups for name in group}):
            entries = next(group[name].entries for group in groups if name in group)
            row = [f"{by}: {name} ({entries})"]
            for group in groups:
                one = group.get(name)
                shares = (one.retrieved, one.exposed, one.won) if one else (None, None, None)
                row.append(" / ".join(map(number, shares)))
            rows.append(row)
    names = [str(cell.cell["memory"]) for cell in cells]
    return [
        "### Poisoned entries by sort: contexts per entry / share in its critical context / "
        "share that was the answer",
        "",
        *table(["sort (entries)", *names], rows),
    ]


def _with_interval(cell: CellSummary, metric: str) -> str:
    estimate = cell.estimates[metric]
    if estimate is None:
        return "-"
    interval = f"[{number(estimate.low)}, {number(estimate.high)}]"
    return f"{number(estimate.mean)} {interval}; {number(estimate.pooled)}"


def read_reference(path: Path = REFERENCE) -> dict[tuple[str, str], float]:
    """The paper's Table 4 by metric and memory; empty where the file is not installed."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {(row["metric"], row["memory"]): float(row["value"]) for row in csv.DictReader(file)}


if __name__ == "__main__":
    sys.exit(main())
