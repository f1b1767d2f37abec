"""The paper's configurations by name (section 3.1, appendix A.2 and A.3), for use as a library.

`configs/memory/NAME.yaml` says the same for the harness; a test holds the two together.
"""

from __future__ import annotations

from typing import Any

from wmt.flat_memory import LinearMemoryConfig, NoMemoryConfig
from wmt.tree_memory import TreeMemoryConfig
from wmt.window_memory import RunningSummaryConfig, WindowMemoryConfig

AnyMemoryConfig = (
    TreeMemoryConfig
    | NoMemoryConfig
    | LinearMemoryConfig
    | WindowMemoryConfig
    | RunningSummaryConfig
)

_SWITCHES: dict[str, tuple[str, bool, bool, bool]] = {
    # name: selection, folding, scoring, suppression
    "unweighted": ("none", False, False, False),
    "tree_selection": ("relevance", False, False, False),
    "tree_summary": ("none", True, False, False),
    "tree_selection_summary": ("relevance", True, False, False),
    "wmt": ("relevance_scores", True, True, True),
    "a1": ("relevance", True, False, False),
    "a2": ("relevance_scores", False, True, False),
    "a3": ("branches", True, True, True),
}
_OTHERS: dict[str, type[AnyMemoryConfig]] = {
    "none": NoMemoryConfig,
    "linear": LinearMemoryConfig,
    "window": WindowMemoryConfig,
    "running_summary": RunningSummaryConfig,
}
NAMES = (*_OTHERS, *_SWITCHES)


def preset(name: str, **keys: Any) -> AnyMemoryConfig:
    """The configuration called `name`, with `keys` set otherwise. KeyError for an unknown name,
    `pydantic.ValidationError` for a wrong key or value."""
    if name in _OTHERS:
        return _OTHERS[name](name=name, **keys)
    selection, folding, scoring, suppression = _SWITCHES[name]
    switches = {
        "selection": selection,
        "folding": folding,
        "scoring": scoring,
        "suppression": suppression,
    }
    return TreeMemoryConfig.model_validate({"name": name, **switches, **keys})
