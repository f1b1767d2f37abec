"""What the allocated GPUs did while a cell ran: memory, utilisation, energy, as NVML reports them.

What NVML does not answer is None, never zero. `nvidia-ml-py` is optional (extra `nvml`) and loaded
when a watch starts; without it, or without a driver, only the number of allocated GPUs is known.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

_SAMPLE_SECONDS = 1.0
_HIDDEN = {"", "-1", "NoDevFiles"}


@dataclass(frozen=True)
class GpuUse:
    """Summed over the allocated GPUs, but utilisation (0 to 1), which is their mean.

    `count` is the number of GPUs of the allocation, None if it cannot be told. Memory in bytes
    includes whatever else runs on the cards; energy in joules.
    """

    count: int | None = None
    names: tuple[str, ...] = ()
    memory_mean: float | None = None
    memory_peak: float | None = None
    utilisation_mean: float | None = None
    energy: float | None = None


def visible_devices() -> list[str] | None:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them; None if it is unset.

    A scheduler sets it to the job's share, so its length is the size of the allocation.
    """
    value = os.environ.get("CUDA_VISIBLE_DEVICES")
    if value is None:
        return None
    return [] if value.strip() in _HIDDEN else [part.strip() for part in value.split(",")]


def _nvml() -> ModuleType | None:
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    loaded: ModuleType = pynvml
    return loaded


@dataclass
class _Sums:
    samples: int = 0
    memory: float = 0.0
    peak: float = 0.0
    utilisations: int = 0
    utilisation: float = 0.0
    power_joules: float | None = None


@dataclass
class _Device:
    handle: Any
    name: str
    start_millijoules: int | None


@dataclass
class GpuWatch:
    """Samples the allocated GPUs about once a second from a thread; use it as a context."""

    _devices: list[_Device] = field(default_factory=list)
    _sums: _Sums = field(default_factory=_Sums)
    _stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None
    _nvml: ModuleType | None = None
    _count: int | None = None

    def __enter__(self) -> GpuWatch:
        visible = visible_devices()
        self._count = None if visible is None else len(visible)
        self._nvml = _nvml() if visible != [] else None
        if self._nvml is not None:
            self._devices = self._find(self._nvml, visible)
            if visible is None:
                # One GPU and no allocation: it is the one that is used. Of several, nobody knows.
                total = self._nvml.nvmlDeviceGetCount()
                self._count = 1 if total == 1 else None
                self._devices = self._devices if total == 1 else []
        if self._devices:
            self._thread = threading.Thread(target=self._loop, daemon=True, name="gpu-watch")
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def use(self) -> GpuUse:
        """What has been seen so far."""
        with self._lock:
            sums = self._sums
            return GpuUse(
                count=self._count,
                names=tuple(device.name for device in self._devices),
                memory_mean=sums.memory / sums.samples if sums.samples else None,
                memory_peak=sums.peak if sums.samples else None,
                utilisation_mean=sums.utilisation / sums.utilisations
                if sums.utilisations
                else None,
                energy=self._energy(),
            )

    def _find(self, nvml: ModuleType, visible: list[str] | None) -> list[_Device]:
        devices = []
        for name in visible if visible is not None else ["0"]:
            with contextlib.suppress(nvml.NVMLError):
                handle = (
                    nvml.nvmlDeviceGetHandleByIndex(int(name))
                    if name.isdigit()
                    else nvml.nvmlDeviceGetHandleByUUID(name)
                )
                devices.append(
                    _Device(handle, str(nvml.nvmlDeviceGetName(handle)), self._counter(handle))
                )
        # A share of the cards would pass for all of them: all or nothing.
        return devices if visible is None or len(devices) == len(visible) else []

    def _counter(self, handle: Any) -> int | None:
        """The card's own energy counter in millijoules (Volta and later)."""
        assert self._nvml is not None
        try:
            return int(self._nvml.nvmlDeviceGetTotalEnergyConsumption(handle))
        except self._nvml.NVMLError:
            return None

    def _energy(self) -> float | None:
        used = 0
        for device in self._devices:
            now = None if device.start_millijoules is None else self._counter(device.handle)
            if now is None or device.start_millijoules is None:
                return self._sums.power_joules
            used += now - device.start_millijoules
        return used / 1000 if self._devices else None

    def _loop(self) -> None:
        last = time.monotonic()
        while True:
            now = time.monotonic()
            self._sample(now - last)
            last = now
            if self._stop.wait(_SAMPLE_SECONDS):
                return

    def _sample(self, seconds: float) -> None:
        """One look at every card; power over `seconds` stands in where a card has no counter."""
        nvml = self._nvml
        assert nvml is not None
        memory, utilisation, watts = [], [], []
        for device in self._devices:
            with contextlib.suppress(nvml.NVMLError):
                memory.append(float(nvml.nvmlDeviceGetMemoryInfo(device.handle).used))
            with contextlib.suppress(nvml.NVMLError):
                utilisation.append(nvml.nvmlDeviceGetUtilizationRates(device.handle).gpu / 100)
            with contextlib.suppress(nvml.NVMLError):
                watts.append(nvml.nvmlDeviceGetPowerUsage(device.handle) / 1000)
        every = len(self._devices)
        with self._lock:
            if len(memory) == every:
                self._sums.samples += 1
                self._sums.memory += sum(memory)
                self._sums.peak = max(self._sums.peak, sum(memory))
            if len(utilisation) == every:
                self._sums.utilisations += 1
                self._sums.utilisation += sum(utilisation) / every
            if len(watts) == every:
                self._sums.power_joules = (self._sums.power_joules or 0.0) + sum(watts) * seconds
