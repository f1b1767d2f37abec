"""Tests reach loopback and Unix sockets, nothing else."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest


def test_no_test_reaches_beyond_loopback() -> None:
    with (
        socket.socket() as client,
        pytest.raises((RuntimeError, UserWarning), match=r"192\.0\.2\.1"),
    ):
        client.settimeout(1)
        client.connect(("192.0.2.1", 80))


def test_loopback_and_unix_sockets_work(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(tmp_path / "s"))
