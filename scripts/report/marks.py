"""Marks: what keeps a number from being a complete, clean result of the real method.

They stand beside the number in its table and are explained in the caption; `--strict` refuses a
table that has any.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

MEANING = {
    "simulated": "the rule-based reader answered, no language model",
    "smoke-only": "a model too weak to show differences between memories",
    "error": "questions that ended with an error; they count as wrong",
    "missing": "questions without a row yet; the numbers are over the others",
    "cut": "fewer questions than the full set, by choice",
    "mixed config": "rows of one cell were made under different settings",
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

_SAME_IN_BLOCK = {
    "mixed data": ["dataset_revision", "dataset_ids_hash"],
    "mixed commit": ["git_commit"],
    "mixed prompts": ["prompt_hash"],
    "mixed weights": ["model_revision"],
    "mixed server": ["server", "server_version"],
    "mixed pages": ["tools_web", "cassette_hash"],
}
_SAME_EVERYWHERE = {"mixed commit": ["git_commit"], "mixed prompts": ["prompt_hash"]}


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
    if (rows.groupby("seed")["config_digest"].nunique() > 1).any():
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
    marks = list(_mixed(rows, _SAME_EVERYWHERE))
    if not rows.empty and (rows.groupby("dataset")["dataset_revision"].nunique() > 1).any():
        marks.append("mixed data")
    return tuple(marks)


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
