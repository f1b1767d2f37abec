"""A deterministic rule-based reader in the place of a language model (see `reader_model.py`)."""

from agents.models.simulated.config import SimulatedModelConfig

__all__ = ["SimulatedModelConfig"]
