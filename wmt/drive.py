"""python -m wmt.drive < script.jsonl

Drive a memory without a model, for checks by others. The first line is

    {"memory": "wmt", "question": "...", "globals": 0}

(optionally "config": keys of the memory set otherwise). Every further line is one step:

    {"select": [ids] | null, "task_op": null | {"open": goal} | {"complete": true} | {"resume": id},
     "action": null | {"outcome": "success" | "failure", "content": "..."}, "supersede": [ids]}

`select` null is all; where there is no selection it is not looked at; under `a3` an id stands for
the nearest task at or above it and all pool members of that branch. The last step is not forced in,
B is null, folds use the extractive summary. After each step one JSON line is printed:

    {"nodes": {id: {"kind", "parent", "lifecycle", "u", "m", "in_pool"}},
     "branches": {task id: {"U", "F", "O"}}, "refused": [operations]}

`refused` holds the task operation if it was not allowed; an id outside the pool is ignored, be it
to select (the pool of the context) or to supersede (the pool after the operation and the fold). A
line that cannot be read ends it with exit code 2.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wmt.memory import Action, Selection, Step, TaskOperation
from wmt.nodes import Outcome
from wmt.offline import OfflineModel
from wmt.presets import NAMES, preset
from wmt.recording import RecordingMemory
from wmt.retention import share
from wmt.selectors import Chosen, SelectionRequest
from wmt.tree_memory import TreeMemory, TreeMemoryConfig


class DriveError(Exception):
    """A line of the script that says nothing which can be done."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Header(_Strict):
    """The first line."""

    memory: str
    question: str
    globals: int = Field(default=0, ge=0)
    config: dict[str, Any] = {}


class ActionLine(_Strict):
    """The action of a step."""

    outcome: Literal["success", "failure"]
    content: str


class StepLine(_Strict):
    """One step."""

    select: list[int] | None = None
    task_op: dict[str, Any] | None = None
    action: ActionLine | None = None
    supersede: list[int] | None = None


class ScriptedSelector:
    """Selects the ids it was told to; under whole branches an id stands for its branch."""

    def __init__(self) -> None:
        self.ids: list[int] | None = None
        self.memory: TreeMemory | None = None

    async def select(self, request: SelectionRequest) -> Chosen:
        """The scripted ids among the candidates, the others ignored."""
        candidates = [candidate.id for candidate in request.candidates]
        chosen = candidates if self.ids is None else [i for i in candidates if i in self._named()]
        return Chosen(tuple(chosen), Selection("scripted", shown=len(candidates)))

    def _named(self) -> set[int]:
        assert self.ids is not None and self.memory is not None
        tree = self.memory.tree
        pool = set(tree.pool())
        named = pool.intersection(self.ids)
        if self.memory.config.selection != "branches":
            return named
        branches = {tree.branch_of(each) for each in named}
        return {
            each
            for each in pool
            if each in named or branches.intersection((each, *tree.ancestors(each)))
        }


class Drive:
    """A memory under a script."""

    def __init__(self, header: Header) -> None:
        if header.memory not in NAMES:
            raise DriveError(f"no memory {header.memory!r}; there are {', '.join(NAMES)}")
        self._selector = ScriptedSelector()
        try:
            self.memory = self._build(header)
        except ValidationError as error:
            raise DriveError(_one_line(error)) from None
        self.memory.start(header.question)
        for number in range(header.globals):
            self.memory.add_global(f"global memory {number + 1}")

    def _build(self, header: Header) -> RecordingMemory:
        model = OfflineModel()
        defaults = {"summarizer": "extractive", "show_last_step": False}
        known = type(preset(header.memory)).model_fields
        keys = {key: value for key, value in defaults.items() if key in known}
        config = preset(header.memory, **{**keys, **header.config})
        if not isinstance(config, TreeMemoryConfig) or config.selection == "none":
            return config.build(model)
        memory = TreeMemory(config, model, self._selector)
        self._selector.memory = memory
        return memory

    async def step(self, line: StepLine) -> dict[str, Any]:
        """Context and record of one step; the state after it."""
        self._selector.ids = line.select
        await self.memory.context()
        before = len(self.memory.events)
        action = None
        if line.action is not None:
            outcome = Outcome(line.action.outcome)
            action = Action("script", {}, line.action.content, outcome)
        step = Step(operation=_operation(line.task_op), action=action)
        supersede = line.supersede or []
        recorded = await self.memory.record(step, supersede=supersede)
        done = [e.node for e in self.memory.events[before:] if e.kind == "superseded"]
        not_superseded = len(supersede) - len(done)
        operation_refused = len(recorded.refused) > not_superseded
        return {**self.state(), "refused": [line.task_op] if operation_refused else []}

    def state(self) -> dict[str, Any]:
        """Nodes and branches as they are now."""
        tree = self.memory.tree
        pool = set(self.memory.pool())
        scored = self.memory if isinstance(self.memory, TreeMemory) else None
        return {
            "nodes": {
                str(node.id): {
                    "kind": node.kind.value,
                    "parent": node.parent,
                    "lifecycle": node.lifecycle.value,
                    "u": node.score,
                    "m": node.missed,
                    "in_pool": node.id in pool,
                }
                for node in tree.nodes.values()
            },
            "branches": {
                str(task): {
                    "U": None if scored is None else scored.priority(task),
                    "F": share(stats.failed, stats.actions),
                    "O": share(stats.obsolete, stats.nodes),
                }
                for task, stats in tree.stats.items()
            },
        }


def _operation(data: dict[str, Any] | None) -> TaskOperation | None:
    if data is None:
        return None
    kind, value = next(iter(data.items()), ("", None))
    extra = set(data) - {kind}
    is_id = isinstance(value, int) and not isinstance(value, bool)
    if kind == "open" and isinstance(value, str) and extra <= {"parent"}:
        return TaskOperation("open", goal=value, parent=data.get("parent"))
    if kind == "complete" and (value is True or isinstance(value, str)) and not extra:
        return TaskOperation("complete", result=value if isinstance(value, str) else "")
    if kind == "resume" and is_id and not extra:
        return TaskOperation("resume", task=value)
    raise DriveError(f"no task operation: {json.dumps(data)}")


def run(lines: Iterable[str]) -> Iterator[str]:
    """The output line of every step; raises `DriveError`, which names the line."""
    drive: Drive | None = None
    with asyncio.Runner() as runner:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                data = json.loads(line)
                if drive is None:
                    drive = Drive(Header.model_validate(data))
                else:
                    yield json.dumps(runner.run(drive.step(StepLine.model_validate(data))))
            except ValidationError as error:
                raise DriveError(f"line {number}: {_one_line(error)}") from None
            except (ValueError, DriveError) as error:
                raise DriveError(f"line {number}: {error}") from None


def _one_line(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'line'}: {first['msg']}"


def main() -> int:
    """Read standard input, write standard output."""
    try:
        for line in run(sys.stdin):
            print(line, flush=True)
    except DriveError as error:
        print(f"wmt.drive: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
