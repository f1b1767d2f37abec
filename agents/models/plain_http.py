"""A lean JSON POST for `/tokenize`, which is asked far more often than the model.

The client of `agents.models.openai_chat` costs about 3 ms of CPU a request; the standard library's,
on connections that are kept, a fifth of it.
"""

from __future__ import annotations

import asyncio
import http.client
import json
from typing import Any
from urllib.parse import urlsplit


class JsonPoster:
    """POSTs JSON to one server from worker threads, reusing connections."""

    def __init__(self, root: str, *, api_key: str, timeout: float) -> None:
        parts = urlsplit(root)
        self._secure = parts.scheme == "https"
        self._host, self._prefix = parts.netloc, parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {api_key}"}
        self._timeout = timeout
        self._idle: list[http.client.HTTPConnection] = []

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        """Status and content; raises `OSError` or `http.client.HTTPException`."""
        return await asyncio.to_thread(self._post, path, json.dumps(body).encode())

    def close(self) -> None:
        """Close the connections that are kept."""
        while self._idle:
            self._idle.pop().close()

    def _post(self, path: str, data: bytes) -> tuple[int, bytes]:
        kept = True
        try:
            connection = self._idle.pop()
        except IndexError:
            kept, connection = False, self._connection()
        try:
            return self._exchange(connection, path, data)
        except (ConnectionError, http.client.RemoteDisconnected):
            connection.close()
            if not kept:
                raise
        # The server may close an idle connection at any time: once more on a fresh one.
        return self._exchange(self._connection(), path, data)

    def _exchange(
        self, connection: http.client.HTTPConnection, path: str, data: bytes
    ) -> tuple[int, bytes]:
        try:
            connection.request("POST", self._prefix + path, data, self._headers)
            response = connection.getresponse()
            content = response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return response.status, content

    def _connection(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        return kind(self._host, timeout=self._timeout)
