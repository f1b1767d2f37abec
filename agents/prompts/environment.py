"""The one Jinja2 environment of the agent's templates."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def environment() -> Environment:
    """Undefined names are errors; nothing is escaped, since prompts are text."""
    return Environment(
        loader=PackageLoader("agents", "prompts"),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
    )
