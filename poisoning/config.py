"""Configuration of the study (`configs/dataset/poisoning.yaml`)."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from agents.react import AgentConfig
from benchmarks.errors import SetupError
from poisoning.attacks import Attack
from poisoning.schema import SCENARIOS
from poisoning.study import Arm, PoisoningStudy


class PoisoningConfig(BaseModel):
    """What is replayed. `arm` is the control, `attack` how the poison is rewritten.

    `obedient` makes the selector obey a claim to supersede (`poisoning.obedient`). `limit` and
    `ids` cut the corpus and never change a result.
    """

    model_config = ConfigDict(extra="forbid")
    outside_digest: ClassVar[frozenset[str]] = frozenset({"limit", "ids"})
    uses_web: ClassVar[bool] = False

    name: str = "poisoning"
    arm: Arm = "poisoned"
    attack: Attack = "none"
    obedient: bool = False
    limit: int | None = Field(default=None, ge=1)
    ids: list[str] | None = None

    def preflight(self) -> list[str]:
        """One line where the corpus is not there."""
        if SCENARIOS.is_file():
            return []
        return [f"{SCENARIOS}: not there; make it with python -m poisoning.corpus"]

    def study(self, agent: AgentConfig, tools: Any) -> PoisoningStudy:
        """The corpus, cut as configured; of the agent only `max_new_tokens` matters."""
        if self.arm == "clean" and self.attack != "none":
            raise SetupError("dataset.attack: the clean arm has no poison, so attack must be none")
        if self.obedient and self.arm == "random":
            raise SetupError("dataset.obedient: the random arm has no selector that could obey")
        return PoisoningStudy(
            self.name,
            self.arm,
            self.attack,
            self.ids,
            self.limit,
            agent.max_new_tokens,
            self.obedient,
        )
