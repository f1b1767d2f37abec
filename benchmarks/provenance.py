"""Where results come from: the code's commit and a hash of every prompt template."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROMPTS = (
    "wmt/**/*.j2",
    # Closing lines and retries stand beside the code that sends them.
    "wmt/llm_selector.py",
    "wmt/summarizer.py",
    "agents/**/*.j2",
    "poisoning/**/*.j2",
)


@dataclass(frozen=True)
class GitState:
    """`commit` is `unknown` outside a git checkout; `dirty` says that files differ from it."""

    commit: str
    dirty: bool


@cache
def git_state() -> GitState:
    """The commit that runs, read once per process."""
    commit = _git("rev-parse", "HEAD")
    if not commit:
        return GitState(commit="unknown", dirty=False)
    return GitState(commit=commit.strip(), dirty=bool(_git("status", "--porcelain").strip()))


def _git(*arguments: str) -> str:
    try:
        run = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout if run.returncode == 0 else ""


@cache
def prompt_hash() -> str:
    """SHA-256 (16 hex digits) over all prompt templates, names and bytes, in name order."""
    digest = hashlib.sha256()
    for path in sorted(
        {path for pattern in PROMPTS for path in ROOT.glob(pattern) if path.is_file()}
    ):
        digest.update(
            path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0"
        )
    return digest.hexdigest()[:16]
