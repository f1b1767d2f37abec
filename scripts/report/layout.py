"""A table as data, before it becomes Markdown, LaTeX, CSV or a terminal table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

DASH = "–"
TEXT_COLUMNS = frozenset({"What", "Set", "Model", "Unit", "Pair", "Marks", "Steps of linear"})


@dataclass(frozen=True)
class Value:
    """One printed cell."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Line:
    """One line of a panel; a `block` line has one value, the heading of the lines below it."""

    values: tuple[Value, ...]
    kind: Literal["row", "block", "mean"] = "row"


@dataclass(frozen=True)
class Panel:
    """A grid with its own columns. `groups` are headings over neighbouring columns: (text, width);
    they start after the first column."""

    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    title: str = ""
    groups: tuple[tuple[str, int], ...] = ()

    def left(self, column: int) -> bool:
        """Whether a column holds text, and is set to the left."""
        return column == 0 or self.columns[column] in TEXT_COLUMNS


@dataclass(frozen=True)
class Table:
    """A table with its caption. `records` are the numbers unrounded, for the CSV; `marks` is what
    `--strict` refuses."""

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    records: tuple[dict[str, Any], ...] = ()
    marks: tuple[str, ...] = field(default=())


def row(*texts: str | Value, kind: Literal["row", "mean"] = "row") -> Line:
    """A line of values; plain texts are not bold."""
    return Line(tuple(v if isinstance(v, Value) else Value(v) for v in texts), kind)


def block(text: str) -> Line:
    """A heading line."""
    return Line((Value(text),), "block")


def best(values: Sequence[Any | None], *, highest: bool) -> list[bool]:
    """Which values are best; ties are best jointly, None never is."""
    present = [value for value in values if value is not None]
    if not present:
        return [False] * len(values)
    target = max(present) if highest else min(present)
    return [value is not None and value == target for value in values]


def percent(share: float | None, digits: int = 2) -> str:
    """A share as percent, without the sign."""
    return DASH if share is None else f"{100 * share:.{digits}f}"


def millions(tokens: float | None) -> str:
    """Tokens in millions: two decimals, three below 0.1."""
    if tokens is None:
        return DASH
    value = tokens / 1e6
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def count(number: float | None) -> str:
    """A count or a number of tokens with thousands marked."""
    return DASH if number is None else f"{number:,.0f}"


def p_value(p: float | None) -> str:
    """A p value."""
    if p is None:
        return DASH
    return "<0.001" if p < 0.001 else f"{p:.3f}"
