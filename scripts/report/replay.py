"""Traces as pictures need them: steps, and a memory's nodes rebuilt from its events."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.store import TRACES, read_trace, trace_name
from scripts.report.load import ResultsError


@dataclass
class ReplayedNode:
    """A memory node as it stands after the events so far."""

    id: int
    kind: str
    parent: int | None
    content: str
    score: float
    lifecycle: str
    outcome: str | None = None
    tool: str | None = None
    poisoned: bool = False
    created_step: int = 0


@dataclass
class Replay:
    """A memory rebuilt by applying events in order."""

    nodes: dict[int, ReplayedNode] = field(default_factory=dict)

    def apply(self, events: Iterable[dict[str, Any]]) -> None:
        """Apply events as `wmt.events.Event` has them, in dict form."""
        for event in events:
            after = event["after"]
            if event["kind"] == "created":
                self.nodes[event["node"]] = ReplayedNode(
                    id=event["node"],
                    kind=after["kind"],
                    parent=after["parent"],
                    content=after["content"],
                    score=after["score"],
                    lifecycle=after["lifecycle"],
                    outcome=after.get("outcome"),
                    tool=after.get("tool"),
                    poisoned=bool(after.get("provenance", {}).get("poisoned")),
                    created_step=event["step"],
                )
            node = self.nodes.get(event["node"])
            if node is None:
                continue
            for name in ("score", "lifecycle", "outcome"):
                if name in after:
                    setattr(node, name, after[name])

    def above(self, node: ReplayedNode) -> Iterator[ReplayedNode]:
        """The node's ancestors, nearest first."""
        parent = node.parent
        while parent is not None and parent in self.nodes:
            yield self.nodes[parent]
            parent = self.nodes[parent].parent

    def suppressed(self, node: ReplayedNode) -> bool:
        """Whether the node is obsolete or below an obsolete one."""
        return any(n.lifecycle == "obsolete" for n in (node, *self.above(node)))

    def hidden(self, node: ReplayedNode) -> bool:
        """Whether a summary above it stands for the node."""
        return any(n.lifecycle == "folded" for n in self.above(node))


@dataclass(frozen=True)
class StepView:
    """What the pictures show of one step of one run."""

    step: int
    prompt_tokens: int
    pool: int
    selected: int
    nodes: int
    folded: float
    suppressed: float
    scores: dict[int, float]


def read_steps(lines: Iterable[dict[str, Any]]) -> list[StepView]:
    """Step by step, for a question's trace. `prompt_tokens` are those of the agent's calls."""
    replay = Replay()
    views = []
    for line in lines:
        replay.apply(line.get("events", ()))
        if line["type"] != "step":
            continue
        nodes = list(replay.nodes.values())
        suppressed = [node for node in nodes if replay.suppressed(node)]
        folded = [n for n in nodes if replay.hidden(n) and not replay.suppressed(n)]
        size = max(len(nodes), 1)
        views.append(
            StepView(
                step=line["step"],
                prompt_tokens=sum(
                    call["prompt_tokens"] for call in line["calls"] if call["role"] == "agent"
                ),
                pool=len(line["context"]["pool"]),
                selected=len(line["context"]["selected"]),
                nodes=len(nodes),
                folded=len(folded) / size,
                suppressed=len(suppressed) / size,
                scores={node.id: node.score for node in nodes},
            )
        )
    return views


def final_tree(lines: Iterable[dict[str, Any]]) -> Replay:
    """The memory at the end of a trace, of a question or of a poisoning scenario."""
    replay = Replay()
    for line in lines:
        replay.apply(line.get("events", ()))
    return replay


def as_trace(lines: list[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    """The lines, if they are a trace's: its header first. Raises ResultsError."""
    if not lines or any(not isinstance(line, dict) or "type" not in line for line in lines):
        raise ResultsError(f"{path}: not a trace; its first line should be a header")
    return lines


def traced_tasks(
    folder: Path, task_ids: Iterable[str]
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The traces of a cell that are there, by task id."""
    if not (folder / TRACES).is_dir():
        return
    for task_id in task_ids:
        path = folder / TRACES / trace_name(task_id)
        try:
            lines = read_trace(folder, task_id)
        except FileNotFoundError:
            continue
        except (OSError, EOFError, zlib.error, ValueError) as error:
            raise ResultsError(f"{path}: cannot be read as a trace ({error})") from error
        yield task_id, as_trace(lines, path)
