"""The memory tree (paper, section 2.3): nodes, the active path, the pool, and branch statistics.

Every change goes through `commit`, `miss` or `select`, which log it; `apply` is what replay uses
too. Nothing is ever deleted. Recording a change costs the depth of the tree, walking the pool costs
the pool: obsolete children and the inside of folded branches are never visited.
"""

from __future__ import annotations

from typing import Any, Literal

from wmt.eventlog import EventLog
from wmt.events import Event, EventKind
from wmt.nodejson import decoded, encoded, node_from_json
from wmt.nodes import Lifecycle, MemoryNode, NodeKind, Outcome
from wmt.retention import RetentionParams, decayed_score
from wmt.stats import BranchTerms, Terms

_TASKS = (NodeKind.ROOT, NodeKind.TASK)


class MemoryTree(BranchTerms):
    """Nodes, the active path, and what is derived from them; see `BranchTerms` for the keys."""

    def __init__(
        self,
        priority_nodes: Literal["subtree", "actions"] = "subtree",
        folded_priority: Literal["summary", "subtree"] = "summary",
    ) -> None:
        super().__init__(priority_nodes, folded_priority)
        self.root = -1
        self.path: tuple[int, ...] = ()
        self.step = 0
        self.log = EventLog()
        # Children and globals that are not obsolete; a dict keeps order and forgets in O(1).
        self._live: dict[int, dict[int, None]] = {}
        self._live_globals: dict[int, None] = {}

    # What is there

    @property
    def active(self) -> int:
        """The active task."""
        return self.path[-1]

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
        self.rescore(node, score)

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
            self.rescore(node, event.after["score"])
            return
        before = self.terms(node.id)
        was_failed, was_obsolete = _failed(node), node.lifecycle is Lifecycle.OBSOLETE
        score = event.after.get("score", node.score)
        for name, value in event.after.items():
            if name != "score":
                setattr(node, name, decoded(name, value))
        node.last_event_step = event.step
        self.propagate(node.id, before)
        if score != node.score:
            self.rescore(node, score)
        obsolete = node.lifecycle is Lifecycle.OBSOLETE
        if obsolete != was_obsolete:
            self._set_live(node, not obsolete)
        self.count(node, failed=_failed(node) - was_failed, obsolete=obsolete - was_obsolete)

    def insert(self, node: MemoryNode) -> None:
        """Add a node as it is; its parent must be there. A node id is never used twice."""
        if node.id in self.nodes:
            raise ValueError(f"node {node.id} exists")
        if node.parent is not None and node.parent not in self.stats:
            raise ValueError(f"node {node.id}: parent {node.parent} is not a task")
        self.nodes[node.id] = node
        if node.kind in _TASKS:
            self.keep_terms(node)
            self._live[node.id] = {}
        if node.parent is not None:
            self.children[node.parent].append(node.id)
        obsolete = node.lifecycle is Lifecycle.OBSOLETE
        if not obsolete:
            self._set_live(node, True)
        self.propagate(node.id, Terms(0, 0, None))
        self.count(
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


def _failed(node: MemoryNode) -> bool:
    return node.outcome is Outcome.FAILURE
