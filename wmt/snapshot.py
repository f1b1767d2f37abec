"""A memory's state to disk and back, and the replay of its event log.

Schema of a snapshot (one JSON object, UTF-8), version 1:

    format    "wmt-memory"
    version   1
    config    the configuration of the memory, as resolved; a restored memory must have the same
    step      the interaction step that comes next
    active    id of the active task, null before the first question
    nodes     every node in order of id, each with the fields of `wmt.nodes.MemoryNode`
    changed   ids of tasks that the next evaluation of Eq. 7 looks at
    extra     what the memory keeps beside the tree
    events    the event log, each event with the fields of `wmt.events.Event`

Anything else is refused with a `SnapshotError` of one line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wmt.events import Event
from wmt.nodejson import node_from_json, node_to_json
from wmt.tree import MemoryTree

if TYPE_CHECKING:
    from wmt.recording import RecordingMemory

FORMAT = "wmt-memory"
VERSION = 1


class SnapshotError(Exception):
    """What was read is not a snapshot that this memory can continue from."""


def dump(memory: RecordingMemory) -> dict[str, Any]:
    """The state of a memory as JSON-ready data."""
    tree = memory.tree
    return {
        "format": FORMAT,
        "version": VERSION,
        "config": memory.config.model_dump(mode="json"),
        "step": tree.step,
        "active": tree.path[-1] if tree.path else None,
        "nodes": [node_to_json(node) for node in tree.nodes.values()],
        "changed": sorted(tree.changed),
        "extra": memory.extra_state(),
        "events": [event_to_json(event) for event in tree.log],
    }


def restore(memory: RecordingMemory, data: Any) -> None:
    """Put a state into a freshly built memory of the same configuration; raises `SnapshotError`."""
    _check_header(data)
    tree = memory.tree
    if tree.nodes:
        raise SnapshotError("a snapshot is restored into a fresh memory only; this one has nodes")
    config = memory.config.model_dump(mode="json")
    theirs = data["config"]
    if theirs != config:
        keys = sorted({*theirs, *config})
        differing = ", ".join(key for key in keys if theirs.get(key) != config.get(key))
        raise SnapshotError(
            f"the snapshot was written under another configuration; differing: {differing}"
        )
    try:
        for entry in data["nodes"]:
            node = node_from_json(entry)
            if node.id != len(tree.nodes):
                raise ValueError(f"node {node.id} stands at position {len(tree.nodes)}")
            tree.insert(node)
        _known(data["changed"], tree.stats, "changed task")
        if tree.stats or data["active"] is not None:
            _known([data["active"]], tree.stats, "active task")
            tree.move_to(data["active"])
        tree.step = data["step"]
        tree.changed = set(data["changed"])
        for entry in data["events"]:
            tree.log.append(event_from_json(entry))
        memory.restore_extra(data["extra"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SnapshotError(f"the snapshot is damaged: {type(error).__name__}: {error}") from None


def save(memory: RecordingMemory, path: Path) -> None:
    """Write a snapshot whole or not at all."""
    text = json.dumps(memory.snapshot())
    partial = path.with_name(path.name + ".partial")
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def load(memory: RecordingMemory, path: Path) -> None:
    """Restore a freshly built memory from a file; raises `SnapshotError`, which names the file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SnapshotError(f"{path}: not a readable snapshot: {error}") from None
    try:
        restore(memory, data)
    except SnapshotError as error:
        raise SnapshotError(f"{path}: {error}") from None


def replay(events: Iterable[Event], tree: MemoryTree) -> MemoryTree:
    """Apply events to an empty tree; the result is the state they were logged in."""
    for event in events:
        tree.step = event.step
        tree.apply(event)
        tree.log.append(event)
    return tree


def event_to_json(event: Event) -> dict[str, Any]:
    """An event as JSON-ready data."""
    return {
        "step": event.step,
        "kind": event.kind,
        "node": event.node,
        "before": event.before,
        "after": event.after,
        "detail": event.detail,
    }


def event_from_json(data: dict[str, Any]) -> Event:
    """The inverse of `event_to_json`."""
    for name, kind in _EVENT_FIELDS.items():
        if not isinstance(data[name], kind) or isinstance(data[name], bool):
            raise TypeError(f"{name} of an event is {data[name]!r}")
    return Event(
        data["step"], data["kind"], data["node"], data["before"], data["after"], data["detail"]
    )


def _known(ids: list[Any], among: Container[int], what: str) -> None:
    for each in ids:
        if type(each) is not int or each not in among:
            raise ValueError(f"there is no {what} {each!r}")


_EVENT_FIELDS: dict[str, type] = {
    "step": int,
    "kind": str,
    "node": int,
    "before": dict,
    "after": dict,
    "detail": dict,
}
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "config": dict,
    "step": int,
    "active": (int, type(None)),
    "nodes": list,
    "changed": list,
    "extra": dict,
    "events": list,
}


def _check_header(data: Any) -> None:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise SnapshotError(f'not a snapshot of a memory (no "format": "{FORMAT}")')
    if data.get("version") != VERSION:
        raise SnapshotError(
            f"version {data.get('version')!r} of the snapshot format; this is version {VERSION}"
        )
    for name, kind in _FIELDS.items():
        value = data.get(name, ...)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise SnapshotError(f"the snapshot is damaged: field {name} is missing or malformed")
