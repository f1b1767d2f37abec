"""Zip archives, read in memory and never unpacked to disk; bombs are refused before reading."""

from __future__ import annotations

import io
import zipfile

from agents.tools.base import ToolError

MAX_MEMBERS = 2000
MAX_RATIO = 200
"""Unpacked to packed size of one member above a megabyte; text reaches 20, spreadsheets 60."""
MAX_DEPTH = 2


def is_archive(name: str) -> bool:
    """Whether `name` is opened as an archive."""
    return name.lower().endswith(".zip")


def is_zip(data: bytes) -> bool:
    """Whether a library would open `data` as a zip, as Office files are: also behind a prefix."""
    return data.startswith(b"PK\x03\x04") or zipfile.is_zipfile(io.BytesIO(data))


def check(name: str, data: bytes, max_unpacked_bytes: int) -> zipfile.ZipFile:
    """The opened archive; raises `ToolError` if it is broken or would unpack beyond the limits."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except Exception as error:  # zipfile, struct and the codecs raise whatever the bytes trip over
        raise ToolError(f"{name} is not a readable zip archive: {error}.") from None
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise ToolError(f"{name} holds {len(members)} members; at most {MAX_MEMBERS} are read.")
    if sum(member.file_size for member in members) > max_unpacked_bytes:
        raise ToolError(f"{name} would unpack to more than {max_unpacked_bytes} bytes.")
    for member in members:
        if member.file_size > 1_000_000 and member.file_size > MAX_RATIO * member.compress_size:
            raise ToolError(f"{name} is refused: {member.filename!r} unpacks like a zip bomb.")
    return archive


def listing(name: str, data: bytes, max_unpacked_bytes: int) -> str:
    """What an archive holds, and how to read a member."""
    archive = check(name, data, max_unpacked_bytes)
    members = [member for member in archive.infolist() if not member.is_dir()]
    if not members:
        return f"{name} is an empty archive."
    lines = [f"{member.filename} ({member.file_size} bytes)" for member in members]
    return "\n".join([f"{name} holds {len(lines)} files; read one as {name}/NAME:", *lines])


def read_member(name: str, data: bytes, member: str, max_unpacked_bytes: int) -> bytes:
    """The bytes of `member`, also of an archive within the archive; raises `ToolError`."""
    for _ in range(MAX_DEPTH):
        archive = check(name, data, max_unpacked_bytes)
        names = {_plain(info.filename): info for info in archive.infolist() if not info.is_dir()}
        if member in names:
            return _read(archive, names[member])
        inner = next((key for key in names if is_archive(key) and member.startswith(f"{key}/")), "")
        if not inner:
            raise ToolError(f"{name} has no member {member!r}; read {name} to list them.")
        data, name, member = _read(archive, names[inner]), inner, member[len(inner) + 1 :]
    raise ToolError(f"Archives are opened at most {MAX_DEPTH} deep.")


def _plain(filename: str) -> str:
    """The name as a caller's path is written: no empty and no `.` steps."""
    return "/".join(
        step for step in filename.replace("\\", "/").split("/") if step not in ("", ".")
    )


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open(info) as stream:
            # A member may hold more than its header admits to.
            data = stream.read(info.file_size + 1)
    except Exception as error:  # each packing method has errors of its own
        raise ToolError(f"{info.filename!r} cannot be unpacked: {error}.") from None
    if len(data) > info.file_size:
        raise ToolError(f"{info.filename!r} is larger than the archive says.")
    return data
