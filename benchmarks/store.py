"""A cell's folder: rows, errors and traces that survive a kill at any byte.

A row is one line, appended whole and synced; its trace is written to a temporary file and renamed
before. A row of status `error` stays until its retry replaces it: the old row then moves to
`errors.jsonl`, both files by atomic rewrite. One process at a time holds a cell (`.lock`).
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import hashlib
import json
import os
import re
import socket
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

import yaml
from pydantic import ValidationError

from benchmarks.errors import SetupError
from benchmarks.provenance import prompt_hash
from benchmarks.records import RowBase
from benchmarks.study import ItemResult

ROWS, ERRORS, CELL, TRACES, LOCK = "rows.jsonl", "errors.jsonl", "cell.yaml", "traces", ".lock"

RowT = TypeVar("RowT", bound=RowBase)


class CellStore:
    """Writes one cell. `say` is told what had to be mended. Close it to let others in."""

    def __init__(
        self, folder: Path, row_type: type[RowBase], say: Callable[[str], None] = print
    ) -> None:
        self.folder = folder
        self._row_type = row_type
        self._say = say
        self._lock: IO[str] | None = None
        self.rows: dict[str, RowBase] = {}

    def open(self, cell: dict[str, Any]) -> None:
        """Lock the folder, check that it is this cell's, mend it and read its rows.

        `cell` holds `digest` and `config`, and what else is worth keeping beside the rows. Raises
        `SetupError` where another process or another configuration owns the folder, or where it
        cannot be written.
        """
        with writing(self.folder):
            (self.folder / TRACES).mkdir(parents=True, exist_ok=True)
            self._take_lock()
        try:
            with writing(self.folder):
                self._open(cell)
        except BaseException:
            self.close()
            raise

    def _open(self, cell: dict[str, Any]) -> None:
        self.check_owner(cell)
        for leftover in [*self.folder.glob(".*.tmp"), *(self.folder / TRACES).glob(".*.tmp")]:
            leftover.unlink()
        _atomic(self.folder / CELL, yaml.safe_dump(cell, sort_keys=False).encode())
        self._cut_torn_line()
        self.rows = self._read(cell["digest"])

    def close(self) -> None:
        """Let other processes in."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def pending(self, ids: Sequence[str]) -> list[str]:
        """Of these items, those without a row or with an `error` row, in their order."""
        return [i for i in ids if i not in self.rows or self.rows[i].status == "error"]

    def write(self, result: ItemResult) -> None:
        """Keep a finished item: the trace first, then its row. A full disk is a `SetupError`."""
        row = result.row
        old = self.rows.get(row.task_id)
        if old is not None and old.status != "error":
            raise RuntimeError(f"{row.task_id} has a row already")
        with writing(self.folder):
            self._write_trace(self.folder / TRACES / trace_name(row.task_id), result.trace)
            if old is None:
                self._append(_line(row))
            else:
                self._replace(old, row)
        self.rows[row.task_id] = row

    def _take_lock(self) -> None:
        lock = (self.folder / LOCK).open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            owner = lock.read().strip() or "another process"
            lock.close()
            raise SetupError(f"{self.folder}: being written by {owner}; wait or stop it") from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}")
        lock.flush()
        self._lock = lock

    def check_owner(self, cell: dict[str, Any]) -> None:
        """Raise `SetupError` if the folder holds rows of another configuration; changes nothing.

        A cell that ended before its first row, as when its server did not start, binds nobody.
        """
        rows = self.folder / ROWS
        if not (self.folder / CELL).exists():
            if rows.exists():
                raise SetupError(f"{self.folder}: has {ROWS} but no {CELL}; choose another label=")
            return
        differing = differences(read_cell(self.folder)["config"], cell["config"])
        if not differing or not (rows.exists() and rows.stat().st_size):
            return
        raise SetupError(
            f"{self.folder}: written under another configuration: {'; '.join(differing)}. "
            "Name another arm with label=NAME, or choose another results_dir="
        )

    def _cut_torn_line(self) -> None:
        path = self.folder / ROWS
        if not path.exists():
            return
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            with path.open("r+b") as file:
                file.truncate(whole)
                os.fsync(file.fileno())
            self._say(f"{path}: cut a torn last line of {len(data) - whole} bytes")

    def _read(self, digest: str) -> dict[str, RowBase]:
        rows: dict[str, RowBase] = {}
        path = self.folder / ROWS
        for row in read_rows(self.folder, self._row_type):
            if row.task_id in rows:
                raise SetupError(f"{path}: {row.task_id} has two rows; choose another label=")
            if row.cell.config_digest != digest:
                other = f"{row.task_id} was made under another configuration"
                raise SetupError(f"{path}: {other}; choose another label=")
            rows[row.task_id] = row
        others = sum(row.cell.prompt_hash != prompt_hash() for row in rows.values())
        if others:
            self._say(
                f"{path}: {others} row(s) were made with other prompts than this checkout's; "
                "tables will mark the cell as mixed (label= starts a fresh one)"
            )
        return rows

    def _write_trace(self, path: Path, lines: Iterable[dict[str, Any]]) -> None:
        text = "".join(json.dumps(line, ensure_ascii=True) + "\n" for line in lines)
        _atomic(path, gzip.compress(text.encode(), compresslevel=6, mtime=0))

    def _append(self, line: bytes) -> None:
        path = self.folder / ROWS
        with path.open("ab", buffering=0) as file:
            size = file.tell()
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except OSError:
                os.ftruncate(file.fileno(), size)  # a full disk must not leave half a row
                raise

    def _replace(self, old: RowBase, new: RowBase) -> None:
        errors = self.folder / ERRORS
        kept = errors.read_bytes().splitlines(keepends=True) if errors.exists() else []
        if _line(old) not in kept:  # a kill between the two rewrites has put it there already
            _atomic(errors, b"".join([*kept, _line(old)]))
        others = [row for row in self.rows.values() if row.task_id != new.task_id]
        _atomic(self.folder / ROWS, b"".join(_line(row) for row in [*others, new]))


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """What the system refuses (a full disk, no permission) as one line: `SetupError`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        again = "the same command goes on from here once there is room and permission"
        raise SetupError(f"{folder}: cannot be written: {reason}; {again}") from error


def read_cell(folder: Path) -> dict[str, Any]:
    """The content of `cell.yaml`; raises `SetupError` if it is damaged."""
    path = folder / CELL
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        content = None
    if not isinstance(content, dict) or not isinstance(content.get("config"), dict):
        raise SetupError(f"{path}: damaged; remove this folder, or choose another label=")
    return content


def _line(row: RowBase) -> bytes:
    return row.model_dump_json(ensure_ascii=True).encode() + b"\n"


def _atomic(path: Path, data: bytes) -> None:
    """Replace a file whole: temporary file, sync, rename, sync of the folder."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def trace_name(task_id: str) -> str:
    """A file name for any task id; ids that are not plain get a hash, so that none collide."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", task_id)[:80] or "_"
    if plain != task_id:
        plain += "-" + hashlib.sha256(task_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain}.jsonl.gz"


def differences(before: Any, after: Any, key: str = "") -> list[str]:
    """`key: old -> new` for every leaf that differs between two configurations."""
    if isinstance(before, dict) and isinstance(after, dict):
        names = [*before, *(name for name in after if name not in before)]
        return [
            line
            for name in names
            for line in differences(
                before.get(name, "(absent)"),
                after.get(name, "(absent)"),
                f"{key}.{name}" if key else str(name),
            )
        ]
    return [] if before == after else [f"{key}: {before} there, {after} now"]


def read_rows(folder: Path, row_type: type[RowT]) -> list[RowT]:
    """The rows of a cell, a torn last line left out; raises `SetupError` on a damaged one."""
    path = folder / ROWS
    if not path.exists():
        return []
    rows: list[RowT] = []
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
        if not line.endswith(b"\n"):
            break
        try:
            rows.append(row_type.model_validate_json(line))
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise SetupError(f"{path}:{number}: not a row of this version: {reason}") from None
    return rows


def read_trace(folder: Path, task_id: str) -> list[dict[str, Any]]:
    """The lines of one item's trace; raises FileNotFoundError, `SetupError` if it is damaged."""
    path = folder / TRACES / trace_name(task_id)
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines: list[dict[str, Any]] = [json.loads(line) for line in file]
    except (EOFError, gzip.BadGzipFile, zlib.error, ValueError) as error:
        raise SetupError(f"{path}: damaged: {error}") from None
    if not lines:
        raise SetupError(f"{path}: damaged: empty")
    return lines


def find_cells(results: Path) -> list[Path]:
    """Every cell folder at or below a path, sorted."""
    return sorted(path.parent for path in results.rglob(CELL))
