"""A real HTTP server on loopback that does what a test tells it to."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

HANG, DROP = "hang", "drop"
"""Never answer; close the connection in the middle of an answer."""


@dataclass
class Answer:
    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    close: bool = False


Handler = Callable[[str, Any], Answer | str]


@dataclass
class Loopback:
    """`requests` holds path, JSON body and headers of everything that was asked."""

    port: int = 0
    requests: list[tuple[str, Any, dict[str, str]]] = field(default_factory=list)
    die: Callable[[], None] = lambda: None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def bodies(self, path: str) -> list[Any]:
        return [body for asked, body, _ in self.requests if asked == path]


@asynccontextmanager
async def loopback(handler: Handler) -> AsyncIterator[Loopback]:
    state = Loopback()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())  # type: ignore[arg-type]
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while head := await reader.readuntil(b"\r\n\r\n"):
                    lines = head.decode().split("\r\n")
                    path = lines[0].split()[1]
                    headers = {
                        name.lower(): value.strip()
                        for name, _, value in (line.partition(":") for line in lines[1:] if line)
                    }
                    data = await reader.readexactly(int(headers.get("content-length", 0)))
                    body = json.loads(data) if data else None
                    state.requests.append((path, body, headers))
                    answer = handler(path, body)
                    if answer == HANG:
                        await asyncio.Event().wait()
                    if isinstance(answer, str):
                        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")
                        break
                    payload = json.dumps(answer.body).encode() if answer.raw is None else answer.raw
                    extra = "".join(
                        f"{name}: {value}\r\n" for name, value in answer.headers.items()
                    )
                    writer.write(
                        f"HTTP/1.1 {answer.status} X\r\nContent-Type: application/json\r\n{extra}"
                        f"Content-Length: {len(payload)}\r\n\r\n".encode()
                        + payload
                    )
                    await writer.drain()
                    if answer.close:
                        break
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)

    def die() -> None:
        server.close()
        for task in tasks:
            task.cancel()

    state.die = die
    state.port = server.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        die()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


USAGE = {
    "prompt_tokens": 50,
    "completion_tokens": 7,
    "prompt_tokens_details": {"cached_tokens": 40},
}


def chat_answer(
    content: str | None = "hello", usage: Any = USAGE, finish: str = "stop", **message: Any
) -> Answer:
    return Answer(
        {
            "choices": [
                {
                    "index": 0,
                    "finish_reason": finish,
                    "message": {"role": "assistant", "content": content, **message},
                }
            ],
            "usage": usage,
        }
    )


def not_found() -> Answer:
    return Answer({"detail": "Not Found"}, status=404)
