"""GAIA's files: from the gated repository at a pinned revision, or from a local folder.

Nothing of GAIA is written anywhere but the cache of the Hugging Face hub.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from benchmarks.errors import SetupError

REPOSITORY = "gaia-benchmark/GAIA"
Split = Literal["validation", "test"]

_COLUMNS = ("task_id", "Question", "Level", "Final answer", "file_name", "file_path")
_PAGE = f"https://huggingface.co/datasets/{REPOSITORY}"
_ACCESS = (
    f"dataset: {REPOSITORY} is not in the cache, and gated: accept its conditions at {_PAGE}, "
    "then run `hf auth login` or set HF_TOKEN (or give dataset.path=FOLDER)"
)
_OFFLINE = (
    "dataset: GAIA is not in the cache and cannot be downloaded from here ({why}); run "
    "`python -m scripts.prefetch` where there is internet, or give dataset.path=FOLDER"
)


@dataclass(frozen=True)
class Question:
    """One row of GAIA. `truth` is "?" in the test split, whose answers are not published."""

    id: str
    text: str
    level: int
    truth: str
    file: Path | None


def download(revision: str, split: Split) -> Path:
    """The repository's folder in the cache, downloaded if need be; raises `SetupError`."""
    try:
        from huggingface_hub import errors
    except ImportError:
        raise SetupError("dataset: GAIA needs the extra 'gaia'; pip install -e '.[gaia]'") from None
    try:
        return _snapshot(revision, split, only_cached=False)
    except (errors.GatedRepoError, errors.RepositoryNotFoundError):
        raise SetupError(_ACCESS) from None
    except errors.RevisionNotFoundError:
        raise SetupError(f"dataset.revision: {REPOSITORY} has no revision {revision!r}") from None
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled, OSError) as error:
        # A refused login shows as a missing entry when the hub's answer was not kept.
        if _caused_by(error, errors.GatedRepoError, errors.RepositoryNotFoundError):
            raise SetupError(_ACCESS) from None
        raise SetupError(_OFFLINE.format(why=_first_line(error))) from None


def missing(revision: str, split: Split) -> list[str]:
    """What keeps `download` from working, as far as that shows without the network."""
    try:
        from huggingface_hub import get_token
    except ImportError:
        return ["dataset: GAIA needs the extra 'gaia'; pip install -e '.[gaia]'"]
    try:
        _snapshot(revision, split, only_cached=True)
        return []
    except OSError:
        pass
    if os.environ.get("HF_HUB_OFFLINE", "0").lower() in ("1", "true", "yes", "on"):
        return [_OFFLINE.format(why="HF_HUB_OFFLINE is set")]
    return [] if get_token() else [_ACCESS]


def _snapshot(revision: str, split: Split, only_cached: bool) -> Path:
    from huggingface_hub import snapshot_download

    folder = snapshot_download(
        REPOSITORY,
        repo_type="dataset",
        revision=revision,
        allow_patterns=[f"2023/{split}/*"],
        local_files_only=only_cached,
    )
    if not _metadata(Path(folder), split).is_file() and only_cached:
        from huggingface_hub.errors import LocalEntryNotFoundError

        raise LocalEntryNotFoundError(f"the {split} split is not in the cache")
    return Path(folder)


def _caused_by(error: BaseException | None, *kinds: type[BaseException]) -> bool:
    while error is not None:
        if isinstance(error, kinds):
            return True
        error = error.__cause__ or error.__context__
    return False


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:120]


def _metadata(folder: Path, split: Split) -> Path:
    return folder / "2023" / split / "metadata.parquet"


def content_hash(folder: Path, split: Split) -> str:
    """SHA-256 (16 hex digits) of the question table of a local folder."""
    return hashlib.sha256(_metadata(folder, split).read_bytes()).hexdigest()[:16]


def read(folder: Path, split: Split, text_only: bool = False) -> list[Question]:
    """The questions of a split in their own order; raises `SetupError`.

    With `text_only` the attachments need not be there: nobody will open them.
    """
    table = _metadata(folder, split)
    if not table.is_file():
        raise SetupError(
            f"dataset: {table} does not exist; the folder must be laid out as {REPOSITORY} is: "
            f"2023/{split}/metadata.parquet and the attachments beside it"
        )
    rows = _rows(table)
    questions = [_question(folder, table, row) for row in rows]
    lost = [question.file for question in questions if question.file and not question.file.exists()]
    if lost and not text_only:
        raise SetupError(
            f"dataset: {len(lost)} attachment(s) are missing, the first is {lost[0]}; download the "
            "repository again (python -m scripts.prefetch), or complete the folder of dataset.path"
        )
    if len({question.id for question in questions}) < len(questions):
        raise SetupError(f"dataset: {table} has the same task_id twice")
    return questions


def _rows(table: Path) -> Sequence[dict[str, Any]]:
    try:
        from datasets import Dataset
        from datasets.utils.logging import CRITICAL, disable_progress_bar, set_verbosity
    except ImportError:
        raise SetupError("dataset: GAIA needs the extra 'gaia'; pip install -e '.[gaia]'") from None
    disable_progress_bar()
    set_verbosity(CRITICAL)  # what goes wrong is said once, by us
    try:
        # The converted copy that the library makes is thrown away: it must not outlive the cache.
        with tempfile.TemporaryDirectory() as scratch:
            rows: list[dict[str, Any]] = []
            if _length(table):  # the library trips over a table without rows
                data = Dataset.from_parquet(str(table), cache_dir=scratch, keep_in_memory=True)
                rows = data.to_list()
    except Exception as error:  # pyarrow and datasets raise what they like
        reason = _first_line(error.__cause__ or error)
        raise SetupError(f"dataset: {table} cannot be read: {reason}") from None
    if not rows:
        raise SetupError(f"dataset: {table} holds no questions; download the repository again")
    lacking = [name for name in _COLUMNS if name not in rows[0]]
    if lacking:
        raise SetupError(f"dataset: {table} has no column {lacking[0]!r}; it is not GAIA's layout")
    return rows


def _length(table: Path) -> int:
    import pyarrow.parquet

    return int(pyarrow.parquet.read_metadata(table).num_rows)


def _question(folder: Path, table: Path, row: dict[str, Any]) -> Question:
    for column in ("task_id", "Question", "Final answer"):
        if row[column] is None or not str(row[column]).strip():
            raise SetupError(f"dataset: {table}: question {row['task_id']!r} has no {column!r}")
    id = str(row["task_id"])
    try:
        level = int(row["Level"])
    except (TypeError, ValueError):
        level = 0
    if level not in (1, 2, 3):
        raise SetupError(f"dataset: {table}: question {id} has level {row['Level']!r}, not 1, 2, 3")
    file = _attachment(folder, table, id, row) if row["file_name"] else None
    return Question(id, str(row["Question"]), level, str(row["Final answer"]), file)


def _attachment(folder: Path, table: Path, id: str, row: dict[str, Any]) -> Path:
    """The attached file, which has to lie in the folder (or, by a link, in the hub's cache)."""
    relative = PurePosixPath(
        str(row["file_path"] or f"2023/{table.parent.name}/{row['file_name']}")
    )
    path = folder / relative
    home = folder.resolve()
    # In the cache a snapshot's files are links to ../../blobs.
    homes = (home, home.parent.parent / "blobs") if home.parent.name == "snapshots" else (home,)
    inside = any(path.resolve().is_relative_to(allowed) for allowed in homes)
    if relative.is_absolute() or ".." in relative.parts or not inside:
        raise SetupError(f"dataset: question {id}: its file {relative} lies outside {folder}")
    return path
