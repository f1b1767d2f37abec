"""Draw a memory tree as in Figure 2 of the paper, to PNG, SVG or PDF (needs matplotlib, the extra
`draw`): blue tasks, grey actions, green global memories, red what an evaluator marked as poisoned.

Each box says id, what it is, u, m and state; a task also its branch priority U. Folded branches
have a double frame, obsolete memories a dashed one in a faded box.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from wmt.grammar import one_line
from wmt.nodes import Lifecycle, MemoryNode, NodeKind
from wmt.retention import RetentionParams
from wmt.tree import MemoryTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLORS = {
    NodeKind.ROOT: ("#cfe2f7", "#1f5c99"),
    NodeKind.TASK: ("#cfe2f7", "#1f5c99"),
    NodeKind.ACTION: ("#e6e6e6", "#666666"),
    NodeKind.GLOBAL: ("#d8efd8", "#2e7d32"),
}
_POISON = ("#f8d0d0", "#b3261e")
# Inches. A line of 7-point text is about 0.13 high; three lines and a margin fit a box.
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 2.5, 0.58, 0.55, 0.16, 0.25
_LINE_CHARS = 40


def draw(tree: MemoryTree, path: Path, params: RetentionParams | None = None) -> None:
    """Draw the current question's tree and the global memories into the file `path`, whose suffix
    chooses the format. With `params` tasks show U. ImportError without matplotlib."""
    from matplotlib import style
    from matplotlib.figure import Figure

    places = _layout(tree)
    columns = 1 + max(column for column, _ in places.values())
    rows = 1 + max(row for _, row in places.values())
    width = columns * _WIDTH + (columns - 1) * _GAP_X + 2 * _MARGIN
    height = rows * (_HEIGHT + _GAP_Y) - _GAP_Y + 2 * _MARGIN
    # The default style, whatever the caller's is; the salt and the missing date make the same tree
    # the same bytes.
    with style.context(["default", {"svg.hashsalt": "wmt", "svg.fonttype": "none"}]):
        figure = Figure(figsize=(width, height))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)
        axes.axis("off")
        for each in places:
            parent = tree.nodes[each].parent
            if parent is not None:
                _edge(axes, places[parent], places[each])
        for each, place in places.items():
            _box(axes, tree, tree.nodes[each], place, params)
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, dpi=150, metadata=metadata)


def _layout(tree: MemoryTree) -> dict[int, tuple[float, float]]:
    """Column (depth) and row of every node: a leaf has a row of its own, a task stands in the
    middle of its children, global memories below everything."""
    places: dict[int, tuple[float, float]] = {}
    next_row = 0

    def place(node_id: int, column: int) -> float:
        nonlocal next_row
        children = tree.children.get(node_id, [])
        if children:
            rows = [place(child, column + 1) for child in children]
            row = (rows[0] + rows[-1]) / 2
        else:
            row = float(next_row)
            next_row += 1
        places[node_id] = (column, row)
        return row

    place(tree.root, 0)
    for node in tree.nodes.values():
        if node.kind is NodeKind.GLOBAL:
            places[node.id] = (0, next_row)
            next_row += 1
    return places


def _corner(place: tuple[float, float]) -> tuple[float, float]:
    column, row = place
    return _MARGIN + column * (_WIDTH + _GAP_X), _MARGIN + row * (_HEIGHT + _GAP_Y)


def _edge(axes: Axes, parent: tuple[float, float], child: tuple[float, float]) -> None:
    from matplotlib.lines import Line2D

    left, top = _corner(parent)
    right, bottom = _corner(child)
    middle = right - _GAP_X / 2
    xs = [left + _WIDTH, middle, middle, right]
    ys = [top + _HEIGHT / 2, top + _HEIGHT / 2, bottom + _HEIGHT / 2, bottom + _HEIGHT / 2]
    axes.add_line(Line2D(xs, ys, color="#999999", linewidth=0.8, zorder=1))


def _box(
    axes: Axes,
    tree: MemoryTree,
    node: MemoryNode,
    place: tuple[float, float],
    params: RetentionParams | None,
) -> None:
    from matplotlib.patches import FancyBboxPatch

    face, edge = _POISON if node.provenance.get("poisoned") else _COLORS[node.kind]
    obsolete = node.lifecycle is Lifecycle.OBSOLETE
    left, top = _corner(place)
    frames = (0.0, 0.04) if node.folded else (0.0,)
    for inset in frames:
        axes.add_patch(
            FancyBboxPatch(
                (left + inset, top + inset),
                _WIDTH - 2 * inset,
                _HEIGHT - 2 * inset,
                boxstyle="round,pad=0,rounding_size=0.06",
                facecolor=face,
                edgecolor=edge,
                linewidth=2.0 if node.id in tree.path and not inset else 0.9,
                linestyle="--" if obsolete else "-",
                alpha=0.45 if obsolete else 1.0,
                zorder=2,
            )
        )
    axes.text(
        left + _WIDTH / 2,
        top + _HEIGHT / 2,
        "\n".join(_lines(tree, node, params)),
        fontsize=7,
        ha="center",
        va="center",
        linespacing=1.25,
        color="#777777" if obsolete else "black",
        parse_math=False,
        zorder=3,
    )


def _lines(tree: MemoryTree, node: MemoryNode, params: RetentionParams | None) -> list[str]:
    """At most two lines of content and one of numbers."""
    if node.kind is NodeKind.ACTION:
        shown = f"[{node.id}] {node.tool}: {one_line(node.content)}"
    else:
        shown = f"[{node.id}] {one_line(node.content)}"
    lines = textwrap.wrap(
        shown, _LINE_CHARS, max_lines=2, placeholder=" ...", break_on_hyphens=False
    )
    numbers = [f"u={node.score:.2f}", f"m={node.missed}"]
    priority = None
    if params is not None and tree.is_task(node.id):
        priority = tree.priority(node.id, params)
    if priority is not None:
        numbers.append(f"U={priority:.2f}")
    if node.outcome is not None:
        numbers.append(node.outcome.value)
    return [*lines, "  ".join([*numbers, node.lifecycle.value])]
