"""How much repeats of one configuration differ (the noise floor), and results by run length."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import pandas as pd
from statsmodels.stats.contingency_tables import mcnemar

from scripts.report import names
from scripts.report.cells import CellStat
from scripts.report.companion import BASELINE, blocks, heading
from scripts.report.layout import Line, Panel, Table, count, p_value, percent, row
from scripts.report.marks import legend
from scripts.report.stats import accuracy_interval

LENGTHS = ((0, 0), (1, 3), (4, 6), (7, 10), (11, 10_000))
"""Steps, from and to; 0 where linear failed before its first step."""


def noise_records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """One record for each test-retest pair: the questions that both sets ran, and seeds."""
    records = [{**place, **_pair(first, second)} for place, first, second in _repeats(rows)]
    models = names.order_models(record["model"] for record in records)
    memories = names.order_memories(record["memory"] for record in records)
    return sorted(
        (record for record in records if record["questions"]),
        key=lambda record: (
            record["label"],
            models.index(record["model"]),
            memories.index(record["memory"]),
        ),
    )


def noise_table(rows: pd.DataFrame, cells: Sequence[CellStat]) -> Table | None:
    """The pairs of `noise_records`; None if the results hold none."""
    records = noise_records(rows)
    if not records:
        return None
    shared = sum(record["questions"] for record in records)
    flips = sum(record["only_first"] + record["only_second"] for record in records)
    lines = [
        row(
            names.show_memory(record["memory"]),
            names.show_model(record["model"]),
            record["pair"],
            count(record["questions"]),
            f"{record['only_first']}/{record['only_second']}",
            percent(record["disagreement"], 1),
            f"{record['difference_pct']:+.2f}",
            f"±{record['noise_pct']:.1f}",
            p_value(record["p"]),
            f"{record['token_change_pct']:+.1f}",
        )
        for record in records
    ]
    caption = (
        "The same configuration ran the same questions twice: GAIA contains the GAIA-Text "
        "questions, and seeds repeat a cell. +/- counts questions that only the first or only the "
        "second run got right. Noise is 1.96 standard deviations of an accuracy difference "
        "between two such runs, from the share of questions that changed: a smaller difference "
        "between two memories says nothing. Over all pairs "
        f"{percent(flips / shared, 1)}% of {shared:,} answers changed."
    )
    heads = (
        "Memory",
        "Model",
        "Pair",
        "Questions",
        "+/-",
        "Changed %",
        "Δ acc.",
        "Noise",
        "p (McNemar)",
        "Token Δ %",
    )
    marks = tuple(dict.fromkeys(mark for cell in cells for mark in cell.marks))
    if marks:
        caption += f" Marks in these results: {legend(marks)}."
    panel = Panel(heads, tuple(lines))
    title = "Companion: noise floor"
    return Table("companion_noise", title, caption, (panel,), tuple(records), marks)


def _repeats(rows: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]]:
    """Pairs of runs of one configuration: by set within a seed, by seed within a set."""
    for key, group in rows.groupby(["label", "model", "memory"], sort=True):
        label, model, memory = (str(part) for part in key)
        place: dict[str, Any] = {"label": label, "model": model, "memory": memory}
        for seed in sorted(group["seed"].unique()):
            of_seed = group[group["seed"] == seed]
            first, second = (of_seed[of_seed["dataset"] == name] for name in names.PAPER_DATASETS)
            if len(first) and len(second):
                yield {**place, "pair": f"GAIA-Text and GAIA, seed {seed}"}, first, second
        for dataset in names.order_datasets(group["dataset"]):
            of_set = group[group["dataset"] == dataset]
            for one, two in combinations(sorted(of_set["seed"].unique()), 2):
                pair = f"{names.show_dataset(dataset)}, seeds {one} and {two}"
                parts = (of_set[of_set["seed"] == one], of_set[of_set["seed"] == two])
                yield {**place, "pair": pair}, *parts


def _pair(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, Any]:
    columns = ["score", "prompt_tokens"]
    both = (
        first.set_index("task_id")[columns]
        .add_suffix("_1")
        .join(second.set_index("task_id")[columns].add_suffix("_2"), how="inner")
    )
    size = len(both)
    if not size:
        return {"questions": 0}
    left, right = both["score_1"] == 1.0, both["score_2"] == 1.0
    only_first, only_second = int((left & ~right).sum()), int((~left & right).sum())
    changed = (only_first + only_second) / size
    old, new = float(both["prompt_tokens_1"].sum()), float(both["prompt_tokens_2"].sum())
    return {
        "questions": size,
        "only_first": only_first,
        "only_second": only_second,
        "disagreement": changed,
        "difference_pct": 100 * (only_second - only_first) / size,
        "noise_pct": 196 * math.sqrt(changed / size),
        "p": float(mcnemar([[0, only_first], [only_second, 0]], exact=True).pvalue),
        "token_change_pct": 100 * (new / old - 1) if old else 0.0,
    }


def length_table(rows: pd.DataFrame, cells: Sequence[CellStat]) -> Table | None:
    """Accuracy and tokens by the length of the run, where linear is there to measure it."""
    lines: list[Line] = []
    records: list[dict[str, Any]] = []
    for label, dataset, model, block_rows in blocks(rows):
        base = block_rows[block_rows["memory"] == BASELINE]
        if base.empty:
            continue
        lines.append(heading(label, dataset, model, rows))
        length = base.groupby("task_id")["steps"].mean()
        for memory in names.order_memories(block_rows["memory"]):
            cell = block_rows[block_rows["memory"] == memory]
            steps = cell["task_id"].map(length)
            for low, high in LENGTHS:
                part = cell[(steps >= low) & (steps < high + 1)]
                if part.empty:
                    continue
                span = f"{low} to {high}" if high < 1000 else f"{low} or more"
                span = "0" if high == 0 else span
                place = {"label": label, "dataset": dataset, "model": model, "memory": memory}
                record = {**place, "steps": span, **_length_record(part)}
                records.append(record)
                lines.append(
                    row(
                        names.show_memory(memory),
                        span,
                        count(record["rows"]),
                        f"{record['accuracy_pct']:.1f}",
                        f"{record['accuracy_low_pct']:.0f} to {record['accuracy_high_pct']:.0f}",
                        count(record["tokens_mean"]),
                    )
                )
    if not records:
        return None
    caption = (
        "Questions by the number of steps that Linear History took on them, so that every memory "
        "is compared on the same questions; the paper names short tasks as a limitation. Tokens "
        "are the mean prompt tokens a question. Intervals are 95%: Wilson with one seed, "
        "resampling questions with several. Questions that linear lacks are left out; 0 steps are "
        "runs of linear that failed at once."
    )
    marks = tuple(dict.fromkeys(mark for cell in cells for mark in cell.marks))
    if marks:
        caption += f" Marks in these results: {legend(marks)}."
    heads = ("Memory", "Steps of linear", "n", "Acc. %", "95% interval", "Tokens")
    panel = Panel(heads, tuple(lines))
    title = "Companion: accuracy and tokens by length of the run"
    return Table("companion_length", title, caption, (panel,), tuple(records), marks)


def _length_record(part: pd.DataFrame) -> dict[str, Any]:
    right = int((part["score"] == 1.0).sum())
    interval = accuracy_interval(part)
    return {
        "rows": len(part),
        "accuracy_pct": 100 * right / len(part),
        "accuracy_low_pct": 100 * interval.low,
        "accuracy_high_pct": 100 * interval.high,
        "tokens_mean": float(part["prompt_tokens"].mean()),
    }
