"""One question's run, step by step.

    python -m scripts.show RESULTS TASK_ID [--memory wmt] [--model qwen3] [--full]

RESULTS is a results folder or any folder below it. Per step: the pool with scores as the selector
saw them and what was selected, the thought, the task operation, the action, the observation, what
the step changed in the memory, and its model calls. Everything is rebuilt from the trace alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from benchmarks.errors import SetupError
from benchmarks.store import find_cells, read_cell, read_trace, trace_name
from wmt.events import Event
from wmt.nodes import MemoryNode
from wmt.retention import RetentionParams
from wmt.tree import MemoryTree

_CUT = 600
_QUIET = ("created", "started", "missed", "selected", "activated")


def main(arguments: Sequence[str] | None = None) -> int:
    """Find the run and print it; exit code 2 for none, several, or a damaged one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("task_id")
    parser.add_argument("--memory", help="only cells with this memory")
    parser.add_argument("--model", help="only cells with this model")
    parser.add_argument("--full", action="store_true", help="cut nothing")
    options = parser.parse_args(arguments)
    found = [
        cell
        for cell in find_cells(options.results)
        if (cell / "traces" / trace_name(options.task_id)).exists()
        and options.memory in (None, cell.resolve().parts[-2])
        and options.model in (None, cell.resolve().parts[-3])
    ]
    if len(found) != 1:
        print(_not_one(options.results, options.task_id, found), file=sys.stderr)
        return 2
    try:
        show(found[0], options.task_id, Console(), full=options.full)
    except SetupError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _not_one(results: Path, task_id: str, found: Sequence[Path]) -> str:
    if not found:
        return f"{results}: no run of {task_id} here"
    lines = [f"{len(found)} runs of {task_id}; choose by --memory, --model or a folder:"]
    return "\n".join([*lines, *(f"  {cell}" for cell in found)])


def show(cell: Path, task_id: str, console: Console, full: bool = False) -> None:
    """Print one run."""
    config = read_cell(cell)["config"]
    replay = Replay(config.get("memory", {}))
    for line in read_trace(cell, task_id):
        kind = line["type"]
        if kind == "header":
            console.rule(escape(f"{task_id}  ({cell})"))
            _field(console, "question", line["question"], full)
        elif kind == "step":
            _step(console, replay, line, full)
        elif kind == "final":
            _changes(console, replay.apply(line["events"]))
            console.rule("end")
            score = "right" if line["score"] else "wrong"
            _field(console, line["status"], f"{line['answer']}  ({score}) {line['error']}", full)
        else:
            _field(console, kind, str({k: v for k, v in line.items() if k != "type"}), full)


class Replay:
    """The memory as it stood at any step, from the events alone."""

    def __init__(self, memory: dict[str, Any]) -> None:
        nodes, folded = memory.get("priority_nodes"), memory.get("folded_priority")
        self.tree = MemoryTree(nodes or "subtree", folded or "summary")
        self.scored = bool(memory.get("scoring"))
        self._params = RetentionParams(**memory.get("retention", {}))

    def apply(self, events: Iterable[dict[str, Any]]) -> list[Event]:
        """Make the changes and return them."""
        made = [Event(**event) for event in events]
        for event in made:
            self.tree.apply(event)
        return made

    def until_known(self, pool: Sequence[int], events: list[dict[str, Any]]) -> list[Event]:
        """Apply the first events, as many as the pool's nodes need to exist; they are removed."""
        made: list[Event] = []
        while events and not set(pool) <= set(self.tree.nodes):
            made += self.apply([events.pop(0)])
        return made

    def priority(self, node: int) -> float | None:
        """Eq. 6 of the branch that a node belongs to, where the configuration scores."""
        branch = self.tree.branch_of(node)
        if not self.scored or branch is None:
            return None
        return self.tree.priority(branch, self._params)


def _step(console: Console, replay: Replay, step: dict[str, Any], full: bool) -> None:
    console.rule(f"step {step['step']}")
    events = list(step["events"])
    context = step["context"]
    before = replay.until_known(context["pool"], events)
    _pool(console, replay, context, full)
    _field(console, "thought", step["thought"], full)
    if step["operation"]:
        _field(console, "task", str(step["operation"]), full)
    if step["tool"]:
        _field(console, "action", f"{step['tool']} {step['arguments']}", full)
    if step["observation"] is not None:
        _field(console, step["outcome"] or "observation", step["observation"], full)
    for name in ("refused", "format_errors"):
        for text in step[name]:
            _field(console, name.replace("_", " "), text, full)
    _changes(console, [*before, *replay.apply(events)])
    for call in step["calls"]:
        tokens = f"{call['prompt_tokens']} ({call['cached_tokens']} cached) + "
        tokens += f"{call['completion_tokens']} tokens, {call['seconds']:.2f} s"
        _field(console, "call", f"{call['role']}: {tokens}, {call['finish_reason']}", full)


def _pool(console: Console, replay: Replay, context: dict[str, Any], full: bool) -> None:
    selection = context["selection"]
    how = ", ".join(f"{key} {value}" for key, value in selection.items() if value)
    selected, cut = set(context["selected"]), set(context["cut"])
    title = f"{len(context['pool'])} candidates, {len(selected)} selected ({how})"
    table = Table(title=escape(title), title_justify="left", show_edge=False)
    for name in ("", "id", "kind", "state", "u", "m", "U", "content"):
        table.add_column(name, justify="right" if name in ("id", "u", "m", "U") else "left")
    for node_id in context["pool"]:
        node: MemoryNode = replay.tree.nodes[node_id]
        mark = "path" if node_id in context["active_path"] else "*" if node_id in selected else ""
        priority = replay.priority(node_id)
        table.add_row(
            "cut" if node_id in cut else mark,
            str(node_id),
            node.kind.value,
            node.outcome.value if node.outcome else node.lifecycle.value,
            f"{node.score:.3f}" if replay.scored else "",
            str(node.missed) if replay.scored else "",
            "" if priority is None else f"{priority:.3f}",
            escape(_short(node.content, 10_000 if full else 60)),
        )
    console.print(table)


def _changes(console: Console, events: Iterable[Event]) -> None:
    """What happened to the memory, routine feedback left out."""
    for event in events:
        if event.kind not in _QUIET:
            changed = ", ".join(
                f"{key} {_short(str(event.before.get(key)), 40)} -> {_short(str(value), 80)}"
                for key, value in event.after.items()
            )
            _field(console, event.kind, f"[{event.node}] {changed} {event.detail or ''}", True)


def _field(console: Console, name: str, text: str, full: bool) -> None:
    shown = text if full or len(text) <= _CUT else f"{text[:_CUT]} ... ({len(text)} characters)"
    lines = Padding(escape("\n".join(shown.splitlines())), (0, 0, 0, 2))
    row = Table.grid()
    row.add_column(width=12, justify="right", style="bold")
    row.add_column()
    row.add_row(escape(name), lines)
    console.print(row, highlight=False)


def _short(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 3] + "..."


if __name__ == "__main__":
    sys.exit(main())
