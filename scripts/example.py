"""Make the small result set of results/example, or check that it can be made again.

    python -m scripts.example [--check] [--made DIR]

Runs `python run.py experiment=example` (simulated model, a few minutes) in a temporary folder and
keeps rows, cell.yaml and traces; of the archive's traces a sample. --check compares what comes out
with what is committed, times aside, and changes nothing. --made takes a folder where the
experiment has been run already.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.store import CELL, ROWS, TRACES, find_cells, trace_name

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "results" / "example"
LARGEST = 5_000_000
"""Bytes that the example may take."""

ALL_TRACES = {"poisoning"}
"""Sets whose metrics are computed from traces."""
EVERY = 7
"""Of the other sets, every seventh trace is kept (the archive alternates its three levels)."""

TIMES = ("seconds", "started_at")
PROVENANCE = ("git_commit", "git_dirty", "config_digest", "prompt_hash", "model_revision")
"""What says by which code and settings a row was made; results are compared without it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.example", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--check", action="store_true", help="compare, change nothing")
    parser.add_argument("--made", type=Path, help="results of experiment=example, made before")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        made = options.made or Path(temporary) / "run"
        if options.made is None:
            command = [sys.executable, "run.py", "experiment=example", f"results_dir={made}"]
            subprocess.run(command, check=True, cwd=ROOT)
        kept = Path(temporary) / "example"
        keep(made, kept)
        size = sum(path.stat().st_size for path in kept.rglob("*") if path.is_file())
        if size > LARGEST:
            print(f"the example takes {size:,} bytes, more than {LARGEST:,}", file=sys.stderr)
            return 1
        if options.check:
            return _check(kept, EXAMPLE)
        shutil.rmtree(EXAMPLE, ignore_errors=True)
        shutil.copytree(kept, EXAMPLE)
    print(f"{EXAMPLE.relative_to(ROOT)}: {len(find_cells(EXAMPLE))} cells, {size:,} bytes")
    return 0


def keep(made: Path, kept: Path) -> None:
    """Copy what the example holds: no locks, no ledgers (they name the machine), few traces."""
    for folder in find_cells(made):
        target = kept / folder.relative_to(made)
        (target / TRACES).mkdir(parents=True)
        for name in (CELL, ROWS):
            shutil.copy(folder / name, target / name)
        ids = sorted(row["task_id"] for row in _lines(folder / ROWS))
        dataset = folder.parent.parent.parent.name
        for task_id in ids if dataset in ALL_TRACES else ids[::EVERY]:
            name = trace_name(task_id)
            shutil.copy(folder / TRACES / name, target / TRACES / name)


def differences(made: Path, committed: Path) -> tuple[list[str], bool]:
    """What differs in rows and traces, times aside; and whether only the provenance does."""
    found: list[str] = []
    provenance = False
    cells = {path.relative_to(made) for path in find_cells(made)}
    before = {path.relative_to(committed) for path in find_cells(committed)}
    found += [f"{path}: only in one of the two" for path in sorted(cells ^ before)]
    for path in sorted(cells & before):
        for name in sorted(_files(made / path) | _files(committed / path)):
            pair = [folder / path / name for folder in (made, committed)]
            if not all(file.exists() for file in pair):
                found.append(f"{path / name}: only in one of the two")
                continue
            new, old = ([strip(line, TIMES) for line in _lines(file)] for file in pair)
            if name == ROWS:
                new, old = (
                    sorted(rows, key=lambda row: str(row["task_id"])) for rows in (new, old)
                )
            if new == old:
                continue
            bare = [[strip(line, PROVENANCE) for line in lines] for lines in (new, old)]
            provenance = provenance or bare[0] == bare[1]
            if bare[0] != bare[1]:
                shorter = min(map(len, bare))
                place = next((n for n in range(shorter) if bare[0][n] != bare[1][n]), shorter)
                found.append(f"{path / name}: line {place + 1} differs")
    return found, provenance


def strip(value: Any, names: Sequence[str]) -> Any:
    """JSON data without the keys that end in one of these names."""
    if isinstance(value, dict):
        return {k: strip(v, names) for k, v in value.items() if not k.endswith(tuple(names))}
    if isinstance(value, list):
        return [strip(entry, names) for entry in value]
    return value


def _check(made: Path, committed: Path) -> int:
    found, provenance = differences(made, committed)
    for line in found[:20]:
        print(line, file=sys.stderr)
    if found:
        print(
            f"{len(found)} differences: make example, and say in the change log what changed",
            file=sys.stderr,
        )
        return 1
    note = ", though code or settings have changed since" if provenance else ""
    print(f"the example comes out the same{note}")
    return 0


def _files(folder: Path) -> set[str]:
    traces = folder / TRACES
    names = {f"{TRACES}/{path.name}" for path in traces.iterdir()} if traces.is_dir() else set()
    return {ROWS, *names}


def _lines(path: Path) -> list[dict[str, Any]]:
    return list(_read(path))


def _read(path: Path) -> Iterator[dict[str, Any]]:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    for line in text.splitlines():
        yield json.loads(line)


if __name__ == "__main__":
    sys.exit(main())
