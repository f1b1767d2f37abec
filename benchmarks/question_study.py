"""A benchmark of questions as a study: one ReAct episode per question, one row, one trace."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.ledger import Meter
from agents.react import AgentConfig, run_episode
from agents.tools.base import Tool
from agents.trace import CallRecord, EpisodeRecord
from benchmarks.errors import SetupError
from benchmarks.records import Counters, RoleTokens, Row, RowBase
from benchmarks.study import CellContext, ItemResult, WithEnd, hash_ids
from benchmarks.task import Benchmark, Task
from wmt.events import Event

_EVENT_COUNTERS = {
    "folded": "folds",
    "reopened": "reopenings",
    "missed": "decays",
    "suppressed": "suppressions",
    "superseded": "supersessions",
}


class QuestionDatasetConfig(BaseModel, ABC):
    """Base of every question set: a subclass adds its keys, `preflight` and `load`.

    `level`, `ids` and `limit` cut the set, in this order; the cut never changes a result, so it is
    outside the config digest. `uses_web`: whether it needs the tools that `configs/tools` sets up,
    the web's among them. `path` is a local copy of the data, where the set takes one.
    """

    model_config = ConfigDict(extra="forbid")
    outside_digest: ClassVar[frozenset[str]] = frozenset({"limit", "level", "ids", "path"})
    uses_web: ClassVar[bool] = False

    name: str
    limit: int | None = Field(default=None, ge=1)
    level: Literal[1, 2, 3] | None = None
    ids: list[str] | None = Field(default=None, min_length=1)
    path: Path | None = None

    def preflight(self) -> list[str]:
        """One line per thing that is missing, with the remedy."""
        return []

    @abstractmethod
    def load(self, tools: Any) -> Benchmark:
        """The whole, uncut benchmark; raises `SetupError`."""

    def study(self, agent: AgentConfig, tools: Any) -> QuestionStudy:
        """The benchmark, cut as configured."""
        benchmark = self.load(tools)
        every = benchmark.tasks()
        return QuestionStudy(benchmark, self._cut(every), every, agent, self.uses_web)

    def _cut(self, tasks: Sequence[Task]) -> list[Task]:
        """Apply `level`, `ids` and `limit`; the set's own order is kept."""
        kept = [task for task in tasks if self.level is None or task.level == self.level]
        if self.ids is not None:
            unknown = sorted(set(self.ids) - {task.id for task in kept})
            if unknown:
                where = self.name if self.level is None else f"level {self.level} of {self.name}"
                raise SetupError(f"dataset.ids: not in {where}: {', '.join(unknown)}")
            kept = [task for task in kept if task.id in self.ids]
        if not kept:
            raise SetupError(f"dataset.level={self.level}: {self.name} has no such question")
        return kept[: self.limit]


class QuestionStudy:
    """Runs an agent over a benchmark's questions (see `benchmarks.study.Study`)."""

    def __init__(
        self,
        benchmark: Benchmark,
        tasks: Sequence[Task],
        every: Sequence[Task],
        agent: AgentConfig,
        uses_web: bool,
    ) -> None:
        self.name = benchmark.name
        self.revision = benchmark.revision
        self.full_size = len(every)
        self.ids_hash = hash_ids(task.id for task in every)
        self.uses_web = uses_web
        self.row_type: type[RowBase] = Row
        self._benchmark = benchmark
        self._tasks = {task.id: task for task in tasks}
        self._agent = agent

    def item_ids(self) -> Sequence[str]:
        """The cut's question ids, in the set's order."""
        return list(self._tasks)

    async def run(self, item_id: str, cell: CellContext) -> ItemResult:
        """One question with a fresh memory: the episode, its score, its row and its trace."""
        self._check_window(cell.chat.context_window)
        task = self._tasks[item_id]
        meter = Meter(cell.chat)
        memory = cell.memory.build(meter)
        tools = self._benchmark.tools(task)
        started = time.time()
        episode = await run_episode(
            task.question,
            memory,
            meter,
            tools,
            self._agent,
            answer_instructions=self._benchmark.answer_instructions,
            files=task.files,
            seed=cell.key.seed,
        )
        answered = episode.status != "error"
        row = Row(
            cell=cell.key,
            task_id=task.id,
            level=task.level,
            status=episode.status,
            answer=episode.answer,
            score=self._benchmark.score(task, episode.answer) if answered else 0.0,
            steps=len(episode.steps),
            tokens=tokens_by_role(meter.calls),
            usage_estimated=meter.estimated,
            counters=count(episode, meter.calls, memory.events, tools),
            seconds=episode.seconds,
            started_at=started,
            error=episode.error,
        )
        return ItemResult(row, trace_lines(row, task, episode, memory.events))

    def _check_window(self, window: int) -> None:
        """A window that a reply alone would fill is a mistake, not `context_limit` for all."""
        reply = self._agent.max_new_tokens
        if reply + self._agent.context_margin >= window:
            raise SetupError(
                f"agent.max_new_tokens={reply}: leaves nothing of the model's window of {window} "
                "tokens for a prompt; lower it (agent=small is made for small models)"
            )

    def after_cell(self, folder: Path, rows: Sequence[RowBase]) -> None:
        """Let the benchmark write what it has to (GAIA: a submission file)."""
        if isinstance(self._benchmark, WithEnd):
            self._benchmark.after_cell(folder, rows)


def tokens_by_role(calls: Iterable[CallRecord]) -> dict[str, RoleTokens]:
    """Tokens, calls and latency summed by role, roles in name order."""
    roles: dict[str, RoleTokens] = {}
    for call in calls:
        role = roles.setdefault(call.role, RoleTokens())
        role.calls += 1
        role.prompt += call.prompt_tokens
        role.completion += call.completion_tokens
        role.cached += call.cached_tokens
        role.seconds += call.seconds
    return dict(sorted(roles.items()))


def count(
    episode: EpisodeRecord,
    calls: Iterable[CallRecord],
    events: Sequence[Event],
    tools: Sequence[Tool],
) -> Counters:
    """How often each part of the method was exercised in one episode."""
    counters = Counters(selector_calls=sum(call.role == "selector" for call in calls))
    for kind, number in Counter(event.kind for event in events).items():
        if kind in _EVENT_COUNTERS:
            setattr(counters, _EVENT_COUNTERS[kind], number)
    counters.summary_fallbacks = sum(
        event.kind == "folded" and bool(event.detail.get("fallback")) for event in events
    )
    for step in episode.steps:
        selection = step.context.selection
        counters.selector_retries += selection.get("retries", 0)
        counters.selector_fallbacks += bool(selection.get("fallback", False))
        counters.selector_unknown_ids += selection.get("unknown", 0)
        counters.selector_cut += selection.get("cut", 0)
        counters.context_cuts += len(step.context.cut)
        counters.refused_operations += len(step.refused)
        counters.format_errors += len(step.format_errors)
        counters.tool_failures += step.outcome == "failure"
    counters.contaminated_dropped = sum(getattr(tool, "contaminated_dropped", 0) for tool in tools)
    return counters


def trace_lines(
    row: Row, task: Task, episode: EpisodeRecord, events: Sequence[Event]
) -> list[dict[str, Any]]:
    """Header, one line per step, and the end with the events that followed the last step."""
    seen = sum(len(step.events) for step in episode.steps)
    header = {
        "type": "header",
        "schema_version": row.schema_version,
        "task_id": task.id,
        "level": task.level,
        "question": task.question,
        "files": [file.name for file in task.files],
        "cell": row.cell.model_dump(mode="json"),
    }
    final = {
        "type": "final",
        "status": row.status,
        "answer": row.answer,
        "score": row.score,
        "seconds": row.seconds,
        "error": row.error,
        "events": [asdict(event) for event in events[seen:]],
    }
    steps = [{"type": "step", **step.model_dump(mode="json")} for step in episode.steps]
    return [header, *steps, final]
