"""python -m scripts.perf.scripted_server REPLIES.json

A tiny OpenAI-compatible server of fixed replies, for measuring what the harness itself costs.
Prints its port and lives as long as its standard input is open. A reply is chosen by the step
number in the prompt's last line; `/tokenize` counts words.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from scripts.perf.scripted_model import reply_for


def answer(path: str, body: Any, replies: list[str]) -> tuple[int, dict[str, Any]]:
    """Status and JSON of one request."""
    if path == "/v1/chat/completions":
        text = reply_for(body["messages"][-1]["content"], replies)
        message = {"role": "assistant", "content": text}
        usage = {
            "prompt_tokens": sum(len(m["content"]) // 4 for m in body["messages"]),
            "completion_tokens": len(text) // 4,
            "prompt_tokens_details": {"cached_tokens": 0},
        }
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return 200, {"object": "chat.completion", "choices": [choice], "usage": usage}
    if path == "/tokenize" and "prompt" in body:
        return 200, {"count": len(body["prompt"].split())}
    if path == "/v1/models":
        return 200, {"data": [{"id": "scripted", "max_model_len": 32_768}]}
    return 404, {"error": {"message": "not found"}}


async def main(replies: list[str]) -> None:
    """Serve until standard input closes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = 0
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:"):
                        length = int(line[15:])
                data = await reader.readexactly(length)
                path = head.split(b" ", 2)[1].decode()
                status, value = answer(path, json.loads(data) if data else {}, replies)
                payload = json.dumps(value).encode()
                writer.write(
                    b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                    % (status, len(payload))
                    + payload
                )
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
