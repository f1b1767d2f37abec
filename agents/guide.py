"""The schema of each step: the same for every step, or narrowed for models too small to plan.

A model of a hundred million parameters repeats its last call and hardly ever opens a task. The
guide (`agent.guided`) takes away what would be refused or repeated; what is left, and every word of
it, is the model's. Results under it compare with each other only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agents.schema import Bounds, step_schema
from agents.tools.base import Tool


@dataclass(frozen=True)
class Offer:
    """What a step may do: task operations, tools by name, whether it may answer."""

    operations: tuple[str, ...]
    tools: tuple[str, ...]
    answer: bool


def offer(
    tools: Sequence[Tool], *, step: int, last_step: int, task_open: bool, last_tool: str | None
) -> Offer:
    """The first step opens a task and the second goes on with it, each with a tool; no tool comes
    twice in a row; a task that is open can be completed, none can be opened beside it; the last
    step answers."""
    names = tuple(tool.name for tool in tools if tool.name != last_tool)
    if step == last_step or not names:
        return Offer(("none", "complete") if task_open else ("none",), (), answer=True)
    if step <= 2:
        return Offer(("open",) if step == 1 else ("none",), names, answer=False)
    return Offer(("none", "complete") if task_open else ("none", "open"), names, answer=True)


class StepSchemas:
    """Builds each schema once, so that a server compiles its grammar once."""

    def __init__(self, tools: Sequence[Tool], bounds: Bounds, *, guided: bool) -> None:
        self._tools, self._bounds, self._guided = tuple(tools), bounds, guided
        self._built: dict[Offer | None, dict[str, Any]] = {}

    def of(
        self, *, step: int, last_step: int, task_open: bool, last_tool: str | None
    ) -> dict[str, Any]:
        """The schema of one step; what it depends on matters only where the agent is guided."""
        offered = None
        if self._guided:
            offered = offer(
                self._tools,
                step=step,
                last_step=last_step,
                task_open=task_open,
                last_tool=last_tool,
            )
        if offered not in self._built:
            self._built[offered] = self._build(offered)
        return self._built[offered]

    def _build(self, offered: Offer | None) -> dict[str, Any]:
        if offered is None:
            return step_schema(self._tools, self._bounds)
        return step_schema(
            [tool for tool in self._tools if tool.name in offered.tools],
            self._bounds,
            operations=offered.operations,
            answer=offered.answer,
        )
