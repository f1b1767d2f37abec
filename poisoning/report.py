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
from poisoning.rows import has_scenario_rows

REFERENCE = Path(__file__).parents[1] / "scripts" / "reference" / "reference_poisoning.csv"
MAIN = "main"
MEMORIES = ("linear", "a1", "a2", "a3", "wmt")

_TABLE_4 = {
    "ASR_exposure": ("ASR by exposure", "ASR"),
    "ASR_answers": ("ASR by answers", "ASR"),
    "PRR": ("PRR", "PRR"),
    "IP": ("IP", "IP"),
    "BR": ("BR", "BR"),
    "AF": ("AF", "AF"),
    "CCR": ("CCR", "CCR"),
    "TSR": ("TSR", "TSR"),
    "prompt_tokens": ("tokens per prompt", "prompt_tokens_mean"),
    "memory_ms": ("memory ms per prompt", "latency_ms_mean"),
}
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
_ATTACKED = ("ASR_exposure", "ASR_answers", "PRR", "IP", "BR", "AF", "TSR", "laundering")
_ARM_METRICS = (
    "ASR_exposure",
    "ASR_answers",
    "PRR",
    "BR",
    "AF",
    "CCR",
    "TSR",
    "final_success",
    "prompt_tokens",
)
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
        label: _ordered(members)
        for label, members in sorted(labels.items())
        if members[0].arm == "poisoned" and members[0].attack == "none"
    }
    whole = [label for label in poisoned if label == MAIN] or list(poisoned)
    for label in whole:
        parts += _table_4(label, poisoned[label])
        parts += _selectors(poisoned[label], [c for each in poisoned.values() for c in each])
    parts += _arms([cell for cell in cells if cell.cell["label"] not in whole])
    parts += _adaptive(cells)
    parts += ["Claims of the paper's Table 4: python -m scripts.claims RESULTS", ""]
    return "\n".join(parts)


def _simulated(cells: Iterable[CellSummary]) -> bool:
    return any(cell.cell["simulated"] for cell in cells)


def _ordered(cells: Iterable[CellSummary]) -> list[CellSummary]:
    """The paper's five in its order, others after them by name."""

    def key(cell: CellSummary) -> tuple[int, str]:
        name = str(cell.cell["memory"])
        return (MEMORIES.index(name) if name in MEMORIES else len(MEMORIES), name)

    return sorted(cells, key=key)


def _table_4(label: str, cells: Sequence[CellSummary]) -> list[str]:
    paper = read_reference()
    names = [str(cell.cell["memory"]) for cell in cells]
    beside = []
    for metric, (name, published) in _TABLE_4.items():
        row = [name]
        for cell, memory in zip(cells, names, strict=True):
            value = paper.get((published, memory))
            row.append(f"{_number(cell.mean(metric))} ({_number(value)})")
        beside.append(row)
    intervals = [
        [name, *(_with_interval(cell, metric) for cell in cells)]
        for metric, (name, _) in _TABLE_4.items()
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


def _selectors(cells: Sequence[CellSummary], everything: Sequence[CellSummary]) -> list[str]:
    """How many memories the selectors of a table took, and the same with another number."""
    narrow = {str(cell.cell["memory"]): cell for cell in cells if cell.top_k is not None}
    if not narrow:
        return []
    taken = sorted({cell.top_k for cell in narrow.values() if cell.top_k is not None})
    wider = [
        cell
        for cell in everything
        if cell.top_k is not None
        and (own := narrow.get(str(cell.cell["memory"]))) is not None
        and cell.top_k > (own.top_k or 0)
    ]
    lines = [
        f"Selector: {', '.join(narrow)} take {_or(taken)} memories beside the active path "
        "(memory.lexical_top_k). Two was calculated from the paper's PRR, AF and P_i, so it "
        "confirms nothing that PRR, BR and AF of these columns are near the paper's in size.",
        "",
    ]
    if not wider:
        remedy = "python run.py experiment=poisoning_controls"
        return [*lines, f"No wider selector stands beside it yet: {remedy}", ""]
    rows = [
        [name, *(_number(cell.mean(metric)) for cell in wider)]
        for metric, (name, _) in _TABLE_4.items()
    ]
    heads = [f"{cell.cell['memory']}, {cell.top_k} memories" for cell in wider]
    return [*lines, "### The same with a wider selector", "", *table(["", *heads], rows)]


def _or(numbers: Sequence[int]) -> str:
    return " or ".join(map(str, numbers))


def _differences(cells: Sequence[CellSummary]) -> list[str]:
    """Paired by scenario against wmt; a star where the interval leaves out zero."""
    wmt = next((cell for cell in cells if cell.cell["memory"] == "wmt"), None)
    others = [cell for cell in cells if cell is not wmt]
    if wmt is None or not others:
        return []
    rows = []
    for metric, (name, _) in _TABLE_4.items():
        row = [name]
        for other in others:
            difference = paired_difference(other, wmt, metric)
            if difference is None:
                row.append("-")
                continue
            star = " *" if difference.beyond_noise else ""
            low, high = _number(difference.low), _number(difference.high)
            row.append(f"{_number(difference.mean)} [{low}, {high}]{star}")
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
                row.append(" / ".join(map(_number, shares)))
            rows.append(row)
    names = [str(cell.cell["memory"]) for cell in cells]
    return [
        "### Poisoned entries by sort: contexts per entry / share in its critical context / "
        "share that was the answer",
        "",
        *table(["sort (entries)", *names], rows),
    ]


def _arms(cells: Sequence[CellSummary]) -> list[str]:
    """Controls and other arms, a row for each cell; the attack check in a sentence."""
    lines: list[str] = []
    for cell in cells:
        if cell.check is not None:
            check = cell.check
            share = _number(check.moved / check.n if check.n else None)
            lines += [
                f"Attack check (attack {cell.attack}): of {check.n} poisoned entries, alone in the "
                f"context, {check.moved} ({share}) gave the answer; {check.unreadable} replies "
                "could not be read.",
                "",
            ]
    rows = [
        [
            str(cell.cell["label"]),
            str(cell.cell["memory"]),
            *(_number(cell.mean(metric)) for metric in _ARM_METRICS),
        ]
        for cell in sorted(_ordered(cells), key=lambda cell: str(cell.cell["label"]))
        if cell.attack == "none" and cell.check is None
    ]
    if rows:
        heads = ["label", "memory", *_ARM_METRICS]
        lines += ["## Controls and other arms", "", *table(heads, rows)]
    return lines


def _adaptive(cells: Sequence[CellSummary]) -> list[str]:
    attacked = [c for c in _ordered(cells) if c.attack != "none" and c.check is None]
    if not attacked:
        return []
    attacked.sort(key=lambda cell: (cell.attack, str(cell.cell["label"])))
    rows = [
        [
            str(cell.cell["label"]).removeprefix("attack_"),
            str(cell.cell["memory"]),
            *(_number(cell.mean(metric)) for metric in _ATTACKED),
            str(cell.counters["supersessions"]),
        ]
        for cell in attacked
    ]
    return [
        "## Attackers that know the defence (beyond the paper)",
        "",
        *table(["attack", "memory", *_ATTACKED, "superseded"], rows),
    ]


def _with_interval(cell: CellSummary, metric: str) -> str:
    estimate = cell.estimates[metric]
    if estimate is None:
        return "-"
    interval = f"[{_number(estimate.low)}, {_number(estimate.high)}]"
    return f"{_number(estimate.mean)} {interval}; {_number(estimate.pooled)}"


def read_reference(path: Path = REFERENCE) -> dict[tuple[str, str], float]:
    """The paper's Table 4 by metric and memory; empty where the file is not installed."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {(row["metric"], row["memory"]): float(row["value"]) for row in csv.DictReader(file)}


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table, padded so that it reads on a terminal too, and a blank line."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)) + " |"

    return [line(heads), line(["-" * width for width in widths]), *map(line, rows), ""]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


if __name__ == "__main__":
    sys.exit(main())
