"""A scripted model and question set: fixed replies, trivial tools, for overhead measurements."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agents.models.base import OpenModel, ServerInfo
from agents.tools.base import Tool, ToolResult
from benchmarks.question_study import QuestionDatasetConfig
from benchmarks.task import Benchmark, Task
from wmt.chat import ChatRequest, Completion, Usage

PAGE = " ".join(f"Sentence {n} of the page says something about entry {n}." for n in range(12))


def script(calls: int) -> list[str]:
    """Replies of one question of `calls` model calls: a task, tools in it, a fold, the answer."""
    steps: list[tuple[Any, str, dict[str, Any]]] = [
        (None, "look", {"query": f"entry number {number}"}) for number in range(1, calls)
    ]
    steps[0] = ({"open": "Find the entry that the question names"}, *steps[0][1:])
    steps[-1] = ({"complete": "The entry was found"}, *steps[-1][1:])
    steps.append((None, "final_answer", {"answer": "42"}))
    return [
        json.dumps(
            {
                "thought": "I go on with what the last observation says about the entry.",
                "task_operation": operation,
                "action": {"tool": tool, "arguments": arguments},
            }
        )
        for operation, tool, arguments in steps
    ]


def reply_for(prompt: str, replies: Sequence[str]) -> str:
    """The reply for the step that the prompt's last line names: `Give step 3 of at most 10.`"""
    words = prompt.rsplit("\n", 1)[-1].split()
    number = next(int(word) for word in words if word.isdigit())
    return replies[number - 1]


@dataclass
class ScriptedChat:
    """A `ChatModel` in process."""

    replies: list[str]
    name: str = "scripted"
    context_window: int = 32_768

    async def complete(self, request: ChatRequest) -> Completion:
        """The reply of the step, at no cost."""
        text = reply_for(request.messages[-1].content, self.replies)
        prompt = sum(len(message.content) // 4 for message in request.messages)
        return Completion(text, "stop", Usage(prompt, len(text) // 4), 0.0)

    async def count_tokens(self, text: str) -> int:
        """Words."""
        return len(text.split())


class ScriptedModelConfig(BaseModel):
    """The scripted model in process, as a cell's model."""

    model_config = ConfigDict(extra="forbid")

    name: str = "scripted"
    replies: list[str]
    simulated: bool = True
    smoke_only: bool = True

    def preflight(self) -> list[str]:
        """Nothing can be missing."""
        return []

    @asynccontextmanager
    async def open(self, log_dir: Path) -> AsyncIterator[OpenModel]:
        """See `ModelConfig.open`."""
        yield OpenModel(ScriptedChat(self.replies), ServerInfo("in process", "", "scripted"))


class Look:
    """A tool that shows a page of its own to every question, so that no count is in the cache."""

    name = "look"
    description = "Looks."
    parameters: dict[str, Any] = {  # noqa: RUF012 - the protocol's attribute
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    }

    def __init__(self, task: str) -> None:
        self._task = task

    async def call(self, arguments: dict[str, Any]) -> ToolResult:
        """One page of about a hundred words."""
        return ToolResult(f"{self._task}, {arguments['query']}: {PAGE}")


class ScriptedQuestions:
    """As many questions as asked for; "42" is right."""

    name, revision, answer_instructions = "scripted", "1", "Answer with a number."

    def __init__(self, size: int) -> None:
        self.full_size = size

    def tasks(self) -> Sequence[Task]:
        """All of them."""
        return [
            Task(f"q{n:05}", f"What is the number of entry {n}?", 1) for n in range(self.full_size)
        ]

    def tools(self, task: Task) -> Sequence[Tool]:
        """One tool."""
        return [Look(task.id)]

    def score(self, task: Task, answer: str | None) -> float:
        """Right or wrong."""
        return float(answer == "42")


class ScriptedDatasetConfig(QuestionDatasetConfig):
    """The scripted questions, as a cell's dataset."""

    name: str = "scripted"
    size: int = Field(1000, ge=1)

    def load(self, tools: Any) -> Benchmark:
        """See the base class."""
        return ScriptedQuestions(self.size)
