"""One look for all figures: style file, memory colours and markers, saving."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from scripts.report import names

STYLE = Path(__file__).with_name("wmt.mplstyle")
WIDTH = 6.9


@dataclass(frozen=True)
class Look:
    """How a memory is drawn; colour, marker, dash and hatch each tell it apart alone."""

    colour: str
    marker: str
    dash: Any
    hatch: str


LOOKS = {
    "none": Look("#8A8A8A", "x", ":", "...."),
    "linear": Look("#000000", "s", "-", ""),
    "unweighted": Look("#E69F00", "^", "--", "////"),
    "tree_selection": Look("#56B4E9", "v", "-.", "\\\\\\\\"),
    "tree_summary": Look("#009E73", "D", (0, (1, 1)), "xxxx"),
    "tree_selection_summary": Look("#CC79A7", "P", (0, (5, 1)), "++++"),
    "wmt": Look("#0072B2", "o", "-", "||||"),
    "a1": Look("#D55E00", "<", "--", "////"),
    "a2": Look("#7A5195", ">", "-.", "xxxx"),
    "a3": Look("#A6761D", "h", ":", "...."),
}
_OTHERS = (
    Look("#4D4D4D", "*", "--", "oo"),
    Look("#1B7837", "p", "-.", "OO"),
    Look("#B2182B", "d", ":", "**"),
    Look("#762A83", "H", "--", "--"),
)


@contextmanager
def project_style() -> Iterator[None]:
    """Draw without a display, in the project's style; what was set before comes back."""
    mpl.use("Agg")
    with mpl.style.context(STYLE):
        yield


def look(memory: str, memories: Sequence[str]) -> Look:
    """The look of a memory among those of a figure; unknown ones take the spare looks in turn."""
    if memory in LOOKS:
        return LOOKS[memory]
    others = [name for name in names.order_memories(memories) if name not in LOOKS]
    return _OTHERS[others.index(memory) % len(_OTHERS)]


def memory_legend(figure: Figure, memories: Iterable[str], **options: Any) -> None:
    """One legend above all axes."""
    ordered = names.order_memories(memories)
    handles = []
    for memory in ordered:
        style = look(memory, ordered)
        handles.append(
            Line2D([], [], color=style.colour, marker=style.marker, linestyle=style.dash)
        )
    labels = [names.show_memory(memory) for memory in ordered]
    columns = min(4 if figure.get_figwidth() > 6 else 3, len(labels))
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, **options)


def footnote(figure: Figure, marks: Iterable[str], text: str = "") -> None:
    """What a reader must know of the numbers, below the figure."""
    marked = ", ".join(dict.fromkeys(marks))
    parts = [text] if text else []
    if marked:
        parts.append(f"Marks: {marked}.")
    if parts:
        lines = textwrap.fill(" ".join(parts), int(18 * figure.get_figwidth()))
        figure.supxlabel(lines, fontsize=6.5, color="#444444")


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """PNG at print size and SVG, without dates in them."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    figure.savefig(paths[0])
    figure.savefig(paths[1], metadata={"Date": None})
    return paths


def grid_of(count: int, columns: int = 3, height: float = 2.1) -> tuple[Figure, list[Any]]:
    """A figure with `count` axes in rows of `columns`."""
    from matplotlib import pyplot as plt

    across = min(columns, count)
    down = -(-count // across)
    width = WIDTH if across > 1 else WIDTH * 0.6
    figure, axes = plt.subplots(down, across, figsize=(width, height * down + 0.7), squeeze=False)
    flat = [axis for line in axes for axis in line]
    for spare in flat[count:]:
        spare.set_axis_off()
    return figure, flat[:count]
