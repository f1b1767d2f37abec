"""Names, their order and how they are printed; what is not listed here is printed as it is."""

from __future__ import annotations

from collections.abc import Iterable

MODELS = {"qwen3": "Qwen3-8B", "gemma4": "Gemma 4 E4B", "llama31": "Llama-3.1-8B"}
DATASETS = {"gaia_text": "GAIA-Text", "gaia": "GAIA", "archive": "Archive"}
MEMORIES = {
    "none": "No Memory",
    "linear": "Linear History",
    "unweighted": "Unweighted Tree",
    "tree_selection": "Tree + Selection",
    "tree_summary": "Tree + Summary",
    "tree_selection_summary": "Tree + Selection + Summary",
    "wmt": "Full WMT",
    "a1": "A1: Unweighted Tree",
    "a2": "A2: No Memory Controller",
    "a3": "A3: No Semantic Retrieval",
}
PARTIAL = ("unweighted", "tree_selection", "tree_summary", "tree_selection_summary")
"""The partial systems of Tables 2 and 3 (the plain tree counts as one, see W14)."""
GRID = ("none", "linear", *PARTIAL, "wmt")
"""The seven memories of the benchmark grid."""
MAIN = ("none", "linear", "unweighted", "wmt")
"""The rows of Table 1."""
TREES = (*PARTIAL, "wmt")
"""The rows of Tables 2 and 3."""
POISONING = ("linear", "a1", "a2", "a3", "wmt")
"""The rows of Table 4."""
PAPER_DATASETS = ("gaia_text", "gaia")
ROLES = ("agent", "selector", "summarizer", "tool")


def show_model(name: str) -> str:
    """The printed name of a model configuration."""
    return MODELS.get(name, name)


def show_dataset(name: str) -> str:
    """The printed name of a dataset configuration."""
    return DATASETS.get(name, name)


def show_memory(name: str) -> str:
    """The printed name of a memory configuration."""
    return MEMORIES.get(name, name)


def _ordered(names: Iterable[str], known: Iterable[str]) -> list[str]:
    rank = {name: place for place, name in enumerate(known)}
    return sorted(set(names), key=lambda name: (rank.get(name, len(rank)), name))


def order_models(names: Iterable[str]) -> list[str]:
    """The paper's models in its order, then the others by name."""
    return _ordered(names, MODELS)


def order_datasets(names: Iterable[str]) -> list[str]:
    """The paper's sets in its order, then the others by name."""
    return _ordered(names, DATASETS)


def order_memories(names: Iterable[str]) -> list[str]:
    """The paper's memories in its order, then the others by name."""
    return _ordered(names, MEMORIES)


def extra_memories(names: Iterable[str]) -> list[str]:
    """Memories that the paper's benchmark grid does not have."""
    return [name for name in order_memories(names) if name not in GRID]
