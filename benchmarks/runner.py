"""One cell: its pending items, several at once, each written as soon as it is done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from agents.models.base import OpenModel
from benchmarks.compute import measured
from benchmarks.errors import SetupError
from benchmarks.provenance import git_state, prompt_hash
from benchmarks.records import CellKey, RowBase
from benchmarks.settings import CellConfig
from benchmarks.store import CellStore, writing
from benchmarks.study import CellContext, ItemResult, Study, WithEnd

_GRACE_SECONDS = 0.2
"""A scheduler may stop us and our server at once: its signal then comes before the error row."""


class Watch(Protocol):
    """Who is told how a cell gets on."""

    def begin(self, cell: CellConfig, total: int, done: Sequence[RowBase]) -> None:
        """A cell starts with `total` items, of which `done` have a row."""
        ...

    def item(self, row: RowBase) -> None:
        """An item has been written."""
        ...

    def say(self, line: str) -> None:
        """Something worth a line."""
        ...


class Models(Protocol):
    """Who opens a cell's model, and may keep its server for the next cell."""

    async def opened(self, cell: CellConfig) -> OpenModel:
        """The cell's model, started if need be."""
        ...


def load_studies(cells: Sequence[CellConfig]) -> list[Study]:
    """Each cell's study; cells with the same data share one. Raises `SetupError`."""
    loaded: dict[str, Study] = {}
    studies: list[Study] = []
    for cell in cells:
        data = repr((cell.dataset, cell.agent, cell.tools))
        if data not in loaded:
            loaded[data] = cell.dataset.study(cell.agent, cell.tools)
        studies.append(loaded[data])
    return studies


def check_folders(cells: Sequence[CellConfig], studies: Sequence[Study]) -> None:
    """Before anything starts: raise `SetupError` for folders of other configurations."""
    refused: list[str] = []
    for cell, study in zip(cells, studies, strict=True):
        try:
            with writing(cell.folder):
                CellStore(cell.folder, study.row_type).check_owner(describe(cell, study))
        except SetupError as error:
            refused += error.lines
    if refused:
        raise SetupError(refused)


async def run_cell(cell: CellConfig, study: Study, models: Models, watch: Watch) -> list[RowBase]:
    """Run what has no row yet (or an `error` row) and return the rows of the items asked for.

    The model is opened only if something is left to run. Raises `SetupError` for a folder that
    another process or configuration owns. An exception out of an item is a bug: it stops the cell;
    what was written stays.
    """
    ids = study.item_ids()
    store = CellStore(cell.folder, study.row_type, watch.say)
    store.open(describe(cell, study))
    try:
        pending = store.pending(ids)
        finished = [row for item, row in store.rows.items() if item not in pending and item in ids]
        watch.begin(cell, len(ids), finished)
        if pending:
            with measured(cell.folder, cell.price_per_gpu_hour) as meter:
                model = await models.opened(cell)
                context = CellContext(key(cell, study, model), model.chat, cell.memory, cell.folder)

                def keep(result: ItemResult) -> None:
                    store.write(result)
                    meter.item(result.row)
                    watch.item(result.row)

                await _run_items(pending, cell.concurrency, study, context, keep)
        if isinstance(study, WithEnd):
            study.after_cell(cell.folder, list(store.rows.values()))
    finally:
        store.close()
    return [store.rows[item] for item in ids]


async def _run_items(
    pending: Sequence[str],
    concurrency: int,
    study: Study,
    context: CellContext,
    keep: Callable[[ItemResult], None],
) -> None:
    """`concurrency` workers share one queue, so that a slow item holds up nobody."""
    queue = iter(pending)

    async def work() -> None:
        for item in queue:
            result = await study.run(item, context)
            if result.row.status == "error":
                await asyncio.sleep(_GRACE_SECONDS)
            keep(result)

    try:
        async with asyncio.TaskGroup() as workers:
            for _ in range(min(concurrency, len(pending))):
                workers.create_task(work())
    except* SetupError as group:
        raise _first(group) from None


def _first(group: BaseExceptionGroup[SetupError]) -> SetupError:
    inner = group.exceptions[0]
    return inner if isinstance(inner, SetupError) else _first(inner)


def key(cell: CellConfig, study: Study, model: OpenModel) -> CellKey:
    """What every row of this cell shares."""
    git = git_state()
    web = cell.tools.web if study.uses_web else "off"
    return CellKey(
        label=cell.label,
        dataset=study.name,
        dataset_revision=study.revision,
        dataset_ids_hash=study.ids_hash,
        dataset_full_size=study.full_size,
        dataset_cut=len(study.item_ids()) < study.full_size,
        model=cell.model.name,
        model_revision=model.info.revision,
        server=model.info.server,
        server_version=model.info.version,
        simulated=cell.model.simulated,
        smoke_only=cell.model.smoke_only,
        memory=cell.memory.name,
        seed=cell.seed,
        config_digest=cell.digest,
        prompt_hash=prompt_hash(),
        git_commit=git.commit,
        git_dirty=git.dirty,
        tools_web=web,
        cassette_hash=cell.tools.cassette_hash() if study.uses_web else "",
        concurrency=cell.concurrency,
    )


def describe(cell: CellConfig, study: Study) -> dict[str, object]:
    """The content of `cell.yaml`: whose folder it is, and how many items were asked for last.

    The data's own identity is part of it, since `dataset.path` is outside the digest.
    """
    data = {"name": study.name, "revision": study.revision, "ids_hash": study.ids_hash}
    return {
        "digest": cell.digest,
        "git_commit": git_state().commit,
        "items": len(study.item_ids()),
        "full_size": study.full_size,
        "config": {**cell.identity(), "data": data},
    }
