"""Claims W01-W20 of `scripts/reference/claims.yaml` as comparisons between cells of the grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import pandas as pd

from scripts.report import names
from scripts.report.cells import CellStat
from scripts.report.prose import MEAN, Scope, prose_numbers
from scripts.report.stats import paired_accuracy, paired_tokens, two_proportions
from scripts.report.verdict import Comparison, Relation

Measure = Literal["accuracy", "prompt tokens"]
Rows = Mapping[tuple[str, str, str], pd.DataFrame]


@dataclass(frozen=True)
class Bench:
    """Results of one arm that claims are held against: cells, and rows where there are any.

    `datasets` and `models` are what "all cells" means; the paper's six by default.
    """

    cells: Scope
    rows: Rows = field(default_factory=dict)
    datasets: Sequence[str] = names.PAPER_DATASETS
    models: Sequence[str] = tuple(names.MODELS)
    tested: dict[tuple[str, ...], tuple[float | None, str]] = field(default_factory=dict)
    """Tests made so far: several claims compare the same two cells."""

    def places(self) -> Iterator[tuple[str, str]]:
        """Every set and model in scope."""
        return ((dataset, model) for dataset in self.datasets for model in self.models)

    def compare(
        self, dataset: str, model: str, what: Measure, left: str, relation: Relation, right: str
    ) -> Comparison:
        """Compare two memories in one cell."""
        return self._compare(dataset, [model], what, left, relation, right)

    def compare_means(
        self, dataset: str, what: Measure, left: str, relation: Relation, right: str
    ) -> Comparison:
        """Compare the means of two memories over the models in scope."""
        return self._compare(dataset, self.models, what, left, relation, right)

    def _compare(
        self,
        dataset: str,
        models: Sequence[str],
        what: Measure,
        left: str,
        relation: Relation,
        right: str,
    ) -> Comparison:
        who = names.show_model(models[0]) if len(models) == 1 else "mean over models"
        where = f"{names.show_dataset(dataset)}, {who}"
        labels = (names.show_memory(left), names.show_memory(right))
        lacking = self._lacking(dataset, models, (left, right))
        if lacking:
            return Comparison(where, what, *labels, relation, lacking=lacking)
        sides = [
            [self.cells[dataset, model, memory] for model in models] for memory in (left, right)
        ]
        left_value, right_value = (_mean(side, what) for side in sides)
        key = (dataset, *models, what, left, right)
        if relation != "=" and key not in self.tested:
            self.tested[key] = self._noise(dataset, models, what, left, right)
        p, test = self.tested.get(key, (None, "")) if relation != "=" else (None, "")
        return Comparison(where, what, *labels, relation, left_value, right_value, p=p, test=test)

    def _lacking(self, dataset: str, models: Sequence[str], pair: tuple[str, str]) -> str:
        for model in models:
            cells = [self.cells.get((dataset, model, memory)) for memory in pair]
            for memory, cell in zip(pair, cells, strict=True):
                if cell is None:
                    return f"no {names.show_memory(memory)} with {names.show_model(model)}"
            first, second = cells
            assert first is not None and second is not None
            if first.ids != second.ids or first.questions != second.questions:
                return f"{pair[0]} and {pair[1]} ran different questions"
            if first.missing or second.missing:
                return f"{first.missing + second.missing} rows missing"
        return ""

    def _noise(
        self, dataset: str, models: Sequence[str], what: Measure, left: str, right: str
    ) -> tuple[float | None, str]:
        keys = [[(dataset, model, memory) for model in models] for memory in (left, right)]
        if all(key in self.rows for side in keys for key in side):
            first, second = (pd.concat([self.rows[key] for key in side]) for side in keys)
            test = (
                paired_accuracy(first, second)
                if what == "accuracy"
                else paired_tokens(first, second)
            )
            return (test.p, "paired") if test else (None, "")
        if what == "prompt tokens":
            return None, ""
        sides = [[self.cells[key] for key in side] for side in keys]
        right_answers = [sum(cell.correct for cell in side) for side in sides]
        runs = [sum(cell.runs for cell in side) for side in sides]
        p = two_proportions((right_answers[0], right_answers[1]), (runs[0], runs[1]))
        return p, "unpaired, from aggregates"


def _mean(side: Sequence[CellStat], what: Measure) -> Fraction | float:
    if what == "accuracy":
        return sum((cell.accuracy for cell in side), Fraction(0)) / len(side)
    return sum(cell.prompt_tokens for cell in side) / len(side)


def _all(
    what: Measure, left: str, relation: Relation, rivals: Sequence[str]
) -> Callable[[Bench], list[Comparison]]:
    """The same comparison in every cell in scope, against each rival."""

    def check(bench: Bench) -> list[Comparison]:
        return [
            bench.compare(dataset, model, what, left, relation, rival)
            for dataset, model in bench.places()
            for rival in rivals
            if rival != left
        ]

    return check


def _means(
    what: Measure, left: str, relation: Relation, rivals: Sequence[str]
) -> Callable[[Bench], list[Comparison]]:
    """The same comparison of means over the models, on every set in scope."""

    def check(bench: Bench) -> list[Comparison]:
        return [
            bench.compare_means(dataset, what, left, relation, rival)
            for dataset in bench.datasets
            for rival in rivals
            if rival != left
        ]

    return check


def _signs(dataset: str, pattern: Mapping[str, Relation]) -> Callable[[Bench], list[Comparison]]:
    """Unweighted Tree against linear, model by model."""

    def check(bench: Bench) -> list[Comparison]:
        return [
            bench.compare(dataset, model, "accuracy", "unweighted", relation, "linear")
            for model, relation in pattern.items()
        ]

    return check


def _best(
    places: Sequence[tuple[str, str]],
    memory: str,
    what: Measure = "accuracy",
    relation: Relation = ">",
    rivals: Sequence[str] = names.PARTIAL,
) -> Callable[[Bench], list[Comparison]]:
    """One memory is the best of `rivals` in the given cells."""

    def check(bench: Bench) -> list[Comparison]:
        return [
            bench.compare(dataset, model, what, memory, relation, rival)
            for dataset, model in places
            for rival in rivals
            if rival != memory
        ]

    return check


def _join(
    *checks: Callable[[Bench], list[Comparison]],
) -> Callable[[Bench], list[Comparison]]:
    return lambda bench: [comparison for check in checks for comparison in check(bench)]


def _w13(bench: Bench) -> list[Comparison]:
    return [
        bench.compare("gaia_text", "llama31", "accuracy", "tree_summary", ">", "unweighted"),
        bench.compare("gaia", "qwen3", "accuracy", "tree_summary", "<", "unweighted"),
    ]


_QWEN, _GEMMA = ([(d, m) for d in names.PAPER_DATASETS] for m in ("qwen3", "gemma4"))
_LLAMA_GAIA = [("gaia", "llama31")]
_REST = tuple(memory for memory in names.GRID if memory != "none")

CHECKS: dict[str, Callable[[Bench], list[Comparison]]] = {
    "W01": _all("accuracy", "wmt", ">", ("linear", "unweighted")),
    "W02": _all("prompt tokens", "wmt", "<", ("linear", "unweighted")),
    "W03": _all("prompt tokens", "none", "<", _REST),
    "W04": _all("accuracy", "none", "<", _REST),
    "W05": _all("accuracy", "wmt", ">", ("linear",)),
    "W06": _all("prompt tokens", "wmt", "<", ("linear",)),
    "W07": _signs("gaia_text", {"qwen3": "<", "gemma4": ">", "llama31": "="}),
    "W08": _signs("gaia", {"qwen3": "<", "gemma4": "<", "llama31": ">"}),
    "W09": _join(
        _all("accuracy", "wmt", ">", ("unweighted",)),
        _all("prompt tokens", "wmt", "<", ("unweighted",)),
    ),
    "W10": _all("prompt tokens", "tree_selection", ">", ("unweighted",)),
    "W11": _all("accuracy", "tree_selection", ">=", ("unweighted",)),
    "W12": _all("prompt tokens", "tree_summary", "<", ("unweighted",)),
    "W13": _w13,
    "W14": _means("accuracy", "tree_selection_summary", ">", names.PARTIAL),
    "W15": _means("accuracy", "wmt", ">", names.PARTIAL),
    "W16": _means("prompt tokens", "wmt", "<", names.PARTIAL),
    "W17": _best(_QWEN, "tree_selection"),
    "W18": _join(
        _best(_GEMMA, "tree_selection_summary"),
        _best(_GEMMA, "tree_summary", "prompt tokens", "<", names.TREES),
    ),
    "W19": _best([("gaia_text", "llama31")], "tree_summary", rivals=("wmt",)),
    "W20": _join(
        _best(_LLAMA_GAIA, "tree_selection_summary"),
        _best(_LLAMA_GAIA, "wmt", rivals=names.GRID),
    ),
}
"""One function for each claim; what it returns must all be so for the claim to hold."""

MODEL_SPECIFIC = {"W07", "W08", "W13", "W17", "W18", "W19", "W20"}
"""Claims that name the paper's models; the others can be asked of any set and model."""

_PROSE = {
    "W05": "WMT accuracy minus Linear",
    "W06": "WMT tokens saved against Linear",
    "W09": "WMT accuracy minus Unweighted Tree",
}


def numbers(claim: str, bench: Bench) -> tuple[str, ...]:
    """The magnitudes that the claim's wording gives, from these results."""
    if claim not in _PROSE:
        return ()
    scope = {
        k: c for k, c in bench.cells.items() if k[0] in bench.datasets and k[1] in bench.models
    }
    found = [f for f in prose_numbers(scope) if f.what == _PROSE[claim]]
    means = [
        f"mean on {names.show_dataset(f.dataset)} {f.value:.2f} {f.unit}"
        for f in found
        if f.model == MEAN
    ]
    single = [f for f in found if f.model != MEAN]
    if single:
        low, high = min(f.value for f in single), max(f.value for f in single)
        unit = single[0].unit
        one = f"{low:.2f} {unit} in the one cell"
        means.append(
            one if len(single) == 1 else f"{low:.2f} to {high:.2f} {unit} over {len(single)} cells"
        )
    return tuple(means)
