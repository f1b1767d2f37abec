"""Recorded answers of the web in one SQLite file, so that two memories meet the same web."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

from agents.tools.base import ToolError

WebMode = Literal["live", "record", "replay", "off"]
_LASTING = "error"


class LastingError(ToolError):
    """A failure that the page would give again tomorrow: recorded as an answer is."""


class Web:
    """The web as a run sees it: live, recorded or replayed.

    `record` asks the web only for what the file does not hold yet, so that every cell that shares
    the file sees the first answer. `replay` never touches the network. Answers and failures that
    would come again (a missing page) are kept; timeouts and rate limits are not.
    """

    def __init__(self, mode: WebMode, cassette: Path | None) -> None:
        self._mode = mode
        self._cassette = cassette

    async def ask(
        self,
        tool: str,
        arguments: dict[str, Any],
        live: Callable[[], Awaitable[Any]],
    ) -> Any:
        """The JSON answer of `tool` to `arguments`, by `live` if it may be asked."""
        if self._mode == "live" or self._cassette is None:
            return await live()
        key = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
        kept = await asyncio.to_thread(_find, self._cassette, tool, key)
        if kept is None:
            if self._mode == "replay":
                raise ToolError(f"Not recorded: {tool} {key[:300]}.")
            kept = await asyncio.to_thread(_keep, self._cassette, tool, key, await _answer(live))
        answer = json.loads(kept)
        if _LASTING in answer:
            raise LastingError(answer[_LASTING])
        return answer["answer"]


async def _answer(live: Callable[[], Awaitable[Any]]) -> str:
    try:
        return json.dumps({"answer": await live()}, ensure_ascii=False)
    except LastingError as error:
        return json.dumps({_LASTING: str(error)}, ensure_ascii=False)


def _find(cassette: Path, tool: str, key: str) -> str | None:
    if not cassette.exists():
        return None
    with contextlib.closing(sqlite3.connect(_existing(cassette), uri=True, timeout=30)) as file:
        try:
            row = file.execute(
                "SELECT answer FROM web WHERE tool = ? AND arguments = ?", (tool, key)
            )
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):  # another run is just making the file
                return None
            raise
        found = row.fetchone()
    return None if found is None else str(found[0])


def _keep(cassette: Path, tool: str, key: str, answer: str) -> str:
    """Store `answer` unless another run was first; returns what stands."""
    with contextlib.closing(_made(cassette)) as file, file:
        file.execute("INSERT OR IGNORE INTO web VALUES (?, ?, ?)", (tool, key, answer))
        row = file.execute("SELECT answer FROM web WHERE tool = ? AND arguments = ?", (tool, key))
        return str(row.fetchone()[0])


def _made(cassette: Path) -> sqlite3.Connection:
    """The file, made if it is not there."""
    cassette.parent.mkdir(parents=True, exist_ok=True)
    file = sqlite3.connect(cassette, timeout=30)
    try:
        file.execute(
            "CREATE TABLE IF NOT EXISTS web "
            "(tool TEXT, arguments TEXT, answer TEXT NOT NULL, PRIMARY KEY (tool, arguments))"
        )
    except BaseException:
        file.close()
        raise
    return file


def _existing(cassette: Path) -> str:
    """Never made anew, but not read-only: what a killed recording left half is rolled back."""
    return f"{cassette.resolve().as_uri()}?mode=rw"


def content_hash(cassette: Path) -> str:
    """SHA-256 (16 hex digits) of all that the file holds, whatever order it was recorded in."""
    digest = hashlib.sha256()
    with contextlib.closing(sqlite3.connect(_existing(cassette), uri=True, timeout=30)) as file:
        for row in file.execute("SELECT tool, arguments, answer FROM web ORDER BY 1, 2"):
            digest.update(json.dumps(row).encode())
    return digest.hexdigest()[:16]


def check_writable(cassette: Path) -> str:
    """Why nothing can be recorded into `cassette`, which is made if need be; "" if it can."""
    try:
        _made(cassette).close()
    except (OSError, sqlite3.Error) as error:
        return f"{cassette} cannot be recorded into ({error}); give another file"
    return ""


def check(cassette: Path) -> str:
    """What is wrong with `cassette` as something to replay; "" if nothing is."""
    if not cassette.is_file():
        return f"{cassette} does not exist; record it first with tools.web=record"
    try:
        content_hash(cassette)
    except sqlite3.DatabaseError as error:
        return f"{cassette} is not a recording: {error}"
    return ""
