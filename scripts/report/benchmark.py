"""Tables 1, 2 and 3 in the paper's layout, and the same for sets the paper does not know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from scripts.report import names, reference
from scripts.report.cells import CellStat
from scripts.report.layout import DASH, Line, Panel, Table, Value, best, block, millions, percent
from scripts.report.marks import LACKING, kind, legend

NONE_NOTE = (
    "No Memory keeps the agent's loop here, as section 3.1 says; the published row spends so few "
    "tokens that it was probably a single call."
)
SCAFFOLD_NOTE = (
    "Published token totals come from another scaffold: they compare in order and ratio, not in "
    "size."
)

Grid = dict[tuple[str, str, str, str], CellStat]
"""Cells by label, dataset, model and memory."""


@dataclass(frozen=True)
class _Entry:
    """What one printed row has for one set: exact accuracy, tokens, marks, published values."""

    accuracy: Fraction | None
    tokens: float | None
    marks: tuple[str, ...]
    complete: bool
    published_accuracy: float | None = None
    published_tokens: float | None = None
    accuracy_source: str = ""
    tokens_source: str = ""


def as_grid(cells: Sequence[CellStat]) -> Grid:
    """Cells by their place."""
    return {(cell.label, cell.dataset, cell.model, cell.memory): cell for cell in cells}


def table1(cells: Sequence[CellStat]) -> Table:
    """Table 1: no memory, linear, unweighted tree and WMT; best among the memory-based rows."""
    extra = names.extra_memories(cell.memory for cell in cells)
    rows = [*names.MAIN, *extra]
    contest = {memory for memory in rows if memory != "none"}
    sets = names.order_datasets(cell.dataset for cell in cells)
    others = [name for name in sets if name not in names.PAPER_DATASETS]
    panels = [(list(names.PAPER_DATASETS), "")] + [([name], "") for name in others]
    return _table(
        "table1",
        "Table 1: accuracy and prompt tokens of the main memories",
        "Bold: the highest accuracy and the fewest tokens among the memory-based rows (all but No "
        f"Memory) of a block. {NONE_NOTE}",
        cells,
        panels,
        rows,
        contest,
    )


def components(cells: Sequence[CellStat], dataset: str) -> Table:
    """Table 2 (GAIA-Text), Table 3 (GAIA), or the same for another set; best among the trees."""
    number = {"gaia_text": "table2", "gaia": "table3"}.get(dataset)
    title = f"component ablations on {names.show_dataset(dataset)}"
    rows = [*names.TREES, *names.extra_memories(cell.memory for cell in cells)]
    return _table(
        number or "components_" + re.sub(r"[^A-Za-z0-9-]", "_", dataset),
        f"Table {number[-1]}: {title}" if number else title[0].upper() + title[1:],
        "Bold: the highest accuracy and the fewest tokens among the tree configurations of a "
        "block.",
        cells,
        [([dataset], "")],
        rows,
        set(rows),
    )


def benchmark_tables(cells: Sequence[CellStat]) -> list[Table]:
    """Tables 1-3, and a component table for every further set that has partial systems."""
    tables = [table1(cells)]
    tables += [components(cells, name) for name in names.PAPER_DATASETS]
    for name in names.order_datasets(cell.dataset for cell in cells):
        partial = {cell.memory for cell in cells if cell.dataset == name} & set(names.PARTIAL)
        if name not in names.PAPER_DATASETS and partial:
            tables.append(components(cells, name))
    return tables


def block_title(label: str, model: str, labels: int) -> str:
    """Heading of a block: the model, and the arm where there are several."""
    shown = names.show_model(model)
    return f"{shown} [{label}]" if label and (labels > 1 or label != "main") else shown


def _table(
    name: str,
    title: str,
    caption: str,
    cells: Sequence[CellStat],
    panels: Sequence[tuple[list[str], str]],
    memories: Sequence[str],
    contest: set[str],
) -> Table:
    grid = as_grid(cells)
    records: list[dict[str, Any]] = []
    built = []
    marks: dict[str, None] = {}
    for datasets, heading in panels:
        lines: list[Line] = []
        for label, model in _blocks(cells, datasets):
            titles = len({cell.label for cell in cells})
            entries = {
                dataset: [_entry(grid, label, dataset, model, memory) for memory in memories]
                for dataset in datasets
            }
            shown = _shown(memories, entries)
            lines.append(block(block_title(label, model, titles)))
            lines += _lines(memories, entries, contest, shown, "row")
            for dataset, column in entries.items():
                records += _records(name, label, dataset, model, memories, column, contest)
                marks.update(dict.fromkeys(mark for entry in column for mark in entry.marks))
        for label in sorted({cell.label for cell in cells if cell.dataset in datasets}) or [""]:
            lines += _mean_lines(grid, cells, label, datasets, memories, contest)
        built.append(_panel(datasets, heading, lines))
    parts = [caption]
    if any(dataset in names.PAPER_DATASETS for datasets, _ in panels for dataset in datasets):
        parts += [SCAFFOLD_NOTE, reference.SOURCE_LEGEND]
    parts.insert(0, "Accuracy in percent, prompt tokens of all model calls in millions.")
    if not any(cell.dataset in datasets for datasets, _ in panels for cell in cells):
        parts.append("These results hold no cell of this table.")
    if marks:
        parts.append(f"Marks: {legend(marks)}.")
    return Table(name, title, " ".join(parts), tuple(built), tuple(records), tuple(marks))


def _blocks(cells: Sequence[CellStat], datasets: Sequence[str]) -> list[tuple[str, str]]:
    """Arms and models in order. The paper's models are always there for the paper's sets."""
    found = {(cell.label, cell.model) for cell in cells if cell.dataset in datasets}
    if set(datasets) & set(names.PAPER_DATASETS):
        label = min((label for label, _ in found), default="")
        models = {model for _, model in found}
        found |= {(label, model) for model in names.MODELS if model not in models}
    order = names.order_models(model for _, model in found)
    return sorted(found, key=lambda pair: (pair[0], order.index(pair[1])))


def _entry(grid: Grid, label: str, dataset: str, model: str, memory: str) -> _Entry:
    cell = grid.get((label, dataset, model, memory))
    known = reference.published().get((dataset, model, memory))
    published: dict[str, Any] = {}
    if known:
        published = {
            "published_accuracy": known.accuracy.value,
            "published_tokens": known.tokens.value,
            "accuracy_source": known.accuracy.source,
            "tokens_source": known.tokens.source,
        }
    if cell is None:
        in_block = any(place[:3] == (label, dataset, model) for place in grid)
        lacking = in_block and memory in names.GRID
        return _Entry(None, None, (LACKING,) if lacking else (), False, **published)
    return _Entry(cell.accuracy, cell.prompt_tokens, cell.marks, not cell.missing, **published)


def _shown(memories: Sequence[str], entries: dict[str, list[_Entry]]) -> list[bool]:
    """Rows worth printing: the paper's, and further ones that have a value in this block."""
    return [
        memory in names.GRID
        or any(column[place].accuracy is not None for column in entries.values())
        for place, memory in enumerate(memories)
    ]


def _bold(
    memories: Sequence[str], column: Sequence[_Entry], contest: set[str]
) -> list[tuple[bool, bool, bool, bool]]:
    """Best accuracy, published accuracy, tokens, published tokens; incomplete rows cannot win."""
    runs = [memory in contest for memory in memories]
    ours = [run and entry.complete for run, entry in zip(runs, column, strict=True)]
    return list(
        zip(
            best(
                [e.accuracy if o else None for e, o in zip(column, ours, strict=True)], highest=True
            ),
            best(
                [e.published_accuracy if r else None for e, r in zip(column, runs, strict=True)],
                highest=True,
            ),
            best(
                [e.tokens if o else None for e, o in zip(column, ours, strict=True)], highest=False
            ),
            best(
                [e.published_tokens if r else None for e, r in zip(column, runs, strict=True)],
                highest=False,
            ),
            strict=True,
        )
    )


def _lines(
    memories: Sequence[str],
    entries: dict[str, list[_Entry]],
    contest: set[str],
    shown: Sequence[bool],
    line_kind: Any,
) -> list[Line]:
    bold = {name: _bold(memories, column, contest) for name, column in entries.items()}
    lines = []
    for place, memory in enumerate(memories):
        if not shown[place]:
            continue
        values = [Value(names.show_memory(memory))]
        for dataset, column in entries.items():
            entry = column[place]
            accuracy_best, old_accuracy_best, tokens_best, old_tokens_best = bold[dataset][place]
            accuracy = None if entry.accuracy is None else float(entry.accuracy)
            values.append(Value(percent(accuracy), accuracy_best))
            if dataset in names.PAPER_DATASETS:
                values.append(
                    _old(entry.published_accuracy, entry.accuracy_source, old_accuracy_best)
                )
            values.append(Value(millions(entry.tokens), tokens_best))
            if dataset in names.PAPER_DATASETS:
                values.append(_old(entry.published_tokens, entry.tokens_source, old_tokens_best))
            values.append(Value(", ".join(entry.marks)))
        lines.append(Line(tuple(values), line_kind))
    return lines


def _old(value: float | None, source: str, bold: bool) -> Value:
    return Value(DASH) if value is None else Value(f"{value:.2f} {source}".strip(), bold)


def _mean_lines(
    grid: Grid,
    cells: Sequence[CellStat],
    label: str,
    datasets: Sequence[str],
    memories: Sequence[str],
    contest: set[str],
) -> list[Line]:
    """Means over the models of an arm; only for memories that every one of them has complete."""
    entries: dict[str, list[_Entry]] = {}
    models = names.order_models(
        cell.model for cell in cells if cell.label == label and cell.dataset in datasets
    )
    paper = bool(set(datasets) & set(names.PAPER_DATASETS))
    if len(models) < 2 and not paper:
        return []
    for dataset in datasets:
        entries[dataset] = [
            _mean_entry(grid, label, dataset, models, memory) for memory in memories
        ]
    over = ", ".join(names.show_model(model) for model in models) if len(models) > 1 else ""
    title = f"Mean over models [{label}]" if label and label != "main" else "Mean over models"
    title += f" (ours: {over})" if over and set(models) != set(names.MODELS) else ""
    return [
        block(title),
        *_lines(memories, entries, contest, _shown(memories, entries), "mean"),
    ]


def _mean_entry(grid: Grid, label: str, dataset: str, models: Sequence[str], memory: str) -> _Entry:
    found = [grid.get((label, dataset, model, memory)) for model in models]
    present = [cell for cell in found if cell is not None and not cell.missing]
    whole = len(models) > 1 and len(present) == len(models)
    accuracy = sum((c.accuracy for c in present), Fraction(0)) / len(present) if whole else None
    tokens = sum(c.prompt_tokens for c in present) / len(present) if whole else None
    marks = dict.fromkeys(mark for cell in present for mark in cell.marks) if whole else {}
    old = [reference.published().get((dataset, model, memory)) for model in names.MODELS]
    known = [cell for cell in old if cell is not None]
    published: dict[str, Any] = {}
    if known:
        published = {
            "published_accuracy": sum(cell.accuracy.value for cell in known) / len(known),
            "published_tokens": sum(cell.tokens.value for cell in known) / len(known),
            "accuracy_source": "d",
            "tokens_source": "d",
        }
    kinds = tuple(dict.fromkeys(kind(mark) for mark in marks))
    return _Entry(accuracy, tokens, kinds, whole, **published)


def _panel(datasets: Sequence[str], title: str, lines: Sequence[Line]) -> Panel:
    columns = ["Memory"]
    groups = []
    for dataset in datasets:
        if dataset in names.PAPER_DATASETS:
            heads = ["Acc. %", "published", "Tokens M", "published", "Marks"]
        else:
            heads = ["Acc. %", "Tokens M", "Marks"]
        columns += heads
        groups.append((names.show_dataset(dataset), len(heads)))
    return Panel(tuple(columns), tuple(lines), title, tuple(groups))


def _records(
    name: str,
    label: str,
    dataset: str,
    model: str,
    memories: Sequence[str],
    column: Sequence[_Entry],
    contest: set[str],
) -> list[dict[str, Any]]:
    bold = _bold(memories, column, contest)
    return [
        {
            "table": name,
            "label": label,
            "dataset": dataset,
            "model": model,
            "memory": memory,
            "accuracy_pct": None if entry.accuracy is None else float(100 * entry.accuracy),
            "prompt_tokens_millions": None if entry.tokens is None else entry.tokens / 1e6,
            "best_accuracy": bold[place][0],
            "best_tokens": bold[place][2],
            "published_accuracy_pct": entry.published_accuracy,
            "published_accuracy_source": entry.accuracy_source,
            "published_tokens_millions": entry.published_tokens,
            "published_tokens_source": entry.tokens_source,
            "marks": ", ".join(entry.marks),
        }
        for place, (memory, entry) in enumerate(zip(memories, column, strict=True))
        if entry.accuracy is not None or memory in names.GRID
    ]
