"""The `report` extra, asked for in one line where it is missing."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec


def need_report_extra() -> None:
    """Exit with status 2 and one line if the libraries of the `report` extra are not installed.

    To be called before numpy is imported: its products are small here, and on a busy machine the
    threads of its linear algebra only wait for each other.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    lacking = [name for name in ("pandas", "statsmodels", "matplotlib") if find_spec(name) is None]
    if lacking:
        print(
            f"{', '.join(lacking)} not installed: pip install -e '.[report]'",
            file=sys.stderr,
        )
        raise SystemExit(2)
