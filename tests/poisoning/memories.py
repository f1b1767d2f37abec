"""The five configurations as the study's experiment composes them, and the simulated reader."""

from __future__ import annotations

from functools import cache

from agents.models.simulated import SimulatedModelConfig
from benchmarks.composition import compose
from wmt.memory import MemoryConfig
from wmt.tree_memory import TreeMemoryConfig

FIVE = ("linear", "a1", "a2", "a3", "wmt")


@cache
def composed() -> dict[str, MemoryConfig]:
    plan = compose(["experiment=poisoning", "model=simulated"])
    return {cell.memory.name: cell.memory for cell in plan.cells}


def five(selector: str) -> dict[str, MemoryConfig]:
    """By name; the trees with this selector."""
    return {
        name: memory.model_copy(update={"selector": selector})
        if isinstance(memory, TreeMemoryConfig)
        else memory
        for name, memory in composed().items()
    }


def reader() -> SimulatedModelConfig:
    """The simulated reader with the corpus' lexicon alone."""
    return SimulatedModelConfig(name="simulated", lexicons=["poisoning/data/lexicon.yaml"])
