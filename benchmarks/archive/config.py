"""Configuration of the archive (`configs/dataset/archive.yaml`)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agents.tools.config import ToolsConfig
from benchmarks.archive.benchmark import ArchiveBenchmark, make
from benchmarks.errors import SetupError
from benchmarks.question_study import QuestionDatasetConfig


class ArchiveConfig(QuestionDatasetConfig):
    """A generated world and what its tools show of it.

    `world_seed`, `documents` and `questions` make the world; the seed is the world's own, so that
    runs with several seeds answer the same questions. `page_words` is the length of a page,
    `results` the number of documents that a search shows, `snippet_words` the length of the passage
    it shows of each. `max_steps` is the agent's step limit here (`agent.max_steps` refers to it).
    """

    name: Literal["archive"] = "archive"
    path: None = None
    world_seed: int = Field(default=0, ge=0)
    documents: int = Field(default=400, ge=60, le=100_000)
    questions: int = Field(default=60, ge=1, le=10_000)
    page_words: int = Field(default=400, ge=60, le=1200)
    results: int = Field(default=5, ge=1, le=50)
    snippet_words: int = Field(default=40, ge=10, le=200)
    max_steps: int = Field(default=24, ge=1)

    def load(self, tools: ToolsConfig) -> ArchiveBenchmark:
        """Make the world, or take it from this process's cache; raises `SetupError`."""
        try:
            library, questions = make(self.world_seed, self.documents, self.questions)
        except ValueError as error:
            raise SetupError(str(error)) from None
        return ArchiveBenchmark(
            library,
            questions,
            tools,
            seed=self.world_seed,
            results=self.results,
            page_words=self.page_words,
            snippet_words=self.snippet_words,
        )
