"""What all memories share: one tree, in which a question's steps are recorded (paper, 2.2).

The memories differ in the context they build and in the controller's switches; structure, refusals
and events are the same, so that their traces can be compared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from wmt import snapshot
from wmt.controller import LifecycleRules, MemoryController, Refused
from wmt.events import Event
from wmt.grammar import summary_content
from wmt.memory import Recorded, Step, WorkingContext
from wmt.nodes import MemoryNode, Outcome
from wmt.retention import InitialScores, RetentionParams
from wmt.summarizer import ExtractiveSummarizer, Summarizer
from wmt.tree import MemoryTree


class MemoryName(BaseModel):
    """The key of every memory: its name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str


class RecordingConfig(MemoryName):
    """Keys of every memory but `none`: the budget B in tokens; null is what the model's window
    leaves (section 2.1)."""

    budget_tokens: int | None = Field(default=None, ge=0)


PLAIN_RULES = LifecycleRules(
    folding=False,
    scoring=False,
    suppression=False,
    retention=RetentionParams(),
    initial=InitialScores(),
)
"""A memory that keeps every step as it was recorded."""


class RecordingMemory(ABC):
    """A memory over one tree; subclasses build the context.

    `context` and `record` before `start` or after `finish` raise RuntimeError: a bug of the caller.
    """

    def __init__(
        self,
        config: MemoryName,
        rules: LifecycleRules = PLAIN_RULES,
        summarizer: Summarizer | None = None,
        tree: MemoryTree | None = None,
        conversation: bool = False,
    ) -> None:
        self.config: MemoryName = config
        self.tree = MemoryTree() if tree is None else tree
        self.controller = MemoryController(self.tree, rules, summarizer or ExtractiveSummarizer())
        self._conversation = conversation
        self._running = False
        self._last_step: int | None = None
        self._to_supersede: list[int] = []

    @property
    def events(self) -> Sequence[Event]:
        """Everything that happened so far, in order."""
        return self.tree.log

    def node(self, node_id: int) -> MemoryNode:
        """A node, obsolete or not: nothing is ever deleted. KeyError for an unknown id."""
        return self.tree.nodes[node_id]

    def pool(self) -> tuple[int, ...]:
        """Ids that are candidates of a context built now, ascending."""
        return tuple(self.tree.pool())

    def start(self, question: str) -> None:
        """Begin a question. A second one needs conversation mode; global memories survive into it,
        and ids go on."""
        if self.tree.nodes and not (self._conversation and not self._running):
            raise RuntimeError("this memory has had its question; build a fresh one")
        self.controller.start(question)
        self.tree.step += 1
        self._running = True
        self._last_step = None
        self._to_supersede.clear()

    def add_global(self, content: str) -> int:
        """A global memory, which belongs to no branch (section 2.3); returns its id."""
        return self.controller.add_global(content)

    @abstractmethod
    async def context(self, available_tokens: int | None = None) -> WorkingContext:
        """Build the working context of the next prompt."""

    async def record(self, step: Step, supersede: Sequence[int] = ()) -> Recorded:
        """Steps 5-7 of an interaction (spec of the order): open or resume, the action, complete
        and fold, supersede what the selector or the caller names, suppress."""
        self._check_running()
        control = self.controller
        refused: list[str] = []
        task = action = None
        operation = step.operation
        if operation is not None and operation.kind != "complete":
            try:
                if operation.kind == "open":
                    task = control.open(operation.goal, operation.parent)
                else:
                    control.resume(operation.task)
            except Refused as why:
                refused.append(str(why))
        if step.action is not None:
            action = self._last_step = control.act(step.action, step.thought)
        if operation is not None and operation.kind == "complete":
            try:
                completed = await control.complete(operation.result)
                if action is None:
                    self._last_step = completed
            except Refused as why:
                refused.append(str(why))
        for superseded in self._to_supersede:
            # The selector's wish may be out of date by now; that is nothing the agent did wrong.
            self._try_supersede(superseded, action, "named by the selector")
        self._to_supersede.clear()
        for superseded in supersede:
            message = self._try_supersede(superseded, action, "named with the step")
            if message is not None:
                refused.append(message)
        control.evaluate()
        self.tree.step += 1
        return Recorded(
            task if operation and operation.kind == "open" else None, action, tuple(refused)
        )

    def supersede(self, node_id: int, by: int | None = None, reason: str = "") -> str | None:
        """Mark a task or a single node obsolete by an explicit event (section 2.5). Returns why it
        is refused, or None."""
        message = self._try_supersede(node_id, by, reason)
        self.controller.evaluate()
        return message

    def revise(self, node_id: int, outcome: Outcome) -> str | None:
        """Revise the outcome of an action (Eq. 2). Returns why it is refused, or None."""
        try:
            self.controller.revise(node_id, outcome)
        except Refused as why:
            return str(why)
        return None

    async def finish(self, answer: str | None) -> None:
        """The final answer completes the root and closes what is open; without one, things stay as
        they are. In conversation mode the root's summary becomes a global memory."""
        self._check_running()
        self._running = False
        if answer is None:
            return
        summary = await self.controller.finish(answer, summarize=self._conversation)
        if summary is not None:
            self.controller.promote(summary_content(summary))
        self.tree.step += 1

    def snapshot(self) -> dict[str, Any]:
        """The whole state as JSON-ready data; see `wmt.snapshot`."""
        return snapshot.dump(self)

    def extra_state(self) -> dict[str, Any]:
        """State that is not in the tree, JSON-ready."""
        return {
            "running": self._running,
            "last_step": self._last_step,
            "to_supersede": list(self._to_supersede),
        }

    def restore_extra(self, state: dict[str, Any]) -> None:
        """The inverse of `extra_state`; KeyError or ValueError for anything else."""
        running, last, named = state["running"], state["last_step"], state["to_supersede"]
        if type(running) is not bool or not isinstance(named, list):
            raise ValueError(f"running is {running!r}, to_supersede {named!r}")
        for each in named if last is None else [last, *named]:
            if type(each) is not int or each not in self.tree.nodes:
                raise ValueError(f"there is no node {each!r}")
        self._running, self._last_step, self._to_supersede = running, last, list(named)

    def _check_running(self) -> None:
        if not self._running:
            raise RuntimeError("no question is open: call start() first")

    def _try_supersede(self, node_id: int, by: int | None, reason: str) -> str | None:
        try:
            self.controller.supersede(node_id, by, reason)
        except Refused as why:
            return str(why)
        return None


def smaller(budget: int | None, available: int | None) -> int | None:
    """The budget B: the smaller of the configured one and what the window leaves (section 2.1)."""
    known = [each for each in (budget, available) if each is not None]
    return min(known) if known else None


SelectorName = Literal["llm", "lexical"]
SummarizerName = Literal["llm", "extractive"]
