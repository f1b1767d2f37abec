"""`read_page`: a web page or an online PDF as text, in parts, with a find argument."""

from __future__ import annotations

import asyncio
import codecs
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    IPvAnyNetwork,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)

from agents.tools.arguments import refuse_unknown, schema, text_argument, whole_argument
from agents.tools.base import ToolError, ToolResult
from agents.tools.cassette import LastingError, Web
from agents.tools.contamination import ContaminationGuard
from agents.tools.convert import convert
from agents.tools.textfiles import decode
from agents.tools.tokens import Parts

if TYPE_CHECKING:
    from agents.tools.fetch import Fetcher, Page

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
CONTEXT_LINES = 1
"""Lines shown around a line that `find` hits."""


class PageConfig(BaseModel):
    """Limits of `read_page`: seconds for everything, bytes after unpacking, waits when limited.

    `allowed_networks` opens ranges that are refused otherwise, such as an intranet's.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    seconds: PositiveFloat = 30.0
    max_bytes: PositiveInt = 10_000_000
    max_redirects: NonNegativeInt = 5
    retries: NonNegativeInt = 2
    max_wait_seconds: float = Field(10.0, ge=0)
    links: bool = False
    user_agent: str = "Mozilla/5.0 (compatible; research agent)"
    allowed_networks: tuple[IPvAnyNetwork, ...] = ()


class ReadPage:
    """The tool. What a page said is kept for the question, so parts of it do not ask again."""

    name = "read_page"
    description = "Read a web page or online PDF as text."
    parameters: dict[str, Any] = schema(
        ("url",),
        url=("string", "http or https address"),
        part=("integer", "which part of a long page, from 1"),
        find=("string", "show only the lines around these words"),
    )

    def __init__(
        self,
        web: Web,
        guard: ContaminationGuard,
        *,
        config: PageConfig | None = None,
        result_tokens: int = 2000,
        fetcher: Fetcher | None = None,
    ) -> None:
        self._web = web
        self._guard = guard
        self._config = config or PageConfig()
        self._result_tokens = result_tokens
        self._fetcher = fetcher
        self._pages: dict[str, str | None] = {}  # None: a copy of the benchmark
        self.contaminated_dropped = 0

    async def call(self, arguments: dict[str, Any]) -> ToolResult:
        """Show one part of a page, or of what `find` hits in it; raises `ToolError`."""
        refuse_unknown(arguments, self.parameters)
        url = _canonical(text_argument(arguments, "url"))
        part = whole_argument(arguments, "part", 1)
        find = text_argument(arguments, "find", "").strip()
        text = await self._text(url)
        if find:
            text = _around(text, find)
        if not text.strip():
            nothing = f"{find!r} is not on the page." if find else "The page holds no text."
            return ToolResult(nothing, ok=False)
        parts = await asyncio.to_thread(Parts.of, text, self._result_tokens)
        return ToolResult(parts.show(part))

    async def _text(self, url: str) -> str:
        if self._guard.bars_address(url):
            raise self._barred(url)
        if url not in self._pages:
            asked = {"url": url, "links": self._config.links}
            page = await self._web.ask(self.name, asked, lambda: self._live(url))
            barred = await asyncio.to_thread(self._bars, page)
            self._pages[url] = None if barred else page["text"]
        text = self._pages[url]
        if text is None:
            raise self._barred(url)
        return text

    def _bars(self, page: dict[str, str]) -> bool:
        return self._guard.bars_address(page["url"]) or self._guard.bars_text(page["text"])

    def _barred(self, url: str) -> ToolError:
        self.contaminated_dropped += 1
        return ToolError(f"{url} is closed in this benchmark; use another source.")

    async def _live(self, url: str) -> dict[str, str]:
        if self._fetcher is None:
            from agents.tools.fetch import Fetcher  # httpx, which replay does without

            self._fetcher = Fetcher(self._config)
        page = await self._fetcher.get(url)
        return {"url": page.url, "text": await self._extract(page)}

    async def _extract(self, page: Page) -> str:
        """The text of what came, by its media type."""
        seconds = self._config.seconds
        kind = page.media_type
        name = page.url
        if kind == "application/pdf" or page.body.startswith(b"%PDF-"):
            return await convert("pdf", name, page.body, seconds)
        if kind in ("text/html", "application/xhtml+xml", ""):
            html = _decode(page).encode("utf-8", "replace")
            return await convert(
                "page-links" if self._config.links else "page", name, html, seconds
            )
        if kind == "text/csv":
            table = _decode(page).encode("utf-8", "replace")
            return await convert("table", name, table, seconds)
        if kind.startswith("text/") or kind.endswith(("json", "xml", "javascript")):
            return _decode(page)
        raise LastingError(f"{name} is {kind}, not a page of text.")


def _canonical(url: str) -> str:
    """The address without its fragment, so that one page has one record."""
    address = urldefrag(url.strip().strip("<>\"'")).url
    if not _SCHEME.match(address):
        address = f"https://{address.lstrip('/')}"
    scheme, _, rest = address.partition("://")
    if scheme.lower() not in ("http", "https"):
        raise ToolError(f"Only http and https pages can be read, not {address[:200]}.")
    # Scheme and host mean the same in any case, and no path the same as "/".
    host = re.split("[/?]", rest, maxsplit=1)[0]
    path = rest[len(host) :]
    if "@" not in host:  # before it stands a name and a password, in their own case
        host = host.lower()
    return f"{scheme.lower()}://{host}{'' if path.startswith('/') else '/'}{path}"


def _decode(page: Page) -> str:
    """Text by the charset that was announced, unless the bytes say otherwise."""
    charset = page.charset
    if charset is None and b"<meta" in page.body[:4096].lower():
        charset = _declared(page.body[:4096])
    text = decode(page.body)
    if charset is None or page.body.startswith(b"\xef\xbb\xbf"):
        return text
    try:
        # These are encodings of domain names, slow on long texts, and never a page's.
        if codecs.lookup(charset).name in ("punycode", "idna"):
            return text
        return page.body.decode(charset)
    except (LookupError, ValueError):  # unknown, or what some codecs raise: not the bytes' charset
        return text


def _declared(head: bytes) -> str | None:
    """The charset in an HTML head."""
    _, found, rest = head.lower().partition(b"charset=")
    name = rest.lstrip(b"\"' ")[:40]
    for end in b"\"' ;/>":
        name = name.split(bytes([end]))[0]
    return name.decode("ascii", "ignore") if found and name else None


def _around(text: str, find: str) -> str:
    """The lines that hold `find` in any case, or else all of its words, with their neighbours."""
    lines = [line for line in text.splitlines() if line.strip()]
    sought = " ".join(find.lower().split())
    flat = [" ".join(line.lower().split()) for line in lines]
    hits = [at for at, line in enumerate(flat) if sought in line]
    if not hits:
        words = sought.split()
        hits = [at for at, line in enumerate(flat) if all(word in line for word in words)]
    shown = sorted(
        {
            near
            for at in hits
            for near in range(max(0, at - CONTEXT_LINES), min(len(lines), at + CONTEXT_LINES + 1))
        }
    )
    pieces: list[str] = []
    for position, at in enumerate(shown):
        if position and at > shown[position - 1] + 1:
            pieces.append("...")
        pieces.append(lines[at])
    return "\n".join(pieces)
