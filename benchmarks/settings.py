"""One cell's validated configuration, its digest and its folder.

Every group's config class is pydantic and forbids unknown keys; `CellConfig` does the same for the
top level. What cannot change a result is outside the digest: the fields named here, and those that
a group's class names in `outside_digest`.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SkipValidation,
    field_validator,
    model_validator,
)
from pydantic_core import to_jsonable_python

from agents.models.base import ModelConfig
from agents.react import AgentConfig
from benchmarks.study import StudyConfig
from wmt.memory import MemoryConfig

_FOLDER_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"

GROUPS = ("model", "memory", "dataset", "agent", "tools")


class NamedMemoryConfig(MemoryConfig, Protocol):
    """A memory configuration as `configs/memory/NAME.yaml` gives it."""

    name: str


class ToolsConfig(Protocol):
    """What `configs/tools/NAME.yaml` gives; `web` says where pages come from."""

    web: Literal["live", "record", "replay", "off"]

    def preflight(self) -> list[str]:
        """One line per thing that is missing, with the remedy."""
        ...

    def cassette_hash(self) -> str:
        """Hash of what is replayed; empty in the other modes."""
        ...


class CellConfig(BaseModel):
    """One cell: a model, a memory, a dataset, and how it is run.

    `label` names an arm; `concurrency` is how many items run at once; `preflight` only checks;
    `parallel_cells` is how many cells of an experiment run side by side (0: one per core);
    `price_per_gpu_hour` is for the cost in the compute ledger, in whatever currency.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    outside_digest: ClassVar[frozenset[str]] = frozenset(
        {"label", "results_dir", "concurrency", "preflight", "parallel_cells", "price_per_gpu_hour"}
    )

    model: SkipValidation[ModelConfig]
    memory: SkipValidation[NamedMemoryConfig]
    dataset: SkipValidation[StudyConfig]
    agent: SkipValidation[AgentConfig]
    tools: SkipValidation[ToolsConfig]
    seed: int = Field(ge=0)
    label: str = Field(pattern=_FOLDER_NAME)
    results_dir: Path
    concurrency: int = Field(ge=1)
    preflight: bool
    parallel_cells: int = Field(ge=0)
    price_per_gpu_hour: float | None = Field(ge=0)

    @field_validator("results_dir", mode="before")
    @classmethod
    def _names_a_folder(cls, value: Any) -> Any:
        if value == "":  # an unset shell variable; it would be the current folder
            raise ValueError("must name a folder")
        return value

    @model_validator(mode="after")
    def _names_make_folders(self) -> Self:
        for group in ("model", "memory", "dataset"):
            part = getattr(self, group)  # None where the group has mistakes of its own
            if part is not None and not re.match(_FOLDER_NAME, part.name):
                raise ValueError(f"{group}.name={part.name}: is a folder, matching {_FOLDER_NAME}")
        return self

    @property
    def folder(self) -> Path:
        """Where the cell's rows and traces are: from its choices, never from the clock."""
        arm = self.results_dir / self.label / self.dataset.name / self.model.name
        return arm / self.memory.name / f"seed{self.seed}"

    @property
    def title(self) -> str:
        """The cell's choices in one line."""
        names = f"{self.dataset.name} / {self.model.name} / {self.memory.name}"
        arm = "" if self.label == "main" else f"{self.label} / "
        return f"{arm}{names} / seed {self.seed}"

    def identity(self) -> dict[str, Any]:
        """Everything that can change a result, JSON-ready."""
        kept: dict[str, Any] = identity_of(self)
        return kept

    @property
    def digest(self) -> str:
        """SHA-256 (16 hex digits) of `identity`."""
        text = json.dumps(self.identity(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def missing(self) -> list[str]:
        """One line per thing that is missing before this cell can run, with the remedy."""
        tools = self.tools.preflight() if self.dataset.uses_web else []
        return [*self.dataset.preflight(), *self.model.preflight(), *tools]


def identity_of(value: Any) -> Any:
    """`value` without the fields that its classes keep outside the digest."""
    if isinstance(value, BaseModel):
        outside: frozenset[str] = getattr(type(value), "outside_digest", frozenset())
        names = [name for name in type(value).model_fields if name not in outside]
        return {name: identity_of(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {str(key): identity_of(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [identity_of(item) for item in value]
    return to_jsonable_python(value)
