from __future__ import annotations

import asyncio
import io
import subprocess
import sys
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from reportlab.pdfgen import canvas

from agents.tools.base import ToolError
from agents.tools.cassette import Web, WebMode, check, check_writable, content_hash
from agents.tools.contamination import ContaminationConfig, ContaminationGuard
from agents.tools.page import PageConfig, ReadPage, _canonical
from tests.tools import webserver
from tests.tools.webserver import Server, article, reply

OPEN = PageConfig.model_validate({"allowed_networks": ["127.0.0.1/32"]})
LIVE = Web("live", None)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with webserver.running() as running:
        yield running


def guard(question: str = "", **lists: object) -> ContaminationGuard:
    return ContaminationGuard(ContaminationConfig.model_validate(lists), question)


def tool(web: Web = LIVE, **lists: object) -> ReadPage:
    return ReadPage(web, guard(**lists), config=OPEN, result_tokens=300)  # type: ignore[arg-type]


async def test_the_text_of_a_page_without_its_scripts(server: Server) -> None:
    server.routes["/a"] = reply(article("The pier was built in 1931 by harbour workers."))
    text = (await tool().call({"url": server.url("/a")})).text
    assert "built in 1931" in text
    assert "document.title" not in text
    assert "run" not in text.split()


async def test_tables_are_kept(server: Server) -> None:
    rows = "".join(f"<tr><td>pier {n}</td><td>{1900 + n}</td></tr>" for n in range(4))
    page = f"<html><body><article><h1>Piers</h1><p>All piers.</p><table>{rows}</table></article>"
    server.routes["/t"] = reply(page.encode())
    assert "| pier 2 | 1902 |" in (await tool().call({"url": server.url("/t")})).text


async def test_parts_and_find_ask_the_server_once(server: Server) -> None:
    lines = "".join(
        f"<p>Paragraph number {n} about the harbour and its boats.</p>" for n in range(99)
    )
    server.routes["/long"] = reply(article(lines))
    page = tool()
    first = await page.call({"url": server.url("/long")})
    second = await page.call({"url": server.url("/long#section"), "part": 2})
    assert "go on with part=2" in first.text
    assert first.text != second.text
    found = await page.call({"url": server.url("/long"), "find": "NUMBER 77 about"})
    assert "number 77 about" in found.text
    assert "number 76 about" in found.text
    assert "number 70 about" not in found.text
    missed = await page.call({"url": server.url("/long"), "find": "submarine"})
    assert not missed.ok
    assert server.asked == ["/long"]


async def test_find_takes_words_in_any_order(server: Server) -> None:
    server.routes["/p"] = reply(b"first line\nthe old harbour light\nlast", kind="text/plain")
    found = await tool().call({"url": server.url("/p"), "find": "light  old"})
    assert "old harbour light" in found.text


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("text/html; charset=iso-8859-1", "cp1252"),
        ("text/html; charset=utf-8", "cp1252"),  # wrong
        ("text/html; charset=no-such-charset", "utf-8"),  # unknown
        ("text/html", "utf-8"),
        ("text/html; charset=ascii", "utf-8"),  # wrong
    ],
)
async def test_wrong_charsets(server: Server, declared: str, encoding: str) -> None:
    text = "Die Brücke über die Förde wurde 1931 eröffnet."
    server.routes["/c"] = reply(article(text).decode().encode(encoding), kind=declared)
    assert "Brücke über die Förde" in (await tool().call({"url": server.url("/c")})).text


async def test_the_charset_of_the_head_of_a_page(server: Server) -> None:
    html = article("Мост был открыт в 1931 году в порту.").decode()
    html = html.replace("<head>", '<head><meta charset="koi8-r">')
    server.routes["/k"] = reply(html.encode("koi8-r"))
    assert "Мост был открыт" in (await tool().call({"url": server.url("/k")})).text


async def test_a_pdf_by_its_text(server: Server) -> None:
    written = io.BytesIO()
    page = canvas.Canvas(written)
    page.drawString(72, 720, "Annual report of the harbour")
    page.showPage()
    page.drawString(72, 720, "Second sheet")
    page.save()
    server.routes["/f"] = reply(written.getvalue(), kind="application/octet-stream")
    text = (await tool().call({"url": server.url("/f")})).text
    assert "Page 1:\nAnnual report of the harbour" in text
    assert "Page 2:\nSecond sheet" in text
    server.routes["/broken"] = reply(b"%PDF-1.4 broken", kind="application/pdf")
    with pytest.raises(ToolError, match="not readable"):
        await tool().call({"url": server.url("/broken")})


async def test_other_kinds(server: Server) -> None:
    server.routes["/j"] = reply(b'{"a": 1}', kind="application/json")
    server.routes["/csv"] = reply(b"a,b\n1,2\n", kind="text/csv")
    server.routes["/png"] = reply(b"\x89PNG", kind="image/png")
    assert (await tool().call({"url": server.url("/j")})).text == '{"a": 1}'
    assert "| 1 | 2 |" in (await tool().call({"url": server.url("/csv")})).text
    with pytest.raises(ToolError, match="image/png"):
        await tool().call({"url": server.url("/png")})


async def test_an_empty_page_is_not_ok(server: Server) -> None:
    server.routes["/e"] = reply(b"")
    assert not (await tool().call({"url": server.url("/e")})).ok


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://a/b", "javascript://a", ""])
async def test_http_and_https_only(url: str) -> None:
    with pytest.raises(ToolError):
        await tool().call({"url": url})


async def test_listed_pages_are_dropped_and_counted(server: Server) -> None:
    server.routes["/gaia-mirror/1"] = reply(article("Questions and answers."))
    page = tool(addresses=["gaia-mirror"])
    with pytest.raises(ToolError, match="closed in this benchmark"):
        await page.call({"url": server.url("/GAIA-mirror/1")})
    assert server.asked == []
    server.routes["/short"] = reply(status="302 Found", Location="/gaia-mirror/1")
    with pytest.raises(ToolError, match="closed"):
        await page.call({"url": server.url("/short")})
    assert page.contaminated_dropped == 2


async def test_a_copy_of_the_question_is_dropped_and_counted(server: Server) -> None:
    question = (
        "Which of the nine piers of the old harbour was the last to lose its crane, and when?"
    )
    copied = question.replace("nine piers", "<b>nine</b>\n piers").upper()
    server.routes["/copy"] = reply(article(f"Task 7. {copied} Final answer: pier 4, 1931"))
    server.routes["/fine"] = reply(article("The nine piers of the old harbour lost their cranes."))
    page = tool(question=question)
    with pytest.raises(ToolError, match="closed"):
        await page.call({"url": server.url("/copy")})
    assert (await page.call({"url": server.url("/fine")})).ok
    assert page.contaminated_dropped == 1


async def test_record_then_replay_without_a_server(tmp_path: Path) -> None:
    cassette = tmp_path / "web.sqlite"
    async with webserver.running() as server:
        server.routes["/a"] = reply(article("The pier was built in 1931 by harbour workers."))
        url, lost = server.url("/a"), server.url("/lost")
        recorded = await tool(Web("record", cassette)).call({"url": url})
        with pytest.raises(ToolError, match="HTTP 404"):
            await tool(Web("record", cassette)).call({"url": lost})
        # What is on the tape stays, even where the web has moved on.
        server.routes["/a"] = reply(article("The pier was built in 1999."))
        assert await tool(Web("record", cassette)).call({"url": url}) == recorded
    replay = tool(Web("replay", cassette))
    assert await replay.call({"url": url}) == recorded
    assert "1931" in (await replay.call({"url": url, "find": "pier"})).text
    with pytest.raises(ToolError, match="HTTP 404"):
        await replay.call({"url": lost})
    with pytest.raises(ToolError, match="Not recorded"):
        await replay.call({"url": "http://127.0.0.1:9/other"})


async def test_a_failure_that_may_pass_is_not_recorded(server: Server, tmp_path: Path) -> None:
    cassette = tmp_path / "web.sqlite"
    server.routes["/a"] = [reply(status="500 Oops"), reply(article("Up again, says the pier."))]
    page = tool(Web("record", cassette))
    with pytest.raises(ToolError, match="500"):
        await page.call({"url": server.url("/a")})
    assert "Up again" in (await page.call({"url": server.url("/a")})).text


async def test_the_hash_is_of_what_was_recorded_not_of_its_order(tmp_path: Path) -> None:
    async def one() -> int:
        return 1

    async def two() -> int:
        return 2

    for name, order in (("x", ((1, one), (2, two))), ("y", ((2, two), (1, one)))):
        for number, live in order:
            await Web("record", tmp_path / name).ask("t", {"n": number}, live)
    assert content_hash(tmp_path / "x") == content_hash(tmp_path / "y")
    await Web("record", tmp_path / "y").ask("t", {"n": 3}, one)
    assert content_hash(tmp_path / "x") != content_hash(tmp_path / "y")


def test_what_is_wrong_with_a_cassette(tmp_path: Path) -> None:
    assert "tools.web=record" in check(tmp_path / "none")
    (tmp_path / "text").write_text("not a database, but long enough to look like a file" * 9)
    assert "not a recording" in check(tmp_path / "text")
    for place in (tmp_path / "text", tmp_path / "text" / "below", tmp_path):
        assert "cannot be recorded into" in check_writable(place)
    assert check_writable(tmp_path / "new" / "web.sqlite") == ""
    assert check(tmp_path / "new" / "web.sqlite") == ""


async def test_a_half_made_file_is_an_empty_one(tmp_path: Path) -> None:
    cassette = tmp_path / "web.sqlite"
    cassette.touch()  # as another run leaves it for a moment

    async def live() -> int:
        return 1

    with pytest.raises(ToolError, match="Not recorded"):
        await Web("replay", cassette).ask("t", {"n": 1}, live)
    assert await Web("record", cassette).ask("t", {"n": 1}, live) == 1


@pytest.mark.parametrize("mode", ["replay", "record"])
async def test_a_recording_that_was_killed_is_read_on(mode: WebMode, tmp_path: Path) -> None:
    cassette = tmp_path / "web.sqlite"

    async def live() -> int:
        return 1

    await Web("record", cassette).ask("t", {"n": 1}, live)
    code = (
        "import os, sqlite3, sys; file = sqlite3.connect(sys.argv[1])\n"
        "file.execute('PRAGMA cache_size=1')\n"
        "for n in range(3000):\n"
        "    file.execute('INSERT INTO web VALUES (?, ?, ?)', ('t', str(n), 'x' * 500))\n"
        "os._exit(9)"
    )
    killed = [sys.executable, "-c", code, str(cassette)]
    await asyncio.to_thread(subprocess.run, killed, check=False)
    assert (tmp_path / "web.sqlite-journal").stat().st_size  # the half is on the disk
    assert check(cassette) == ""
    assert await Web(mode, cassette).ask("t", {"n": 1}, live) == 1


async def test_many_record_into_one_file_and_hear_the_same(tmp_path: Path) -> None:
    answers = iter(range(99))

    async def live() -> int:
        await asyncio.sleep(0)
        return next(answers)

    asked = [Web("record", tmp_path / "web.sqlite").ask("t", {"n": 1}, live) for _ in range(8)]
    assert len(set(await asyncio.gather(*asked))) == 1


@pytest.mark.parametrize("charset", ["undefined", "punycode", "idna", "a\0b", "no-such"])
async def test_a_charset_that_is_none(charset: str, server: Server) -> None:
    head = f'<meta charset="{charset}">'.encode()
    body = article("The pier was built in 1931 by harbour workers.")
    server.routes["/a"] = reply(head + body)
    assert "built in 1931" in (await tool().call({"url": server.url("/a")})).text


async def test_a_wide_table_of_the_web_is_cut(server: Server) -> None:
    wide = b"a" + b"," * 100_000 + b"z\n" + b"1,2\n" * 20_000
    server.routes["/wide.csv"] = reply(wide, kind="text/csv")
    text = (await tool().call({"url": server.url("/wide.csv")})).text
    assert "| a |" in text


async def test_a_page_that_cannot_be_read_is_recorded(tmp_path: Path) -> None:
    cassette = tmp_path / "web.sqlite"
    async with webserver.running() as server:
        server.routes["/scan"] = reply(b"%PDF-1.4 not really", kind="application/pdf")
        url = server.url("/scan")
        with pytest.raises(ToolError) as first:
            await tool(Web("record", cassette)).call({"url": url})
    with pytest.raises(ToolError) as again:
        await tool(Web("replay", cassette)).call({"url": url})
    assert str(again.value) == str(first.value)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("example.com/A?b=C#d", "https://example.com/A?b=C"),
        ("example.com?q=https://other.example", "https://example.com/?q=https://other.example"),
        ("//example.com/", "https://example.com/"),
        ("https://Me:Secret@example.com/", "https://Me:Secret@example.com/"),
    ],
)
def test_one_page_has_one_address(written: str, meant: str) -> None:
    assert _canonical(written) == meant


@pytest.mark.parametrize(
    "hidden",
    ["_{}_", "**{}**", "{}\u200b", "\u00ad{}", "{}\n"],
)
def test_no_way_of_writing_hides_a_copy(hidden: str) -> None:
    question = "In what year was the caf\u00e9 at the end of the old Kestrel pier first opened"
    copy = " ".join(hidden.format(word) for word in question.upper().split())
    assert guard(question, question_words=10).bars_text(copy)
    assert guard(question, question_words=10).bars_text(unicodedata.normalize("NFD", copy))
    assert not guard(question, question_words=10).bars_text("The old Kestrel pier opened in 1931.")
