"""Memory nodes as JSON-ready data and back: in events and in snapshots."""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from types import UnionType
from typing import Any

from wmt.nodes import Lifecycle, MemoryNode, NodeKind, Outcome, Summary

_NODE_FIELDS = tuple(spec.name for spec in fields(MemoryNode))
_TYPES: dict[str, type | UnionType] = {
    "id": int,
    "kind": NodeKind,
    "content": str,
    "parent": int | None,
    "score": float | int,
    "created_step": int,
    "lifecycle": Lifecycle,
    "missed": int,
    "last_event_step": int | None,
    "last_access_step": int | None,
    "outcome": Outcome | None,
    "tool": str | None,
    "arguments": dict | None,
    "thought": str,
    "result": str,
    "summary": Summary | None,
    "folded": bool,
    "provenance": dict,
}
# Not pydantic: its strings refuse lone surrogates, which tools do return.


def encoded(value: Any) -> Any:
    """One field of a node as JSON-ready data."""
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Summary):
        return {
            "objective": value.objective,
            "result": value.result,
            "evidence": list(value.evidence),
            "unresolved": list(value.unresolved),
            "warnings": list(value.warnings),
        }
    return value


def node_to_json(node: MemoryNode) -> dict[str, Any]:
    """A node as JSON-ready data."""
    return {name: encoded(getattr(node, name)) for name in _NODE_FIELDS}


def node_from_json(data: dict[str, Any]) -> MemoryNode:
    """The inverse of `node_to_json`; KeyError, TypeError or ValueError for anything else."""
    node = MemoryNode(**{name: decoded(name, data[name]) for name in _NODE_FIELDS})
    for name, kind in _TYPES.items():
        value = getattr(node, name)
        if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
            raise TypeError(f"{name} of node {node.id!r} is {value!r}")
    if not 0.0 <= node.score <= 1.0 or node.missed < 0:
        raise ValueError(f"node {node.id} has score {node.score} and missed {node.missed}")
    return node


def decoded(name: str, value: Any) -> Any:
    """One field of a node as the type it has in memory."""
    if value is None:
        return None
    match name:
        case "kind":
            return NodeKind(value)
        case "lifecycle":
            return Lifecycle(value)
        case "outcome":
            return Outcome(value)
        case "summary":
            return _summary(value)
    return value


def _summary(value: dict[str, Any]) -> Summary:
    lists = {name: value[name] for name in ("evidence", "unresolved", "warnings")}
    texts = [value["objective"], value["result"]]
    for name, entries in lists.items():
        if not isinstance(entries, list):
            raise TypeError(f"{name} of a summary is {entries!r}")
        texts += entries
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"a summary holds something that is no text: {texts!r}")
    return Summary(texts[0], texts[1], **{name: tuple(lists[name]) for name in lists})
