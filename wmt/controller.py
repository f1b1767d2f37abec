"""The Memory Controller (paper, section 2.5): what an agent's step does to the tree.

Open, act, complete, fold, resume and reopen, supersede, and suppress (Eq. 7). What is not allowed
raises `Refused` and changes nothing; its message is for the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wmt.memory import Action
from wmt.nodes import Lifecycle, MemoryNode, NodeKind, Outcome, Summary
from wmt.retention import InitialScores, RetentionParams, event_score, is_suppressed
from wmt.summarizer import CLOSED_WITH_PARENT, Summarizer
from wmt.tree import MemoryTree

_DONE = (Lifecycle.COMPLETED, Lifecycle.FOLDED)


class Refused(Exception):
    """An operation that is not allowed; the message says why and what is."""


@dataclass(frozen=True)
class LifecycleRules:
    """The switches of a configuration as far as the controller is concerned."""

    folding: bool
    scoring: bool
    suppression: bool
    retention: RetentionParams
    initial: InitialScores
    allow_resume_obsolete: bool = False


class MemoryController:
    """Applies lifecycle operations to one tree."""

    def __init__(self, tree: MemoryTree, rules: LifecycleRules, summarizer: Summarizer) -> None:
        self.tree = tree
        self.rules = rules
        self._summarizer = summarizer

    def start(self, question: str) -> None:
        """A new root: the question (section 2.2)."""
        root = self._create(NodeKind.ROOT, question, None)
        self.tree.commit("started", root, {"active": root}, {})

    def add_global(self, content: str) -> int:
        """A global memory: in the pool of every task, below none (section 2.3)."""
        return self._create(NodeKind.GLOBAL, content, None)

    def open(self, goal: str, parent: int | None) -> int:
        """A new task under `parent`, a task of the active path (the active one if None); it
        becomes the active task."""
        tree = self.tree
        under = tree.active if parent is None else parent
        if under not in tree.path:
            known = ", ".join(map(str, tree.path))
            raise Refused(f"A task can only be opened under a task of the path: {known}.")
        task = self._create(NodeKind.TASK, goal, under)
        tree.commit("activated", task, {"active": task}, {"by": "open"})
        return task

    def act(self, action: Action, thought: str) -> int:
        """Record an action under the active task and score its outcome (Eq. 2)."""
        node = self._create(
            NodeKind.ACTION,
            action.observation,
            self.tree.active,
            outcome=Outcome(action.outcome),
            tool=action.tool,
            arguments=action.arguments,
            thought=thought,
            provenance=action.provenance,
        )
        if self.rules.scoring:
            score = event_score(Outcome(action.outcome), self.rules.retention)
            self.tree.commit("scored", node, {"score": score}, {"outcome": str(action.outcome)})
        return node

    def revise(self, node_id: int, outcome: Outcome) -> None:
        """Revise the outcome of an action: its score is assigned anew, its missed count stays
        (Eq. 2). Raises `Refused` for anything but an action."""
        node = self.tree.nodes.get(node_id)
        if node is None or node.kind is not NodeKind.ACTION:
            raise Refused(f"{node_id} is not an action.")
        after: dict[str, Any] = {"outcome": outcome}
        if self.rules.scoring:
            after["score"] = event_score(outcome, self.rules.retention)
        self.tree.commit("scored", node_id, after, {"outcome": str(outcome), "revised": True})

    async def complete(self, result: str) -> int:
        """Complete the active task, fold its branch bottom up, and return to its parent."""
        tree = self.tree
        task = tree.active
        if task == tree.root:
            raise Refused(
                "The question itself is completed by the final answer only. Open a task, act, or "
                "give the final answer."
            )
        parent = tree.nodes[task].parent
        assert parent is not None
        await self._close(task, result, closed_by=None, fold=self.rules.folding)
        tree.commit("activated", parent, {"active": parent}, {"by": "complete"})
        return task

    async def finish(self, answer: str, summarize: bool) -> Summary | None:
        """The final answer completes the root and closes what is open (section 2.2). With
        `summarize`, branches fold and the root's summary is returned (conversation mode)."""
        tree = self.tree
        root = tree.root
        if tree.active != root:
            tree.commit("activated", root, {"active": root}, {"by": "finish"})
        await self._close_children(root, fold=summarize and self.rules.folding)
        after = {"lifecycle": Lifecycle.COMPLETED, "result": answer}
        tree.commit("completed", root, after, {})
        if not summarize:
            return None
        return (await self._summarizer.summarize(tree, root)).summary

    def promote(self, summary: str) -> int:
        """Conversation mode: a completed root's summary becomes a global memory (section 2.5)."""
        memory = self.add_global(summary)
        self.tree.commit("promoted", memory, {}, {"root": self.tree.root})
        return memory

    def resume(self, task: int | None) -> int:
        """Make a task active again, reopening it and every completed or folded task above it; the
        nodes below come back with the u and m they had (section 2.5)."""
        tree = self.tree
        node = None if task is None else tree.nodes.get(task)
        if node is None or not tree.is_task(node.id):
            raise Refused(f"There is no task {task} to resume.")
        if node.id == tree.active:
            raise Refused(f"Task {task} is already the active task.")
        line = [*tree.ancestors(node.id)[::-1], node.id]
        if line[0] != tree.root:
            raise Refused(f"Task {task} belongs to an earlier question.")
        states = [tree.nodes[each].lifecycle for each in line]
        if Lifecycle.OBSOLETE in states and not self.rules.allow_resume_obsolete:
            raise Refused(f"Task {task} is obsolete and cannot be resumed. Open a new task.")
        for each, state in zip(line, states, strict=True):
            if state is not Lifecycle.ACTIVE:
                after = {"lifecycle": Lifecycle.ACTIVE, "folded": False}
                tree.commit("reopened", each, after, {"for": node.id})
            if state is Lifecycle.OBSOLETE:
                # Below an obsolete task nothing was judged; now it is eligible again (Eq. 7).
                tree.changed.update(self._tasks_below(each))
        tree.commit("activated", node.id, {"active": node.id}, {"by": "resume"})
        return node.id

    def supersede(self, node_id: int, by: int | None, reason: str) -> None:
        """An explicit event that makes a task or a single node of the pool obsolete, whatever its
        score (section 2.5). What a folded branch holds is frozen until it is reopened."""
        tree = self.tree
        node = tree.nodes.get(node_id)
        if node is None:
            raise Refused(f"There is no memory {node_id} to supersede.")
        if node.kind is NodeKind.ROOT or node_id in tree.path:
            raise Refused(f"{node_id} is on the active path and cannot be superseded.")
        if node.lifecycle is Lifecycle.OBSOLETE:
            raise Refused(f"{node_id} is already obsolete.")
        if tree.stand_in(node_id) != node_id:
            raise Refused(f"{node_id} is inside a folded or obsolete branch and cannot change.")
        after = {"lifecycle": Lifecycle.OBSOLETE}
        tree.commit("superseded", node_id, after, {"by": by, "reason": reason})

    def evaluate(self) -> list[int]:
        """Suppress what Eq. 7 says, and return it. Only tasks whose terms changed or which left
        the path are looked at: any other was judged before with the same result. All priorities
        are computed before the first branch is marked."""
        tree, params = self.tree, self.rules.retention
        judged = sorted(tree.changed) if self.rules.suppression else []
        tree.changed.clear()
        low = []
        for task in judged:
            if self.eligible(task):
                priority = tree.priority(task, params)
                if priority is not None and is_suppressed(priority, params):
                    low.append((task, priority))
        for task, priority in low:
            # This changes O of the branches above, which the next evaluation sees.
            after = {"lifecycle": Lifecycle.OBSOLETE}
            tree.commit("suppressed", task, after, {"priority": priority})
        return [task for task, _ in low]

    def eligible(self, task: int) -> bool:
        """Whether Eq. 7 may suppress the task: not a root, not on the active path, neither obsolete
        nor below an obsolete task, with an action below it."""
        tree = self.tree
        node = tree.nodes[task]
        return (
            node.kind is NodeKind.TASK
            and task not in tree.path
            and node.lifecycle is not Lifecycle.OBSOLETE
            and tree.stats[task].actions > 0
            and not tree.hidden_by_obsolete(task)
        )

    async def _close(self, task: int, result: str, closed_by: int | None, fold: bool) -> None:
        await self._close_children(task, fold)
        self.tree.commit(
            "completed",
            task,
            {"lifecycle": Lifecycle.COMPLETED, "result": result},
            {} if closed_by is None else {"unresolved": True, "by": closed_by},
        )
        if fold:
            made = await self._summarizer.summarize(self.tree, task)
            self.tree.commit(
                "folded",
                task,
                {"lifecycle": Lifecycle.FOLDED, "folded": True, "summary": made.summary},
                made.detail(),
            )

    async def _close_children(self, task: int, fold: bool) -> None:
        for child in self.tree.live_children(task):
            open_task = self.tree.is_task(child) and self.tree.nodes[child].lifecycle not in _DONE
            if open_task:
                await self._close(child, CLOSED_WITH_PARENT, closed_by=task, fold=fold)

    def _tasks_below(self, task: int) -> list[int]:
        found, stack = [], [task]
        while stack:
            each = stack.pop()
            found.append(each)
            stack.extend(child for child in self.tree.children[each] if self.tree.is_task(child))
        return found

    def _create(self, kind: NodeKind, content: str, parent: int | None, **fields: Any) -> int:
        node = MemoryNode(
            id=len(self.tree.nodes),
            kind=kind,
            content=content,
            parent=parent,
            score=self.rules.initial.of(kind),
            created_step=self.tree.step,
            **fields,
        )
        self.tree.create(node)
        return node.id
