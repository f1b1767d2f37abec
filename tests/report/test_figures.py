"""Figures say what they show; the numbers behind them are worked out by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.store import trace_name
from scripts import figures as command
from scripts.report.plots_grid import _front
from scripts.report.replay import Replay, final_tree, read_steps
from scripts.report.synthetic import make_cell, make_row, write_rows


def created(node: int, kind: str, parent: int | None, step: int, **more: Any) -> dict[str, Any]:
    after = {"id": node, "kind": kind, "parent": parent, "content": f"content {node}"}
    after |= {"score": 0.5, "lifecycle": "active", "provenance": {}, **more}
    return {**event("created", node, step), "after": after}


def event(what: str, node: int, step: int, **after: Any) -> dict[str, Any]:
    return {"step": step, "kind": what, "node": node, "before": {}, "after": after, "detail": {}}


def step(number: int, prompt: int, pool: int, events: list[dict[str, Any]]) -> dict[str, Any]:
    calls = [
        {"role": "agent", "prompt_tokens": prompt},
        {"role": "selector", "prompt_tokens": 999},
    ]
    context = {"selected": [0], "pool": list(range(pool))}
    return {"type": "step", "step": number, "calls": calls, "context": context, "events": events}


TRACE: list[dict[str, Any]] = [
    {"type": "header", "task_id": "q1", "cell": {"simulated": True}},
    step(1, 100, 1, [created(0, "root", None, 0, score=1.0), created(1, "task", 0, 1)]),
    step(
        2,
        200,
        3,
        [
            created(2, "action", 1, 2, tool="search", outcome="success", score=0.75),
            created(3, "action", 1, 2, provenance={"poisoned": True}, outcome="failure"),
            event("missed", 2, 2, score=0.675),
        ],
    ),
    step(3, 150, 2, [event("folded", 1, 3, lifecycle="folded")]),
    step(4, 120, 1, [event("suppressed", 1, 4, lifecycle="obsolete")]),
    {"type": "final", "events": [event("completed", 0, 4, lifecycle="completed")]},
]


def write_trace(folder: Path, task_id: str, lines: list[dict[str, Any]]) -> Path:
    path = folder / "traces" / trace_name(task_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
    return path


def test_steps_by_hand() -> None:
    views = read_steps(TRACE)
    assert [view.prompt_tokens for view in views] == [100, 200, 150, 120]
    assert [view.pool for view in views] == [1, 3, 2, 1]
    assert [view.nodes for view in views] == [2, 4, 4, 4]
    assert [view.folded for view in views] == [0, 0, 0.5, 0]  # nodes 2 and 3 of four
    assert [view.suppressed for view in views] == [0, 0, 0, 0.75]  # nodes 1, 2 and 3
    assert views[1].scores == {0: 1.0, 1: 0.5, 2: 0.675, 3: 0.5}


def test_the_tree_at_the_end() -> None:
    tree = final_tree(TRACE)
    assert tree.nodes[3].poisoned
    assert tree.suppressed(tree.nodes[2])
    assert not tree.suppressed(tree.nodes[0])
    assert tree.nodes[0].lifecycle == "completed"
    assert [node.id for node in tree.above(tree.nodes[3])] == [1, 0]


def test_events_of_unknown_nodes_are_no_crash() -> None:
    replay = Replay()
    replay.apply([event("missed", 7, 1, score=0.1)])
    assert replay.nodes == {}


def test_the_pareto_line_leaves_out_what_is_beaten() -> None:
    points = [(10.0, 5.0), (20.0, 9.0), (15.0, 4.0), (20.0, 3.0), (30.0, 9.0)]
    assert _front(points) == [(10.0, 5.0), (20.0, 9.0)]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    rows = []
    for memory in ("none", "linear", "unweighted", "wmt", "mine"):
        rows += make_cell([1, 0, 1, 0], [90, 80, 70, 60], memory=memory, simulated=True)
    rows.append(make_row("q5", memory="linear", level=2, simulated=True))
    root = write_rows(tmp_path / "results", rows)
    for memory in ("linear", "unweighted", "wmt"):
        folder = root / "main" / "gaia_text" / "qwen3" / memory / "seed0"
        write_trace(folder, "q1", TRACE)
    return root


def test_every_figure_is_drawn_and_says_its_marks(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert command.main([str(results), "--out", str(out)]) == 0
    drawn = set(command.FIGURES) - {"poisoning"}
    assert {path.stem for path in out.glob("*.svg")} == drawn
    for name in drawn:
        png = (out / f"{name}.png").read_bytes()
        assert int.from_bytes(png[16:20], "big") > 900  # pixels across, at 300 an inch
        text = (out / f"{name}.svg").read_text()
        assert "simulated" in text, name
    legend = (out / "pareto.svg").read_text()
    assert all(name in legend for name in ("No Memory", "Full WMT", "mine"))
    assert "Qwen3-8B" in (out / "token_reduction.svg").read_text()
    assert "[3] action" in (out / "tree.svg").read_text()


def test_figures_are_the_same_bytes_each_time(results: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        command.main([str(results), "--out", str(tmp_path / name), "--only", "token_reduction"])
    first, second = (tmp_path / name / "token_reduction.svg" for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()


def test_a_chosen_trace_is_drawn(results: Path, tmp_path: Path) -> None:
    path = write_trace(tmp_path, "special", [*TRACE[:2], TRACE[-1]])
    out = tmp_path / "out"
    arguments = [str(results), "--out", str(out), "--only", "tree", "--trace", str(path)]
    assert command.main(arguments) == 0
    assert "Memory at the end of special" in (out / "tree.svg").read_text()


def test_without_traces_only_the_figures_from_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_rows(tmp_path / "rows", make_cell([1] * 4, [1] * 4))
    assert command.main([str(root), "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "tree: these results hold nothing for it" in printed
    assert "pareto: " in printed
    assert command.main([str(root), "--only", "nothing"]) == 2
