"""Prompt templates of the memory's own model calls."""

from __future__ import annotations

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
