"""The study through the real runner with the simulated reader: rows, traces, arms, report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.composition import compose
from benchmarks.errors import SetupError
from benchmarks.records import RowBase
from benchmarks.runner import load_studies, run_cell
from benchmarks.settings import CellConfig
from benchmarks.shared_model import SharedModel
from benchmarks.store import find_cells, read_rows, read_trace
from poisoning import report
from poisoning.lines import EntryLine, read_lines
from poisoning.metrics import CellSummary, summarise
from poisoning.rows import ScenarioRow, has_scenario_rows
from poisoning.schema import corpus_digest, read_scenarios
from poisoning.study import without_forced_step
from wmt.flat_memory import LinearMemoryConfig
from wmt.tree_memory import TreeMemoryConfig


class Quiet:
    """A watch that says nothing."""

    def begin(self, cell: CellConfig, total: int, done: Sequence[RowBase]) -> None:
        pass

    def item(self, row: RowBase) -> None:
        pass

    def say(self, line: str) -> None:
        pass


async def run(results: Path, *overrides: str) -> dict[str, CellSummary]:
    """Run a command's first three scenarios; summaries of all that is there."""
    plan = compose(["model=simulated", "dataset.limit=3", f"results_dir={results}", *overrides])
    async with SharedModel() as models:
        for cell, study in zip(plan.cells, load_studies(plan.cells), strict=True):
            await run_cell(cell, study, models, Quiet())
    return summaries(results)


def summaries(results: Path) -> dict[str, CellSummary]:
    """Every cell's summary by label and memory."""
    found = [summarise(folder) for folder in find_cells(results)]
    return {f"{each.cell['label']} {each.cell['memory']}": each for each in found}


async def test_the_five_configurations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = await run(tmp_path, "experiment=poisoning")
    assert set(cells) == {f"main {name}" for name in ("linear", "a1", "a2", "a3", "wmt")}
    scenarios = read_scenarios()[:3]
    linear, wmt, a3 = cells["main linear"], cells["main wmt"], cells["main a3"]
    # By construction: linear keeps everything, whole branches leave nothing of theirs out.
    assert linear.mean("IP") == linear.mean("CCR") == a3.mean("CCR") == 1.0
    for name in ("a1", "a3", "wmt"):
        assert cells[f"main {name}"].mean("IP") == 0.0
    assert cells["main a2"].mean("IP") == 1.0
    assert cells["main a2"].mean("laundering") is None
    assert wmt.counters["folds"] == sum(len(s.subtasks) for s in scenarios)
    for row in read_rows(wmt.folder, ScenarioRow):
        scenario = next(s for s in scenarios if s.id == row.task_id)
        assert row.status == "answered"
        assert row.cell.dataset_revision == corpus_digest()
        assert row.cell.dataset_cut and row.cell.dataset_full_size == 100
        assert row.steps == row.entries == len(scenario.entries)
        assert row.critical_steps == len(scenario.subtasks)
        assert row.tokens["summarizer"].calls == len(scenario.subtasks)
        lines = read_lines(read_trace(wmt.folder, row.task_id))
        assert [line.entry for line in lines if isinstance(line, EntryLine)] == [
            entry.id for entry in scenario.entries
        ]
    monkeypatch.setattr(sys, "argv", ["report", str(tmp_path)])
    assert report.main() == 0
    said = capsys.readouterr().out
    assert "simulated: a rule-based reader" in said
    assert "1.000 (1.000)" in said  # IP of linear, beside the paper's
    assert "linear - wmt" in said


async def test_controls(tmp_path: Path) -> None:
    await run(tmp_path, "memory=linear", "dataset=poisoning", "dataset.arm=clean", "label=clean")
    await run(
        tmp_path, "memory=linear", "dataset=poisoning", "dataset.arm=attack_check", "label=check"
    )
    await run(
        tmp_path,
        "memory=wmt",
        "memory.show_last_step=false",
        "dataset=poisoning",
        "dataset.arm=random",
        "label=random",
    )
    cells = summaries(tmp_path)
    clean = cells["clean linear"]
    assert (clean.mean("TSR"), clean.mean("ASR_exposure"), clean.mean("ASR_answers")) == (1, 0, 0)
    assert clean.mean("IP") is None and clean.mean("AF") is None
    check = cells["check linear"].check
    poisoned = sum(entry.poisoned for s in read_scenarios()[:3] for entry in s.entries)
    assert check is not None
    assert (check.n, check.moved, check.unreadable) == (poisoned, poisoned, 0)
    lot = cells["random wmt"]
    assert lot.roles["selector"].prompt_tokens == 0
    assert lot.roles["selector"].calls > 0
    selected, candidates = lot.mean("selected"), lot.mean("candidates")
    assert selected is not None and candidates is not None and 2 < selected < candidates
    text = report.render(list(cells.values()))
    assert f"of {poisoned} poisoned entries" in text


async def test_an_attacker(tmp_path: Path) -> None:
    arm = ("memory=a1", "dataset=poisoning", "dataset.attack=repeat", "label=attack_repeat")
    cells = await run(tmp_path, *arm)
    repeated = cells["attack_repeat a1"]
    assert repeated.attack == "repeat"
    poisoned = [sum(e.poisoned for e in s.entries) for s in read_scenarios()[:3]]
    rows = read_rows(repeated.folder, ScenarioRow)
    assert [row.poisoned for row in rows] == [3 * number for number in poisoned]
    assert "Attackers that know the defence" in report.render([repeated])


async def test_a_selector_that_obeys_removes_the_truth(tmp_path: Path) -> None:
    """The simulated reader supersedes nothing; a selector that obeys follows the claim."""
    arm = ("memory=a1", "dataset=poisoning", "memory.selector=llm", "dataset.attack=supersede")
    rule = "memory.supersession=selector"
    await run(tmp_path, *arm, rule, "label=attack_supersede_selector")
    cells = await run(
        tmp_path, *arm, rule, "dataset.obedient=true", "label=attack_supersede_obeyed"
    )
    named, obeyed = cells["attack_supersede_selector a1"], cells["attack_supersede_obeyed a1"]
    assert named.counters["supersessions"] == 0 < obeyed.counters["supersessions"]
    assert (obeyed.mean("evidence") or 0) < (named.mean("evidence") or 0)
    said = report.render([named, obeyed])
    assert "| supersede_obeyed" in said and "| supersede_selector" in said
    with pytest.RaisesGroup(
        pytest.RaisesExc(SetupError, match=r"memory\.supersession=selector"), allow_unwrapped=True
    ):
        await run(tmp_path, *arm, "dataset.obedient=true", "label=refused")


async def test_table_4_says_how_many_memories_were_taken(tmp_path: Path) -> None:
    narrow = ("experiment=poisoning", "dataset.ids=[s001]")
    cells = await run(tmp_path, *narrow)
    alone = report.render(list(cells.values()))
    assert "a1, a2, wmt take 2 memories beside the active path" in alone
    assert "python run.py experiment=poisoning_controls" in alone
    wider = ("memory=wmt", "memory.selector=lexical", "memory.lexical_top_k=8", "label=top8")
    cells = await run(tmp_path, "dataset=poisoning", "dataset.ids=[s001]", *wider)
    beside = report.render(list(cells.values()))
    assert "wmt, 8 memories" in beside
    assert cells["main linear"].top_k is None and cells["main a3"].top_k is None


async def test_the_random_arm_needs_a_selector_to_replace(tmp_path: Path) -> None:
    lexical = ("memory=wmt", "memory.selector=lexical", "dataset=poisoning", "dataset.arm=random")
    with pytest.RaisesGroup(
        pytest.RaisesExc(SetupError, match=r"memory\.selector=llm"), allow_unwrapped=True
    ):
        await run(tmp_path, *lexical)


def test_the_last_entry_is_never_forced_into_a_context() -> None:
    wmt = TreeMemoryConfig(
        name="wmt", selection="relevance_scores", folding=True, scoring=True, suppression=True
    )
    assert wmt.show_last_step
    changed = without_forced_step(wmt)
    assert changed == wmt.model_copy(update={"show_last_step": False})
    linear = LinearMemoryConfig(name="linear")
    assert without_forced_step(linear) is linear


async def test_unknown_ids_and_clean_attacks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"dataset\.ids: not in poisoning: s999"):
        await run(tmp_path, "memory=linear", "dataset=poisoning", "dataset.ids=[s999]")
    with pytest.raises(SetupError, match=r"dataset\.attack: the clean arm"):
        await run(
            tmp_path,
            "memory=linear",
            "dataset=poisoning",
            "dataset.arm=clean",
            "dataset.attack=repeat",
        )


def test_a_folder_of_another_study_is_left_alone(tmp_path: Path) -> None:
    assert not has_scenario_rows(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"task_id": "q1", "score": 1.0}\n')
    assert not has_scenario_rows(tmp_path)


def test_report_without_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["report", str(tmp_path)])
    assert report.main() == 2
    assert "run python run.py experiment=poisoning" in capsys.readouterr().err
