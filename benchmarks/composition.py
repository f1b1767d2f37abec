"""From command-line overrides to validated cells, with every mistake as one plain line.

Hydra composes `configs/`, its `_target_` classes (pydantic) are made, `CellConfig` takes the
result. A key may name any field of a config class, whether its yaml lists it or not: pydantic
judges, and its schema says what is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import (
    HydraException,
    InstantiationException,
    MissingConfigException,
    OverrideParseException,
)
from hydra.utils import get_class, instantiate
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, ValidationError

from benchmarks.allowed import explain, has_key
from benchmarks.errors import SetupError
from benchmarks.settings import GROUPS, CellConfig

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
_CHOOSABLE = (*GROUPS, "experiment")


@dataclass(frozen=True)
class Plan:
    """The cells to run, in order, and what is to be said about them before they start."""

    cells: tuple[CellConfig, ...]
    notes: tuple[str, ...] = ()


def compose(overrides: Sequence[str]) -> Plan:
    """The validated cells of a command line: one, or those of its experiment.

    An experiment's `cells` are override lists. What the user gives is applied after them, so it
    wins in every cell; a key that a cell's choice does not have is left out of that cell, and said.
    Raises `SetupError`.
    """
    user = [rewritten(override) for override in overrides]
    config = _composed(user)
    arms = config.pop("cells", None)
    if arms is None:
        return Plan((_cell(config),))
    if not isinstance(arms, list) or not arms or not all(isinstance(arm, list) for arm in arms):
        raise SetupError("cells: must be a list of override lists, e.g. [[memory=linear], [...]]")
    cells: dict[Path, CellConfig] = {}
    notes: list[str] = []
    unused = {key for override in user if (key := _group_key(override))}
    for arm in arms:
        mine = [rewritten(str(override)) for override in arm]
        chosen = _composed([*mine, *(item for item in user if _group_key(item) is None)])
        fitting = [item for item in user if _fits(item, chosen)]
        left_out = sorted(
            {_group_key(item) or "" for item in user} - {_group_key(item) or "" for item in fitting}
        )
        merged = _composed([*mine, *fitting])
        merged.pop("cells")
        cell = _cell(merged)
        notes += [f"{cell.title}: has no {key}, left as it is" for key in left_out]
        unused &= set(left_out)
        if cell.folder in cells and cells[cell.folder].digest != cell.digest:
            raise SetupError(f"cells: two arms differ but share {cell.folder}: give them a label=")
        cells.setdefault(cell.folder, cell)
    if unused:
        _cell(config)  # names the unknown key and what is allowed
        raise SetupError(f"{', '.join(sorted(unused))}: no cell of this experiment has such a key")
    return Plan(tuple(cells.values()), tuple(notes))


def rewritten(override: str) -> str:
    """`a.b=1` as `++a.b=1` for every key but a group's, whose leading `+` is dropped."""
    key, equals, value = override.partition("=")
    bare = key.lstrip("+")
    if not equals or key.startswith("~") or bare.startswith("hydra"):
        return override
    if bare in _CHOOSABLE:
        return f"{bare}{equals}{value}"
    if (CONFIGS / bare).is_dir() or "@" in bare:
        return override
    return f"++{bare}{equals}{value}"


def _group_key(override: str) -> str | None:
    """`memory.selector` of `++memory.selector=llm`; None for other overrides."""
    key = override.partition("=")[0].lstrip("+~")
    return key if key.partition(".")[0] in GROUPS and "." in key else None


def _fits(override: str, config: dict[str, Any]) -> bool:
    """Whether the choice that a composed config made for a group knows the override's key."""
    key = _group_key(override)
    if key is None:
        return True
    group, *path = key.split(".")
    kind = _class_of(config[group])
    return kind is None or has_key(kind, path)


@contextmanager
def hydra_here() -> Iterator[None]:
    """Compose from `configs/`, also within a job of a sweep, where Hydra is at work already."""
    outer = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(CONFIGS), version_base="1.3"):
            yield
    finally:
        GlobalHydra.instance().hydra = outer


def check_choices(overrides: Sequence[str]) -> None:
    """Raise `SetupError` for a choice that is not one yaml of its group.

    Hydra itself would merge a list of choices into a hybrid under the last one's name.
    """
    for override in overrides:
        key, equals, value = override.partition("=")
        if equals and not key:
            raise _unreadable(override)
        group, choice = key.lstrip("+"), value.strip("'\"")
        if not equals or group not in _CHOOSABLE:
            continue
        if choice in _choices(group) or (group, choice) == ("experiment", "null"):
            continue
        sweep = " (several choices: a sweep, add -m)" if "," in value else ""
        allowed = ", ".join(_choices(group))
        raise SetupError(f"{group}={value}: no such choice; allowed: {allowed}{sweep}")


def _choices(group: str) -> list[str]:
    return sorted(path.stem for path in (CONFIGS / group).glob("*.yaml"))


def _composed(overrides: Sequence[str]) -> dict[str, Any]:
    """Hydra's composition as plain data, interpolations resolved."""
    check_choices(overrides)
    try:
        with hydra_here():
            config = hydra_compose("config", overrides=list(overrides))
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise failure(error) from None
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


def failure(error: Exception) -> SetupError:
    """What Hydra could not compose, as one line."""
    if isinstance(error, MissingConfigException) and error.options is not None:
        found = re.search(r"'([^']+)/([^'/]+)'", str(error))
        if found:
            group, choice = found.groups()
            allowed = ", ".join(sorted(error.options))
            return SetupError(f"{group}={choice}: no such choice; allowed: {allowed}")
    if isinstance(error, OverrideParseException):
        return _unreadable(error.override.removeprefix("++"))
    line = _first_line(error).replace("++", "")
    sweep = " (several values: a sweep, add -m; a list: [a,b])" if "Ambiguous" in line else ""
    return SetupError(line + sweep)


def _unreadable(override: str) -> SetupError:
    return SetupError(
        f"{override}: cannot be read as KEY=VALUE; a value, or an item of a list, that holds other "
        "than plain letters and digits needs quotes, and those the shell's: 'KEY=\"VALUE\"'"
    )


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    if text.endswith(":") and len(lines) > 1:
        text += f" {lines[1]}"
    return f"configuration: {text}"


def _class_of(config: Any) -> type[BaseModel] | None:
    """The pydantic class that a group's `_target_` names."""
    target = config.get("_target_") if isinstance(config, dict) else None
    if not isinstance(target, str):
        return None
    try:
        kind = get_class(target)
    except ImportError:  # instantiating it says so
        return None
    return kind if issubclass(kind, BaseModel) else None


def _cell(config: dict[str, Any]) -> CellConfig:
    """Instantiate the groups, validate the whole; raises `SetupError`, a line per mistake."""
    lines: list[str] = []
    parts: dict[str, Any] = {}
    for group in GROUPS:
        try:
            parts[group] = _group(group, config.get(group))
        except SetupError as error:
            lines += error.lines
    top = {key: value for key, value in config.items() if key not in GROUPS}
    try:
        cell = CellConfig(**{**top, **dict.fromkeys(GROUPS), **parts})
    except ValidationError as error:
        lines += explain(error, CellConfig, (), also=("cells", "experiment"))
    if lines:
        raise SetupError(lines)
    return cell


def _group(group: str, config: Any) -> Any:
    if config is None:
        raise SetupError(f"{group}: must be chosen; allowed: {', '.join(_choices(group))}")
    if not isinstance(config, dict) or "_target_" not in config:
        raise SetupError(f"configs/{group}: the chosen yaml needs a _target_, a config class")
    try:
        return instantiate(config, _convert_="all")
    except InstantiationException as error:
        cause = error.__cause__
        kind = _class_of(config)
        if not isinstance(cause, ValidationError) or kind is None:
            reason = cause if cause is not None else error
            raise SetupError(f"{group}: {_first_line(Exception(reason))}") from error
        nested = re.search(r"full_key: (\S+)", str(error))
        path = tuple(nested.group(1).split(".")) if nested else ()
        raise SetupError(explain(cause, kind, (group, *path))) from None
