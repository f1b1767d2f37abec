"""Prompt templates of the memory's own model calls, and their hash for the result rows."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_FOLDER = Path(__file__).parent


@cache
def _environment() -> Environment:
    # Plain text for a model, not HTML: escaping would change what a memory says.
    return Environment(
        loader=FileSystemLoader(_FOLDER),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render(template: str, **values: Any) -> str:
    """A template filled in; an undefined name raises `jinja2.UndefinedError`."""
    return _environment().get_template(template).render(values)


def template_hash() -> str:
    """A hash over all templates of this folder: two runs with the same one saw the same prompts."""
    digest = hashlib.sha256()
    for path in sorted(_FOLDER.glob("*.j2")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
