"""The event log in memory: a sequence of events that keeps the frequent kinds in flat arrays.

A long run misses and selects millions of times. As `Event` objects those would weigh some 700 bytes
each; as numbers in arrays they weigh 33, and become objects only when somebody looks. A creation is
kept as its node and the two fields that later events may change.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args, overload

from wmt.events import Event, EventKind
from wmt.nodejson import encoded, node_to_json
from wmt.nodes import Lifecycle, MemoryNode, Outcome

_KINDS: tuple[EventKind, ...] = get_args(EventKind)
_CODE = {kind: code for code, kind in enumerate(_KINDS)}
_MISSED, _SELECTED = _CODE["missed"], _CODE["selected"]


# Before, after, detail; or the node, initial score and initial outcome of a creation; or the
# outcome that a new action was scored for.
_Rest = (
    tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
    | tuple[MemoryNode, float, Outcome | None]
    | str
)


class EventLog(Sequence[Event]):
    """Append-only. A `missed` event changes score and missed; `selected` changes missed alone."""

    __slots__ = ("_codes", "_missed", "_nodes", "_rest", "_scores", "_steps", "counts")

    def __init__(self) -> None:
        self._codes = array("B")
        self._steps = array("i")
        self._nodes = array("i")
        # Positions in these are 2i and 2i+1 for the i-th event: before and after.
        self._scores = array("d")
        self._missed = array("i")
        self._rest: dict[int, _Rest] = {}
        self.counts = dict.fromkeys(_KINDS, 0)

    def __len__(self) -> int:
        return len(self._codes)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | Sequence[Event]:
        if isinstance(index, slice):
            return [self._event(i) for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._event(index)

    def __iter__(self) -> Iterator[Event]:
        return (self._event(i) for i in range(len(self)))

    def missed(
        self, step: int, node: int, score: tuple[float, float], missed: tuple[int, int]
    ) -> None:
        """A missed selection (Eq. 3-5): score and count, before and after."""
        self._append(_MISSED, step, node)
        self._scores.extend(score)
        self._missed.extend(missed)

    def selected(self, step: int, node: int, missed: int) -> None:
        """A selection, which resets a count that was `missed` (Eq. 3)."""
        self._append(_SELECTED, step, node)
        self._scores.extend((0.0, 0.0))
        self._missed.extend((missed, 0))

    def created(self, step: int, node: MemoryNode) -> None:
        """A node as it was made: active, never missed or accessed."""
        self._rest[len(self)] = (node, node.score, node.outcome)
        self._append(_CODE["created"], step, node.id)
        self._scores.extend((0.0, 0.0))
        self._missed.extend((0, 0))

    def append(self, event: Event) -> None:
        """Log an event of any kind."""
        if event.kind == "missed":
            self.missed(
                event.step,
                event.node,
                (event.before["score"], event.after["score"]),
                (event.before["missed"], event.after["missed"]),
            )
        elif event.kind == "selected":
            self.selected(event.step, event.node, event.before["missed"])
        else:
            scores = (0.0, 0.0)
            rest: _Rest = (event.before, event.after, event.detail)
            if event.kind == "scored" and event.after.keys() == {"score"} == event.before.keys():
                outcome = event.detail.get("outcome")
                if outcome is not None and event.detail == {"outcome": outcome}:
                    scores = (event.before["score"], event.after["score"])
                    rest = sys.intern(outcome)
            self._rest[len(self)] = rest
            self._append(_CODE[event.kind], event.step, event.node)
            self._scores.extend(scores)
            self._missed.extend((0, 0))

    def _append(self, code: int, step: int, node: int) -> None:
        self._codes.append(code)
        self._steps.append(step)
        self._nodes.append(node)
        self.counts[_KINDS[code]] += 1

    def _event(self, index: int) -> Event:
        code = self._codes[index]
        step, node = self._steps[index], self._nodes[index]
        before, after = 2 * index, 2 * index + 1
        if code == _MISSED:
            return Event(
                step,
                "missed",
                node,
                {"score": self._scores[before], "missed": self._missed[before]},
                {"score": self._scores[after], "missed": self._missed[after]},
                {},
            )
        if code == _SELECTED:
            return Event(
                step, "selected", node, {"missed": self._missed[before]}, {"missed": 0}, {}
            )
        rest = self._rest[index]
        if isinstance(rest, str):
            scores = self._scores[before], self._scores[after]
            old, new = ({"score": score} for score in scores)
            return Event(step, "scored", node, old, new, {"outcome": rest})
        first, second, third = rest
        if isinstance(first, MemoryNode):
            made = {**node_to_json(first), **_AS_MADE, "score": second, "outcome": encoded(third)}
            return Event(step, "created", node, {}, made, {})
        assert isinstance(second, dict) and isinstance(third, dict)
        return Event(step, _KINDS[code], node, first, second, third)


_AS_MADE: dict[str, Any] = {
    "lifecycle": Lifecycle.ACTIVE.value,
    "missed": 0,
    "last_event_step": None,
    "last_access_step": None,
    "result": "",
    "summary": None,
    "folded": False,
}
"""The fields of a new node that later events may change, beside score and outcome."""


def count_events(events: Iterable[Event]) -> dict[str, int]:
    """What the events say of how often each part of the method was exercised (spec of the rows):
    folds, reopenings, decays, suppressions, supersessions, summary_fallbacks."""
    counts = dict.fromkeys(
        ("folds", "reopenings", "decays", "suppressions", "supersessions", "summary_fallbacks"), 0
    )
    names = {
        "folded": "folds",
        "reopened": "reopenings",
        "missed": "decays",
        "suppressed": "suppressions",
        "superseded": "supersessions",
    }
    for event in events:
        name = names.get(event.kind)
        if name is not None:
            counts[name] += 1
        if event.kind == "folded" and event.detail.get("fallback"):
            counts["summary_fallbacks"] += 1
    return counts
