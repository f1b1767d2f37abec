"""What the paper's tables do not give: intervals, paired tests, tokens by role, counters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from scripts.report import names
from scripts.report.benchmark import block_title
from scripts.report.cells import BLOCK, CellStat
from scripts.report.layout import (
    DASH,
    Line,
    Panel,
    Table,
    block,
    count,
    p_value,
    percent,
    row,
)
from scripts.report.marks import legend
from scripts.report.stats import (
    Paired,
    TokenDifference,
    accuracy_interval,
    holm,
    paired_accuracy,
    paired_tokens,
)

BASELINE = "linear"
LIMITS = ("step_limit", "time_limit", "token_limit", "context_limit")
COUNTERS = (
    "folds",
    "reopenings",
    "decays",
    "suppressions",
    "supersessions",
    "selector_retries",
    "selector_fallbacks",
    "selector_unknown_ids",
    "selector_cut",
    "summary_fallbacks",
    "context_cuts",
    "refused_operations",
    "format_errors",
    "tool_failures",
    "contaminated_dropped",
)


def companion_tables(rows: pd.DataFrame, cells: Sequence[CellStat]) -> list[Table]:
    """All tables of this module; empty without rows."""
    if rows.empty:
        return []
    return [accuracy_table(rows, cells), tokens_table(rows, cells), runs_table(rows, cells)]


def blocks(rows: pd.DataFrame) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Arm, set, model and rows of each block, in printing order."""
    found = {tuple(map(str, key)): block_rows for key, block_rows in rows.groupby(BLOCK)}
    sets = names.order_datasets(key[1] for key in found)
    models = names.order_models(key[2] for key in found)
    for key in sorted(found, key=lambda k: (k[0], sets.index(k[1]), models.index(k[2]))):
        label, dataset, model = key
        yield label, dataset, model, found[key]


def heading(label: str, dataset: str, model: str, rows: pd.DataFrame) -> Line:
    """A block heading that names the set as well."""
    title = block_title(label, model, rows["label"].nunique())
    return block(f"{names.show_dataset(dataset)}, {title}")


def accuracy_table(rows: pd.DataFrame, cells: Sequence[CellStat]) -> Table:
    """n, errors, missing; intervals; paired tests against linear; seeds."""
    stats = {(c.label, c.dataset, c.model, c.memory): c for c in cells}
    tests: dict[tuple[str, str, str, str], Paired] = {}
    tokens: dict[tuple[str, str, str, str], TokenDifference] = {}
    grouped = {
        (label, dataset, model): dict(list(block_rows.groupby("memory")))
        for label, dataset, model, block_rows in blocks(rows)
    }
    for key, by_memory in grouped.items():
        base = by_memory.get(BASELINE)
        for memory, cell in by_memory.items():
            if base is None or memory == BASELINE:
                continue
            test = paired_accuracy(cell, base)
            difference = paired_tokens(cell, base)
            if test and difference:
                tests[*key, str(memory)] = test
                tokens[*key, str(memory)] = difference
    corrected = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    lines: list[Line] = []
    records: list[dict[str, Any]] = []
    for (label, dataset, model), by_memory in grouped.items():
        lines.append(heading(label, dataset, model, rows))
        for memory in names.order_memories(str(m) for m in by_memory):
            place = (label, dataset, model, memory)
            record = _accuracy_record(stats[place], by_memory[memory])
            record.update(_test_record(tests.get(place), corrected.get(place), tokens.get(place)))
            records.append(record)
            lines.append(_accuracy_line(record))
    marks = tuple(dict.fromkeys(mark for cell in cells for mark in cell.marks))
    caption = (
        "Errors count as wrong; missing questions have no row. Intervals are 95%: Wilson with one "
        "seed, resampling questions with several. Δ is against Linear History on the questions "
        "that both have, in percentage points; +/- counts questions that only this row or only "
        "linear got right. p is the exact McNemar test with one seed, a bootstrap clustered by "
        f"question with several; Holm corrects over all {len(tests)} tests of this table. GAIA "
        "contains the GAIA-Text questions, so tests on the two sets are not independent. Token Δ "
        "is the paired mean difference of prompt tokens a question and the change of the total, "
        "with bootstrap intervals. Spread is the lowest and highest accuracy of a single seed."
    )
    heads = (
        "Memory",
        "n",
        "Seeds",
        "Err.",
        "Miss.",
        "Acc. %",
        "95% interval",
        "Spread",
        "Δ acc.",
        "95% of Δ",
        "+/-",
        "p",
        "p Holm",
        "Token Δ",
        "95% of token Δ",
        "Token Δ %",
        "95% of token Δ %",
        "Marks",
    )
    panel = Panel(heads, tuple(lines))
    return _table(
        "companion_accuracy", "Companion: accuracy with uncertainty", caption, panel, records, marks
    )


def _accuracy_record(cell: CellStat, cell_rows: pd.DataFrame) -> dict[str, Any]:
    interval = accuracy_interval(cell_rows)
    by_seed = cell_rows.groupby("seed")["score"].mean()
    return {
        "label": cell.label,
        "dataset": cell.dataset,
        "model": cell.model,
        "memory": cell.memory,
        "questions": cell.questions,
        "seeds": len(cell.seeds),
        "errors": cell.errors,
        "missing": cell.missing,
        "correct": cell.correct,
        "runs": cell.runs,
        "accuracy_pct": cell.percent,
        "accuracy_low_pct": 100 * interval.low,
        "accuracy_high_pct": 100 * interval.high,
        "seed_min_pct": 100 * float(by_seed.min()),
        "seed_max_pct": 100 * float(by_seed.max()),
        "seed_sd_pct": 100 * float(by_seed.std(ddof=1)) if len(by_seed) > 1 else None,
        "marks": ", ".join(cell.marks),
    }


def _test_record(
    test: Paired | None, corrected: float | None, tokens: TokenDifference | None
) -> dict[str, Any]:
    if test is None or tokens is None:
        return {}
    return {
        "paired_questions": test.questions,
        "difference_pct": 100 * test.difference,
        "difference_low_pct": 100 * test.interval.low,
        "difference_high_pct": 100 * test.interval.high,
        "only_this": test.wins,
        "only_linear": test.losses,
        "test": test.test,
        "p": test.p,
        "p_holm": corrected,
        "token_difference": tokens.mean,
        "token_difference_low": tokens.interval.low,
        "token_difference_high": tokens.interval.high,
        "token_change_pct": 100 * tokens.ratio,
        "token_change_low_pct": 100 * tokens.ratio_interval.low,
        "token_change_high_pct": 100 * tokens.ratio_interval.high,
    }


def _accuracy_line(record: dict[str, Any]) -> Line:
    several = record["seeds"] > 1
    spread = f"{record['seed_min_pct']:.1f} to {record['seed_max_pct']:.1f}" if several else DASH
    values = [
        names.show_memory(record["memory"]),
        count(record["questions"]),
        str(record["seeds"]),
        str(record["errors"]),
        str(record["missing"]),
        f"{record['accuracy_pct']:.2f}",
        f"{record['accuracy_low_pct']:.1f} to {record['accuracy_high_pct']:.1f}",
        spread,
    ]
    if "p" in record:
        values += [
            f"{record['difference_pct']:+.2f}",
            f"{record['difference_low_pct']:+.1f} to {record['difference_high_pct']:+.1f}",
            f"{record['only_this']}/{record['only_linear']}",
            p_value(record["p"]),
            p_value(record["p_holm"]),
            f"{record['token_difference']:+,.0f}",
            f"{record['token_difference_low']:+,.0f} to {record['token_difference_high']:+,.0f}",
            f"{record['token_change_pct']:+.1f}",
            f"{record['token_change_low_pct']:+.1f} to {record['token_change_high_pct']:+.1f}",
        ]
    else:
        values += [DASH] * 9
    return row(*values, record["marks"])


def tokens_table(rows: pd.DataFrame, cells: Sequence[CellStat]) -> Table:
    """Prompt tokens by role, computed against cached, new tokens, calls and seconds."""
    lines: list[Line] = []
    records: list[dict[str, Any]] = []
    for label, dataset, model, block_rows in blocks(rows):
        lines.append(heading(label, dataset, model, rows))
        for memory in names.order_memories(block_rows["memory"]):
            cell = block_rows[block_rows["memory"] == memory]
            mean = cell.mean(numeric_only=True)
            prompt, cached = float(cell["prompt_tokens"].sum()), float(cell["cached_tokens"].sum())
            share = cached / prompt if prompt else 0.0
            record: dict[str, Any] = {
                "label": label,
                "dataset": dataset,
                "model": model,
                "memory": memory,
                "rows": len(cell),
                "prompt_tokens": prompt,
                "cached_tokens": cached,
                "computed_tokens": prompt - cached,
                "cached_share": share,
                "completion_tokens": float(cell["completion_tokens"].sum()),
                "calls": float(cell["calls"].sum()),
                "seconds_mean": float(mean["seconds"]),
            }
            for role in names.ROLES:
                record[f"prompt_{role}"] = float(cell[f"prompt_{role}"].sum())
                record[f"calls_{role}"] = float(cell[f"calls_{role}"].sum())
            records.append(record)
            lines.append(
                row(
                    names.show_memory(memory),
                    count(mean["prompt_tokens"]),
                    *(count(mean[f"prompt_{role}"]) for role in names.ROLES),
                    count(mean["prompt_tokens"] - mean["cached_tokens"]),
                    count(mean["cached_tokens"]),
                    percent(share, 1),
                    count(mean["completion_tokens"]),
                    f"{mean['calls']:.1f}",
                    f"{mean['calls_selector'] + mean['calls_summarizer']:.1f}",
                    f"{mean['seconds']:.1f}",
                )
            )
    heads = (
        "Memory",
        "Prompt",
        "agent",
        "selector",
        "summarizer",
        "tool",
        "Computed",
        "Cached",
        "Cached %",
        "New",
        "Calls",
        "Memory calls",
        "Seconds",
    )
    caption = (
        "Means a question. Prompt tokens by the role that spent them; computed are those that the "
        "server did not take from its prefix cache. Memory calls are the selector's and the "
        "summarizer's."
    )
    marks = tuple(dict.fromkeys(mark for cell in cells for mark in cell.marks))
    panel = Panel(heads, tuple(lines))
    return _table("companion_tokens", "Companion: tokens by role", caption, panel, records, marks)


def runs_table(rows: pd.DataFrame, cells: Sequence[CellStat]) -> Table:
    """Steps, limits, and how often each part of the method was exercised."""
    lines: list[Line] = []
    records: list[dict[str, Any]] = []
    for label, dataset, model, block_rows in blocks(rows):
        lines.append(heading(label, dataset, model, rows))
        for memory in names.order_memories(block_rows["memory"]):
            cell = block_rows[block_rows["memory"] == memory]
            record: dict[str, Any] = {
                "label": label,
                "dataset": dataset,
                "model": model,
                "memory": memory,
                "rows": len(cell),
                "steps_mean": float(cell["steps"].mean()),
                "answered": int((cell["status"] == "answered").sum()),
                **{limit: int((cell["status"] == limit).sum()) for limit in LIMITS},
                "error": int((cell["status"] == "error").sum()),
                **{name: int(cell[name].sum()) for name in COUNTERS},
            }
            records.append(record)
            shown = ("answered", *LIMITS, "error", *COUNTERS)
            lines.append(
                row(
                    names.show_memory(memory),
                    f"{record['steps_mean']:.1f}",
                    *(count(record[name]) for name in shown),
                )
            )
    plain = {name: name.replace("_", " ") for name in ("answered", *LIMITS, "error", *COUNTERS)}
    caption = (
        "Mean steps a question; then totals over the rows of a cell. A zero says that this part "
        "of the method was not exercised."
    )
    marks = tuple(dict.fromkeys(mark for cell in cells for mark in cell.marks))
    panel = Panel(("Memory", "Steps", *plain.values()), tuple(lines))
    title = "Companion: steps, limits and counters"
    return _table("companion_runs", title, caption, panel, records, marks)


def _table(
    name: str,
    title: str,
    caption: str,
    panel: Panel,
    records: Sequence[dict[str, Any]],
    marks: tuple[str, ...],
) -> Table:
    if marks:
        caption += f" Marks in these results: {legend(marks)}."
    return Table(name, title, caption, (panel,), tuple(records), marks)
