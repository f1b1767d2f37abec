from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from agents.tools.base import ToolError
from agents.tools.config import ToolsConfig
from benchmarks.errors import SetupError
from benchmarks.gaia import Gaia, GaiaConfig
from benchmarks.gaia_data import content_hash
from benchmarks.records import Row
from tests.gaia import folder
from tests.tools import attachments

OFFLINE = ToolsConfig(web="off")
CONFIGS = Path(__file__).parents[2] / "configs" / "dataset"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = folder.write(tmp_path_factory.mktemp("gaia"))
    return folder.write(made, split="test")


def config(name: str = "gaia", **changes: Any) -> GaiaConfig:
    keys = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())
    del keys["_target_"]
    return GaiaConfig.model_validate({**keys, **changes})


def test_the_committed_sets() -> None:
    assert sum(config("gaia").counts.values()) == 165
    assert config("gaia").counts == {1: 53, 2: 86, 3: 26}
    assert sum(config("gaia_text").counts.values()) == 127
    assert config("gaia_text").counts == {1: 42, 2: 66, 3: 19}
    assert config("gaia_text").revision == config("gaia").revision


def test_somebodys_own_questions_never_run_under_gaias_name(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, size in (("gaia", 18), ("gaia_text", 4)):
        benchmark = config(name, path=root).load(OFFLINE)
        assert benchmark.name == f"{name}_custom"
        assert len(benchmark.tasks()) == size
        assert benchmark.revision == f"local-{content_hash(root, 'validation')}"
        assert f"it runs as {name}_custom" in capsys.readouterr().err


def test_the_right_counts_keep_the_name(root: Path) -> None:
    benchmark = config("gaia_text", path=root, counts={1: 2, 2: 1, 3: 1}).load(OFFLINE)
    assert benchmark.name == "gaia_text"
    assert all(not task.files for task in benchmark.tasks())


def test_a_repository_with_other_counts_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.gaia.download", lambda revision, split: root)
    with pytest.raises(SetupError, match=r"questions by level are .* and gaia has \{1: 53"):
        config().load(OFFLINE)
    right = config("gaia_text", counts={1: 2, 2: 1, 3: 1})
    assert right.load(OFFLINE).revision == right.revision
    assert right.prefetch() == f"4 questions in {root}"


def test_gold_answers_score_one_and_others_do_not(root: Path) -> None:
    benchmark = config(path=root).load(OFFLINE)
    truths = {row["task_id"]: row["Final answer"] for row in folder.rows()}
    for task in benchmark.tasks():
        assert benchmark.score(task, truths[task.id]) == 1.0
        assert benchmark.score(task, f"not {truths[task.id]}") == 0.0
        assert benchmark.score(task, None) == 0.0
        assert truths[task.id] not in repr(task) or task.files


async def test_a_task_reaches_its_own_file_only(root: Path) -> None:
    benchmark = config(path=root).load(OFFLINE)
    task = next(task for task in benchmark.tasks() if task.id == "file-0")
    read_file = next(tool for tool in benchmark.tools(task) if tool.name == "read_file")
    assert (await read_file.call({"path": "ledger.xlsx"})).ok
    for other in attachments.FACTS:
        if other != "ledger.xlsx":
            with pytest.raises(ToolError, match=r"Attached: ledger\.xlsx\."):
                await read_file.call({"path": str(root / "2023/validation" / other)})


def test_tools_are_made_anew_for_each_task(root: Path) -> None:
    benchmark = config("gaia_text", path=root).load(ToolsConfig())
    first, second = (benchmark.tools(task)[0] for task in benchmark.tasks()[:2])
    assert first is not second
    assert cast(Any, first).contaminated_dropped == 0


def test_preflight_of_a_local_folder(root: Path, tmp_path: Path) -> None:
    assert config(path=root).preflight() == []
    (line,) = config(path=tmp_path).preflight()
    assert "must be laid out" in line


def test_a_folder_without_a_question_to_ask(tmp_path: Path) -> None:
    folder.write(tmp_path, [row for row in folder.rows() if row["file_name"]])
    (line,) = config("gaia_text", path=tmp_path).preflight()
    assert "every question" in line
    assert "dataset=gaia" in line
    assert config("gaia", path=tmp_path).preflight() == []


def rows(answers: dict[str, str | None]) -> Sequence[Row]:
    made = [SimpleNamespace(task_id=id, answer=answer) for id, answer in answers.items()]
    return cast(Sequence[Row], made)


def submitted(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_the_test_split_writes_a_submission(root: Path, tmp_path: Path) -> None:
    every = {1: 7, 2: 6, 3: 5}
    test = config("gaia", split="test", path=root, test_counts=every)
    assert test.name == "gaia_test"
    assert config("gaia", split="test", path=root).load(OFFLINE).name == "gaia_test_custom"
    benchmark = test.load(OFFLINE)
    ids = [task.id for task in benchmark.tasks()]
    assert benchmark.score(benchmark.tasks()[0], "?") == 0.0
    whole, part = tmp_path / "submission.jsonl", tmp_path / "submission.partial.jsonl"
    benchmark.after_cell(tmp_path, rows({ids[1]: "Straße"}))
    assert submitted(part) == [{"task_id": ids[1], "model_answer": "Straße"}]
    assert not whole.exists()
    benchmark.after_cell(tmp_path, rows({**dict.fromkeys(reversed(ids), "x"), ids[0]: None}))
    assert [line["task_id"] for line in submitted(whole)] == ids
    assert submitted(whole)[0] == {"task_id": ids[0], "model_answer": ""}
    assert sorted(tmp_path.iterdir()) == [whole]


def test_the_validation_split_writes_none(root: Path, tmp_path: Path) -> None:
    benchmark = config(path=root).load(OFFLINE)
    assert isinstance(benchmark, Gaia)
    benchmark.after_cell(tmp_path, rows({"text-1": "42"}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [{"split": "train"}, {"revision": "main"}, {"levels": 1}])
def test_wrong_keys_and_values(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        config(**wrong)
