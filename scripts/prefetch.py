"""Fill the caches where there is internet, for compute nodes that have none.

    python -m scripts.prefetch dataset=gaia_text model=qwen3
    python -m scripts.prefetch experiment=NAME

Takes what run.py takes. Downloads what the chosen datasets and models need, at their pinned
revisions, into the usual caches; afterwards HF_HUB_OFFLINE=1 runs without network.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from agents.serving.base import ServerError
from benchmarks.composition import compose
from benchmarks.errors import SetupError


def prefetch(overrides: Sequence[str]) -> list[str]:
    """Fetch everything once; a line for each that says what and where. Raises `SetupError`."""
    done: dict[str, str] = {}
    for cell in compose(overrides).cells:
        for name, part in (
            (cell.dataset.name, cell.dataset),
            (cell.model.name, getattr(cell.model, "server", None)),
        ):
            key = f"{name} {part!r}"
            if key not in done:
                done[key] = f"{name}: {_fetch(name, part)}"
    return list(dict.fromkeys(done.values()))


def _fetch(name: str, part: Any) -> str:
    """What the `prefetch` of a configuration says, if it has one."""
    if not hasattr(part, "prefetch"):
        return "nothing to fetch"
    try:
        return str(part.prefetch())
    except OSError as error:  # what the hub's client raises, a refused login included
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise SetupError(
            f"{name}: cannot be fetched: {reason[:200]}; check the network, and for gated weights "
            "accept their licence and set HF_TOKEN"
        ) from None


def main(arguments: Sequence[str]) -> int:
    """Print what was fetched; exit code 2 if something has to be put right first."""
    try:
        for line in prefetch(arguments):
            print(line)
    except (SetupError, ServerError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
