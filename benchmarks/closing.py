"""The table that a run ends with: what came out, with how much certainty, at what cost."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.compute import read_ledger
from benchmarks.records import Counters, Row, RowBase
from benchmarks.settings import CellConfig

_ROLES = ("agent", "selector", "summarizer", "tool")


def accuracy(rows: Sequence[RowBase]) -> str:
    """Share of right answers in %, n and the 95% Wilson interval; errors stay in n."""
    from scipy.stats import binomtest  # costs half a second, and only here

    scored = [row for row in rows if isinstance(row, Row)]
    if not scored:
        return "see its own metrics"
    right = round(sum(row.score for row in scored))
    interval = binomtest(right, len(scored)).proportion_ci(method="wilson")
    share, low, high = (100 * value for value in (right / len(scored), interval.low, interval.high))
    return f"{share:.1f}% of {len(scored)} [{low:.1f}, {high:.1f}]"


def _total(rows: Sequence[RowBase], field: str) -> int:
    return sum(int(getattr(row.counters, field)) for row in rows)


def _tokens(rows: Sequence[RowBase], kind: str, role: str | None = None) -> float:
    return sum(
        float(getattr(tokens, kind))
        for row in rows
        for name, tokens in row.tokens.items()
        if role in (None, name)
    )


def figures(cell: CellConfig, rows: Sequence[RowBase]) -> dict[str, str]:
    """Every line of the closing table for one cell."""
    prompt = _tokens(rows, "prompt")
    lines = {"accuracy (95% interval)": accuracy(rows), "prompt tokens": f"{prompt:,.0f}"}
    for role in _ROLES:
        lines[f"  {role}"] = f"{_tokens(rows, 'prompt', role):,.0f}"
    cached = _tokens(rows, "cached") / prompt if prompt else 0.0
    lines["  cached share"] = f"{100 * cached:.0f}%"
    lines["model calls"] = f"{_tokens(rows, 'calls'):,.0f}"
    counted = {
        "folds": "folds",
        "  summary fallbacks": "summary_fallbacks",
        "suppressions": "suppressions",
        "selector calls": "selector_calls",
        "  selector fallbacks": "selector_fallbacks",
        "format errors": "format_errors",
    }
    assert set(counted.values()) <= set(Counters.model_fields)
    lines |= {name: f"{_total(rows, field):,}" for name, field in counted.items()}
    lines["errors"] = str(sum(row.status == "error" for row in rows))
    ledger = read_ledger(cell.folder)
    totals = ledger.totals if ledger else None
    lines["wall seconds"] = f"{totals.wall_seconds:,.1f}" if totals else "-"
    return lines


def caveats(cells: Sequence[CellConfig], rows: Sequence[Sequence[RowBase]]) -> list[str]:
    """What must be known before these numbers are read."""
    said: dict[str, None] = {}
    for cell, results in zip(cells, rows, strict=True):
        name = cell.model.name
        if cell.model.simulated:
            said[
                f"SIMULATED: {name} is a rule-based reader, not a language model. Its accuracy "
                "measures what a memory kept in the context, not what a model makes of it."
            ] = None
        if cell.model.smoke_only:
            said[
                f"SMOKE TEST: {name} is too small for these questions. This run shows that the "
                "plumbing works; it says nothing about which memory is better."
            ] = None
        if results and len(results) < results[0].cell.dataset_full_size:
            full = results[0].cell.dataset_full_size
            said[f"CUT: {len(results)} of the {full} items of {cell.dataset.name}."] = None
        if any(row.usage_estimated for row in results):
            said[f"ESTIMATED: the server of {name} reports no usage; tokens are our count."] = None
    return list(said)


def print_closing(
    console: Console, cells: Sequence[CellConfig], rows: Sequence[Sequence[RowBase]]
) -> None:
    """One column per cell, then the caveats and where the results are."""
    table = Table(title="Results", title_justify="left")
    table.add_column("")
    for cell in cells:
        table.add_column(cell.title.replace(" / ", "\n"), justify="right")
    columns = [figures(cell, results) for cell, results in zip(cells, rows, strict=True)]
    for name in columns[0]:
        table.add_row(name, *(column[name] for column in columns))
    console.print(table)
    for line in caveats(cells, rows):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for cell in cells:
        console.print(f"{cell.folder}", markup=False, highlight=False, soft_wrap=True)
