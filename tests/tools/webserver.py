"""A web server on loopback that says exactly the bytes a test gives it."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Handler = Callable[[asyncio.StreamWriter], Awaitable[None]]

END = b"\r\n\r\n"
"""Of a head."""


def reply(
    body: bytes = b"", status: str = "200 OK", kind: str = "text/html", **headers: str
) -> bytes:
    """A whole response; `retry_after="1"` becomes the header Retry-After."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + body


def article(text: str) -> bytes:
    """A page with a menu around its text."""
    return (
        f"<html><head><title>T</title></head><body><nav>Home</nav><article><p>{text}</p></article>"
        "<script>document.title = 'run'</script></body></html>"
    ).encode()


class Server:
    """Routes from path to bytes, to a list of bytes (one a request) or to a handler."""

    def __init__(self) -> None:
        self.routes: dict[str, bytes | list[bytes] | Handler] = {}
        self.asked: list[str] = []
        self.heads: list[str] = []
        self.port = 0
        self.default = reply(b"lost", "404 Not Found")

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(END)).decode()
            method, path = head.split()[:2]
            self.asked.append(path)
            self.heads.append(head)
            route = self.routes.get(path, self.default)
            if isinstance(route, list):
                route = route.pop(0)
            if isinstance(route, bytes):
                writer.write(route.partition(END)[0] + END if method == "HEAD" else route)
            else:
                await route(writer)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def running(tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """The server on a free port; whatever still hangs in it ends with the block."""
    server = Server()
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(asyncio.CancelledError):
            await server.serve(reader, writer)
        writer.close()

    listening = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def stall(writer: asyncio.StreamWriter) -> None:
    """Promise a page and never send it."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<p>")
    await writer.drain()
    await asyncio.Event().wait()


async def drip(writer: asyncio.StreamWriter) -> None:
    """A byte now and then, so that no single read ever times out."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


async def flood(writer: asyncio.StreamWriter) -> None:
    """A body without an end."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        writer.write(b"x" * 65536)
        await writer.drain()


def bomb() -> bytes:
    """60 MB of blanks in 60 kB."""
    return reply(gzip.compress(b" " * 60_000_000), Content_Encoding="gzip")
