"""Reading the folder, and what is said when it or the gated repository cannot be had."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import huggingface_hub
import pyarrow.parquet as pq
import pytest
from huggingface_hub import errors

from benchmarks import gaia_data
from benchmarks.errors import SetupError
from tests.gaia import folder
from tests.tools import attachments

REVISION = "0" * 40


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder.write(tmp_path_factory.mktemp("gaia"))


def test_questions_in_their_order(root: Path) -> None:
    questions = gaia_data.read(root, "validation")
    assert [question.id for question in questions] == [row["task_id"] for row in folder.rows()]
    assert [question.level for question in questions][:4] == [1, 1, 2, 3]
    files = [question.file.name for question in questions if question.file]
    assert files == list(attachments.FACTS)


def test_nothing_is_left_in_the_folder_or_elsewhere(root: Path, monkeypatch: Any) -> None:
    cache = root / "cache"
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", cache)
    before = sorted(root.rglob("*"))
    gaia_data.read(root, "validation")
    assert sorted(root.rglob("*")) == before


Spoil = Callable[[list[dict[str, Any]]], object]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda rows: rows.clear(), "holds no questions"),
        (lambda rows: [row.pop("Final answer") for row in rows], "no column 'Final answer'"),
        (lambda rows: rows[1].update(Level="4"), "level '4'"),
        (lambda rows: rows[1].update(task_id="text-1"), "same task_id twice"),
        (lambda rows: rows[4].update(file_path="2023/validation/no.xlsx"), "missing.*prefetch"),
        (lambda rows: rows[1].update(Question=None), "'text-2' has no 'Question'"),
        (lambda rows: rows[1].update({"Final answer": " "}), "'text-2' has no 'Final answer'"),
        (lambda rows: rows[1].update(task_id=None), "has no 'task_id'"),
        (lambda rows: rows[4].update(file_path="../secret"), "lies outside"),
        (lambda rows: rows[4].update(file_path="/etc/passwd"), "lies outside"),
        (lambda rows: rows[4].update(file_path="2023/validation/link"), "lies outside"),
    ],
)
def test_one_clear_line(tmp_path: Path, spoil: Spoil, said: str) -> None:
    rows = folder.rows()
    spoil(rows)
    folder.write(tmp_path, rows)
    (tmp_path / "2023/validation/link").symlink_to("/etc/passwd")
    with pytest.raises(SetupError, match=said) as caught:
        gaia_data.read(tmp_path, "validation")
    assert len(caught.value.lines) == 1
    assert "\n" not in str(caught.value)


def test_attachments_are_found_without_their_path(tmp_path: Path) -> None:
    rows = folder.rows()
    for row in rows:
        row["file_path"] = None
    files = [
        question.file for question in gaia_data.read(folder.write(tmp_path, rows), "validation")
    ]
    assert [file.name for file in files if file] == list(attachments.FACTS)


def test_who_asks_no_file_needs_none(tmp_path: Path) -> None:
    folder.write(tmp_path)
    for name in attachments.FACTS:
        (tmp_path / "2023/validation" / name).unlink()
    with pytest.raises(SetupError, match="missing"):
        gaia_data.read(tmp_path, "validation")
    questions = gaia_data.read(tmp_path, "validation", text_only=True)
    assert len(questions) == len(folder.rows())


def test_a_table_without_questions(tmp_path: Path) -> None:
    table = folder.write(tmp_path) / "2023/validation/metadata.parquet"
    pq.write_table(pq.read_schema(table).empty_table(), table)
    with pytest.raises(SetupError, match="holds no questions"):
        gaia_data.read(tmp_path, "validation")


def test_wrong_layout(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="must be laid out"):
        gaia_data.read(tmp_path, "validation")
    (tmp_path / "2023/validation").mkdir(parents=True)
    (tmp_path / "2023/validation/metadata.parquet").write_text("no parquet")
    with pytest.raises(SetupError, match="cannot be read"):
        gaia_data.read(tmp_path, "validation")


def test_the_links_of_the_hubs_cache_are_followed(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / REVISION
    folder.write(snapshot)
    blobs.mkdir()
    for file in (snapshot / "2023/validation").iterdir():
        file.rename(blobs / f"sha-{file.name}")
        file.symlink_to(Path("../../../../blobs") / f"sha-{file.name}")
    names = [q.file.name for q in gaia_data.read(snapshot, "validation") if q.file]
    assert names == list(attachments.FACTS)


def refusal(kind: type[errors.HfHubHTTPError]) -> Exception:
    return kind("401 Client Error. Access is restricted.\nmore", response=_response())


def _response() -> Any:
    # The hub's client is httpx or its successor, whichever its version brings.
    module = errors.HfHubHTTPError.__mro__[1].__module__.split(".")[0]
    library = __import__(module) if module.startswith("httpx") else httpx
    request = library.Request("GET", "https://hub.example")
    return library.Response(401, request=request)


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (lambda: refusal(errors.GatedRepoError), "accept its conditions.*HF_TOKEN"),
        (lambda: refusal(errors.RepositoryNotFoundError), "accept its conditions.*HF_TOKEN"),
        (lambda: refusal(errors.RevisionNotFoundError), "dataset.revision"),
        (lambda: errors.LocalEntryNotFoundError("nothing here"), "prefetch.*dataset.path"),
        (lambda: errors.OfflineModeIsEnabled("offline"), "prefetch.*dataset.path"),
        (lambda: ConnectionError("no route"), "prefetch.*dataset.path"),
    ],
)
def test_no_access(
    monkeypatch: pytest.MonkeyPatch, raised: Callable[[], Exception], said: str
) -> None:
    def snapshot_download(*_: object, **__: object) -> str:
        raise raised()

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    with pytest.raises(SetupError, match=said) as caught:
        gaia_data.download(REVISION, "validation")
    assert "\n" not in str(caught.value)


def test_what_preflight_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    (line,) = gaia_data.missing(REVISION, "validation")
    assert "accept its conditions" in line
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: "hf_x")
    assert gaia_data.missing(REVISION, "validation") == []
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (line,) = gaia_data.missing(REVISION, "validation")
    assert "HF_HUB_OFFLINE" in line


def test_what_is_asked_of_the_hub(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    asked: dict[str, Any] = {}

    def snapshot_download(repository: str, **options: Any) -> str:
        asked.update(options, repository=repository)
        return str(root)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    assert gaia_data.download(REVISION, "test") == root
    assert asked["repository"] == "gaia-benchmark/GAIA"
    assert asked["repo_type"] == "dataset"
    assert asked["revision"] == REVISION
    assert asked["allow_patterns"] == ["2023/test/*"]
