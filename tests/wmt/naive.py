"""A second, naive implementation of sections 2.3-2.6: everything is recomputed from scratch, over
the same script lines as `wmt.drive`. Slow and short; the real one must agree with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SWITCHES = {
    # name: selection, folding, scoring, suppression
    "unweighted": ("all", False, False, False),
    "tree_selection": ("ids", False, False, False),
    "tree_summary": ("all", True, False, False),
    "tree_selection_summary": ("ids", True, False, False),
    "wmt": ("ids", True, True, True),
    "a1": ("ids", True, False, False),
    "a2": ("ids", False, True, False),
    "a3": ("branches", True, True, True),
    "linear": ("all", False, False, False),
    "none": ("root", False, False, False),
    "window": ("window", False, False, False),
    "running_summary": ("window", False, False, False),
}
FLAT = ("linear", "none", "window", "running_summary")


@dataclass
class Node:
    kind: str
    parent: int | None
    u: float
    lifecycle: str = "active"
    m: int = 0
    failed: bool = False
    folded: bool = False


class Naive:
    def __init__(self, header: dict[str, Any]) -> None:
        self.name = header["memory"]
        self.selection, self.folding, self.scoring, self.suppression = SWITCHES[self.name]
        keys = header.get("config", {})
        retention = {"rho": 0.9, "max_streak": 3, "rho_global": 0.95, **keys.get("retention", {})}
        self.rho, self.cap = retention["rho"], retention["max_streak"]
        self.rho_global = retention["rho_global"]
        self.allow_obsolete = keys.get("allow_resume_obsolete", False)
        self.actions_only = keys.get("priority_nodes") == "actions"
        self.summary_stands = keys.get("folded_priority", "summary") == "summary"
        self.nodes = [Node("root", None, 1.0)]
        self.active = 0
        for _ in range(header.get("globals", 0)):
            self.nodes.append(Node("global", None, 0.6))

    # structure

    def up(self, i: int) -> list[int]:
        parent = self.nodes[i].parent
        return [] if parent is None else [parent, *self.up(parent)]

    def path(self) -> list[int]:
        return [self.active, *self.up(self.active)]

    def children(self, i: int) -> list[int]:
        return [j for j, node in enumerate(self.nodes) if node.parent == i]

    def below(self, i: int) -> list[int]:
        return [i, *(k for j in self.children(i) for k in self.below(j))]

    def is_task(self, i: int) -> bool:
        return self.nodes[i].kind in ("root", "task")

    def pool(self) -> list[int]:
        if self.selection == "root":
            return [0]
        if self.selection == "window":
            actions = [i for i, node in enumerate(self.nodes) if node.kind == "action"]
            return sorted({*self.path(), *actions[-5:]})
        return [
            i
            for i, node in enumerate(self.nodes)
            if node.lifecycle != "obsolete"
            and not any(self.nodes[j].lifecycle in ("folded", "obsolete") for j in self.up(i))
        ]

    # scores

    def counting(self, i: int) -> list[float]:
        node = self.nodes[i]
        if not self.is_task(i) or (node.folded and self.summary_stands):
            return [node.u]
        own = [] if self.actions_only else [node.u]
        return own + [u for j in self.children(i) for u in self.counting(j)]

    def shares(self, i: int) -> tuple[float, float]:
        below = [self.nodes[j] for j in self.below(i)]
        actions = [node for node in below if node.kind == "action"]
        failed = sum(node.failed for node in actions) / len(actions) if actions else 0.0
        return failed, sum(node.lifecycle == "obsolete" for node in below) / len(below)

    def priority(self, i: int) -> float | None:
        scores = self.counting(i)
        if not self.scoring or not scores:
            return None
        failed, obsolete = self.shares(i)
        return 0.6 * max(scores) + 0.3 * sum(scores) / len(scores) - 0.2 * failed - 0.2 * obsolete

    def evaluate(self) -> None:
        if not self.suppression:
            return
        low = []
        for i, node in enumerate(self.nodes):
            eligible = (
                node.kind == "task"
                and i not in self.path()
                and node.lifecycle != "obsolete"
                and not any(self.nodes[j].lifecycle == "obsolete" for j in self.up(i))
                and any(self.nodes[j].kind == "action" for j in self.below(i))
            )
            if eligible:
                priority = self.priority(i)
                if priority is not None and priority < 0.1 - 1e-12:
                    low.append(i)
        for i in low:
            self.nodes[i].lifecycle = "obsolete"

    # one step

    def selected(self, ids: list[int] | None) -> set[int]:
        pool, path = self.pool(), self.path()
        if ids is None or self.selection not in ("ids", "branches"):
            return set(pool)
        named = set(ids).intersection(pool)
        if self.selection == "branches":
            heads = {
                i if self.is_task(i) else self.nodes[i].parent
                for i in named
                if self.nodes[i].kind != "global"
            }
            named |= {i for i in pool if heads.intersection([i, *self.up(i)])}
        return named.union(path)

    def step(self, line: dict[str, Any]) -> dict[str, Any]:
        selected = self.selected(line.get("select"))
        if self.scoring:
            for i in self.pool():
                node = self.nodes[i]
                if i in selected:
                    node.m = 0
                elif node.kind == "global":
                    node.m = 1
                    node.u = min(1.0, max(0.0, node.u * self.rho_global))
                else:
                    node.m += 1
                    node.u = min(1.0, max(0.0, node.u * self.rho ** min(node.m, self.cap)))
        self.evaluate()
        operation, refused = line.get("task_op"), []
        action = line.get("action")
        if operation is not None and "complete" not in operation and not self.enter(operation):
            refused.append(operation)
        if action is not None:
            failed = action["outcome"] == "failure"
            u = (0.3 if failed else 0.75) if self.scoring else 0.5
            self.nodes.append(Node("action", self.active, u, failed=failed))
        if operation is not None and "complete" in operation:
            if self.active == 0:
                refused.append(operation)
            else:
                done = self.active
                self.close(done)
                self.active = self.nodes[done].parent or 0
        for i in line.get("supersede", []):
            if i in self.pool() and i not in self.path() and self.name not in FLAT:
                self.nodes[i].lifecycle = "obsolete"
        self.evaluate()
        return {"refused": refused}

    def enter(self, operation: dict[str, Any]) -> bool:
        if "open" in operation:
            parent = operation.get("parent")
            parent = self.active if parent is None else parent
            if parent not in self.path():
                return False
            self.nodes.append(Node("task", parent, 0.5))
            self.active = len(self.nodes) - 1
            return True
        i = operation["resume"]
        if not 0 <= i < len(self.nodes) or not self.is_task(i) or i == self.active:
            return False
        line = [i, *self.up(i)]
        if any(self.nodes[j].lifecycle == "obsolete" for j in line) and not self.allow_obsolete:
            return False
        for j in line:
            self.nodes[j].lifecycle, self.nodes[j].folded = "active", False
        self.active = i
        return True

    def close(self, i: int) -> None:
        for j in self.children(i):
            if self.is_task(j) and self.nodes[j].lifecycle == "active":
                self.close(j)
        self.nodes[i].lifecycle = "folded" if self.folding else "completed"
        self.nodes[i].folded = self.folding
