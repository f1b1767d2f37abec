"""The tree of Figure 2 for one trace: hierarchy, scores, lifecycle, poisoned memories."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from scripts.report.replay import Replay, ReplayedNode
from scripts.report.style import WIDTH, footnote

FACE = {"root": "#CFE3F3", "task": "#CFE3F3", "global": "#E5DFF0", "action": "#E6E6E6"}
POISONED, OBSOLETE = "#F4B6A6", "#FFFFFF"
ROW = 0.36
"""Height of a node's line, in inches."""


def tree(replay: Replay, title: str, marks: Sequence[str]) -> Figure | None:
    """Nodes line by line, indented by depth. Poisoned memories are red, with a double border."""
    order = _depth_first(replay)
    if not order:
        return None
    from matplotlib import pyplot as plt

    height = ROW * len(order)
    figure = plt.figure(figsize=(WIDTH, height + 0.9))
    axis = figure.add_subplot()
    axis.set_axis_off()
    axis.set_xlim(0, WIDTH)
    axis.set_ylim(-height - 0.1, ROW * 0.6)
    for place, (node, depth) in enumerate(order):
        _draw(axis, replay, node, 0.42 * depth + 0.05, -ROW * place)
    spots = {node.id: (0.42 * depth + 0.05, -ROW * p) for p, (node, depth) in enumerate(order)}
    for node, _ in order:
        if node.parent in spots:
            left, top = spots[node.parent]
            right, bottom = spots[node.id]
            x = left + 0.14
            axis.plot([x, x], [top - 0.14, bottom], color="#888888", linewidth=0.7, zorder=0)
            axis.plot([x, right], [bottom, bottom], color="#888888", linewidth=0.7, zorder=0)
    axis.set_title(title, loc="left")
    footnote(
        figure,
        marks,
        "Blue: query and tasks. Grey: actions. Red, double border: poisoned. White, dashed: "
        "suppressed. Slanted: behind a summary. u: retention score.",
    )
    return figure


def _draw(axis: Any, replay: Replay, node: ReplayedNode, left: float, middle: float) -> None:
    suppressed, hidden = replay.suppressed(node), replay.hidden(node)
    face = POISONED if node.poisoned else OBSOLETE if suppressed else FACE.get(node.kind, "#EEEEEE")
    style: dict[str, Any] = {
        "facecolor": face,
        "edgecolor": "#8C2D19" if node.poisoned else "#555555",
        "linewidth": 1.4 if node.poisoned else 0.6,
        "linestyle": "--" if suppressed else "-",
    }
    width = WIDTH - left - 0.05
    box = "round,pad=0.01,rounding_size=0.05"
    axis.add_patch(FancyBboxPatch((left, middle - 0.13), width, 0.26, boxstyle=box, **style))
    if node.poisoned:
        inner = {**style, "facecolor": "none", "linewidth": 0.5}
        axis.add_patch(
            FancyBboxPatch((left + 0.03, middle - 0.1), width - 0.06, 0.2, boxstyle=box, **inner)
        )
    axis.text(
        left + 0.08,
        middle,
        _label(node, width, suppressed),
        fontsize=6.3,
        va="center",
        style="italic" if hidden else "normal",
        clip_on=True,
    )


def _label(node: ReplayedNode, width: float, suppressed: bool) -> str:
    state = "suppressed" if suppressed and node.lifecycle != "obsolete" else node.lifecycle
    head = f"[{node.id}] {node.kind}"
    if node.kind == "action":
        head += f" {node.tool or ''}, {node.outcome or 'no outcome'}"
    else:
        head += f", {state}"
    head += f", u={node.score:.2f}: "
    room = max(12, int(width * 21.5) - len(head))
    text = " ".join(node.content.split())
    return head + textwrap.shorten(text, room, placeholder=" …").replace("$", r"\$")


def _depth_first(replay: Replay) -> list[tuple[ReplayedNode, int]]:
    children: dict[int | None, list[ReplayedNode]] = {}
    for node in replay.nodes.values():
        children.setdefault(node.parent if node.parent in replay.nodes else None, []).append(node)
    order: list[tuple[ReplayedNode, int]] = []
    stack = [(node, 0) for node in sorted(children.get(None, ()), key=lambda n: -n.id)]
    while stack:
        node, depth = stack.pop()
        order.append((node, depth))
        below = sorted(children.get(node.id, ()), key=lambda n: -n.id)
        stack += [(child, depth + 1) for child in below]
    return order
