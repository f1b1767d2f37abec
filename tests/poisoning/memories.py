"""The five configurations as the study's experiment composes them, and the simulated reader."""

from __future__ import annotations

from functools import cache

from agents.models.simulated import SimulatedModelConfig
from benchmarks.composition import compose
from wmt.memory import MemoryConfig

FIVE = ("linear", "a1", "a2", "a3", "wmt")


@cache
def five(selector: str) -> dict[str, MemoryConfig]:
    plan = compose(["experiment=poisoning", "model=simulated", f"memory.selector={selector}"])
    return {cell.memory.name: cell.memory for cell in plan.cells}


def reader() -> SimulatedModelConfig:
    """The simulated reader with the corpus' lexicon alone."""
    return SimulatedModelConfig(name="simulated", lexicons=["poisoning/data/lexicon.yaml"])
