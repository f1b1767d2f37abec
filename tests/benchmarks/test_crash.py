from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_killed_at_any_operation_a_cell_ends_with_one_row_per_item(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.crash_driver", str(tmp_path), "3"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    kills, torn_rows, torn_traces = map(int, run.stdout.split())
    assert kills >= 30, "too few kills to say anything"
    assert torn_rows >= 3, "no kill fell into a row"
    assert torn_traces >= 3, "no kill fell into a trace"
