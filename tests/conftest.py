"""Tests may connect to loopback and Unix sockets only (`addopts`); `network` ones to anybody.

Under CI a skipped test is a failed one: there, every component is installed.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("network"):
            item.add_marker(pytest.mark.enable_socket)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} may not be skipped here: {call.excinfo}"
    return report
