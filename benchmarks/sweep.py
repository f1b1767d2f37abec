"""Hydra's own command line: sweeps (`-m`) with their launchers, `--cfg job`, `--help`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise

import hydra
from hydra import compose as hydra_compose
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf

from agents.serving.base import ServerError
from benchmarks.composition import (
    CONFIGS,
    check_choices,
    compose,
    failure,
    hydra_here,
    rewritten,
)
from benchmarks.errors import CellFailed, SetupError

_MULTIRUN = ("-m", "--multirun")

_SIGNALLED = 128


def hydra_arguments(arguments: Sequence[str]) -> bool:
    """Whether a command line has flags, which are Hydra's to read."""
    return any(argument.startswith("-") for argument in arguments)


def apart(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Flags with their values (`--cfg job`), and overrides; Hydra wants the flags first."""
    flags: list[str] = []
    overrides: list[str] = []
    for before, item in pairwise(["", *arguments]):
        value = before.startswith("-") and before not in _MULTIRUN and "=" not in item
        (flags if value or item.startswith("-") else overrides).append(item)
    return flags, overrides


def by_hydra(arguments: Sequence[str], job: Callable[[list[str]], int]) -> int:
    """Let Hydra run `job` once per combination, in this process or by its launcher.

    Every combination is validated before the first is launched, so that a mistake is one line here
    and not a failed job elsewhere. Raises `SetupError`.
    """
    flags, given = apart(arguments)
    overrides = [rewritten(item) for item in given]
    if any(flag in _MULTIRUN for flag in flags):
        for combination in combinations(overrides):
            compose(combination)

    failed: list[str] = []  # Hydra raises the first only

    def task(_: DictConfig) -> None:
        mine = list(HydraConfig.get().overrides.task)
        try:
            code = job(mine)
            reason = f"exit code {code}"
        except (SetupError, CellFailed, ServerError) as error:
            code, reason = 1, str(error)
        if code > _SIGNALLED:
            sys.exit(code)  # told to stop: the cells after this one must not start
        if code:
            failed.append(f"{' '.join(mine).replace('++', '')}: {reason}")
            raise CellFailed(failed[-1])

    sys.argv = [sys.argv[0], *flags, *overrides]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # exceptions come here instead of being printed by Hydra
    try:
        hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name="config")(task)()
    except MissingConfigException as error:
        if "submitit" in str(error):
            raise SetupError(
                "hydra/launcher=slurm needs submitit: pip install -e '.[slurm]'"
            ) from None
        raise
    except (CellFailed, HydraException) as error:
        print("\n".join(failed) or error, file=sys.stderr)
        return 1
    return 0


def combinations(overrides: Sequence[str]) -> list[list[str]]:
    """The jobs of a sweep: the grid's own parameters first, the command line's over them."""
    try:
        parsed = OverridesParser.create().parse_overrides(list(overrides))
        fixed = [str(o.input_line) for o in parsed if not o.is_sweep_override()]
        check_choices(fixed)
        with hydra_here():
            config = hydra_compose("config", overrides=fixed, return_hydra_config=True)
        params = OmegaConf.to_container(
            OmegaConf.select(config, "hydra.sweeper.params") or OmegaConf.create({})
        )
        assert isinstance(params, dict)
        grid = [rewritten(f"{key}={value}") for key, value in params.items()]  # type: ignore[str-bytes-safe]
        swept = OverridesParser.create().parse_overrides([*grid, *overrides])
        batches = BasicSweeper.split_arguments(swept, max_batch_size=None)
    except HydraException as error:
        raise failure(error) from None
    return [
        [item for item in job if not item.lstrip("+").startswith("hydra")]
        for batch in batches
        for job in batch
    ]
