"""Contracts over every yaml in `configs/`: a new one is tested without writing a test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents.models.base import OpenModel
from benchmarks.composition import CONFIGS, compose
from benchmarks.settings import GROUPS, CellConfig
from benchmarks.store import differences
from benchmarks.sweep import combinations
from wmt.memory import Action, Memory, Step, TaskOperation, WorkingContext
from wmt.nodes import Outcome

QUESTION = "In what year was the Kestrel Bridge completed?"


def choices(group: str) -> list[str]:
    return sorted(path.stem for path in (CONFIGS / group).glob("*.yaml"))


def cell_of(*overrides: str) -> CellConfig:
    (cell,) = compose(["model=simulated", "dataset=archive", *overrides]).cells
    return cell


@pytest.mark.parametrize(
    ("group", "choice"), [(group, choice) for group in GROUPS for choice in choices(group)]
)
def test_every_choice_composes_under_its_own_name(group: str, choice: str) -> None:
    part = getattr(cell_of(f"{group}={choice}"), group)
    assert getattr(part, "name", choice) == choice
    if hasattr(part, "preflight"):
        lines = part.preflight()
        assert all(line and "\n" not in line for line in lines)


@pytest.mark.parametrize("choice", choices("memory"))
def test_the_identity_survives_its_file(choice: str, tmp_path: Path) -> None:
    import yaml

    identity = cell_of(f"memory={choice}").identity()
    assert differences(yaml.safe_load(yaml.safe_dump(identity)), identity) == []


def act(number: int, outcome: Outcome) -> Step:
    text = f"Observation {number}: the Kestrel Bridge was completed in 18{number:02}."
    action = Action("search", {"query": f"q{number}"}, text, outcome)
    return Step(thought=f"thought {number}", action=action)


async def check_context(memory: Memory) -> WorkingContext:
    before = len(memory.events)
    context = await memory.context()
    assert len(memory.events) >= before
    assert set(context.active_path) <= set(context.selected) <= set(context.pool)
    assert not set(context.cut) & set(context.selected)
    assert 0 < context.selected_tokens <= context.pool_tokens
    return context


@pytest.mark.parametrize("choice", choices("memory"))
async def test_every_memory_lives_through_a_question(choice: str, tmp_path: Path) -> None:
    cell = cell_of(f"memory={choice}")
    async with cell.model.open(tmp_path) as model:
        assert isinstance(model, OpenModel)
        memory = cell.memory.build(model.chat)
        memory.start(QUESTION)
        first = await check_context(memory)
        assert QUESTION in first.text
        opened = await memory.record(
            Step(operation=TaskOperation("open", goal="Find the year"), action=None)
        )
        assert opened.refused == ()
        for number, outcome in enumerate([Outcome.SUCCESS, Outcome.FAILURE, Outcome.SUCCESS]):
            await check_context(memory)
            assert (await memory.record(act(number, outcome))).action is not None
        await check_context(memory)
        await memory.record(Step(operation=TaskOperation("complete", result="1801")))
        refused = await memory.record(Step(operation=TaskOperation("complete", result="x")))
        assert len(refused.refused) == 1, "the root is completed by the final answer only"
        last = await check_context(memory)
        assert QUESTION in last.text
        await memory.finish("1801")
        json.dumps(memory.snapshot())


@pytest.mark.parametrize("choice", choices("dataset"))
def test_every_dataset_is_a_study_or_says_what_is_missing(choice: str) -> None:
    cell = cell_of(f"dataset={choice}")
    missing = cell.dataset.preflight()
    if missing:
        assert all("\n" not in line for line in missing)
        return
    study = cell.dataset.study(cell.agent, cell.tools)
    ids = study.item_ids()
    assert 0 < len(ids) == len(set(ids)) <= study.full_size
    assert list(ids) == list(cell.dataset.study(cell.agent, cell.tools).item_ids())
    assert study.revision and study.ids_hash


@pytest.mark.parametrize("choice", choices("experiment"))
def test_every_experiment_composes(choice: str) -> None:
    cells = compose([f"experiment={choice}"]).cells
    assert len({cell.folder for cell in cells}) == len(cells) >= 1


@pytest.mark.parametrize("choice", choices("grid"))
def test_every_grid_expands(choice: str) -> None:
    jobs = combinations([f"+grid={choice}"])
    assert compose(jobs[0]).cells and compose(jobs[-1]).cells


@pytest.mark.parametrize("choice", choices("hydra/launcher"))
def test_every_launcher_composes(choice: str) -> None:
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher", reason="needs the extra slurm")
    assert len(combinations(["+grid=paper", f"hydra/launcher={choice}"])) == 42
