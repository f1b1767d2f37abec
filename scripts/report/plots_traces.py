"""Figures from traces: prompt length, pool and lifecycle by step, retention scores over a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scripts.report import names
from scripts.report.benchmark import block_title
from scripts.report.companion import blocks
from scripts.report.replay import Replay, StepView, read_steps, traced_tasks
from scripts.report.style import WIDTH, footnote, grid_of, look, memory_legend

BY_STEP = ("linear", "unweighted", "wmt")
FEWEST = 3
"""A mean over fewer runs than this is not drawn."""

Views = Mapping[tuple[str, str, str, str], list[list[StepView]]]


def collect(rows: pd.DataFrame) -> dict[tuple[str, str, str, str], list[list[StepView]]]:
    """Steps of every traced run, by arm, set, model and memory."""
    found: dict[tuple[str, str, str, str], list[list[StepView]]] = {}
    for label, dataset, model, block_rows in blocks(rows) if not rows.empty else ():
        for memory in names.order_memories(block_rows["memory"]):
            cell = block_rows[block_rows["memory"] == memory]
            for folder, part in cell.groupby("folder"):
                for _, lines in traced_tasks(Path(str(folder)), part["task_id"]):
                    found.setdefault((label, dataset, model, memory), []).append(read_steps(lines))
    return found


def prompt_by_step(views: Views, marks: Sequence[str]) -> Figure | None:
    """Mean prompt tokens of the agent's calls, step by step, with quartiles."""
    return _by_step(
        {key: runs for key, runs in views.items() if key[3] in BY_STEP},
        marks,
        lambda view: view.prompt_tokens,
        "prompt tokens of the agent",
        "Mean over the runs that reached the step; band: quartiles.",
    )


def pool_by_step(views: Views, marks: Sequence[str]) -> Figure | None:
    """Candidates in the pool, step by step, for the configurations that keep a tree."""
    return _by_step(
        {key: runs for key, runs in views.items() if key[3] not in ("none", "linear")},
        marks,
        lambda view: view.pool,
        "candidates in the pool",
        "Mean over the runs that reached the step.",
        band=False,
    )


def _by_step(
    views: Views, marks: Sequence[str], value: Any, what: str, note: str, *, band: bool = True
) -> Figure | None:
    panels = list(dict.fromkeys(key[:3] for key in views))
    if not panels:
        return None
    figure, axes = grid_of(len(panels))
    memories = names.order_memories(key[3] for key in views)
    for axis, panel in zip(axes, panels, strict=True):
        for place, memory in enumerate(memories):
            runs = views.get((*panel, memory))
            if not runs:
                continue
            style = look(memory, memories)
            # Later lines are thinner, so that equal ones below them still show.
            slim = place / max(1, len(memories) - 1)
            steps, mean, low, high = _means(runs, value)
            axis.plot(
                steps,
                mean,
                color=style.colour,
                linestyle=style.dash,
                marker=style.marker,
                linewidth=2.4 - 1.4 * slim,
                markersize=5.5 - 3 * slim,
                markevery=max(1, len(steps) // 8),
            )
            if band:
                axis.fill_between(steps, low, high, color=style.colour, alpha=0.12, linewidth=0)
        label, dataset, model = panel
        title = block_title(label, model, len({p[0] for p in panels}))
        axis.set_title(f"{names.show_dataset(dataset)}, {title}")
        axis.set_xlabel("step")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_ylabel(what)
        axis.set_ylim(bottom=0)
    memory_legend(figure, memories)
    sizes = sorted({len(runs) for runs in views.values()})
    traced = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    footnote(figure, marks, f"{note} Traced runs of a configuration: {traced}.")
    return figure


def _means(
    runs: Sequence[Sequence[StepView]], value: Any
) -> tuple[list[int], list[float], list[float], list[float]]:
    by_step: dict[int, list[float]] = {}
    for run in runs:
        for view in run:
            by_step.setdefault(view.step, []).append(float(value(view)))
    kept = {step: v for step, v in sorted(by_step.items()) if len(v) >= min(FEWEST, len(runs))}
    quartiles = [np.percentile(v, [25, 75]) for v in kept.values()]
    return (
        list(kept),
        [float(np.mean(v)) for v in kept.values()],
        [float(q[0]) for q in quartiles],
        [float(q[1]) for q in quartiles],
    )


def lifecycle_by_step(views: Views, marks: Sequence[str]) -> Figure | None:
    """Share of all nodes that a summary stands for, and share that is suppressed, by step."""
    kept = {
        key: runs
        for key, runs in views.items()
        if any(view.folded or view.suppressed for run in runs for view in run)
    }
    if not kept:
        return None
    figure, axes = grid_of(len(kept), height=1.8)
    for axis, (key, runs) in zip(axes, kept.items(), strict=True):
        steps, folded, _, _ = _means(runs, lambda view: view.folded)
        _, suppressed, _, _ = _means(runs, lambda view: view.suppressed)
        axis.stackplot(
            steps,
            [100 * v for v in folded],
            [100 * v for v in suppressed],
            colors=["#9CC9E6", "#D55E00"],
            labels=["folded", "suppressed"],
        )
        axis.set_ylim(0, 100)
        label, dataset, model, memory = key
        title = block_title(label, model, len({k[0] for k in kept}))
        axis.set_title(f"{names.show_memory(memory)}\n{names.show_dataset(dataset)}, {title}")
        axis.set_xlabel("step")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_ylabel("share of nodes, %")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    footnote(figure, marks, "Folded: below a task whose summary stands for it.")
    return figure


def retention(lines: Sequence[dict[str, Any]], title: str, marks: Sequence[str]) -> Figure | None:
    """Retention score of every action over one run; a question's or a scenario's trace."""
    replay = Replay()
    history: dict[int, list[tuple[int, float]]] = {}
    tick = 0
    for line in lines:
        replay.apply(line.get("events", ()))
        if line["type"] not in ("step", "entry", "complete"):
            continue
        tick += 1
        for node in replay.nodes.values():
            if node.kind == "action" and not replay.hidden(node):
                history.setdefault(node.id, []).append((tick, node.score))
    if not history:
        return None
    figure, (axis,) = grid_of(1, height=2.6)
    figure.set_figwidth(WIDTH)
    kinds = {
        "success": ("#0072B2", "-", "success"),
        "failure": ("#D55E00", "--", "failure"),
        "poisoned": ("#000000", ":", "poisoned"),
    }
    seen: dict[str, Any] = {}
    ends: list[tuple[float, float, int]] = []
    for number, points in history.items():
        node = replay.nodes[number]
        name = "poisoned" if node.poisoned else node.outcome or "success"
        colour, dash, label = kinds[name]
        (line2d,) = axis.plot(
            *zip(*points, strict=True),
            color=colour,
            linestyle=dash,
            marker="o",
            markersize=2,
            linewidth=0.9,
            alpha=0.85,
        )
        seen.setdefault(label, line2d)
        ends.append((*points[-1], number))
    _label_ends(axis, ends)
    axis.axhline(0.10, color="#777777", linewidth=0.7, linestyle=(0, (1, 2)))
    axis.text(1, 0.115, "threshold of branch priority", fontsize=6, color="#555555")
    axis.set_ylim(0, 0.85)
    axis.margins(x=0.03)
    axis.set_xlabel("step")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_ylabel("retention score u")
    axis.set_title(title)
    figure.legend(list(seen.values()), list(seen), loc="outside upper center", ncols=3)
    footnote(figure, marks, "A line ends where a summary takes the action's place.")
    return figure


def _label_ends(axis: Any, ends: Sequence[tuple[float, float, int]]) -> None:
    """Node ids at line ends, those of one spot in one label."""
    spots: dict[tuple[float, float], list[int]] = {}
    for tick, score, number in ends:
        spots.setdefault((tick, round(score / 0.03) * 0.03), []).append(number)
    for (tick, score), numbers in spots.items():
        text = ",".join(str(number) for number in numbers[:4]) + ("…" if len(numbers) > 4 else "")
        axis.annotate(text, (tick, score), (3, 1), textcoords="offset points", fontsize=5.5)
