"""Rules of this repository that a tool cannot check."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SKIPS = {"skip", "skipif", "importorskip", "xfail"}


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True
    ).stdout
    found = [ROOT / name for name in listed.split("\0") if name]
    return [path for path in found or ROOT.rglob("*.py") if path.is_file()]


def calls(path: Path, function: str) -> set[str]:
    """Names that a function (or method) of a file calls."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function:
            for call in ast.walk(node):
                if isinstance(call, ast.Call):
                    name = call.func
                    found.add(name.attr if isinstance(name, ast.Attribute) else ast.unparse(name))
    return found


def test_three_hops_from_run_to_the_main_loop() -> None:
    assert "run_cell" in calls(ROOT / "run.py", "run_cells")
    assert "_run_items" in calls(ROOT / "benchmarks/runner.py", "run_cell")
    assert "run" in calls(ROOT / "benchmarks/runner.py", "_run_items")  # Study.run
    assert "run_episode" in calls(ROOT / "benchmarks/question_study.py", "run")


def test_run_reads_on_one_screen() -> None:
    assert len((ROOT / "run.py").read_text().splitlines()) <= 85


def test_nothing_is_skipped_without_a_reason() -> None:
    silent: list[str] = []
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr not in SKIPS or "pytest" not in ast.unparse(node.func):
                continue
            named = any(keyword.arg in ("reason", "msg") for keyword in node.keywords)
            positional = node.func.attr == "skip" and node.args
            if not named and not positional:
                silent.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert silent == []


@pytest.mark.parametrize("word", ["pypi" + ".org", "pythonhosted" + ".org"])
def test_no_package_host_is_named(word: str) -> None:
    holding = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if word.encode() in path.read_bytes() and path.suffix != ".gz"
    ]
    assert holding == []
