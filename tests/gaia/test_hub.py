"""The real client of the hub against a hub on loopback: refusals, a download, and a run offline."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.gaia import folder
from tests.tools import webserver
from tests.tools.webserver import Server, reply

ROOT = Path(__file__).resolve().parents[2]
CHOSEN = ["model=simulated", "dataset=gaia", "dataset.counts={1:7,2:6,3:5}"]


@pytest.fixture
async def hub() -> AsyncIterator[Server]:
    async with webserver.running() as running:
        yield running


async def python(hub: Server, home: Path, *arguments: str, **variables: str) -> tuple[int, str]:
    """Exit code and output of a program of ours that sees this hub only."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "HF_HOME": str(home / "hub"),
            "HF_ENDPOINT": hub.url(""),
            **variables,
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


def serve(hub: Server, root: Path, revision: str) -> None:
    """Answer as the hub does: the list of files, then each file by its hash."""
    files = sorted(path for path in root.rglob("*") if path.is_file())
    listing = []
    for path in files:
        data, name = path.read_bytes(), path.relative_to(root).as_posix()
        oid = hashlib.sha1(data).hexdigest()
        listing.append({"type": "file", "oid": oid, "size": len(data), "path": name})
        address = f"/datasets/gaia-benchmark/GAIA/resolve/{revision}/{name}"
        head = {"ETag": f'"{oid}"', "X_Repo_Commit": revision, "Accept_Ranges": "bytes"}
        hub.routes[address] = reply(data, kind="application/octet-stream", **head)
    tree = f"/api/datasets/gaia-benchmark/GAIA/tree/{revision}?recursive=true&expand=false"
    hub.routes[tree] = reply(json.dumps(listing).encode(), kind="application/json")


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        ("403 Forbidden", "GatedRepo", "accept its conditions"),
        ("401 Unauthorized", "RepoNotFound", "accept its conditions"),
        ("404 Not Found", "RevisionNotFound", "dataset.revision: gaia-benchmark/GAIA has no"),
    ],
)
async def test_refusals(hub: Server, tmp_path: Path, status: str, code: str, said: str) -> None:
    hub.default = reply(b"{}", status, "application/json", X_Error_Code=code)
    exit_code, output = await python(hub, tmp_path, "-m", "scripts.prefetch", *CHOSEN)
    assert exit_code == 2
    (line,) = output.splitlines()
    assert said in line


async def test_prefetch_then_run_without_network(hub: Server, tmp_path: Path) -> None:
    root = folder.write(tmp_path / "original")
    revision = "682dd723ee1e1697e00360edccf2366dc8418dd9"
    serve(hub, root, revision)
    exit_code, output = await python(hub, tmp_path, "-m", "scripts.prefetch", *CHOSEN)
    assert exit_code == 0, output
    assert "gaia: 18 questions in" in output
    asked = len(hub.asked)
    exit_code, output = await python(
        hub,
        tmp_path,
        "run.py",
        *CHOSEN,
        "memory=linear",
        "dataset.level=1",
        f"results_dir={tmp_path / 'results'}",
        "tools.web=off",
        HF_HUB_OFFLINE="1",
    )
    assert exit_code == 0, output
    assert len(hub.asked) == asked
    (file,) = (tmp_path / "results/main/gaia/simulated/linear/seed0").glob("rows.jsonl")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(rows) == 7
    assert {row["cell"]["dataset"] for row in rows} == {"gaia"}
    assert {row["cell"]["dataset_revision"] for row in rows} == {revision}
