"""Configuration of the simulated model (`configs/model/simulated.yaml`)."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.models.base import OpenModel, ServerInfo
from agents.models.simulated import lexicon
from agents.models.simulated.knowledge import Conflict
from agents.models.simulated.questions import Parser
from agents.models.simulated.reader_model import SimulatedModel
from agents.models.simulated.reading import Reader
from agents.models.simulated.view import Language

VERSION = "1"
"""Goes up whenever the reader's rules change, since its results then compare no longer."""


class SimulatedModelConfig(BaseModel):
    """A simulated reader.

    `lexicons` are YAML files with the language it knows (relative to the repository root),
    `conflict` is what it does with statements that contradict each other (see `knowledge.py`),
    `context_window` is in tokens of its own tokenizer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = "simulated"
    simulated: Literal[True] = True
    smoke_only: Literal[False] = False
    lexicons: tuple[str, ...] = Field(min_length=1)
    conflict: Conflict = "most_support"
    context_window: int = Field(default=16384, ge=512)

    def preflight(self) -> list[str]:
        """One line for a lexicon that cannot be used."""
        try:
            lexicon.load(self.lexicons)
        except lexicon.LexiconError as error:
            return [f"model.lexicons: {error}"]
        return []

    def open(self, log_dir: Path) -> AbstractAsyncContextManager[OpenModel]:
        """The reader; nothing is started and nothing is written to `log_dir`."""
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[OpenModel]:
        words = lexicon.load(self.lexicons)
        language = Language(Reader(words), Parser(words), self.conflict)
        chat = SimulatedModel(self.name, self.context_window, language)
        info = ServerInfo("simulated", VERSION, self.name, self._revision())
        yield OpenModel(chat, info)

    def _revision(self) -> str:
        """Hash of the lexicon files: other words are another reader."""
        digest = hashlib.sha256()
        for path in self.lexicons:
            digest.update((lexicon.ROOT / path).read_bytes())
        return digest.hexdigest()[:12]
