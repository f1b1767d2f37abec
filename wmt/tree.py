"""The memory tree (paper, section 2.3): nodes, the active path, the pool, and branch statistics.

Every change goes through `commit`, `miss` or `select`, which log it; `apply` is what replay uses
too. Nothing is ever deleted. Recording a change costs the depth of the tree, walking the pool costs
the pool: obsolete children and the inside of folded branches are never visited.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any, Literal

from wmt.eventlog import EventLog
from wmt.events import Event, EventKind
from wmt.nodejson import decoded, encoded, node_from_json
from wmt.nodes import Lifecycle, MemoryNode, NodeKind, Outcome
from wmt.retention import RetentionParams, decayed_score, priority_of_terms
from wmt.stats import BranchStats, Terms, fixed

_TASKS = (NodeKind.ROOT, NodeKind.TASK)


class MemoryTree:
    """Nodes and what is derived from them.

    `priority_nodes` and `folded_priority` choose what counts in the max and mean terms of Eq. 6:
    all nodes of the subtree or its actions only; a folded task's summary for its branch, or the
    nodes below it all the same. `changed` are the tasks whose terms moved since somebody last
    emptied it: those that a suppression must look at again.
    """

    def __init__(
        self,
        priority_nodes: Literal["subtree", "actions"] = "subtree",
        folded_priority: Literal["summary", "subtree"] = "summary",
    ) -> None:
        self._own_score_counts = priority_nodes == "subtree"
        self._summary_stands = folded_priority == "summary"
        self.nodes: dict[int, MemoryNode] = {}
        self.children: dict[int, list[int]] = {}
        self.stats: dict[int, BranchStats] = {}
        self.root = -1
        self.path: tuple[int, ...] = ()
        self.step = 0
        self.log = EventLog()
        self.changed: set[int] = set()
        # Children and globals that are not obsolete; a dict keeps order and forgets in O(1).
        self._live: dict[int, dict[int, None]] = {}
        self._live_globals: dict[int, None] = {}

    # What is there

    @property
    def active(self) -> int:
        """The active task."""
        return self.path[-1]

    def is_task(self, node_id: int) -> bool:
        """Whether it is a root or a task."""
        return node_id in self.stats

    def ancestors(self, node_id: int) -> list[int]:
        """From the parent up to the root."""
        found = []
        parent = self.nodes[node_id].parent
        while parent is not None:
            found.append(parent)
            parent = self.nodes[parent].parent
        return found

    def live_children(self, task: int) -> list[int]:
        """Children that are not obsolete, in order of creation."""
        return sorted(self._live[task])

    def pool(self) -> list[int]:
        """Ids of the candidate pool (section 2.6), ascending: the active path, globals, and what
        hangs below the root outside obsolete branches; a folded task stands for its branch."""
        found = [*self._live_globals, self.root]
        stack = [self.root]
        while stack:
            live = self._live[stack.pop()]
            found.extend(live)
            stack.extend(
                child
                for child in live
                if child in self.stats and self.nodes[child].lifecycle is not Lifecycle.FOLDED
            )
        found.sort()
        return found

    def stand_in(self, node_id: int) -> int | None:
        """What shows a node in the pool: itself, or the uppermost folded task above it; None where
        it, or a task above it, is obsolete."""
        shown = node_id
        for each in (node_id, *self.ancestors(node_id)):
            state = self.nodes[each].lifecycle
            if state is Lifecycle.OBSOLETE:
                return None
            if state is Lifecycle.FOLDED:
                shown = each
        return shown

    def hidden_by_obsolete(self, node_id: int) -> bool:
        """Whether a task above it is obsolete."""
        return any(
            self.nodes[each].lifecycle is Lifecycle.OBSOLETE for each in self.ancestors(node_id)
        )

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

    # Changes; each is logged

    def create(self, node: MemoryNode) -> None:
        """Add a new node below its parent, or a root or global without one."""
        self.log.created(self.step, node)
        self.insert(node)

    def commit(
        self, kind: EventKind, node_id: int, after: dict[str, Any], detail: dict[str, Any]
    ) -> None:
        """Change fields of a node and log it; see `Event`."""
        if kind in ("started", "activated"):
            before: dict[str, Any] = {"active": self.path[-1] if self.path else None}
        else:
            before = {name: encoded(getattr(self.nodes[node_id], name)) for name in after}
        data = {name: encoded(value) for name, value in after.items()}
        event = Event(self.step, kind, node_id, before, data, detail)
        self.apply(event)
        self.log.append(event)

    def miss(self, node_id: int, params: RetentionParams) -> None:
        """A missed selection: count it and decay the score (Eq. 3-5)."""
        node = self.nodes[node_id]
        is_global = node.kind is NodeKind.GLOBAL
        missed = 1 if is_global else node.missed + 1
        score = decayed_score(node.score, missed, is_global, params)
        self.log.missed(self.step, node_id, (node.score, score), (node.missed, missed))
        node.missed = missed
        self._rescore(node, score)

    def select(self, node_id: int) -> None:
        """A selection: the memory was accessed and its missed count starts again (Eq. 3)."""
        node = self.nodes[node_id]
        self.log.selected(self.step, node_id, node.missed)
        node.missed = 0
        node.last_access_step = self.step

    # How a change takes hold; replay enters here

    def apply(self, event: Event) -> None:
        """Make the change that an event describes, without logging it."""
        if event.kind == "created":
            self.insert(node_from_json(event.after))
            return
        if event.kind in ("started", "activated"):
            self.move_to(event.node)
            return
        node = self.nodes[event.node]
        if event.kind == "selected":
            node.missed, node.last_access_step = 0, event.step
            return
        if event.kind == "missed":
            node.missed = event.after["missed"]
            self._rescore(node, event.after["score"])
            return
        before = self.terms(node.id)
        was_failed, was_obsolete = _failed(node), node.lifecycle is Lifecycle.OBSOLETE
        score = event.after.get("score", node.score)
        for name, value in event.after.items():
            if name != "score":
                setattr(node, name, decoded(name, value))
        node.last_event_step = event.step
        self._propagate(node.id, before)
        if score != node.score:
            self._rescore(node, score)
        obsolete = node.lifecycle is Lifecycle.OBSOLETE
        if obsolete != was_obsolete:
            self._set_live(node, not obsolete)
        self._count(node, failed=_failed(node) - was_failed, obsolete=obsolete - was_obsolete)

    def insert(self, node: MemoryNode) -> None:
        """Add a node as it is; its parent must be there. A node id is never used twice."""
        if node.id in self.nodes:
            raise ValueError(f"node {node.id} exists")
        if node.parent is not None and node.parent not in self.stats:
            raise ValueError(f"node {node.id}: parent {node.parent} is not a task")
        self.nodes[node.id] = node
        if node.kind in _TASKS:
            counts = self._own_score_counts
            self.stats[node.id] = BranchStats(
                count=int(counts),
                total=fixed(node.score) if counts else 0,
                best=node.score if counts else None,
            )
            self.children[node.id] = []
            self._live[node.id] = {}
        if node.parent is not None:
            self.children[node.parent].append(node.id)
        obsolete = node.lifecycle is Lifecycle.OBSOLETE
        if not obsolete:
            self._set_live(node, True)
        self._propagate(node.id, Terms(0, 0, None))
        self._count(
            node,
            nodes=1,
            actions=int(node.kind is NodeKind.ACTION),
            failed=int(_failed(node)),
            obsolete=int(obsolete),
        )

    def move_to(self, task: int) -> None:
        """Make `task` the active one; what leaves the active path is to be judged again."""
        path = (task, *self.ancestors(task))[::-1]
        self.changed.update(set(self.path).difference(path))
        self.path = path
        self.root = path[0]

    def _set_live(self, node: MemoryNode, live: bool) -> None:
        if node.kind is NodeKind.GLOBAL:
            siblings = self._live_globals
        elif node.parent is not None:
            siblings = self._live[node.parent]
        else:
            return
        if live:
            siblings[node.id] = None
        else:
            del siblings[node.id]

    def _count(
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

    def _rescore(self, node: MemoryNode, score: float) -> None:
        if score == node.score:
            return
        before = self.terms(node.id)
        stats = self.stats.get(node.id)
        if stats is not None and self._own_score_counts:
            stats.total += fixed(score) - fixed(node.score)
        node.score = score
        if stats is not None:
            stats.best = self._best(node.id)
        self._propagate(node.id, before)

    def _propagate(self, node_id: int, before: Terms) -> None:
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


def _failed(node: MemoryNode) -> bool:
    return node.outcome is Outcome.FAILURE
