"""The example is compared with what is made anew: times may differ, results may not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.store import trace_name
from scripts import example, schema
from scripts.report.load import load_results
from scripts.report.synthetic import make_cell, write_rows


def make(root: Path, *, seconds: float = 1.0, score: float = 1.0, commit: str = "abc") -> Path:
    rows = make_cell([score] * 13, [9] * 13, git_commit=commit, seconds=seconds)
    write_rows(root, rows)
    folder = root / "main" / "gaia_text" / "qwen3" / "linear" / "seed0"
    (folder / "cell.yaml").write_text("digest: x\nconfig: {}\n")
    (folder / "ledger.json").write_text("{}")
    (folder / "traces").mkdir()
    for row in rows:
        line = {"type": "header", "call": {"memory_seconds": seconds, "prompt_tokens": 3}}
        data = gzip.compress(json.dumps(line).encode())
        (folder / "traces" / trace_name(row.task_id)).write_bytes(data)
    return root


def kept(tmp_path: Path, name: str, **changes: Any) -> Path:
    example.keep(make(tmp_path / f"{name}_made", **changes), tmp_path / name)
    return tmp_path / name


def test_only_what_is_needed_is_kept(tmp_path: Path) -> None:
    root = kept(tmp_path, "a")
    names = sorted(path.name for path in root.rglob("*") if path.is_file())
    assert names == ["cell.yaml", "q1.jsonl.gz", "q4.jsonl.gz", "rows.jsonl"]
    assert len(load_results(root).rows) == 13


def test_times_may_differ(tmp_path: Path) -> None:
    found = example.differences(kept(tmp_path, "a"), kept(tmp_path, "b", seconds=2.0))
    assert found == ([], False)


def test_another_commit_is_said_but_no_difference(tmp_path: Path) -> None:
    found = example.differences(kept(tmp_path, "a"), kept(tmp_path, "b", commit="def"))
    assert found == ([], True)


def test_another_result_is_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = kept(tmp_path, "a"), kept(tmp_path, "b", score=0.0)
    found, _ = example.differences(first, second)
    assert found == ["main/gaia_text/qwen3/linear/seed0/rows.jsonl: line 1 differs"]
    monkeypatch.setattr(example, "EXAMPLE", second)
    assert example.main(["--check", "--made", str(tmp_path / "a_made")]) == 1
    assert "1 differences" in capsys.readouterr().err
    monkeypatch.setattr(example, "EXAMPLE", first)
    assert example.main(["--check", "--made", str(tmp_path / "a_made")]) == 0


def test_a_lacking_trace_or_cell_is_a_difference(tmp_path: Path) -> None:
    first, second = kept(tmp_path, "a"), kept(tmp_path, "b")
    (trace,) = second.rglob("q4.jsonl.gz")
    trace.unlink()
    found, _ = example.differences(first, second)
    assert found == ["main/gaia_text/qwen3/linear/seed0/traces/q4.jsonl.gz: only in one of the two"]
    (cell,) = second.rglob("cell.yaml")
    cell.unlink()
    found, _ = example.differences(first, second)
    assert found == ["main/gaia_text/qwen3/linear/seed0: only in one of the two"]


def test_a_lacking_row_is_named_by_its_place(tmp_path: Path) -> None:
    first, second = kept(tmp_path, "a"), kept(tmp_path, "b")
    (rows,) = second.rglob("rows.jsonl")
    text = rows.read_text().splitlines(keepends=True)
    rows.write_text("".join(sorted(text)[:-1]))
    found, provenance = example.differences(first, second)
    assert found == ["main/gaia_text/qwen3/linear/seed0/rows.jsonl: line 13 differs"]
    assert not provenance


@pytest.mark.parametrize("field", ["config_digest", "prompt_hash", "git_commit", "model_revision"])
def test_other_prompts_that_change_no_result_are_said_only(tmp_path: Path, field: str) -> None:
    first, second = kept(tmp_path, "a"), kept(tmp_path, "b")
    (rows,) = second.rglob("rows.jsonl")
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    for line in lines:
        line["cell"][field] = "other"
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert example.differences(first, second) == ([], True)
    lines[0]["tokens"]["agent"]["prompt"] += 1
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found, _ = example.differences(first, second)
    assert found == ["main/gaia_text/qwen3/linear/seed0/rows.jsonl: line 1 differs"]


def test_the_readme_of_results_is_current() -> None:
    assert schema.PATH.read_text(encoding="utf-8") == schema.document()
    assert schema.main(["--check"]) == 0


def test_an_outdated_readme_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "README.md"
    old.write_text("old")
    monkeypatch.setattr(schema, "PATH", old)
    assert schema.main(["--check"]) == 1
    assert schema.main([]) == 0
    assert schema.main(["--check"]) == 0
