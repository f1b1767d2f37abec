"""What a branch is worth, kept up to date along one path: the terms of Eq. 6 for every task.

Sums are kept as integers of 2**-80, so that a million additions and removals leave no rounding
behind: the kept sum equals a fresh one bit for bit, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import ldexp
from typing import Literal

from wmt.nodes import MemoryNode, NodeKind
from wmt.retention import RetentionParams, priority_of_terms

_BITS = 80


def fixed(score: float) -> int:
    """A score in [0, 1] in units of 2**-80; exact for scores above 1e-8, else within 1e-24."""
    return int(ldexp(score, _BITS))


@dataclass(frozen=True, slots=True)
class Terms:
    """Scores that count in the max and mean terms: how many, their sum, and the best (None if
    there are none)."""

    count: int
    total: int
    best: float | None

    @property
    def mean(self) -> float:
        """Mean score; `count` must not be 0."""
        return self.total / (self.count << _BITS)


@dataclass(slots=True)
class BranchStats:
    """Counts over a task's whole subtree, itself included, and the terms of its unfolded state.

    `heap` holds (-best, child) for every value a child ever had; an entry that no longer agrees
    with its child is dropped when it surfaces. So a child that decays never makes anybody look at
    its siblings.
    """

    nodes: int = 0
    actions: int = 0
    failed: int = 0
    obsolete: int = 0
    count: int = 0
    total: int = 0
    best: float | None = None
    heap: list[tuple[float, int]] = field(default_factory=list)


class BranchTerms:
    """Nodes, their children, and the kept terms of every branch.

    `priority_nodes` and `folded_priority` choose what counts in the max and mean terms of Eq. 6:
    all nodes of the subtree or its actions only; a folded task's summary for its branch, or the
    nodes below it all the same. `changed` are the tasks whose terms moved since somebody last
    emptied it: those that a suppression must look at again.
    """

    def __init__(
        self,
        priority_nodes: Literal["subtree", "actions"],
        folded_priority: Literal["summary", "subtree"],
    ) -> None:
        self._own_score_counts = priority_nodes == "subtree"
        self._summary_stands = folded_priority == "summary"
        self.nodes: dict[int, MemoryNode] = {}
        self.children: dict[int, list[int]] = {}
        self.stats: dict[int, BranchStats] = {}
        self.changed: set[int] = set()

    def is_task(self, node_id: int) -> bool:
        """Whether it is a root or a task."""
        return node_id in self.stats

    def terms(self, node_id: int) -> Terms:
        """What a node or branch brings to the max and mean terms of Eq. 6, its own and those of
        the branches above it."""
        node = self.nodes[node_id]
        stats = self.stats.get(node_id)
        if stats is None or (node.folded and self._summary_stands):
            return Terms(1, fixed(node.score), node.score)
        return Terms(stats.count, stats.total, stats.best)

    def priority(self, task: int, params: RetentionParams) -> float | None:
        """Eq. 6; None for a branch in which no score counts."""
        terms, stats = self.terms(task), self.stats[task]
        if terms.best is None:
            return None
        return priority_of_terms(
            terms.best,
            terms.mean,
            stats.failed,
            stats.actions,
            stats.obsolete,
            stats.nodes,
            params,
        )

    def branch_of(self, node_id: int) -> int | None:
        """The task whose branch contains a node most closely: itself, if it is a task; None for
        globals."""
        return node_id if node_id in self.stats else self.nodes[node_id].parent

    def keep_terms(self, task: MemoryNode) -> None:
        """Begin to keep the terms of a new task's branch."""
        counts = self._own_score_counts
        self.stats[task.id] = BranchStats(
            count=int(counts),
            total=fixed(task.score) if counts else 0,
            best=task.score if counts else None,
        )
        self.children[task.id] = []

    def count(
        self, node: MemoryNode, nodes: int = 0, actions: int = 0, failed: int = 0, obsolete: int = 0
    ) -> None:
        """Add to the counts of every branch that holds the node."""
        if node.kind is NodeKind.GLOBAL or not (nodes or actions or failed or obsolete):
            return
        task = self.branch_of(node.id)
        while task is not None:
            stats = self.stats[task]
            stats.nodes += nodes
            stats.actions += actions
            stats.failed += failed
            stats.obsolete += obsolete
            self.changed.add(task)
            task = self.nodes[task].parent

    def rescore(self, node: MemoryNode, score: float) -> None:
        """Give a node another score and carry it up."""
        if score == node.score:
            return
        before = self.terms(node.id)
        stats = self.stats.get(node.id)
        if stats is not None and self._own_score_counts:
            stats.total += fixed(score) - fixed(node.score)
        node.score = score
        if stats is not None:
            stats.best = self._best(node.id)
        self.propagate(node.id, before)

    def propagate(self, node_id: int, before: Terms) -> None:
        """Carry a change of a node's terms up to where nothing changes any more."""
        after = self.terms(node_id)
        if after != before and node_id in self.stats:
            self.changed.add(node_id)
        while after != before:
            parent = self.nodes[node_id].parent
            if parent is None:
                return
            stats = self.stats[parent]
            parent_before = self.terms(parent)
            stats.count += after.count - before.count
            stats.total += after.total - before.total
            if after.best is not None and after.best != before.best:
                heappush(stats.heap, (-after.best, node_id))
                if len(stats.heap) > 2 * len(self.children[parent]) + 8:
                    self._rebuild_heap(parent)
            stats.best = self._best(parent)
            node_id, before, after = parent, parent_before, self.terms(parent)
            if after != before:
                self.changed.add(parent)

    def _best(self, task: int) -> float | None:
        heap = self.stats[task].heap
        while heap and self._child_best(heap[0][1]) != -heap[0][0]:
            heappop(heap)
        best = -heap[0][0] if heap else None
        if not self._own_score_counts:
            return best
        own = self.nodes[task].score
        return own if best is None else max(own, best)

    def _child_best(self, child: int) -> float | None:
        node = self.nodes[child]
        stats = self.stats.get(child)
        if stats is None or (node.folded and self._summary_stands):
            return node.score
        return stats.best

    def _rebuild_heap(self, task: int) -> None:
        """Drop the outdated entries; at most once per as many pushes as there are children."""
        heap = [
            (-best, child)
            for child in self.children[task]
            if (best := self._child_best(child)) is not None
        ]
        heapify(heap)
        self.stats[task].heap = heap
