"""The compute ledger. NVML is a stand-in here: no GPU is at hand."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from agents.serving.gpu import GpuWatch, visible_devices
from benchmarks.compute import Ledger, Session, measured, read_ledger


class FakeError(Exception):
    pass


def fake_nvml(**missing: bool) -> ModuleType:
    """Two cards: 4 GB and 6 GB used, 50 % and 100 % busy; a counter that grows by 5 J a look."""
    module: Any = ModuleType("pynvml")
    counters = {0: 0, 1: 1000}

    def refuse(*_: object) -> None:
        raise FakeError

    def energy(handle: int) -> int:
        counters[handle] += 5000
        return counters[handle]

    module.NVMLError = FakeError
    module.nvmlInit = refuse if missing.get("driver") else lambda: None
    module.nvmlDeviceGetCount = lambda: 2
    module.nvmlDeviceGetHandleByIndex = lambda index: index
    module.nvmlDeviceGetHandleByUUID = lambda name: int(name[-1])
    module.nvmlDeviceGetName = lambda handle: f"card {handle}"
    module.nvmlDeviceGetMemoryInfo = lambda handle: SimpleNamespace(used=[4e9, 6e9][handle])
    module.nvmlDeviceGetUtilizationRates = (
        refuse if missing.get("load") else lambda handle: SimpleNamespace(gpu=[50, 100][handle])
    )
    module.nvmlDeviceGetTotalEnergyConsumption = refuse if missing.get("energy") else energy
    module.nvmlDeviceGetPowerUsage = refuse
    return module  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("value", "devices"),
    [(None, None), ("", []), ("-1", []), ("NoDevFiles", []), ("3", ["3"]), ("0, 2", ["0", "2"])],
)
def test_the_allocation_is_what_cuda_may_see(
    monkeypatch: pytest.MonkeyPatch, value: str | None, devices: list[str] | None
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if value is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    assert visible_devices() == devices


def watched(monkeypatch: pytest.MonkeyPatch, visible: str | None, nvml: ModuleType) -> GpuWatch:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    watch = GpuWatch()
    with watch:
        pass  # the thread looks at least once before it ends
    return watch


def test_what_nvml_says_is_summed_over_the_allocated_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    use = watched(monkeypatch, "0,GPU-1", fake_nvml()).use()
    assert use.count == 2 and use.names == ("card 0", "card 1")
    assert use.memory_mean == use.memory_peak == 10e9
    assert use.utilisation_mean == 0.75
    assert use.energy == pytest.approx(10.0)


def test_only_the_allocated_card_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    use = watched(monkeypatch, "1", fake_nvml()).use()
    assert (use.count, use.memory_peak, use.names) == (1, 6e9, ("card 1",))


def test_what_nvml_does_not_answer_is_null(monkeypatch: pytest.MonkeyPatch) -> None:
    use = watched(monkeypatch, "0", fake_nvml(load=True, energy=True)).use()
    assert use.utilisation_mean is None and use.energy is None
    assert use.memory_peak == 4e9


@pytest.mark.parametrize("visible", ["0", "0,1"])
def test_without_a_driver_only_the_count_is_known(
    monkeypatch: pytest.MonkeyPatch, visible: str
) -> None:
    use = watched(monkeypatch, visible, fake_nvml(driver=True)).use()
    assert use.count == len(visible.split(","))
    assert {use.memory_mean, use.memory_peak, use.utilisation_mean, use.energy} == {None}


def test_of_several_cards_without_an_allocation_none_is_guessed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use = watched(monkeypatch, None, fake_nvml()).use()
    assert use.count is None and use.memory_peak is None


def test_sessions_add_up_and_a_null_stays_null(tmp_path: Path) -> None:
    one = Session(
        started_at=0, host="a", wall_seconds=100, gpus=1, gpu_seconds=100, gpu_energy=5,
        gpu_utilisation=0.5, gpu_memory_peak=3, items=2, prompt_tokens=1000, cached_tokens=400,
        completion_tokens=50,
    )  # fmt: skip
    two = one.model_copy(update={"wall_seconds": 300, "gpu_seconds": 300, "gpu_utilisation": 0.9})
    both = Ledger(sessions=[one, two]).add_up(price=9.0)
    assert both.gpu_seconds == 400 and both.cost == pytest.approx(1.0)
    assert both.gpu_utilisation == pytest.approx(0.8) and both.gpu_memory_peak == 3
    assert both.prompt_tokens_computed == 1200 and both.prompt_tokens_cached == 800
    assert both.tokens_per_second == pytest.approx(1300 / 400)
    unknown = two.model_copy(update={"gpu_seconds": None, "gpu_energy": None})
    some = Ledger(sessions=[one, unknown]).add_up(price=9.0)
    assert some.gpu_seconds is None and some.cost is None and some.gpu_energy is None
    assert Ledger(sessions=[one]).add_up(price=None).cost is None


def test_a_second_session_is_added_and_an_error_keeps_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "7")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "3")
    with measured(tmp_path, 1.0):
        pass
    with pytest.raises(ZeroDivisionError), measured(tmp_path, 1.0):
        raise ZeroDivisionError
    ledger = read_ledger(tmp_path)
    assert ledger is not None and ledger.totals is not None
    assert [session.job for session in ledger.sessions] == ["7_3", "7_3"]
    assert all(session.finished and session.gpus == 0 for session in ledger.sessions)
    assert ledger.totals.gpu_seconds == 0 and ledger.totals.tokens_per_second == 0
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.json"]
