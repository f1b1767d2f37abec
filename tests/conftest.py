"""Tests may connect to loopback and Unix sockets only (`addopts`); `network` ones to anybody."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("network"):
            item.add_marker(pytest.mark.enable_socket)
