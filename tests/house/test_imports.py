"""Imports run downhill, and importing anything does nothing else."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
DOWNHILL = ("wmt", "agents", "benchmarks", "poisoning", "scripts")
CORE = ("openai", "pydantic", "hydra", "rich")
HEAVY = ("torch", "transformers", "datasets", "markitdown", "matplotlib", "pandas", "submitit")


def modules(package: str) -> Iterator[Path]:
    return (ROOT / package).rglob("*.py")


def imported(path: Path) -> set[str]:
    """Top-level names of everything a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("package", DOWNHILL)
def test_imports_run_downhill(package: str) -> None:
    above = {*DOWNHILL[DOWNHILL.index(package) + 1 :], "run", "tests", "examples"}
    found = {str(path.relative_to(ROOT)): imported(path) & above for path in modules(package)}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize("package", DOWNHILL)
def test_packages_come_from_this_repository(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__file__ is not None
    assert Path(module.__file__).parent == ROOT / package


def test_the_memory_needs_no_client_and_no_configuration_library() -> None:
    names = set().union(*(imported(path) for path in modules("wmt")))
    assert names & {"openai", "hydra", "omegaconf", "rich", "agents"} == set()


def test_importing_everything_starts_nothing_and_stays_light() -> None:
    names = [
        module.name
        for package in ("wmt", "agents", "benchmarks", "poisoning")
        for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}.")
    ]
    code = f"""
import importlib, os, socket, subprocess, sys, threading
def refused(*a, **k): raise RuntimeError("side effect at import")
socket.socket.connect = subprocess.Popen.__init__ = refused
before = sorted(os.listdir("."))
for name in {names!r}:
    importlib.import_module(name)
assert threading.active_count() == 1, threading.enumerate()
assert sorted(os.listdir(".")) == before
print(*sorted(set(sys.modules) & set({HEAVY!r})))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [], "heavy libraries are to be imported where they are used"


def needed_by(names: set[str]) -> set[str]:
    """Distributions that a plain install of these brings, extras left out."""
    found: set[str] = set()
    pending = {canonicalize_name(name) for name in names}
    while pending:
        name = pending.pop()
        found.add(name)
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # for another platform
            continue
        wanted = [Requirement(line) for line in lines]
        here = [each for each in wanted if not each.marker or each.marker.evaluate({"extra": ""})]
        pending |= {canonicalize_name(each.name) for each in here} - found
    return found


def test_every_choice_can_be_made_with_the_core_alone() -> None:
    """`make demo` installs no extra but llama.cpp; the published command must still say what is
    missing for it, so its configuration classes may import nothing else."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = needed_by({Requirement(line).name for line in project["dependencies"]})
    targets = set[str]()
    for path in (ROOT / "configs").rglob("*.yaml"):
        if "launcher" not in path.parts:
            targets |= set(re.findall(r"_target_: (\w+(?:\.\w+)+)\.\w+", path.read_text()))
    assert "agents.serving.vllm" in targets
    core |= {"wmt-study", "setuptools"}  # setuptools loads itself into every process
    extra = sorted(
        name
        for name, owners in metadata.packages_distributions().items()
        if not {canonicalize_name(owner) for owner in owners} & core
    )
    code = f"""
import importlib, sys
class NotInstalled:
    def find_spec(self, name, *_):
        if name in {extra!r}:
            raise ModuleNotFoundError(f"No module named {{name}}", name=name)
sys.meta_path.insert(0, NotInstalled())
for name in ["run", "scripts.show", *{sorted(targets)!r}]:
    importlib.import_module(name)
"""
    assert {"pandas", "transformers"} <= set(extra)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
