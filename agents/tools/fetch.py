"""One page off the web: bounded in time, size and unpacked size; no scripts are run."""

from __future__ import annotations

import asyncio
import email.utils
import ssl
import time
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx

from agents.tools.addresses import AddressPolicy, PinnedTransport, Resolver, resolve
from agents.tools.base import ToolError
from agents.tools.cassette import LastingError
from agents.tools.page import PageConfig

Pause = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class Page:
    """What came: the address after redirects, the media type, its charset, the unpacked bytes."""

    url: str
    media_type: str
    charset: str | None
    body: bytes


class Fetcher:
    """Gets pages under one policy. `pause`, `resolver` and `tls` stand in for waiting, DNS and the
    trusted certificates in tests."""

    def __init__(
        self,
        config: PageConfig,
        *,
        pause: Pause = asyncio.sleep,
        resolver: Resolver = resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._config = config
        self._policy = AddressPolicy(tuple(map(str, config.allowed_networks)))
        self._pause = pause
        self._resolver = resolver
        self._tls = tls

    async def get(self, url: str) -> Page:
        """The page at `url`; raises `ToolError`."""
        config = self._config
        try:
            async with asyncio.timeout(config.seconds):
                return await self._get_patiently(url)
        except TimeoutError:
            raise ToolError(f"{url} did not answer in full within {config.seconds:g} s.") from None
        except httpx.TooManyRedirects:
            raise LastingError(f"{url} redirects too often.") from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError):
            raise LastingError(f"{url[:200]!r} is not an http or https address.") from None
        except (httpx.HTTPError, httpx.StreamError) as error:
            reason = str(error) or type(error).__name__
            raise ToolError(f"{url} could not be read: {reason}.") from None

    async def _get_patiently(self, url: str) -> Page:
        """Wait and ask again where the server says that it is busy."""
        config = self._config
        async with httpx.AsyncClient(
            transport=PinnedTransport(self._policy, self._resolver, self._tls),
            follow_redirects=True,
            max_redirects=config.max_redirects,
            timeout=config.seconds,
            headers={"User-Agent": config.user_agent, "Accept-Encoding": "gzip"},
            trust_env=False,
        ) as client:
            for attempt in range(config.retries + 1):
                async with client.stream("GET", url) as response:
                    if response.status_code not in (429, 503):
                        return await self._take(url, response)
                    wait = _retry_after(response, default=2.0**attempt)
                if wait > config.max_wait_seconds:
                    break
                if attempt < config.retries:
                    await self._pause(wait)
        raise ToolError(
            f"{url} is busy (HTTP {response.status_code}); try again later or elsewhere."
        )

    async def _take(self, url: str, response: httpx.Response) -> Page:
        if response.status_code >= 500:
            raise ToolError(f"{url} failed with HTTP {response.status_code}.")
        if response.status_code >= 400 or response.status_code < 200:
            raise LastingError(f"{url} answered HTTP {response.status_code}.")
        body = await self._read(url, response)
        media_type = response.headers.get("content-type", "text/html").partition(";")[0]
        return Page(str(response.url), media_type.strip().lower(), response.charset_encoding, body)

    async def _read(self, url: str, response: httpx.Response) -> bytes:
        """The body, unpacked by ourselves so that a bomb is stopped while it unpacks."""
        most = self._config.max_bytes
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        unpack = None
        if encoding in ("gzip", "x-gzip", "deflate"):
            unpack = zlib.decompressobj(47)  # gzip or zlib, whichever it is
        elif encoding not in ("identity", ""):
            raise LastingError(f"{url} is packed by {encoding!r}, which was not asked for.")
        body = bytearray()
        async for chunk in response.aiter_raw():
            try:
                body += unpack.decompress(chunk, most + 1 - len(body)) if unpack else chunk
            except zlib.error:
                raise LastingError(f"{url} is damaged: its packing cannot be undone.") from None
            if len(body) > most:
                raise LastingError(f"{url} is larger than {most} bytes.")
        return bytes(body)


def _retry_after(response: httpx.Response, default: float) -> float:
    """Seconds to wait by the header Retry-After: a number or a date."""
    written = response.headers.get("retry-after", "").strip()
    if written.isascii() and written.isdigit():
        return float(written)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(written).timestamp() - time.time())
    except (ValueError, OverflowError):  # no date, or one beyond the calendar
        return default
