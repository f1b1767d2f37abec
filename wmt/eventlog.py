"""The event log in memory: a sequence of events that keeps the frequent kinds in flat arrays.

A long run misses and selects millions of times. As `Event` objects those would weigh some 700 bytes
each; as numbers in arrays they weigh 33, and become objects only when somebody looks.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

from wmt.events import Event, EventKind

_KINDS: tuple[EventKind, ...] = (
    "started",
    "created",
    "scored",
    "missed",
    "selected",
    "completed",
    "folded",
    "suppressed",
    "superseded",
    "reopened",
    "activated",
    "promoted",
)
_CODE = {kind: code for code, kind in enumerate(_KINDS)}
_MISSED, _SELECTED = _CODE["missed"], _CODE["selected"]


class EventLog(Sequence[Event]):
    """Append-only. A `missed` event changes score and missed; `selected` changes missed alone."""

    __slots__ = ("_codes", "_missed", "_nodes", "_rest", "_scores", "_steps", "counts")

    def __init__(self) -> None:
        self._codes = array("B")
        self._steps = array("q")
        self._nodes = array("q")
        # Positions in these are 2i and 2i+1 for the i-th event: before and after.
        self._scores = array("d")
        self._missed = array("l")
        self._rest: dict[int, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {}
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
            self._rest[len(self)] = (event.before, event.after, event.detail)
            self._append(_CODE[event.kind], event.step, event.node)
            self._scores.extend((0.0, 0.0))
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
        old, new, detail = self._rest[index]
        return Event(step, _KINDS[code], node, old, new, detail)


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
