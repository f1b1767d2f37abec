"""Memory nodes as JSON-ready data and back: in events and in snapshots."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from wmt.nodes import Lifecycle, MemoryNode, NodeKind, Outcome, Summary

_NODE_FIELDS = tuple(spec.name for spec in fields(MemoryNode))


def summary_to_json(summary: Summary) -> dict[str, Any]:
    """A summary as JSON-ready data."""
    return {
        "objective": summary.objective,
        "result": summary.result,
        "evidence": list(summary.evidence),
        "unresolved": list(summary.unresolved),
        "warnings": list(summary.warnings),
    }


def node_to_json(node: MemoryNode) -> dict[str, Any]:
    """A node as JSON-ready data."""
    data = {name: getattr(node, name) for name in _NODE_FIELDS}
    data["summary"] = None if node.summary is None else summary_to_json(node.summary)
    return data


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
