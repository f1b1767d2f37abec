"""A scripted model, a plain memory and two tools: the loop's surroundings in a few lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from agents.tools.base import ToolError, ToolResult
from wmt.chat import ChatRequest, Completion, Usage
from wmt.events import Event
from wmt.memory import Recorded, Selection, Step, WorkingContext


def step_json(
    tool: str, arguments: dict[str, Any], *, thought: str = "t", operation: Any = None
) -> str:
    return json.dumps(
        {
            "thought": thought,
            "task_operation": operation,
            "action": {"tool": tool, "arguments": arguments},
        }
    )


class ScriptedChat:
    """Answers with fixed texts in order (the last one again and again); keeps the requests."""

    name = "scripted"

    def __init__(self, replies: Sequence[str | Completion | Exception], window: int = 8000) -> None:
        self.replies, self.context_window = list(replies), window
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> Completion:
        self.requests.append(request)
        reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Completion):
            return reply
        return Completion(reply, "stop", Usage(100, 10, cached=40), latency_seconds=0.5)

    async def count_tokens(self, text: str) -> int:
        return len(text.split())


class ListMemory:
    """Shows everything; refuses what it is told to refuse."""

    def __init__(self, refuse: tuple[str, ...] = ()) -> None:
        self.events: list[Event] = []
        self.steps: list[Step] = []
        self.refuse = refuse
        self.question = ""
        self.finished: list[str | None] = []
        self.available: list[int | None] = []

    def start(self, question: str) -> None:
        self.question = question
        self._event("started")

    async def context(self, available_tokens: int | None = None) -> WorkingContext:
        self.available.append(available_tokens)
        ids = tuple(range(len(self.steps) + 1))
        seen = "\n".join(
            f"| {step.action.observation}" for step in self.steps if step.action is not None
        )
        text = f"Question:\n| {self.question}\n{seen}"
        return WorkingContext(text, ids, ids, (0,), (), 7, 7, Selection("all"))

    async def record(self, step: Step) -> Recorded:
        self.steps.append(step)
        self._event("created")
        return Recorded(action=len(self.steps), refused=self.refuse)

    async def finish(self, answer: str | None) -> None:
        self.finished.append(answer)
        self._event("completed")

    def snapshot(self) -> dict[str, Any]:
        return {}

    def _event(self, kind: Any) -> None:
        self.events.append(Event(len(self.steps), kind, 0, {}, {}, {}))


class FunctionTool:
    """A tool around a function."""

    def __init__(
        self, name: str, function: Callable[..., Any], properties: dict[str, Any] | None = None
    ) -> None:
        self.name, self.function = name, function
        self.description = f"does {name}"
        self.parameters: dict[str, Any] = {
            "type": "object",
            "properties": properties or {"query": {"type": "string"}},
            "required": list(properties or ["query"])[:1],
        }
        self.calls: list[dict[str, Any]] = []

    async def call(self, arguments: dict[str, Any]) -> ToolResult:
        self.calls.append(arguments)
        result = self.function(**arguments)
        return result if isinstance(result, ToolResult) else ToolResult(str(result))


def search() -> FunctionTool:
    return FunctionTool("search", lambda query: f"found {query}")


def read() -> FunctionTool:
    def page(document: int, page: int = 1) -> str:
        if document > 9:
            raise ToolError("there is no such document")
        return f"page {page} of {document}"

    return FunctionTool(
        "read", page, {"document": {"type": "integer"}, "page": {"type": "integer"}}
    )
