"""Figures from rows alone: accuracy against tokens, token reduction, accuracy by level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from scripts.report import names, reference
from scripts.report.benchmark import block_title
from scripts.report.cells import CellStat
from scripts.report.companion import blocks
from scripts.report.stats import accuracy_interval, paired_tokens
from scripts.report.style import footnote, grid_of, look, memory_legend

Rows = pd.DataFrame


def all_marks(cells: Sequence[CellStat]) -> list[str]:
    """Every kind of mark in these results, once."""
    from scripts.report.marks import kind

    return list(dict.fromkeys(kind(mark) for cell in cells for mark in cell.marks))


def pareto(rows: Rows, cells: Sequence[CellStat]) -> Figure | None:
    """Accuracy against prompt tokens, one panel for each arm, set and model."""
    if rows.empty:
        return None
    panels = list(blocks(rows))
    figure, axes = grid_of(len(panels))
    place_of = {(c.label, c.dataset, c.model, c.memory): c for c in cells}
    memories = names.order_memories(rows["memory"])
    for axis, (label, dataset, model, block_rows) in zip(axes, panels, strict=True):
        points = []
        for memory in names.order_memories(block_rows["memory"]):
            cell = place_of[label, dataset, model, memory]
            interval = accuracy_interval(block_rows[block_rows["memory"] == memory])
            style = look(memory, memories)
            axis.errorbar(
                [cell.millions],
                [cell.percent],
                yerr=[
                    [max(0.0, cell.percent - 100 * interval.low)],
                    [max(0.0, 100 * interval.high - cell.percent)],
                ],
                color=style.colour,
                marker=style.marker,
                linestyle="none",
                elinewidth=0.6,
                zorder=3,
                clip_on=False,
            )
            points.append((cell.millions, cell.percent))
        axis.margins(x=0.1)
        front = _front(points)
        axis.plot(*zip(*front, strict=True), color="#555555", linewidth=0.8, zorder=1)
        axis.set_xlim(left=0)
        title = block_title(label, model, rows["label"].nunique())
        axis.set_title(f"{names.show_dataset(dataset)}, {title}")
        axis.set_xlabel("prompt tokens, M")
        axis.set_ylabel("accuracy, %")
        axis.set_ylim(bottom=0)
    memory_legend(figure, memories)
    footnote(
        figure,
        all_marks(cells),
        "Line: configurations that none beats in both. Bars: 95% intervals.",
    )
    return figure


def _front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The Pareto line: fewer tokens or higher accuracy than every other point on it."""
    front: list[tuple[float, float]] = []
    for tokens, accuracy in sorted(points, key=lambda point: (point[0], -point[1])):
        if not front or accuracy > front[-1][1]:
            front.append((tokens, accuracy))
    return front


def token_reduction(rows: Rows, cells: Sequence[CellStat]) -> Figure | None:
    """Prompt tokens that WMT saves against linear, by model and set, with the published value."""
    bars = []
    for label, dataset, model, block_rows in blocks(rows) if not rows.empty else ():
        pair = [block_rows[block_rows["memory"] == memory] for memory in ("wmt", "linear")]
        change = paired_tokens(*pair) if all(len(part) for part in pair) else None
        if change is not None and np.isfinite(change.ratio):
            title = block_title(label, model, rows["label"].nunique())
            bars.append((dataset, model, f"{title}\n{names.show_dataset(dataset)}", change))
    if not bars:
        return None
    figure, (axis,) = grid_of(1, height=2.4)
    figure.set_figwidth(min(6.9, 2.4 + 0.8 * len(bars)))
    sets = names.order_datasets(bar[0] for bar in bars)
    shades = ("#0072B2", "#9CC9E6", "#555555", "#BBBBBB")
    hatches = ("", "////", "....", "xxxx")
    published = reference.benchmark()
    note = "Bars: 95% bootstrap interval."
    for place, (dataset, model, _, change) in enumerate(bars):
        number = sets.index(dataset) % len(shades)
        saved = -100 * change.ratio
        low, high = -100 * change.ratio_interval.high, -100 * change.ratio_interval.low
        axis.bar(
            place,
            saved,
            width=0.6,
            color=shades[number],
            hatch=hatches[number],
            edgecolor="white" if number == 0 else "#333333",
            linewidth=0.5,
        )
        axis.errorbar(
            place,
            saved,
            yerr=[[max(0.0, saved - low)], [max(0.0, high - saved)]],
            color="black",
            elinewidth=0.8,
            capsize=2.5,
        )
        known = [published.get((dataset, model, memory)) for memory in ("wmt", "linear")]
        if known[0] is not None and known[1] is not None:
            old = 100 * (1 - known[0].prompt_tokens / known[1].prompt_tokens)
            axis.plot(place, old, marker="D", color="white", markeredgecolor="black", zorder=4)
            note = "Bars: 95% bootstrap interval. Diamonds: published."
    axis.axhline(0, color="black", linewidth=0.6)
    axis.set_xlim(-0.8, len(bars) - 0.2)
    axis.set_xticks(range(len(bars)), [bar[2] for bar in bars])
    axis.grid(axis="x", visible=False)
    axis.set_ylabel("prompt tokens saved by WMT\nagainst linear, %")
    footnote(figure, all_marks(cells), note)
    return figure


def by_level(rows: Rows, cells: Sequence[CellStat]) -> Figure | None:
    """Accuracy by the questions' level, with Wilson intervals."""
    if rows.empty:
        return None
    panels = list(blocks(rows))
    figure, axes = grid_of(len(panels))
    memories = names.order_memories(rows["memory"])
    for axis, (label, dataset, model, block_rows) in zip(axes, panels, strict=True):
        levels = sorted(int(level) for level in block_rows["level"].unique())
        present = names.order_memories(block_rows["memory"])
        for number, memory in enumerate(present):
            cell = block_rows[block_rows["memory"] == memory]
            _level_line(axis, cell, levels, number - (len(present) - 1) / 2, memory, memories)
        sizes = [block_rows[block_rows["level"] == n]["task_id"].nunique() for n in levels]
        axis.set_xticks(levels, [f"level {n}\nn={m}" for n, m in zip(levels, sizes, strict=True)])
        axis.set_xlim(levels[0] - 0.5, levels[-1] + 0.5)
        title = block_title(label, model, rows["label"].nunique())
        axis.set_title(f"{names.show_dataset(dataset)}, {title}")
        axis.set_ylabel("accuracy, %")
        axis.set_ylim(bottom=0)
    memory_legend(figure, memories)
    footnote(figure, all_marks(cells), "Bars: 95% intervals.")
    return figure


def _level_line(
    axis: Any,
    cell: Rows,
    levels: Sequence[int],
    offset: float,
    memory: str,
    memories: Sequence[str],
) -> None:
    style = look(memory, memories)
    spots, values, below, above = [], [], [], []
    for level in levels:
        part = cell[cell["level"] == level]
        if part.empty:
            continue
        right = int((part["score"] == 1.0).sum())
        interval = accuracy_interval(part)
        share = right / len(part)
        spots.append(level + 0.09 * offset)
        values.append(100 * share)
        below.append(max(0.0, 100 * (share - interval.low)))
        above.append(max(0.0, 100 * (interval.high - share)))
    axis.errorbar(
        spots,
        values,
        yerr=[below, above],
        color=style.colour,
        marker=style.marker,
        linestyle=style.dash,
        linewidth=0.8,
        elinewidth=0.5,
        capsize=0,
        clip_on=False,
    )
