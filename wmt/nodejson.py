"""Memory nodes as JSON-ready data and back: in events and in snapshots."""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from typing import Any

from wmt.nodes import Lifecycle, MemoryNode, NodeKind, Outcome, Summary

_NODE_FIELDS = tuple(spec.name for spec in fields(MemoryNode))


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
    return MemoryNode(**{name: decoded(name, data[name]) for name in _NODE_FIELDS})


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
            lists = ("evidence", "unresolved", "warnings")
            return Summary(**{**value, **{key: tuple(value[key]) for key in lists}})
    return value
