"""The poisoning study's cells as arms: from its rows, by the study's own metrics."""

from __future__ import annotations

from scripts.report.claims_poisoning import PoisonArm
from scripts.report.load import Results


def poison_arms(results: Results) -> list[PoisonArm]:
    """One arm for each label and model."""
    return []
