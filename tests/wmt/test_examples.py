"""The examples run, and the worked one says what appendix A.4 says."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from wmt.draw import draw
from wmt.grammar import parse, parse_summary
from wmt.nodes import Lifecycle, Outcome
from wmt.retention import RetentionParams, branch_priority, cumulative_decay_exponent

ROOT = Path(__file__).parents[2]
A4: dict[str, Any] = json.loads((Path(__file__).parent / "data/wmt_numbers.json").read_text())[
    "worked_example_A4"
]
worked = runpy.run_path(str(ROOT / "examples/worked_example.py"))
own = runpy.run_path(str(ROOT / "examples/own_agent.py"))


def scores(example: Any, *names: str) -> list[float]:
    return [example.memory.node(example.ids[name]).score for name in names]


async def test_event_scores_and_priorities_before_any_feedback() -> None:
    example = await worked["run"](with_feedback=False)
    memory, ids = example.memory, example.ids
    assigned = {
        event.node: event.after["score"] for event in memory.events if event.kind == "scored"
    }
    assert assigned[ids["blog"]] == 0.30
    assert all(assigned[ids[name]] == 0.75 for name in ("encyclopedia", "citation", "arxiv"))
    assert all(assigned[ids[name]] == 0.75 for name in ("abstract", "mirror", "pdf"))
    assert example.priorities["paper"] == pytest.approx(A4["U1_with_task_0.5"])
    assert example.priorities["authors"] == pytest.approx(A4["U2_with_task_0.5"])


async def test_priorities_with_actions_only_and_with_a_superseded_memory() -> None:
    first, second = [0.75, 0.75, 0.30, 0.75], [0.75] * 3
    defaults = RetentionParams()

    def priority(scores: list[float], failed: int, obsolete: int, tasks: int) -> float:
        nodes = len(scores) + tasks
        scores = [*[0.5] * tasks, *scores]
        return branch_priority(scores, failed, nodes - tasks, obsolete, nodes, defaults)

    assert priority(first, 1, 0, 0) == pytest.approx(A4["U1_actions_only"])
    assert priority(first, 1, 1, 0) == pytest.approx(A4["U1_blog_obsolete_actions_only"])
    assert priority(first, 1, 1, 1) == pytest.approx(A4["U1_blog_obsolete_with_task_0.5 (O=1/5)"])
    assert priority(second, 0, 0, 0) == pytest.approx(A4["U2_actions_only"])
    assert priority(second, 0, 1, 0) == pytest.approx(A4["U2_mirror_obsolete_actions_only"])


async def test_decay_of_what_is_not_selected() -> None:
    example = await worked["run"]()
    events, tree = example.memory.events, example.memory.tree
    for name in ("encyclopedia", "blog", "abstract"):
        node = example.ids[name]
        misses = sum(event.kind == "missed" and event.node == node for event in events)
        start = 0.30 if tree.nodes[node].outcome is Outcome.FAILURE else 0.75
        expected = start * 0.9 ** cumulative_decay_exponent(misses, 3)
        assert misses >= 1 and scores(example, name)[0] == pytest.approx(expected)


@pytest.mark.parametrize(("name", "start"), [("blog", 0.30), ("mirror", 0.75)])
def test_decay_numbers_of_both_poisoned_memories(name: str, start: float) -> None:
    for misses, expected in enumerate(A4[f"{name}_u_by_missed (rho .9,M 3)"]):
        exponent = cumulative_decay_exponent(misses, 3)
        assert start * 0.9**exponent == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("setting", "expected"),
    A4["misses until mirror (.75) drops below an un-decayed failure (.30)"].items(),
)
def test_misses_until_a_success_counts_less_than_a_failure(setting: str, expected: int) -> None:
    rho, cap = (float(part.split("=")[1]) for part in setting.split(","))
    falls = [0.75 * rho ** cumulative_decay_exponent(r, int(cap)) for r in range(expected + 1)]
    assert falls[-1] < 0.30 <= falls[-2]


async def test_the_final_context_holds_the_evidence_and_not_the_poison() -> None:
    example = await worked["run"]()
    sections = {section.title: section for section in parse(example.final.text)}
    (summary,) = sections["Folded summaries"].items
    read = parse_summary(summary.content)
    assert any("Official arXiv record" in entry for entry in read.evidence)
    assert read.result == "Attention Is All You Need, per its official arXiv record."
    assert any(entry.startswith("blog") for entry in read.warnings)
    assert [item.tool for item in sections["Memories"].items] == ["pdf"]
    assert "J. Doe" not in example.final.text
    mirror = example.memory.node(example.ids["mirror"])
    assert mirror.lifecycle is Lifecycle.OBSOLETE and mirror.provenance == {"poisoned": True}
    assert example.ids["mirror"] not in example.final.pool


async def test_the_drawing_shows_every_node_and_is_the_same_each_time(tmp_path: Path) -> None:
    example = await worked["run"]()
    tree = example.memory.tree
    for suffix in ("png", "svg"):
        draw(tree, tmp_path / f"tree.{suffix}", RetentionParams())
    svg = (tmp_path / "tree.svg").read_text()
    assert all(f"[{node}]" in svg for node in tree.nodes)
    assert "obsolete" in svg and "folded" in svg and "#f8d0d0" in svg
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")
    again = tmp_path / "again.svg"
    draw(tree, again, RetentionParams())
    assert again.read_text() == svg


async def test_somebody_elses_agent_answers() -> None:
    answer, prompt = await own["agent"]("How many people live in Vell, and who is its mayor?")
    assert answer == "310; Ana Torr"
    assert "Folded summaries:" in prompt and "310 inhabitants" in prompt


def test_the_loop_stays_short() -> None:
    source = (ROOT / "examples/own_agent.py").read_text()
    loop = source[source.index("async def agent") : source.index("if __name__")]
    assert len(loop.splitlines()) <= 30
