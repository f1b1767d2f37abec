"""Marks: what keeps a number from being a complete, clean result of the real method.

They stand beside the number in its table and are explained in the caption; `--strict` refuses a
table that has any.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pandas as pd

from scripts.report.layout import Table, block

MEANING = {
    "simulated": "the rule-based reader answered, no language model",
    "smoke-only": "a model too weak to show differences between memories",
    "error": "items that ended with an error; questions count as wrong, tokens until the error",
    "missing": "questions without a row yet; the numbers are over the others",
    "cut": "fewer questions than the full set, by choice",
    "mixed config": "rows of one cell, or its seeds, were made under different settings",
    "mixed settings": "settings beside the memory differ between rows that are compared",
    "mixed data": "different revisions of the data",
    "mixed commit": "different commits of the code",
    "mixed prompts": "different prompt templates",
    "mixed weights": "different revisions of the model",
    "mixed server": "different servers or server versions",
    "mixed pages": "web pages from different sources or recordings",
    "dirty": "the code differed from its commit",
    "estimated": "some token counts are estimates, the server reported none",
    "torn": "a row that could not be read whole was left out",
}
"""What each mark says in a caption; a mark may carry a number, as in `missing 3`."""

LACKING = "missing all"
"""The mark of a memory that did not run where others did."""

_SAME_IN_BLOCK = {
    "mixed settings": ["settings"],
    "mixed data": ["dataset_revision", "dataset_ids_hash"],
    "mixed commit": ["git_commit"],
    "mixed prompts": ["prompt_hash"],
    "mixed weights": ["model_revision"],
    "mixed server": ["server", "server_version"],
    "mixed pages": ["tools_web", "cassette_hash"],
}
_SAME_EVERYWHERE = {"mixed commit": ["git_commit"], "mixed prompts": ["prompt_hash"]}
_SAME_FOR_A_MODEL = {
    "mixed weights": ["model_revision"],
    "mixed server": ["server", "server_version"],
}


def cell_marks(
    rows: pd.DataFrame, *, errors: int, missing: int, cut: bool, full_size: int
) -> tuple[str, ...]:
    """Marks of one cell from its rows (all seeds)."""
    marks = []
    if rows["simulated"].any():
        marks.append("simulated")
    if rows["smoke_only"].any():
        marks.append("smoke-only")
    if errors:
        marks.append(f"error {errors}")
    if missing:
        marks.append(f"missing {missing}")
    if cut:
        marks.append(f"cut {rows['task_id'].nunique()}/{full_size}")
    if (rows.groupby("seed")["config_digest"].nunique() > 1).any() or rows["setup"].nunique() > 1:
        marks.append("mixed config")
    marks.extend(_mixed(rows, _SAME_IN_BLOCK))
    if rows["git_dirty"].any():
        marks.append("dirty")
    if rows["usage_estimated"].any():
        marks.append("estimated")
    return tuple(marks)


def block_marks(rows: pd.DataFrame) -> tuple[str, ...]:
    """Marks of rows that are compared with each other: one arm, set and model, all memories."""
    return _mixed(rows, _SAME_IN_BLOCK)


def table_marks(rows: pd.DataFrame) -> tuple[str, ...]:
    """Marks of a whole table: what must not differ even between models and sets."""
    if rows.empty:
        return ()
    marks = list(_mixed(rows, _SAME_EVERYWHERE))
    if (rows.groupby("dataset")["dataset_revision"].nunique() > 1).any():
        marks.append("mixed data")
    for _, of_model in rows.groupby("model"):
        marks += _mixed(of_model, _SAME_FOR_A_MODEL)
    return tuple(dict.fromkeys(marks))


def with_marks(table: Table, marks: Iterable[str]) -> Table:
    """The table with these marks too, and all of its marks in a last line if no column shows them
    row by row."""
    new = [mark for mark in marks if mark not in table.marks]
    everything = (*table.marks, *new)
    if not everything:
        return table
    caption, panels = table.caption, list(table.panels)
    if new:
        caption += f" Of the whole table: {legend(new)}."
    shown = any("Marks" in panel.columns for panel in panels) or "table4" in table.name
    names = everything if not shown else new
    kinds = dict.fromkeys(kind(mark) for mark in names)
    if kinds and panels:
        line = block(f"Marked: {', '.join(kinds)}")
        panels[-1] = replace(panels[-1], lines=(*panels[-1].lines, line))
    return replace(table, caption=caption, panels=tuple(panels), marks=everything)


def kind(mark: str) -> str:
    """The mark without its number: `missing 3` -> `missing`."""
    return next(name for name in MEANING if mark == name or mark.startswith(name + " "))


def legend(marks: Iterable[str]) -> str:
    """One sentence that explains the marks that occur, empty if there are none."""
    kinds = {kind(mark) for mark in marks}
    return "; ".join(f"{name} = {text}" for name, text in MEANING.items() if name in kinds)


def _mixed(rows: pd.DataFrame, rules: dict[str, list[str]]) -> tuple[str, ...]:
    if rows.empty:
        return ()
    return tuple(
        mark for mark, fields in rules.items() if any(rows[name].nunique() > 1 for name in fields)
    )
