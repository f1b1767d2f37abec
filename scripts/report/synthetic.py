"""Synthetic rows for tests and measurements: hand-made ones, and a grid with the paper's counts.

Nothing here is a result of a run.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.records import CellKey, Counters, RoleTokens, Row
from scripts.report import reference

CELL: dict[str, Any] = {
    "label": "main",
    "dataset": "gaia_text",
    "dataset_revision": "rev1",
    "dataset_ids_hash": "ids1",
    "dataset_full_size": 4,
    "dataset_cut": False,
    "model": "qwen3",
    "model_revision": "w1",
    "server": "vllm",
    "server_version": "0.33.0",
    "simulated": False,
    "smoke_only": False,
    "memory": "linear",
    "seed": 0,
    "config_digest": "digest",
    "prompt_hash": "prompts",
    "git_commit": "abc",
    "git_dirty": False,
    "tools_web": "replay",
    "cassette_hash": "tape",
    "concurrency": 1,
}


def make_row(task_id: str = "q1", score: float = 1.0, prompt: int = 100, **changes: Any) -> Row:
    """A row; cell fields, row fields, counters (`folds=2`) and roles (`selector=30`) by name."""
    cell = {**CELL, **{name: changes.pop(name) for name in list(changes) if name in CELL}}
    counters = {name: changes.pop(name) for name in list(changes) if name in Counters.model_fields}
    tokens = {"agent": RoleTokens(calls=2, prompt=prompt, completion=10, cached=prompt // 4)}
    for role in ("selector", "summarizer", "tool"):
        if role in changes:
            tokens[role] = RoleTokens(calls=1, prompt=changes.pop(role), completion=5)
    fields: dict[str, Any] = {
        "task_id": task_id,
        "level": 1,
        "status": "answered",
        "steps": 3,
        "answer": "x",
        "usage_estimated": False,
        "seconds": 1.5,
        "started_at": 0.0,
    }
    fields.update(changes)
    if fields["status"] == "error":
        fields = {"error": "the server is gone", **fields, "answer": None}
        score = 0.0
    return Row(
        cell=CellKey(**cell), tokens=tokens, counters=Counters(**counters), score=score, **fields
    )


def make_cell(scores: Iterable[float], tokens: Iterable[int], **changes: Any) -> list[Row]:
    """Rows q1, q2, ... of one cell."""
    return [
        make_row(f"q{place}", score, prompt, **changes)
        for place, (score, prompt) in enumerate(zip(scores, tokens, strict=True), start=1)
    ]


def write_rows(root: Path, rows: Iterable[Row]) -> Path:
    """Write rows into the folders of their cells."""
    by_folder: dict[Path, list[Row]] = {}
    for row in rows:
        cell = row.cell
        folder = root / cell.label / cell.dataset / cell.model / cell.memory / f"seed{cell.seed}"
        by_folder.setdefault(folder, []).append(row)
    for folder, members in by_folder.items():
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(row.model_dump_json() + "\n" for row in members)
        (folder / "rows.jsonl").write_text(text, encoding="utf-8")
    return root


def paper_grid(seed: int = 7) -> list[Row]:
    """6,132 rows whose counts of right answers and token totals are the published ones.

    Which questions are right is drawn at random, so paired tests on them mean nothing.
    """
    chance = random.Random(seed)
    rows = []
    for (dataset, model, memory), cell in reference.benchmark().items():
        size = cell.questions
        right = set(chance.sample(range(size), cell.correct))
        total = round(cell.prompt_tokens)
        share = total // size
        for place in range(size):
            prompt = share if place else total - share * (size - 1)
            rows.append(
                make_row(
                    f"task{place:03d}",
                    float(place in right),
                    prompt,
                    dataset=dataset,
                    model=model,
                    memory=memory,
                    model_revision=model,
                    dataset_revision="2023",
                    dataset_ids_hash=dataset,
                    dataset_full_size=size,
                    level=1 + place % 3,
                    steps=1 + place % 10,
                )
            )
    return rows
