"""Replays a scenario into a memory, in the order that our reading of section 3.2 fixes.

Per entry: record it, then build one working context (pool, selection, feedback, suppression). At
the end of a subtask: one critical reasoning step on the context built after its last entry, then
the subtask completes with the answer given, right or wrong, and folds where the memory folds. Last
comes a question over all subtasks, on a context of its own. Only the `Memory` protocol is used.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

from agents.ledger import Meter
from agents.trace import CallRecord, Status, context_record, event_record
from poisoning import asking
from poisoning.lines import (
    CompleteLine,
    CriticalLine,
    EntryLine,
    FinalLine,
    Line,
    OpenLine,
)
from poisoning.schema import Entry, Scenario, Subtask
from wmt.chat import ChatError, ContextOverflow
from wmt.memory import Action, Memory, Step, TaskOperation, WorkingContext
from wmt.nodes import Outcome

T = TypeVar("T")

_MARGIN = 128  # tokens left for what a chat template adds


class Replay:
    """One scenario in one memory; `memory` was built with `meter`. `lines` is what happened."""

    def __init__(
        self, scenario: Scenario, memory: Memory, meter: Meter, max_tokens: int, seed: int
    ) -> None:
        self._scenario = scenario
        self._memory = memory
        self._meter = meter
        self._max_tokens = max_tokens
        self._seed = seed
        self._seen_calls = 0
        self._seen_events = 0
        self.lines: list[Line] = []

    async def run(self) -> FinalLine:
        """The whole scenario. A model that cannot answer ends it: data, not a bug."""
        status: Status = "answered"
        error = ""
        context: WorkingContext | None = None
        answer: str | None = None
        self._memory.start(self._scenario.question)
        try:
            for subtask in self._scenario.subtasks:
                await self._subtask(subtask)
            context, _ = await self._context()
            _, answer = await self._ask(context, self._scenario.question)
        except ContextOverflow as failure:
            status, error = "context_limit", str(failure)
        except ChatError as failure:
            status, error = "error", str(failure) or type(failure).__name__
        await self._memory.finish(answer)
        final = FinalLine(
            status=status,
            error=error,
            context=None if context is None else context_record(context),
            answer=answer,
            right_parts=self._right_parts(answer),
            calls=self._new_calls(),
            events=self._new_events(),
        )
        self.lines.append(final)
        return final

    async def _subtask(self, subtask: Subtask) -> None:
        node = await self._open(subtask)
        context: WorkingContext | None = None
        for entry in subtask.entries:
            context = await self._entry(subtask, entry)
        if context is None:
            raise RuntimeError(f"{subtask.id}: a subtask without entries has no last context")
        reply, answer = await self._ask(context, subtask.question)
        calls = self._new_calls()
        self.lines.append(CriticalLine(subtask=subtask.id, reply=reply, answer=answer, calls=calls))
        await self._complete(subtask, node, asking.UNKNOWN if answer is None else answer)

    async def _open(self, subtask: Subtask) -> int:
        opening = Step(operation=TaskOperation("open", goal=subtask.goal))
        recorded, seconds = await self._timed(self._memory.record(opening))
        if recorded.task is None:
            raise RuntimeError(f"{subtask.id}: the memory did not open the subtask")
        events = self._new_events()
        self.lines.append(
            OpenLine(subtask=subtask.id, node=recorded.task, seconds=seconds, events=events)
        )
        return recorded.task

    async def _entry(self, subtask: Subtask, entry: Entry) -> WorkingContext:
        step = Step(action=action(entry))
        recorded, record_seconds = await self._timed(self._memory.record(step))
        if recorded.action is None:
            raise RuntimeError(f"{entry.id}: the memory did not record the entry")
        context, context_seconds = await self._context()
        self.lines.append(
            EntryLine(
                subtask=subtask.id,
                entry=entry.id,
                node=recorded.action,
                context=context_record(context),
                prompt_tokens=await self._meter.count_tokens(context.text),
                record_seconds=record_seconds,
                context_seconds=context_seconds,
                calls=self._new_calls(),
                events=self._new_events(),
            )
        )
        return context

    async def _complete(self, subtask: Subtask, node: int, result: str) -> None:
        completing = Step(operation=TaskOperation("complete", result=result))
        recorded, seconds = await self._timed(self._memory.record(completing))
        if recorded.refused:
            raise RuntimeError(f"{subtask.id}: the memory did not complete it: {recorded.refused}")
        events = self._new_events()
        self.lines.append(
            CompleteLine(
                subtask=subtask.id,
                node=node,
                result=result,
                summary=_summary(events, node),
                seconds=seconds,
                calls=self._new_calls(),
                events=events,
            )
        )

    async def _context(self) -> tuple[WorkingContext, float]:
        return await self._timed(self._memory.context(await self._room()))

    async def _room(self) -> int:
        """Tokens that the window leaves for the memory, whichever question is asked on it."""
        fixed = asking.system_prompt() + asking.user_prompt("", self._scenario.question)
        used = await self._meter.count_tokens(fixed)
        return max(0, self._meter.context_window - self._max_tokens - used - _MARGIN)

    async def _ask(self, context: WorkingContext, question: str) -> tuple[str, str | None]:
        asked = asking.request(context.text, question, self._max_tokens, self._seed)
        return await asking.ask(self._meter, asked)

    def _right_parts(self, answer: str | None) -> list[bool]:
        wanted = [(subtask.answer, subtask.value_type) for subtask in self._scenario.subtasks]
        return [False] * len(wanted) if answer is None else asking.same_list(answer, wanted)

    async def _timed(self, work: Awaitable[T]) -> tuple[T, float]:
        """Await the memory; the seconds are those outside its model calls and token counts."""
        busy, started = self._meter.busy_seconds, time.perf_counter()
        result = await work
        waited = self._meter.busy_seconds - busy
        return result, max(0.0, time.perf_counter() - started - waited)

    def _new_calls(self) -> list[CallRecord]:
        calls = self._meter.calls[self._seen_calls :]
        self._seen_calls += len(calls)
        return calls

    def _new_events(self) -> list[dict[str, Any]]:
        events = self._memory.events[self._seen_events :]
        self._seen_events += len(events)
        return [event_record(event) for event in events]


def action(entry: Entry) -> Action:
    """An entry as the agent's action. What evaluators know goes into `provenance` alone."""
    return Action(
        tool=entry.tool,
        arguments=dict(entry.arguments),
        observation=entry.text,
        outcome=Outcome(entry.outcome),
        provenance={"entry": entry.id, "poisoned": entry.poisoned, "attack": entry.attack},
    )


def _summary(events: Sequence[dict[str, Any]], node: int) -> dict[str, Any] | None:
    """What the fold of task `node` put in the place of its branch; None if it did not fold."""
    for event in events:
        if event["kind"] == "folded" and event["node"] == node:
            return dict(event["after"]["summary"])
    return None
