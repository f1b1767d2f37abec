"""Parts of the report: Markdown tables, and the chapters on arms beside Table 4."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from poisoning.metrics import CellSummary

MEMORIES = ("linear", "a1", "a2", "a3", "wmt")

TABLE_4 = {
    "ASR_exposure": ("ASR by exposure", "ASR"),
    "ASR_answers": ("ASR by answers", "ASR"),
    "PRR": ("PRR", "PRR"),
    "IP": ("IP", "IP"),
    "BR": ("BR", "BR"),
    "AF": ("AF", "AF"),
    "CCR": ("CCR", "CCR"),
    "TSR": ("TSR", "TSR"),
    "prompt_tokens": ("tokens per prompt", "prompt_tokens_mean"),
    "memory_ms": ("memory ms per prompt", "latency_ms_mean"),
}
_ATTACKED = ("ASR_exposure", "ASR_answers", "PRR", "IP", "BR", "AF", "TSR", "laundering")
_ARM_METRICS = (
    "ASR_exposure",
    "ASR_answers",
    "PRR",
    "BR",
    "AF",
    "CCR",
    "TSR",
    "final_success",
    "prompt_tokens",
)
_LEFT_OUT = "crashed, unreadable"


def _left_out(cell: CellSummary) -> str:
    """Scenarios in no mean, and critical steps whose reply is neither side's success."""
    return f"{len(cell.crashed)}, {cell.unreadable}"


def ordered(cells: Iterable[CellSummary]) -> list[CellSummary]:
    """The paper's five in its order, others after them by name."""

    def key(cell: CellSummary) -> tuple[int, str]:
        name = str(cell.cell["memory"])
        return (MEMORIES.index(name) if name in MEMORIES else len(MEMORIES), name)

    return sorted(cells, key=key)


def selectors(cells: Sequence[CellSummary], everything: Sequence[CellSummary]) -> list[str]:
    """How many memories the selectors of a table took, and the same with another number."""
    narrow = {str(cell.cell["memory"]): cell for cell in cells if cell.top_k is not None}
    if not narrow:
        return []
    taken = sorted({cell.top_k for cell in narrow.values() if cell.top_k is not None})
    wider = [
        cell
        for cell in everything
        if cell.top_k is not None
        and (own := narrow.get(str(cell.cell["memory"]))) is not None
        and cell.top_k > (own.top_k or 0)
    ]
    lines = [
        f"Selector: {', '.join(narrow)} take {_or(taken)} memories beside the active path "
        "(memory.lexical_top_k). Two, the experiment's value, is calibrated: it was calculated "
        "from the paper's PRR, AF and P_i. That PRR, BR and AF of these columns are near the "
        "paper's in size therefore confirms nothing.",
        "",
    ]
    if not wider:
        remedy = "python run.py experiment=poisoning_controls"
        return [*lines, f"No wider selector stands beside it yet: {remedy}", ""]
    rows = [
        [name, *(number(cell.mean(metric)) for cell in wider)]
        for metric, (name, _) in TABLE_4.items()
    ]
    heads = [f"{cell.cell['memory']}, {cell.top_k} memories" for cell in wider]
    return [*lines, "### The same with a wider selector", "", *table(["", *heads], rows)]


def _or(numbers: Sequence[int]) -> str:
    return " or ".join(map(str, numbers))


def arms(cells: Sequence[CellSummary]) -> list[str]:
    """Controls and other arms, a row for each cell; the attack check in a sentence."""
    lines: list[str] = []
    for cell in cells:
        if cell.check is not None:
            check = cell.check
            share = number(check.moved / check.n if check.n else None)
            lines += [
                f"Attack check (attack {cell.attack}): of {check.n} poisoned entries, alone in the "
                f"context, {check.moved} ({share}) gave the answer; {check.unreadable} replies "
                "could not be read.",
                "",
            ]
    rows = [
        [
            str(cell.cell["label"]),
            str(cell.cell["memory"]),
            *(number(cell.mean(metric)) for metric in _ARM_METRICS),
            _left_out(cell),
        ]
        for cell in sorted(ordered(cells), key=lambda cell: str(cell.cell["label"]))
        if cell.attack == "none" and cell.check is None
    ]
    if rows:
        heads = ["label", "memory", *_ARM_METRICS, _LEFT_OUT]
        lines += ["## Controls and other arms", "", *table(heads, rows)]
    return lines


def adaptive(cells: Sequence[CellSummary]) -> list[str]:
    """Attackers that know the defence, a row for each cell."""
    attacked = [c for c in ordered(cells) if c.attack != "none" and c.check is None]
    if not attacked:
        return []
    attacked.sort(key=lambda cell: (cell.attack, str(cell.cell["label"])))
    rows = [
        [
            str(cell.cell["label"]).removeprefix("attack_"),
            str(cell.cell["memory"]),
            *(number(cell.mean(metric)) for metric in _ATTACKED),
            str(cell.counters["supersessions"]),
            _left_out(cell),
        ]
        for cell in attacked
    ]
    return [
        "## Attackers that know the defence (beyond the paper)",
        "",
        *table(["attack", "memory", *_ATTACKED, "superseded", _LEFT_OUT], rows),
    ]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table, padded so that it reads on a terminal too, and a blank line."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)) + " |"

    return [line(heads), line(["-" * width for width in widths]), *map(line, rows), ""]


def number(value: float | None) -> str:
    """Three digits, one from ten on."""
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"
