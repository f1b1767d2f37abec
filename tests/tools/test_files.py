from __future__ import annotations

import io
import re
import zipfile
from itertools import pairwise
from pathlib import Path

import openpyxl
import pytest
from openpyxl.worksheet.formula import ArrayFormula

from agents.tools.base import ToolError
from agents.tools.files import FilesConfig, ReadFile
from tests.tools import attachments


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return attachments.make(tmp_path_factory.mktemp("attachments"))


async def read(file: Path, path: str = "", **options: object) -> str:
    tool = ReadFile([file])
    return (await tool.call({"path": path or file.name, **options})).text


def zipped(**members: bytes) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/"), data)
    return written.getvalue()


@pytest.mark.parametrize("name", [n for n in attachments.FACTS if n != "call.mp3"])
async def test_every_kind_of_attachment(name: str, files: dict[str, Path]) -> None:
    result = await ReadFile(list(files.values())).call({"path": name})
    assert result.ok
    assert attachments.FACTS[name] in result.text


async def test_a_recording_says_what_is_missing(files: dict[str, Path]) -> None:
    with pytest.raises(ToolError, match=r"extra 'audio'|WMT_WHISPER_MODEL"):
        await read(files["call.mp3"])


async def test_tables_stay_tables(files: dict[str, Path]) -> None:
    text = await read(files["ledger.xlsx"])
    assert "| Harbour dues | 120 |" in text
    assert "| Total | =B2*2 |" in text
    assert "Filled #FF00AA: A2" in text
    assert "Sheet Rates (hidden):" in text
    assert "| Monday | 1,5 |" in await read(files["rainfall.csv"])
    assert re.search(r"\|\s*berth\s*\|\s*nine\s*\|", await read(files["letter.docx"]))


async def test_a_model_that_sees_gets_the_image(files: dict[str, Path]) -> None:
    result = await ReadFile([files["sign.png"]], vision=True).call({"path": "sign.png"})
    assert result.ok
    assert result.images[0].startswith("data:image/png;base64,iVBOR")


async def test_members_of_an_archive(files: dict[str, Path]) -> None:
    bundle = files["bundle.zip"]
    assert await read(bundle, "bundle.zip/inner/readme.txt") == "The key lies under the mat."
    assert "| Harbour dues | 120 |" in await read(bundle, "bundle.zip/ledger.xlsx")
    with pytest.raises(ToolError, match="no member"):
        await read(bundle, "bundle.zip/inner/other.txt")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../secret.txt",
        "../../etc/passwd",
        "secret.txt",
        "..\\secret.txt",
        "file:///etc/passwd",
        "~/secret.txt",
        "notes.txt/../secret.txt",
        "notes.txt\0",
        ".",
    ],
)
async def test_only_the_tasks_own_files(path: str, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("do not show")
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "notes.txt").write_text("shown")
    (tmp_path / "task" / "link.txt").symlink_to(tmp_path / "secret.txt")
    tool = ReadFile([tmp_path / "task" / "notes.txt"])
    for asked in (path, "link.txt"):
        with pytest.raises(ToolError):
            await tool.call({"path": asked})


async def test_a_path_around_the_own_file_leads_to_it(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("shown")
    assert await read(tmp_path / "notes.txt", "/data/../notes.txt") == "shown"


async def test_members_that_point_outside_are_only_names(tmp_path: Path) -> None:
    file = tmp_path / "slip.zip"
    file.write_bytes(zipped(**{"..__..__evil.txt": b"inside the archive", "__root.txt": b"too"}))
    assert await read(file, "slip.zip/../../evil.txt") == "inside the archive"
    assert await read(file, "slip.zip/root.txt") == "too"
    assert not (tmp_path / "root.txt").exists()
    assert not (tmp_path.parent / "evil.txt").exists()


@pytest.mark.parametrize("name", ["bomb.zip", "bomb.xlsx", "bomb.docx"])
async def test_zip_bombs_are_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(zipped(big=bytes(30_000_000)))
    with pytest.raises(ToolError, match="like a zip bomb"):
        await read(file)


async def test_limits_of_archives(tmp_path: Path) -> None:
    many = tmp_path / "many.zip"
    many.write_bytes(zipped(**{f"f{n}": b"" for n in range(2001)}))
    with pytest.raises(ToolError, match="members"):
        await read(many)
    large = tmp_path / "large.zip"
    large.write_bytes(zipped(a=bytes(900), b=bytes(900)))
    with pytest.raises(ToolError, match="unpack to more"):
        await ReadFile([large], limits=FilesConfig(max_unpacked_bytes=1000)).call(
            {"path": "large.zip"}
        )
    deep = tmp_path / "deep.zip"
    deep.write_bytes(zipped(**{"b.zip": zipped(**{"c.zip": zipped(d=b"x")})}))
    with pytest.raises(ToolError, match="deep"):
        await read(deep, "deep.zip/b.zip/c.zip/d")
    assert "d (1 bytes)" in await read(deep, "deep.zip/b.zip/c.zip")


async def test_an_archive_that_lies_about_its_sizes(tmp_path: Path) -> None:
    data = bytearray(zipped(a=b"0123456789" * 50))
    central = data.rfind(b"PK\x01\x02")
    data[central + 24 : central + 28] = (5).to_bytes(4, "little")
    file = tmp_path / "liar.zip"
    file.write_bytes(bytes(data))
    with pytest.raises(ToolError):
        await read(file, "liar.zip/a")


@pytest.mark.parametrize(
    "name", ["broken.zip", "broken.xlsx", "broken.docx", "broken.pdf", "broken.png", "broken.bin"]
)
async def test_broken_files_are_data(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04 nothing like it \0\0\0")
    with pytest.raises(ToolError, match=r"broken\."):
        await read(tmp_path / name)


async def test_a_sheet_that_claims_a_million_rows_is_cut(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet["A1"] = "first"
    sheet["XFD1048576"] = "last"
    book.save(tmp_path / "wide.xlsx")
    tool = ReadFile([tmp_path / "wide.xlsx"], result_tokens=200)
    assert "first" in (await tool.call({"path": "wide.xlsx"})).text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
async def test_encodings(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_bytes("Größe: 5 €".encode(encoding))
    assert await read(tmp_path / "t.txt") == "Größe: 5 €"


async def test_long_files_come_in_parts(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("".join(f"row {n}\n" for n in range(3000)))
    first = await read(tmp_path / "long.txt")
    assert "go on with part=2" in first
    assert "row 0\n" not in await read(tmp_path / "long.txt", part=2)
    with pytest.raises(ToolError, match="no part"):
        await read(tmp_path / "long.txt", part=99)


async def test_size_time_and_lost_files(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(b"%PDF-1.4\n")
    with pytest.raises(ToolError, match="larger than"):
        await ReadFile([file], limits=FilesConfig(max_bytes=4)).call({"path": "a.pdf"})
    with pytest.raises(ToolError, match="within"):
        await ReadFile([file], limits=FilesConfig(seconds=0.01)).call({"path": "a.pdf"})
    file.unlink()
    with pytest.raises(ToolError, match="cannot be read"):
        await read(file)
    with pytest.raises(ToolError, match="no attached file"):
        await ReadFile([]).call({"path": "a.pdf"})


async def test_an_empty_file_is_not_ok(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("")
    assert not (await ReadFile([tmp_path / "e.txt"]).call({"path": "e.txt"})).ok


@pytest.mark.parametrize("method", ["ZIP_LZMA", "ZIP_BZIP2", "ZIP_DEFLATED", "ZIP_STORED"])
async def test_a_damaged_member_is_data(method: str, tmp_path: Path) -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", getattr(zipfile, method)) as archive:
        archive.writestr("a", bytes(range(256)) * 20)
    data = bytearray(written.getvalue())
    for at in range(31 if method != "ZIP_STORED" else 30, 90):  # what is packed, or the name too
        data[at] ^= 0x8A
    data[7] |= 8  # says that the name is UTF-8
    central = data.rfind(b"PK\x01\x02")
    data[central + 9] |= 8
    (tmp_path / "d.zip").write_bytes(bytes(data))
    with pytest.raises(ToolError, match="cannot be unpacked"):
        await read(tmp_path / "d.zip", "d.zip/a")


async def test_a_bomb_behind_a_prefix_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bomb.xlsx").write_bytes(b"prefix" + zipped(big=bytes(30_000_000)))
    with pytest.raises(ToolError, match="like a zip bomb"):
        await read(tmp_path / "bomb.xlsx")


async def test_tables_are_cut_and_say_so(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("a" + "," * 100_000 + "z\n" + "1,2\n" * 30_000)
    tool = ReadFile([tmp_path / "wide.csv"])
    first = (await tool.call({"path": "wide.csv"})).text
    total = int(first.rpartition("[part 1 of ")[2].partition(";")[0])
    last = (await tool.call({"path": "wide.csv", "part": total})).text
    assert "(shown: 1000 of 30001 rows, 200 of 100001 columns; read the rest with python)" in last


async def test_a_long_field_is_read(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text("name,text\nx," + "word " * 40_000)
    assert "| x | word word" in await read(tmp_path / "long.csv")


async def test_array_formulas_are_shown(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet["A1"] = ArrayFormula("A1:A2", "=B1:B2*2")
    book.save(tmp_path / "array.xlsx")
    assert "| =B1:B2*2 |" in await read(tmp_path / "array.xlsx")


@pytest.mark.parametrize(
    "entities",
    [
        '<!ENTITY a "lol">'
        + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairwise("abcdefghij"))
        + '<!ENTITY x "&j;">',
        '<!ENTITY x SYSTEM "file:///etc/passwd">',
    ],
)
async def test_entities_in_a_workbook_are_refused(entities: str, tmp_path: Path) -> None:
    sheet = (
        f'<!DOCTYPE l [{entities}]><worksheet xmlns="http://schemas.openxmlformats.org/'
        'spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1" t="inlineStr"><is>'
        "<t>&x;</t></is></c></row></sheetData></worksheet>"
    )
    source, written = io.BytesIO(attachments.workbook()), io.BytesIO()
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(written, "w") as new:
        for name in old.namelist():
            new.writestr(name, sheet if name.endswith("sheet1.xml") else old.read(name))
    (tmp_path / "e.xlsx").write_bytes(written.getvalue())
    with pytest.raises(ToolError, match="not a readable xlsx") as caught:
        await read(tmp_path / "e.xlsx")
    assert "\n" not in str(caught.value)
