"""GAIA (165 questions) and GAIA-Text (the 127 without an attached file), as the paper uses them."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from agents.tools.base import Tool
from agents.tools.config import ToolsConfig
from benchmarks.errors import SetupError
from benchmarks.gaia_data import Question, Split, content_hash, download, missing, read
from benchmarks.gaia_scorer import question_score
from benchmarks.question_study import QuestionDatasetConfig
from benchmarks.records import Row
from benchmarks.task import Task

ANSWER_INSTRUCTIONS = """\
The final answer is compared with a reference answer by a program, so give the bare value:
- a number in digits, without thousands separators, and without a unit such as $ or % unless the \
question asks for one;
- a text in as few words as possible, without articles or abbreviations, any digits in it in plain \
text unless the question says otherwise;
- a list with commas between its elements, each of them written by these rules.
Answer always, with your best guess if you are not sure."""


_CUSTOM = "_custom"


class GaiaConfig(QuestionDatasetConfig):
    """Where GAIA comes from and which part of it is asked.

    `text_only` keeps the questions without a file. `counts` are the questions by level that the
    uncut set must have, `test_counts` those of the whole test split. `revision` pins the gated
    repository; `path` is a local copy instead. The test split has no published answers: it runs
    under the name NAME_test, every score is 0, and the leaderboard's submission file is written.
    """

    uses_web: ClassVar[bool] = True

    split: Split = "validation"
    text_only: bool
    counts: dict[int, int]
    test_counts: dict[int, int]
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")

    def model_post_init(self, context: Any) -> None:
        """Give the test split its own name, so that its rows get a folder of their own."""
        if self.split == "test" and not self.name.endswith("_test"):
            self.name = f"{self.name}_test"

    def preflight(self) -> list[str]:
        """Whether the data is there or can be had."""
        if self.path is None:
            return missing(self.revision, self.split)
        try:
            self._named(self._read(self.path))
        except SetupError as error:
            return list(error.lines)
        return []

    def prefetch(self) -> str:
        """Download the data into the cache; one line that says where it is."""
        folder = download(self.revision, self.split)
        return f"{len(self._asked(self._read(folder)))} questions in {folder}"

    def load(self, tools: ToolsConfig) -> Gaia:
        """The uncut set, counts checked; raises `SetupError`."""
        folder = self.path or download(self.revision, self.split)
        questions = self._read(folder)
        revision = f"local-{content_hash(folder, self.split)}" if self.path else self.revision
        asked = self._asked(questions)
        whole = len(asked) == len(questions)
        return Gaia(self._named(questions), revision, asked, tools, whole)

    def _read(self, folder: Path) -> list[Question]:
        """All questions of the split; raises `SetupError` if none of them would be asked."""
        questions = read(folder, self.split, self.text_only)
        if not self._asked(questions):
            raise SetupError(
                f"dataset: every question in {folder} has an attached file, and {self.name} asks "
                "those without; take dataset=gaia"
            )
        return questions

    def _named(self, questions: Sequence[Question]) -> str:
        """The set's name. Somebody's own questions in GAIA's layout are welcome, but neither a row
        nor a folder may show them under GAIA's name, so that the configuration's own changes too.
        """
        wrong = self._unexpected(questions)
        if wrong and self.path is None:
            raise SetupError(f"dataset: {wrong}; the repository has changed or is incomplete")
        if wrong and not self.name.endswith(_CUSTOM):
            self.name += _CUSTOM
            print(f"dataset.path: {wrong}; it runs as {self.name}", file=sys.stderr)
        return self.name

    def _asked(self, questions: Sequence[Question]) -> list[Question]:
        return [question for question in questions if not (self.text_only and question.file)]

    def _unexpected(self, questions: Sequence[Question]) -> str:
        """How the counts by level differ from GAIA's; "" if they do not."""
        counted, expected = self._asked(questions), self.counts
        if self.split == "test":  # how many of its questions have no file is nowhere stated
            counted, expected = list(questions), self.test_counts
        found = dict(sorted(Counter(question.level for question in counted).items()))
        if found == expected:
            return ""
        return f"questions by level are {found}, and {self.name} has {expected}"


class Gaia:
    """The questions, their tools and their scorer (see `benchmarks.task.Benchmark`)."""

    answer_instructions = ANSWER_INSTRUCTIONS

    def __init__(
        self,
        name: str,
        revision: str,
        questions: Sequence[Question],
        tools: ToolsConfig,
        whole: bool = True,
    ) -> None:
        """`whole`: whether these are all questions of the split, as the leaderboard wants them."""
        self.name = name
        self.revision = revision
        self._tasks = [
            Task(
                question.id,
                question.text,
                question.level,
                (question.file,) if question.file else (),
            )
            for question in questions
        ]
        self._truths = {question.id: question.truth for question in questions}
        self._tools = tools
        self._whole = whole

    def tasks(self) -> Sequence[Task]:
        """All questions, in the table's order."""
        return self._tasks

    def tools(self, task: Task) -> Sequence[Tool]:
        """The tools of one question, with its own file only."""
        return self._tools.all(task.files, task.question)

    def score(self, task: Task, answer: str | None) -> float:
        """1.0 if GAIA's scorer takes the answer, else 0.0; 0.0 where no answer is published."""
        truth = self._truths[task.id]
        return float(truth != "?" and question_score(answer, truth))

    def after_cell(self, folder: Path, rows: Sequence[Row]) -> None:
        """Write the leaderboard's file: JSON lines of `task_id` and `model_answer`.

        Only where the answers are not published. An incomplete file is called so by its name: the
        leaderboard would refuse it.
        """
        if any(truth != "?" for truth in self._truths.values()):
            return
        answers = {row.task_id: row.answer or "" for row in rows}
        whole = self._whole and answers.keys() >= self._truths.keys()
        lines = [
            json.dumps({"task_id": task.id, "model_answer": answers[task.id]}, ensure_ascii=False)
            for task in self._tasks
            if task.id in answers
        ]
        kept, other = folder / "submission.jsonl", folder / "submission.partial.jsonl"
        if not whole:
            kept, other = other, kept
        written = kept.with_suffix(".tmp")
        written.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        written.replace(kept)
        other.unlink(missing_ok=True)
