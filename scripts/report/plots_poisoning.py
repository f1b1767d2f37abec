"""Poisoning metrics as small multiples, the published value beside ours."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from scripts.report import names, reference
from scripts.report.marks import kind
from scripts.report.poison_cells import PUBLISHED, SHOWN, PoisonCell
from scripts.report.style import footnote, grid_of, look

_SHORT = {"linear": "Linear", "a1": "A1", "a2": "A2", "a3": "A3", "wmt": "WMT"}
OUTLINED = [withStroke(linewidth=2.2, foreground="white")]
"""Black on white, so that an interval shows on a bar of any shade."""
METRICS = ("ASR_exposure", "ASR_answers", "PRR", "IP", "BR", "AF", "CCR", "TSR", "prompt_tokens")


def small_multiples(cells: Sequence[PoisonCell]) -> Figure | None:
    """One axis a metric, one bar a memory, for the first arm and model that has Table 4's rows."""
    groups = list(dict.fromkeys((c.label, c.model) for c in cells if c.in_table4))
    if not groups:
        return None
    label, model = groups[0]
    members = {c.memory: c for c in cells if (c.label, c.model) == (label, model) and c.in_table4}
    memories = [*names.POISONING, *(m for m in members if m not in names.POISONING)]
    published = reference.published_poisoning()
    figure, axes = grid_of(len(METRICS), height=1.45)
    for axis, metric in zip(axes, METRICS, strict=True):
        for place, memory in enumerate(memories):
            cell = members.get(memory)
            mean = cell.mean(metric) if cell else None
            style = look(memory, memories)
            if cell is not None and mean is not None:
                axis.bar(
                    place,
                    mean,
                    width=0.65,
                    color=style.colour,
                    hatch=style.hatch,
                    edgecolor="white",
                    linewidth=0,
                )
                interval = cell.interval(metric)
                if interval is not None:
                    axis.errorbar(
                        place,
                        mean,
                        yerr=[[max(0, mean - interval.low)], [max(0, interval.high - mean)]],
                        color="black",
                        elinewidth=0.9,
                        path_effects=OUTLINED,
                    )
            known = published.get((PUBLISHED.get(metric, ""), memory))
            if known is not None:
                axis.plot(
                    place + 0.2, known.value, marker="D", color="white", markeredgecolor="black"
                )
        axis.set_xticks(
            range(len(memories)),
            [_SHORT.get(memory, memory) for memory in memories],
        )
        axis.grid(axis="x", visible=False)
        axis.set_title(SHOWN[metric])
    figure.suptitle(f"{names.show_model(model)} [{label}]", fontsize=8)
    marks = dict.fromkeys(kind(mark) for cell in members.values() for mark in cell.marks)
    note = "Means over scenarios, 95% intervals; diamonds: published; arrows: preferred direction."
    if len(groups) > 1:
        others = ", ".join(f"{names.show_model(m)} [{arm}]" for arm, m in groups[1:])
        note += f" Not shown: {others}."
    footnote(figure, marks, note)
    return figure
