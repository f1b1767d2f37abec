from __future__ import annotations

import asyncio
import errno
import os
import signal
from pathlib import Path

import pytest

from benchmarks.compute import LEDGER, read_ledger
from benchmarks.errors import SetupError
from benchmarks.records import Row, RowBase
from benchmarks.runner import load_studies, run_cell
from benchmarks.settings import CellConfig
from benchmarks.shared_model import SharedModel
from benchmarks.signals import Stop, stop_on_signals
from benchmarks.store import ERRORS, ROWS, read_rows, read_trace
from benchmarks.study import CellContext, ItemResult
from tests.benchmarks.fakes import (
    FakeDataset,
    FakeMemoryConfig,
    FakeModelConfig,
    FakeStudy,
    Silent,
    fake_cell,
)


@pytest.fixture(autouse=True)
def _fresh_log() -> None:
    FakeModelConfig.log.clear()


async def run(cell: CellConfig, watch: Silent | None = None) -> list[str]:
    (study,) = load_studies([cell])
    async with SharedModel() as models:
        rows = await run_cell(cell, study, models, watch or Silent())
    return [row.task_id for row in rows]


async def test_one_row_and_one_trace_per_item_in_the_folder_of_the_choices(tmp_path: Path) -> None:
    cell = fake_cell(tmp_path, label="arm", seed=3)
    ids = await run(cell)
    folder = tmp_path / "arm/fake/fake/fake/seed3"
    rows = read_rows(folder, Row)
    assert [row.task_id for row in rows] == ids == [f"item/{n}" for n in range(5)]
    assert [read_trace(folder, item)[0]["id"] for item in ids] == ids
    assert rows[0].cell.config_digest == cell.digest
    assert rows[0].cell.dataset_cut is False


async def test_a_second_run_does_nothing_and_starts_no_server(tmp_path: Path) -> None:
    await run(fake_cell(tmp_path))
    before = (fake_cell(tmp_path).folder / ROWS).read_bytes()
    FakeModelConfig.log.clear()
    watch = Silent()
    assert len(await run(fake_cell(tmp_path), watch)) == 5
    assert (watch.items, watch.resumed, FakeModelConfig.log) == ([], 5, [])
    assert (fake_cell(tmp_path).folder / ROWS).read_bytes() == before


async def test_a_cut_run_is_extended_and_says_so_in_its_rows(tmp_path: Path) -> None:
    await run(fake_cell(tmp_path, dataset=FakeDataset(limit=2)))
    watch = Silent()
    await run(fake_cell(tmp_path), watch)
    assert watch.items == ["item/2", "item/3", "item/4"]
    cut = [row.cell.dataset_cut for row in read_rows(fake_cell(tmp_path).folder, Row)]
    assert cut == [True, True, False, False, False]


async def test_errors_stay_until_their_retry_and_are_kept_apart(tmp_path: Path) -> None:
    failing = FakeDataset(failing=["item/1", "item/3"])
    await run(fake_cell(tmp_path, dataset=failing))
    folder = fake_cell(tmp_path).folder
    assert [row.status for row in read_rows(folder, Row)].count("error") == 2
    await run(fake_cell(tmp_path, dataset=FakeDataset(failing=["item/3"])))
    rows = {row.task_id: row.status for row in read_rows(folder, Row)}
    assert rows == {f"item/{n}": "error" if n == 3 else "answered" for n in range(5)}
    assert (folder / ERRORS).read_text().count("\n") == 2


@pytest.mark.parametrize("concurrency", [1, 3, 9])
async def test_concurrency_is_what_was_asked_for(tmp_path: Path, concurrency: int) -> None:
    cell = fake_cell(tmp_path, concurrency=concurrency)
    study = FakeStudy(FakeDataset())
    async with SharedModel() as models:
        await run_cell(cell, study, models, Silent())
    assert study.most_running == min(concurrency, 5)
    assert sorted(study.ran) == sorted(study.every)


async def test_another_configuration_is_refused_with_keys_values_and_remedy(
    tmp_path: Path,
) -> None:
    await run(fake_cell(tmp_path))
    other = fake_cell(
        tmp_path,
        memory=FakeMemoryConfig(budget_tokens=7),
        model=FakeModelConfig(temperature=0.5),
    )
    with pytest.raises(SetupError) as caught:
        await run(other)
    (line,) = caught.value.lines
    assert "memory.budget_tokens: None there, 7 now" in line
    assert "model.temperature: 0.0 there, 0.5 now" in line
    assert "label=" in line
    assert await run(fake_cell(tmp_path, label="other", memory=FakeMemoryConfig(budget_tokens=7)))


async def test_what_cannot_change_a_result_is_outside_the_digest(tmp_path: Path) -> None:
    same = fake_cell(
        tmp_path / "elsewhere",
        label="x",
        concurrency=4,
        model=FakeModelConfig(base_url="http://127.0.0.1:1/v1"),
        dataset=FakeDataset(limit=1),
    )
    assert same.digest == fake_cell(tmp_path).digest
    assert fake_cell(tmp_path, seed=1).digest != same.digest


async def test_a_bug_stops_the_cell_and_keeps_what_was_written(tmp_path: Path) -> None:
    class Broken(FakeStudy):
        async def run(self, item_id: str, cell: CellContext) -> ItemResult:
            if item_id == "item/2":
                raise ZeroDivisionError
            return await super().run(item_id, cell)

    cell = fake_cell(tmp_path)
    with pytest.raises(ExceptionGroup) as caught:
        async with SharedModel() as models:
            await run_cell(cell, Broken(FakeDataset()), models, Silent())
    assert caught.group_contains(ZeroDivisionError)
    assert [row.task_id for row in read_rows(cell.folder, Row)] == ["item/0", "item/1"]
    assert FakeModelConfig.log == ["start", "stop"]
    assert len(await run(cell)) == 5  # and the folder is free again


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_signal_stops_cleanly_with_its_exit_code(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    cell = fake_cell(tmp_path, concurrency=2, dataset=FakeDataset(hanging=["item/3"]))

    class Killing(Silent):
        def item(self, row: RowBase) -> None:
            super().item(row)
            if len(self.items) == 4:
                os.kill(os.getpid(), number)

    async def stopped() -> Stop:
        with stop_on_signals() as stop:
            await run(cell, Killing())
        return stop

    assert (await asyncio.create_task(stopped())).exit_code == code
    assert FakeModelConfig.log == ["start", "stop"]
    assert len(read_rows(cell.folder, Row)) == 4
    resumed = Silent()
    await run(fake_cell(tmp_path), resumed)
    assert resumed.items == ["item/3"]


async def test_a_damaged_ledger_is_put_aside_and_costs_no_rows(tmp_path: Path) -> None:
    cell = fake_cell(tmp_path, dataset=FakeDataset(limit=2))
    await run(cell)
    (cell.folder / LEDGER).write_text("{")
    assert read_ledger(cell.folder) is None
    assert len(await run(fake_cell(tmp_path))) == 5
    assert (cell.folder / f"{LEDGER}.damaged").read_text() == "{"
    ledger = read_ledger(cell.folder)
    assert ledger is not None and [session.items for session in ledger.sessions] == [3]


async def test_a_full_disk_is_one_line_and_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    cell = fake_cell(tmp_path)
    with monkeypatch.context() as patch, pytest.raises(SetupError) as caught:
        patch.setattr("benchmarks.store.CellStore._append", full)
        patch.setattr("benchmarks.compute.SessionMeter.save", full)
        await run(cell)
    (line,) = caught.value.lines
    assert line.startswith(f"{cell.folder}: cannot be written: No space left on device; ")
    assert len(await run(cell)) == 5


async def test_consecutive_cells_of_one_model_share_a_server(tmp_path: Path) -> None:
    first, second = fake_cell(tmp_path), fake_cell(tmp_path, label="b")
    third = fake_cell(tmp_path, label="c", model=FakeModelConfig(temperature=1.0))
    async with SharedModel() as models:
        for cell in (first, second, third):
            await run_cell(cell, FakeStudy(FakeDataset()), models, Silent())
    assert FakeModelConfig.log == ["start", "stop", "start", "stop"]


def test_cells_with_the_same_data_share_a_study(tmp_path: Path) -> None:
    one, two = fake_cell(tmp_path), fake_cell(tmp_path, label="b")
    other = fake_cell(tmp_path, dataset=FakeDataset(limit=1))
    studies = load_studies([one, two, other])
    assert studies[0] is studies[1]
    assert studies[0] is not studies[2]
