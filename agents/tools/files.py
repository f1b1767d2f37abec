"""`read_file`: the task's own attachments as text, and nothing else of the machine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import BaseModel, ConfigDict, PositiveFloat, PositiveInt

from agents.tools import archives, media
from agents.tools.arguments import refuse_unknown, schema, text_argument, whole_argument
from agents.tools.base import ToolError, ToolResult
from agents.tools.convert import convert
from agents.tools.textfiles import render_text
from agents.tools.tokens import Parts

_CONVERTED = {
    **dict.fromkeys((".csv", ".tsv"), "table"),
    **dict.fromkeys((".xlsx", ".xlsm"), "workbook"),
    **dict.fromkeys((".pdf", ".docx", ".pptx", ".xls", ".html", ".htm", ".epub"), "document"),
}
"""Suffix -> what the child process (see `convert`) reads it as."""


class FilesConfig(BaseModel):
    """Limits of `read_file`: seconds a file, bytes of a file and of all that an archive unpacks."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seconds: PositiveFloat = 60.0
    max_bytes: PositiveInt = 50_000_000
    max_unpacked_bytes: PositiveInt = 200_000_000


class ReadFile:
    """The tool. `files` are what it can reach, by name; an archive's members as `a.zip/name`.

    A path that the model makes up is only ever compared with those names, never opened, so that
    absolute paths, `..` and links lead nowhere.
    """

    name = "read_file"
    description = "Read an attached file as text; a member of an archive as ARCHIVE.zip/MEMBER."
    parameters: dict[str, Any] = schema(
        ("path",),
        path=("string", "file name"),
        part=("integer", "which part of a long file, from 1"),
    )

    def __init__(
        self,
        files: Sequence[Path],
        *,
        result_tokens: int = 2000,
        limits: FilesConfig | None = None,
        vision: bool = False,
    ) -> None:
        self._files = {file.name: file for file in files}
        self._result_tokens = result_tokens
        self._limits = limits or FilesConfig()
        self._vision = vision
        self._rendered: dict[str, tuple[Parts, tuple[str, ...]]] = {}

    async def call(self, arguments: dict[str, Any]) -> ToolResult:
        """Show one part of a file; raises `ToolError`."""
        refuse_unknown(arguments, self.parameters)
        path = text_argument(arguments, "path").strip()
        part = whole_argument(arguments, "part", 1)
        if path not in self._rendered:
            name, member = self._resolve(path)
            data = await asyncio.to_thread(self._load, name, member)
            shown = PurePosixPath(member).name if member else name
            text, images = await self._render_in_time(shown, data)
            parts = await asyncio.to_thread(Parts.of, text, self._result_tokens)
            self._rendered[path] = (parts, images)
        parts, images = self._rendered[path]
        text = parts.show(part)
        return ToolResult(text, ok=bool(text.strip()) or bool(images), images=images)

    def _resolve(self, path: str) -> tuple[str, str]:
        """The attachment that `path` names, and the archive member after it ("" if none)."""
        if not self._files:
            raise ToolError("This question has no attached file.")
        steps = [step for step in path.replace("\\", "/").split("/") if step not in ("", ".")]
        for at, step in enumerate(steps):
            if step in self._files:
                return step, "/".join(steps[at + 1 :])
        raise ToolError(f"No such file: {path[:200]}. Attached: {', '.join(sorted(self._files))}.")

    def _load(self, name: str, member: str) -> bytes:
        file = self._files[name]
        try:
            if file.stat().st_size > self._limits.max_bytes:
                raise ToolError(f"{name} is larger than {self._limits.max_bytes} bytes.")
            data = file.read_bytes()
        except OSError as error:
            raise ToolError(f"{name} cannot be read: {error.strerror}.") from None
        if not member:
            return data
        if not archives.is_archive(name):
            raise ToolError(f"{name} is no archive, so it has no member {member!r}.")
        return archives.read_member(name, data, member, self._limits.max_unpacked_bytes)

    async def _render_in_time(self, name: str, data: bytes) -> tuple[str, tuple[str, ...]]:
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await self._render(name, data)
        except TimeoutError:
            raise ToolError(
                f"{name} could not be read within {self._limits.seconds:g} s."
            ) from None

    async def _render(self, name: str, data: bytes) -> tuple[str, tuple[str, ...]]:
        suffix = PurePosixPath(name).suffix.lower()
        seconds = self._limits.seconds
        # Office files too: judged before any library unpacks them. Text is never unpacked.
        if suffix in _CONVERTED and await asyncio.to_thread(archives.is_zip, data):
            await asyncio.to_thread(archives.check, name, data, self._limits.max_unpacked_bytes)
        if archives.is_archive(name):
            most = self._limits.max_unpacked_bytes
            return await asyncio.to_thread(archives.listing, name, data, most), ()
        if suffix in _CONVERTED:
            return await convert(_CONVERTED[suffix], name, data, seconds), ()
        if suffix in media.IMAGE_TYPES:
            if self._vision:
                return f"{name}: the image is attached.", (media.data_url(name, data),)
            return await convert("image", name, data, seconds), ()
        if suffix in media.AUDIO_SUFFIXES:
            return await convert("audio", name, data, seconds), ()
        return await asyncio.to_thread(render_text, name, data), ()
