"""The archive as a benchmark: tasks, their tools and files, and what only the scorer may know."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from agents.tools.base import Tool
from agents.tools.config import ToolsConfig
from benchmarks.archive import attachments
from benchmarks.archive.quiz import Question, QuestionMaker
from benchmarks.archive.search import Library
from benchmarks.archive.tools import Read, Search
from benchmarks.archive.world import World
from benchmarks.gaia_scorer import question_score
from benchmarks.task import Task

VERSION = "1"
"""Goes up whenever the generator writes other texts or questions for the same seed."""


@lru_cache(maxsize=4)
def make(seed: int, documents: int, questions: int) -> tuple[Library, tuple[Question, ...]]:
    """A world's library and its questions, once per process."""
    world = World(seed, documents)
    made = QuestionMaker(world, question_score).make(questions)
    return Library(world), tuple(made)


class ArchiveBenchmark:
    """Questions over one world. Attachments are written to a temporary folder of this object."""

    name = "archive"
    answer_instructions = (
        "Answer with the value alone: a number without separators or units, a name without "
        "anything before it, or a list separated by commas."
    )

    def __init__(
        self,
        library: Library,
        questions: Sequence[Question],
        tools: ToolsConfig,
        *,
        seed: int,
        results: int,
        page_words: int,
        snippet_words: int,
    ) -> None:
        self.library = library
        self.questions = {question.id: question for question in questions}
        self.revision = f"{VERSION}-seed{seed}-{library.size}docs-{self._hash()}"
        self._tools = tools
        self._reading = results, page_words, snippet_words
        self._folder: Path | None = None
        self._tasks = [self._task(question) for question in questions]

    def tasks(self) -> Sequence[Task]:
        """All questions in their order."""
        return self._tasks

    def tools(self, task: Task) -> Sequence[Tool]:
        """`search` and `read` over the archive, `calculator`, and `read_file` for its own files."""
        results, page_words, snippet_words = self._reading
        return [
            Search(self.library, results, page_words, snippet_words),
            Read(self.library, page_words),
            *self._tools.core(task.files),
        ]

    def score(self, task: Task, answer: str | None) -> float:
        """1.0 for a right answer, by the normalisation of GAIA's scorer."""
        return float(question_score(answer, self.questions[task.id].answer))

    def _task(self, question: Question) -> Task:
        files: tuple[Path, ...] = ()
        if question.filed is not None:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="archive-files-"))
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            file = self._folder / question.id / question.file_name
            file.parent.mkdir()
            file.write_bytes(attachments.content(self.library.world, question))
            files = (file,)
        return Task(question.id, question.text, question.level, files)

    def _hash(self) -> str:
        digest = hashlib.sha256()
        for question in self.questions.values():
            digest.update(f"{question.id}\n{question.text}\n{question.answer}\n".encode())
        return digest.hexdigest()[:12]
