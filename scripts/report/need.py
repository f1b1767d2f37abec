"""The `report` extra, asked for in one line where it is missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def need_report_extra() -> None:
    """Exit with status 2 and one line if the libraries of the `report` extra are not installed."""
    lacking = [name for name in ("pandas", "statsmodels", "matplotlib") if find_spec(name) is None]
    if lacking:
        print(
            f"{', '.join(lacking)} not installed: pip install -e '.[report]'",
            file=sys.stderr,
        )
        raise SystemExit(2)
