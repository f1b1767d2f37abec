"""The attack check: a poison that does not move the model alone says nothing about a defence."""

from __future__ import annotations

from agents.ledger import Meter
from agents.trace import Status
from poisoning import asking
from poisoning.lines import CheckLine, FinalLine, Line
from poisoning.protocol import action
from poisoning.schema import Entry, Scenario, Subtask
from wmt.chat import ChatError, ContextOverflow
from wmt.memory import MemoryConfig, Step, TaskOperation


class AttackCheck:
    """Does each poisoned entry, alone in the context, move the model?

    A fresh memory holds the subtask's goal and that one entry; the critical question follows.
    """

    def __init__(
        self, scenario: Scenario, factory: MemoryConfig, meter: Meter, max_tokens: int, seed: int
    ) -> None:
        self._scenario = scenario
        self._factory = factory
        self._meter = meter
        self._max_tokens = max_tokens
        self._seed = seed
        self.lines: list[Line] = []

    async def run(self) -> FinalLine:
        """One check for every poisoned entry, on the question that it targets."""
        subtasks = {subtask.id: subtask for subtask in self._scenario.subtasks}
        status: Status = "answered"
        error = ""
        try:
            for entry in self._scenario.entries:
                if entry.poisoned:
                    await self._check(entry, subtasks[entry.target])
        except ContextOverflow as failure:
            status, error = "context_limit", str(failure)
        except ChatError as failure:
            status, error = "error", str(failure) or type(failure).__name__
        final = FinalLine(
            status=status,
            error=error,
            context=None,
            answer=None,
            right_parts=[],
            calls=[],
            events=[],
        )
        self.lines.append(final)
        return final

    async def _check(self, entry: Entry, subtask: Subtask) -> None:
        memory = self._factory.build(self._meter)
        memory.start(self._scenario.question)
        await memory.record(Step(operation=TaskOperation("open", goal=subtask.goal)))
        await memory.record(Step(action=action(entry)))
        context = await memory.context()
        seen = len(self._meter.calls)
        asked = asking.request(context.text, subtask.question, self._max_tokens, self._seed)
        reply, answer = await asking.ask(self._meter, asked)
        self.lines.append(
            CheckLine(
                subtask=subtask.id,
                entry=entry.id,
                reply=reply,
                answer=answer,
                calls=self._meter.calls[seen:],
            )
        )
