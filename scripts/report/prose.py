"""The averages that the paper's prose gives (section 4.1), and the totals of appendix A.5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scripts.report import names, reference
from scripts.report.cells import CellStat, lacking
from scripts.report.layout import DASH, Line, Panel, Table, block, count, row
from scripts.report.marks import LACKING, legend

Scope = Mapping[tuple[str, str, str], CellStat]
"""Cells of one arm by set, model and memory."""

MEAN = "mean"


@dataclass(frozen=True)
class Figure:
    """One number of the prose: what it is, for which set and model (`mean` over models)."""

    what: str
    dataset: str
    model: str
    value: float
    unit: str


def scope_of(cells: Sequence[CellStat], label: str) -> dict[tuple[str, str, str], CellStat]:
    """The cells of one arm."""
    return {(c.dataset, c.model, c.memory): c for c in cells if c.label == label}


def prose_numbers(scope: Scope, *, printed: bool = False) -> list[Figure]:
    """Gains over linear, token cuts, distance to the plain tree, means of WMT and of the best
    partial system. `printed` computes with accuracies rounded to two digits, as the paper did."""
    out: list[Figure] = []
    for dataset in names.order_datasets(key[0] for key in scope):
        models = names.order_models(key[1] for key in scope if key[0] == dataset)
        out += _against(scope, dataset, models, printed)
        out += _means(scope, dataset, models, printed)
    return out


def _pairs(
    scope: Scope, dataset: str, models: Sequence[str], first: str, second: str
) -> dict[str, tuple[CellStat, CellStat]]:
    found = {}
    for model in models:
        left, right = scope.get((dataset, model, first)), scope.get((dataset, model, second))
        if left is not None and right is not None:
            found[model] = (left, right)
    return found


def _share(cell: CellStat, printed: bool) -> float:
    return round(cell.percent, 2) if printed else cell.percent


def _against(scope: Scope, dataset: str, models: Sequence[str], printed: bool) -> list[Figure]:
    out: list[Figure] = []
    linear = _pairs(scope, dataset, models, "wmt", "linear")
    gains = {m: _share(w, printed) - _share(b, printed) for m, (w, b) in linear.items()}
    cuts = {
        m: 100 * (1 - w.prompt_tokens / b.prompt_tokens)
        for m, (w, b) in linear.items()
        if b.prompt_tokens
    }
    for what, unit, values in (
        ("WMT accuracy minus Linear", "points", gains),
        ("WMT tokens saved against Linear", "%", cuts),
    ):
        out += [Figure(what, dataset, m, value, unit) for m, value in values.items()]
        if len(values) > 1:
            out.append(Figure(what, dataset, MEAN, sum(values.values()) / len(values), unit))
    tree = _pairs(scope, dataset, models, "wmt", "unweighted")
    for model, (wmt, plain) in tree.items():
        gap = _share(wmt, printed) - _share(plain, printed)
        out.append(Figure("WMT accuracy minus Unweighted Tree", dataset, model, gap, "points"))
    return out


def _means(scope: Scope, dataset: str, models: Sequence[str], printed: bool) -> list[Figure]:
    if len(models) < 2:
        return []
    means: dict[str, tuple[float, float]] = {}
    for memory in names.TREES:
        cells = [scope[dataset, m, memory] for m in models if (dataset, m, memory) in scope]
        if len(cells) == len(models):
            shares = [_share(c, printed) for c in cells]
            means[memory] = (
                sum(shares) / len(shares),
                sum(c.millions for c in cells) / len(cells),
            )
    out = []
    if "wmt" in means:
        out += [
            Figure("WMT accuracy", dataset, MEAN, means["wmt"][0], "%"),
            Figure("WMT tokens", dataset, MEAN, means["wmt"][1], "M"),
        ]
    partial = [memory for memory in names.PARTIAL if memory in means]
    if len(partial) == len(names.PARTIAL):
        # Among equally accurate ones the cheaper: so the paper picks on GAIA, where two tie.
        top = min(partial, key=lambda memory: (-round(means[memory][0], 6), means[memory][1]))
        out += [
            Figure("Best partial system: accuracy", dataset, MEAN, means[top][0], "%"),
            Figure("Best partial system: tokens", dataset, MEAN, means[top][1], "M"),
        ]
    return out


def prose_table(cells: Sequence[CellStat]) -> Table:
    """Our numbers beside the published ones, arm by arm."""
    published = {
        (f.what, f.dataset, f.model): f for f in prose_numbers(reference.benchmark(), printed=True)
    }
    lines: list[Line] = []
    records: list[dict[str, Any]] = []
    for label in sorted({cell.label for cell in cells}):
        ours = {(f.what, f.dataset, f.model): f for f in prose_numbers(scope_of(cells, label))}
        keys = list(ours)
        if any(key[1] in names.PAPER_DATASETS for key in ours):
            keys = [*published, *(key for key in ours if key not in published)]
        if keys:
            lines.append(block(f"Arm {label}"))
        for key in keys:
            mine, theirs = ours.get(key), published.get(key)
            what, dataset, model = key
            unit = mine.unit if mine else published[key].unit
            records.append(
                {
                    "label": label,
                    "what": what,
                    "dataset": dataset,
                    "model": model,
                    "unit": unit,
                    "value": mine.value if mine else None,
                    "published": theirs.value if theirs else None,
                }
            )
            lines.append(
                row(
                    what,
                    names.show_dataset(dataset),
                    "mean over models" if model == MEAN else names.show_model(model),
                    unit,
                    _number(mine),
                    _number(theirs),
                )
            )
    marks = _marks(cells)
    caption = (
        "What section 4.1 gives in prose. Means are over models; the published values recompute "
        "from the tables to the printed digit."
    )
    if marks:
        caption += f" Marks in these results: {legend(marks)}."
    panel = Panel(("What", "Set", "Model", "Unit", "Ours", "Published"), tuple(lines))
    return Table("prose", "Averages of the prose", caption, (panel,), tuple(records), marks)


def _marks(cells: Sequence[CellStat]) -> tuple[str, ...]:
    """Those of the cells, and that of memories without a cell: sums and means lack them."""
    marks = dict.fromkeys(mark for cell in cells for mark in cell.marks)
    return (*marks, *([LACKING] if lacking(cells, names.GRID) else []))


def _number(figure: Figure | None) -> str:
    if figure is None:
        return DASH
    digits = 1 if figure.unit == "%" and "saved" in figure.what else 2
    return f"{figure.value:.{digits}f}"


def totals_table(cells: Sequence[CellStat]) -> Table:
    """Executions and prompt tokens per set, all seven memories and WMT alone (A.5)."""
    lines: list[Line] = []
    records: list[dict[str, Any]] = []
    theirs = _totals(list(reference.benchmark().values()))
    for label in sorted({cell.label for cell in cells}):
        mine = _totals([cell for cell in cells if cell.label == label])
        lines.append(block(f"Arm {label}"))
        paper = bool(set(mine) & set(names.PAPER_DATASETS))
        known = set(mine) - {"all"} | (set(names.PAPER_DATASETS) if paper else set())
        for dataset in [*names.order_datasets(known), "all"]:
            ours = mine.get(dataset)
            published = theirs.get(dataset) if dataset != "all" or paper else None
            for place, what in enumerate(
                ("question runs", "prompt tokens, all memories, M", "prompt tokens, WMT, M")
            ):
                value = ours[place] if ours else None
                old = published[place] if published else None
                records.append(
                    {
                        "label": label,
                        "dataset": dataset,
                        "what": what,
                        "value": value,
                        "published": old,
                    }
                )
                texts = [
                    count(number) if place == 0 else DASH if number is None else f"{number:,.2f}"
                    for number in (value, old)
                ]
                title = "All sets" if dataset == "all" else names.show_dataset(dataset)
                lines.append(row(title, what, *texts))
    marks = _marks(cells)
    caption = (
        "Appendix A.5. Runs count rows, seeds included; tokens are of one pass (the mean over "
        "seeds). The tokenizers of the models differ, so a total over models is workload, not a "
        "comparison. The published totals are for seven memories, three models and two sets."
    )
    if marks:
        caption += f" Marks in these results: {legend(marks)}."
    panel = Panel(("Set", "What", "Ours", "Published"), tuple(lines))
    return Table("totals", "Totals", caption, (panel,), tuple(records), marks)


def _totals(cells: Sequence[CellStat]) -> dict[str, tuple[float, float, float]]:
    out: dict[str, tuple[float, float, float]] = {}
    for dataset in [*{cell.dataset for cell in cells}, "all"]:
        part = [cell for cell in cells if dataset in ("all", cell.dataset)]
        out[dataset] = (
            float(sum(cell.runs for cell in part)),
            sum(cell.millions for cell in part),
            sum(cell.millions for cell in part if cell.memory == "wmt"),
        )
    return out
