"""Kept terms of Eq. 6: exact after any number of changes, and small."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmt.nodes import Lifecycle, MemoryNode, NodeKind
from wmt.retention import RetentionParams
from wmt.stats import fixed
from wmt.tree import MemoryTree


def tree_of(children: int) -> MemoryTree:
    tree = MemoryTree()
    tree.create(MemoryNode(0, NodeKind.ROOT, "q", None, 1.0, 0))
    tree.commit("started", 0, {"active": 0}, {})
    tree.create(MemoryNode(1, NodeKind.TASK, "goal", 0, 0.0, 0))
    for i in range(children):
        tree.create(MemoryNode(2 + i, NodeKind.ACTION, "text", 1, 0.5, 0))
    return tree


@given(st.floats(0, 1))
def test_fixed_point_is_exact_for_scores_that_matter(score: float) -> None:
    error = abs(fixed(score) - score * 2**80)
    assert error < 1
    assert score < 1e-8 or fixed(score) / 2**80 == score


@given(st.lists(st.tuples(st.integers(2, 5), st.floats(0, 1)), max_size=200), st.integers(0, 2**32))
def test_any_number_of_changes_leaves_no_rounding_behind(
    changes: list[tuple[int, float]], seed: int
) -> None:
    tree, fresh = tree_of(4), tree_of(4)
    for node, score in changes:
        tree.commit("scored", node, {"score": score}, {})
    final = {node.id: node.score for node in tree.nodes.values()}
    order = list(range(2, 6))
    random.Random(seed).shuffle(order)
    for node in order:
        fresh.commit("scored", node, {"score": final[node]}, {})
    for task in (0, 1):
        assert tree.terms(task) == fresh.terms(task)
        assert tree.priority(task, RetentionParams()) == fresh.priority(task, RetentionParams())


def test_outdated_values_do_not_pile_up() -> None:
    tree = tree_of(3)
    params = RetentionParams(rho=0.999, max_streak=1)
    for _ in range(2000):
        for node in (2, 3, 4):
            tree.miss(node, params)
    assert len(tree.stats[1].heap) <= 2 * 3 + 9
    assert tree.terms(1).best == max(tree.nodes[i].score for i in (2, 3, 4))


def test_a_node_is_never_added_twice_nor_below_what_is_no_task() -> None:
    tree = tree_of(1)
    with pytest.raises(ValueError, match="node 2 exists"):
        tree.insert(MemoryNode(2, NodeKind.ACTION, "text", 1, 0.5, 0))
    with pytest.raises(ValueError, match="parent 2 is not a task"):
        tree.insert(MemoryNode(3, NodeKind.ACTION, "text", 2, 0.5, 0))


def test_a_task_that_becomes_obsolete_below_a_folded_one_is_counted_above() -> None:
    tree = tree_of(1)
    tree.commit("folded", 1, {"lifecycle": Lifecycle.FOLDED, "folded": True}, {})
    tree.commit("superseded", 2, {"lifecycle": Lifecycle.OBSOLETE}, {})
    assert (tree.stats[0].obsolete, tree.stats[1].obsolete) == (1, 1)
    assert tree.terms(1).count == 1, "the summary stands for the branch"
