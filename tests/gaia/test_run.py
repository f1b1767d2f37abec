"""A cell on a folder in GAIA's layout through `run.py`, offline, on the simulated model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import run
from agents.tools.cassette import Web, content_hash
from tests.gaia import folder


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = folder.write(tmp_path_factory.mktemp("gaia"))
    return folder.write(made, split="test")


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    """A web of two recorded searches; the first result of both is a copy of the benchmark."""
    hits = [
        {"title": "Mirror", "url": "https://hub.example/gaia-benchmark/GAIA", "text": "1931"},
        {
            "title": "Kestrel Bridge",
            "url": "https://bridges.example",
            "text": "The Kestrel Bridge was completed in 1931.",
        },
    ]

    async def record() -> None:
        web = Web("record", tmp_path / "web.sqlite")
        queries = ("the year in which Kestrel Bridge was completed", "Kestrel Bridge")
        for query in queries:
            asked = {"query": query, "results": 8, "region": "us-en", "backend": "auto"}
            await web.ask("search", asked, lambda: _now(hits))

    async def _now(answer: Any) -> Any:
        return answer

    asyncio.run(record())
    return tmp_path / "web.sqlite"


def cell(root: Path, results: Path, *overrides: str, memory: str = "wmt") -> list[dict[str, Any]]:
    """Run one cell; its rows."""
    arguments = ["model=simulated", f"memory={memory}", f"dataset.path={root}"]
    arguments += [f"results_dir={results}", "tools.python.enabled=false", *overrides]
    if not any(override.startswith("dataset=") for override in overrides):
        arguments.append("dataset=gaia_text")
    assert run.main(arguments) == 0
    (file,) = results.rglob("rows.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_whole_set_in_replay(root: Path, cassette: Path, tmp_path: Path) -> None:
    replay = ["tools.web=replay", f"tools.cassette={cassette}"]
    rows = cell(root, tmp_path / "results", *replay)
    assert [row["task_id"] for row in rows] == [id for id, *_ in folder.TEXT_QUESTIONS]
    assert {row["status"] for row in rows} == {"answered"}
    key = rows[0]["cell"]
    assert key["dataset"] == "gaia_text_custom"
    assert key["dataset_full_size"] == 4
    assert not key["dataset_cut"]
    assert key["dataset_revision"].startswith("local-")
    assert key["tools_web"] == "replay"
    assert key["cassette_hash"] == content_hash(cassette)
    asked = next(row for row in rows if row["task_id"] == "text-2")
    assert asked["score"] == 1.0
    assert asked["counters"]["contaminated_dropped"] >= 1
    assert list((tmp_path / "results").glob("main/gaia_text_custom/simulated/wmt/seed0"))


@pytest.mark.parametrize(
    ("cut", "ids"),
    [
        ("dataset.level=1", ["text-1", "text-2"]),
        ("dataset.limit=3", ["text-1", "text-2", "text-3"]),
        ("dataset.ids=[text-4,text-2]", ["text-2", "text-4"]),
    ],
)
def test_cuts_are_marked_in_every_row(root: Path, tmp_path: Path, cut: str, ids: list[str]) -> None:
    rows = cell(root, tmp_path, "tools.web=off", cut)
    assert [row["task_id"] for row in rows] == ids
    assert all(row["cell"]["dataset_cut"] for row in rows)
    assert all(row["cell"]["dataset_full_size"] == 4 for row in rows)


def test_a_file_of_every_kind(root: Path, tmp_path: Path) -> None:
    rows = cell(root, tmp_path, "tools.web=off", "dataset=gaia", memory="linear")
    assert len(rows) == 18
    assert {row["status"] for row in rows} <= {"answered", "step_limit"}


def test_the_test_split_leaves_a_submission(root: Path, tmp_path: Path) -> None:
    rows = cell(root, tmp_path, "tools.web=off", "dataset=gaia", "dataset.split=test")
    assert {row["score"] for row in rows} == {0.0}
    (file,) = tmp_path.rglob("submission.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["task_id"] for line in lines] == [row["task_id"] for row in rows]
    assert set(lines[0]) == {"task_id", "model_answer"}


def test_the_questions_without_a_file_are_no_whole_submission(root: Path, tmp_path: Path) -> None:
    rows = cell(root, tmp_path, "tools.web=off", "dataset.split=test")
    assert len(rows) == 4
    (file,) = tmp_path.rglob("submission*")
    assert file.name == "submission.partial.jsonl"


def test_nothing_to_run_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["model=simulated", "dataset=gaia", f"dataset.path={tmp_path}", "tools.web=off"]
    assert run.main([*arguments, "tools.python.enabled=false"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "must be laid out" in line
