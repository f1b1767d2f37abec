"""A results folder as a pandas frame: one line per question and seed. Traces are not read here."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from pydantic import ValidationError

from benchmarks.records import CellKey, Counters, Row
from benchmarks.store import CELL, ROWS
from poisoning.rows import ScenarioRow
from scripts.report.names import ROLES

KEY = ["label", "dataset", "model", "memory", "seed", "task_id"]
_PLACE = ["folder", "setup", "settings"]


class ResultsError(Exception):
    """A results folder that cannot be read; the message says what, where and what to do."""


@dataclass(frozen=True)
class Results:
    """What a folder holds.

    `rows` has the fields of the cell key, the row, the counters and the tokens, flat; `poisoning`
    holds the rows of the other study as they stand on disk; `torn` lists unreadable last lines.
    """

    root: Path
    rows: pd.DataFrame
    poisoning: tuple[dict[str, Any], ...] = ()
    torn: tuple[str, ...] = ()


def load_results(root: Path) -> Results:
    """Read every `rows.jsonl` below `root`. Raises ResultsError."""
    files = sorted(root.rglob(ROWS))
    if not files:
        raise ResultsError(f"{root}: no {ROWS} below this folder; run a cell first")
    flat: list[dict[str, Any]] = []
    poisoning: list[dict[str, Any]] = []
    torn: list[str] = []
    owners: dict[tuple[Any, ...], Path] = {}
    for path in files:
        settings = _settings(path.parent / CELL)
        for number, line, last in _lines(path):
            try:
                data = json.loads(line)
                row = _row(data)
            except (json.JSONDecodeError, ValidationError) as error:
                if last and isinstance(error, json.JSONDecodeError):
                    torn.append(f"{path}: last line is torn, left out")
                    continue
                raise ResultsError(f"{path}, line {number}: {_first_line(error)}") from error
            cell = row.cell
            key = (cell.label, cell.dataset, cell.model, cell.memory, cell.seed)
            owner = owners.setdefault(key, path.parent)
            if owner != path.parent:
                raise ResultsError(
                    f"{owner} and {path.parent} hold the same cell "
                    f"({'/'.join(map(str, key[:4]))}/seed{key[4]}); name a folder with one of them"
                )
            if isinstance(row, Row):
                flat.append({**flatten(row, path.parent), **settings})
            else:
                poisoning.append({**data, "folder": str(path.parent), **settings})
    if not flat and not poisoning:
        raise ResultsError(f"{root}: no row in {len(files)} {ROWS}; run a cell first")
    return Results(root, frame(flat), tuple(poisoning), tuple(torn))


def _row(data: Any) -> Row | ScenarioRow:
    """A question's row or a scenario's: the one has a score, the other critical steps."""
    if isinstance(data, dict) and "critical_steps" in data:
        return ScenarioRow.model_validate(data)
    return Row.model_validate(data)


def _settings(path: Path) -> dict[str, str]:
    """Digests of a cell's configuration: `setup` all but the seed, `settings` what every memory of
    a block shares as well. Empty where there is no cell.yaml, as in hand-made results."""
    if not path.exists():
        return {"setup": "", "settings": ""}
    try:
        # The C loader is ten times as fast; a grid has 42 of these files.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        config = dict(yaml.load(path.read_bytes(), Loader=loader)["config"])
    except (yaml.YAMLError, OSError, TypeError, KeyError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read ({type(error).__name__})") from error
    config.pop("seed", None)
    setup = _digest(config)
    config.pop("memory", None)
    return {"setup": setup, "settings": _digest(config)}


def _digest(config: dict[str, Any]) -> str:
    text = json.dumps(config, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Flat rows as a frame in a fixed order; a question found twice in a cell counts once, the
    later row."""
    if not rows:
        return pd.DataFrame(columns=flat_columns())
    table = pd.DataFrame(rows, columns=flat_columns())
    # As objects the texts are one block, which selects rows several times as fast as one by one.
    table = table.astype(dict.fromkeys(table.select_dtypes(["str", "object"]).columns, object))
    table = table.sort_values([*KEY, "started_at"], kind="stable")
    return table.drop_duplicates(KEY, keep="last").reset_index(drop=True)


def flatten(row: Row, folder: Path) -> dict[str, Any]:
    """One row without nesting: `prompt_agent`, `cached_selector`, `folds`, ..."""
    flat: dict[str, Any] = dict(row.cell.__dict__)
    flat.update(row.counters.__dict__)
    totals = {"calls": 0, "prompt": 0, "completion": 0, "cached": 0}
    for role in ROLES:
        spent = row.tokens.get(role)
        for name in totals:
            value = getattr(spent, name) if spent else 0
            flat[f"{name}_{role}"] = value
            totals[name] += value
    other = [spent for role, spent in row.tokens.items() if role not in ROLES]
    for name in totals:
        totals[name] += sum(getattr(spent, name) for spent in other)
    flat.update(
        task_id=row.task_id,
        level=row.level,
        status=row.status,
        steps=row.steps,
        score=row.score,
        seconds=row.seconds,
        started_at=row.started_at,
        usage_estimated=row.usage_estimated,
        calls=totals["calls"],
        prompt_tokens=totals["prompt"],
        completion_tokens=totals["completion"],
        cached_tokens=totals["cached"],
        folder=str(folder),
    )
    return flat


def flat_columns() -> list[str]:
    """Column names of the frame."""
    row = ["task_id", "level", "status", "steps", "score", "seconds", "started_at"]
    row += ["usage_estimated", "calls", "prompt_tokens", "completion_tokens", "cached_tokens"]
    by_role = [
        f"{name}_{role}" for role in ROLES for name in ("calls", "prompt", "completion", "cached")
    ]
    return [*CellKey.model_fields, *Counters.model_fields, *row, *by_role, *_PLACE]


def _lines(path: Path) -> list[tuple[int, str, bool]]:
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read ({error.strerror})") from error
    texts = [
        (number, line.decode("utf-8", errors="replace"))
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
    return [(number, text, number == texts[-1][0]) for number, text in texts]


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the line"
        return f"{where}: {first['msg']}; the row was written under another schema"
    return f"not JSON ({error}); the file was edited or damaged"
