"""Small stand-ins: a scenario, a scripted model, a memory that keeps everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poisoning.schema import AttackKind, Entry, Scenario, Subtask, final_question
from wmt.chat import ChatError, ChatRequest, Completion, Usage
from wmt.events import Event
from wmt.memory import Recorded, Selection, Step, WorkingContext


def entry(
    name: str,
    value: str | None = None,
    *,
    attack: AttackKind | None = None,
    failed: bool = False,
    target: str | None = None,
    text: str | None = None,
) -> Entry:
    subtask = name.rpartition(".")[0]
    return Entry(
        id=name,
        tool="read_page",
        arguments={"site": "a site", "title": name},
        text=text or f"{name} says {value}",
        outcome="failure" if failed else "success",
        style="news",
        role="rival" if attack else "answer" if value else "background",
        poisoned=attack is not None,
        attack=attack,
        value=value,
        target=target or subtask,
        position=0,
    )


def subtask(name: str, answer: str, entries: Sequence[Entry]) -> Subtask:
    return Subtask(
        id=name,
        goal=f"Find {name}",
        question=f"What is {name}?",
        answer=answer,
        value_type="place",
        entries=tuple(e.model_copy(update={"position": i}) for i, e in enumerate(entries)),
    )


def scenario(subtasks: Sequence[Subtask]) -> Scenario:
    return Scenario(
        id="s1",
        question=final_question([each.question for each in subtasks]),
        answer="; ".join(each.answer for each in subtasks),
        subtasks=tuple(subtasks),
    )


def two_subtasks() -> Scenario:
    """Right answers Oslo and Bergen; rivals Rome (as a success) and Paris (as a failure)."""
    return scenario(
        [
            subtask(
                "s1.1",
                "Oslo",
                [
                    entry("s1.1.e1", "Oslo"),
                    entry("s1.1.e2", "Rome", attack="fabricated_claim"),
                ],
            ),
            subtask(
                "s1.2",
                "Bergen",
                [
                    entry("s1.2.e1", "Paris", attack="compromised_tool", failed=True),
                    entry("s1.2.e2"),
                    entry("s1.2.e3", "Bergen"),
                ],
            ),
        ]
    )


class ScriptedChat:
    """Replies in turn, an exception is raised; keeps the requests."""

    name = "scripted"
    context_window = 10_000

    def __init__(self, replies: Sequence[str | Exception]) -> None:
        self._replies = list(replies)
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> Completion:
        self.requests.append(request)
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return Completion(reply, "stop", Usage(10, 2), 0.5)

    async def count_tokens(self, text: str) -> int:
        return len(text.split())


class KeepAll:
    """Keeps everything and says in `log` what was asked of it, in order."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.steps: list[Step] = []
        self.events: list[Event] = []
        self._nodes: list[str] = []
        self._path = [0]

    def start(self, question: str) -> None:
        self._nodes = [question]
        self.log.append("start")

    async def context(self, available_tokens: int | None = None) -> WorkingContext:
        assert available_tokens is None or available_tokens > 0
        self.log.append("context")
        ids = tuple(range(len(self._nodes)))
        return WorkingContext(
            text="\n".join(self._nodes),
            selected=ids,
            pool=ids,
            active_path=tuple(self._path),
            cut=(),
            selected_tokens=len(ids),
            pool_tokens=len(ids),
            selection=Selection("all"),
        )

    async def record(self, step: Step) -> Recorded:
        self.steps.append(step)
        if step.action is not None:
            self.log.append(f"record {step.action.provenance['entry']}")
            self._nodes.append(step.action.observation)
            return Recorded(action=len(self._nodes) - 1)
        assert step.operation is not None
        if step.operation.kind == "open":
            self.log.append(f"open {step.operation.goal}")
            self._nodes.append(step.operation.goal)
            self._path = [0, len(self._nodes) - 1]
            return Recorded(task=self._path[-1])
        self.log.append(f"complete {step.operation.result}")
        self._path = [0]
        return Recorded()

    async def finish(self, answer: str | None) -> None:
        self.log.append(f"finish {answer}")

    def snapshot(self) -> dict[str, Any]:
        return {}


def answer(value: str) -> str:
    return f'{{"answer": "{value}"}}'


def dead() -> ChatError:
    return ChatError("the server is gone")
