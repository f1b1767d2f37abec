"""A small folder in GAIA's layout with questions of our own, one attachment of every kind in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.tools import attachments

TEXT_QUESTIONS = (
    ("text-1", "What is six times seven?", "1", "42"),
    ("text-2", "In what year was the Kestrel Bridge completed?", "1", "1931"),
    ("text-3", "Which two harbours have a blue light? In alphabetical order.", "2", "Avon, Brill"),
    ("text-4", "Who painted the ceiling of the customs house?", "3", "Ada Moore"),
)


def rows(split: str = "validation") -> list[dict[str, Any]]:
    """The table's rows; the test split has no answers."""
    found = [row(id, text, level, truth, "", split) for id, text, level, truth in TEXT_QUESTIONS]
    for number, name in enumerate(attachments.FACTS):
        level = str(number % 3 + 1)
        found.append(row(f"file-{number}", f"What does {name} say?", level, name, name, split))
    return found


def row(id: str, text: str, level: str, truth: str, file: str, split: str) -> dict[str, Any]:
    return {
        "task_id": id,
        "Question": text,
        "Level": level,
        "Final answer": truth if split == "validation" else "?",
        "file_name": file,
        "file_path": f"2023/{split}/{file}" if file else "",
        "Annotator Metadata": {"Steps": "", "Number of steps": "1"},
    }


def write(root: Path, table: list[dict[str, Any]] | None = None, split: str = "validation") -> Path:
    """The folder, with `table` as its questions."""
    home = root / "2023" / split
    attachments.make(home)
    pq.write_table(pa.Table.from_pylist(rows(split) if table is None else table), home / TABLE)
    return root


TABLE = "metadata.parquet"
