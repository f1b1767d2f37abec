"""Table 4 and its companions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scripts.report import names, reference
from scripts.report.layout import DASH, Line, Panel, Table, Value, best, block, row
from scripts.report.marks import legend
from scripts.report.poison_cells import PUBLISHED, SHOWN, PoisonCell

FURTHER = {
    "final_success": "Final question right",
    "final_parts": "Parts of it right",
    "laundering": "Summaries with poison",
    "laundering_result": "Summaries whose result is poison",
    "BR_with_summaries": "BR, summaries included",
    "PRR_chance": "PRR of random draws",
    "call_prompt_tokens": "Prompt tokens of all calls a scenario",
    "call_ms": "ms a model call",
}
HIGHER_IS_BETTER = {"TSR"}


def poisoning_tables(cells: Sequence[PoisonCell]) -> list[Table]:
    """Table 4, its intervals and further metrics, and the other arms."""
    if not cells:
        return []
    tables = []
    main = [cell for cell in cells if cell.in_table4]
    if main:
        tables += [table4(main), _more(main)]
    if len(main) < len(cells):
        tables.append(_arms([cell for cell in cells if not cell.in_table4]))
    return tables


def table4(cells: Sequence[PoisonCell]) -> Table:
    """Metrics as rows, memories as columns, the published value beside ours; best in bold."""
    panels = []
    records: list[dict[str, Any]] = []
    published = reference.published_poisoning()
    groups = dict.fromkeys((cell.label, cell.model) for cell in cells)
    for label, model in groups:
        members = {c.memory: c for c in cells if (c.label, c.model) == (label, model)}
        memories = [*names.POISONING, *(m for m in members if m not in names.POISONING)]
        lines = []
        for metric, title in SHOWN.items():
            ours = [members[m].mean(metric) if m in members else None for m in memories]
            theirs = [published.get((PUBLISHED.get(metric, ""), m)) for m in memories]
            high = metric in HIGHER_IS_BETTER
            bold = best([None if v is None else round(v, 3) for v in ours], highest=high)
            old_bold = best([None if p is None else p.value for p in theirs], highest=high)
            values = [Value(title)]
            for place, memory in enumerate(memories):
                known = theirs[place]
                values.append(Value(_number(ours[place]), bold[place]))
                if memory in names.POISONING:
                    text = DASH if known is None else f"{known.value:.3f} {known.source}"
                    values.append(Value(text, known is not None and old_bold[place]))
                records.append(
                    {
                        "label": label,
                        "model": model,
                        "metric": metric,
                        "memory": memory,
                        "value": ours[place],
                        "best": bold[place],
                        "published": known.value if known else None,
                        "published_source": known.source if known else None,
                    }
                )
            lines.append(Line(tuple(values)))
        columns, spans = ["Metric"], []
        for memory in memories:
            heads = ["ours", "published"] if memory in names.POISONING else ["ours"]
            columns += heads
            spans.append((_column(memory), len(heads)))
        lines.append(_marks_line(memories, members))
        title = f"{names.show_model(model)} [{label}]"
        panels.append(Panel(tuple(columns), tuple(lines), title, tuple(spans)))
    caption = (
        "Means over scenarios. Arrows give the preferred direction; bold: the best value of a "
        "metric, ties jointly, to three digits. ASR is reported in two readings: a poisoned rival "
        "was in the context of the critical step (exposure, which the published values compare "
        "with), or the answer was a poisoned value (answers). IP is 0 by construction where "
        "branches fold: read it with the share of summaries that carry poison. Tokens are those "
        "of the constructed context; latency is of memory operations, without model calls. The "
        f"paper does not say which model it used. {_selector(cells)}{reference.SOURCE_LEGEND}"
    )
    return _table("table4", "Table 4: memory poisoning", caption, panels, records, cells)


def _selector(cells: Sequence[PoisonCell]) -> str:
    """What a lexical selector took: a choice that PRR, BR, AF and tokens hang on."""
    taken = [
        f"{cell.taken} ({names.show_memory(cell.memory)} [{cell.label}])"
        for cell in cells
        if cell.taken is not None
    ]
    if not taken:
        return ""
    return (
        f"Memories that the lexical selector took beside the active path: {', '.join(taken)}; two "
        "is calculated from the published PRR, AF and number of poisoned entries, so that these "
        "come out near the published ones in size confirms nothing. "
    )


def _marks_line(memories: Sequence[str], members: Mapping[str, PoisonCell]) -> Line:
    texts = ["Marks"]
    for memory in memories:
        texts.append(", ".join(members[memory].marks) if memory in members else "missing all")
        if memory in names.POISONING:
            texts.append("")
    return row(*texts)


def _more(cells: Sequence[PoisonCell]) -> Table:
    """Every metric with its interval and pooled value; what the paper does not give."""
    lines: list[Line] = []
    records: list[dict[str, Any]] = []
    for cell in cells:
        lines.append(
            block(
                f"{names.show_model(cell.model)} [{cell.label}], {names.show_memory(cell.memory)}: "
                f"{cell.scenarios} scenarios, {cell.crashed} crashed, "
                f"{cell.unreadable} unreadable critical steps"
            )
        )
        for metric, title in {**SHOWN, **FURTHER}.items():
            mean, interval = cell.mean(metric), cell.interval(metric)
            pooled = cell.pooled[metric]
            records.append(
                {
                    "label": cell.label,
                    "model": cell.model,
                    "memory": cell.memory,
                    "metric": metric,
                    "mean": mean,
                    "low": interval.low if interval else None,
                    "high": interval.high if interval else None,
                    "pooled": pooled,
                    "scenarios": len(cell.values[metric]),
                }
            )
            span = f"{_number(interval.low)} to {_number(interval.high)}" if interval else DASH
            n = str(len(cell.values[metric]))
            lines.append(row(title, _number(mean), span, _number(pooled), n))
    caption = (
        "Mean over scenarios with its 95% bootstrap interval, the pooled value, and the scenarios "
        "that have a value. Crashed scenarios are in no mean."
    )
    panel = Panel(("Metric", "Mean", "95% interval", "Pooled", "n"), tuple(lines))
    title = "Companion to Table 4: intervals and further metrics"
    return _table("companion_poisoning", title, caption, [panel], records, cells)


def _arms(cells: Sequence[PoisonCell]) -> Table:
    """Controls and attackers that know the defence."""
    shown = ["ASR_exposure", "ASR_answers", "PRR", "IP", "BR", "AF", "TSR", "laundering"]
    lines: list[Line] = []
    records: list[dict[str, Any]] = []
    for label, model in dict.fromkeys((cell.label, cell.model) for cell in cells):
        lines.append(block(f"{names.show_model(model)} [{label}]"))
        for cell in cells:
            if (cell.label, cell.model) != (label, model):
                continue
            means = {metric: cell.mean(metric) for metric in shown}
            place = {"label": label, "model": model, "memory": cell.memory, "arm": cell.arm}
            records.append({**place, "attack": cell.attack, **means})
            texts = [_number(means[metric]) for metric in shown]
            lines.append(row(names.show_memory(cell.memory), *texts, ", ".join(cell.marks)))
    heads = [SHOWN.get(metric, FURTHER.get(metric, metric)) for metric in shown]
    caption = (
        "Controls (a clean replay bounds TSR from above; random selection is what PRR means by "
        "chance) and attackers that know the defence, beyond the paper."
    )
    for cell in cells:
        if cell.check is not None and cell.check[0]:
            tried, moved = cell.check
            caption += (
                f" Attack check [{cell.label}]: of {tried} poisoned entries, each alone in the "
                f"context, {moved} ({moved / tried:.3f}) gave the answer."
            )
    panel = Panel(("Memory", *heads, "Marks"), tuple(lines))
    title = "Companion to Table 4: controls and adaptive attackers"
    return _table("poisoning_arms", title, caption, [panel], records, cells)


def _table(
    name: str,
    title: str,
    caption: str,
    panels: Sequence[Panel],
    records: Sequence[dict[str, Any]],
    cells: Sequence[PoisonCell],
) -> Table:
    marks = tuple(dict.fromkeys(mark for cell in cells for mark in cell.marks))
    if marks:
        caption += f" Marks: {legend(marks)}."
    return Table(name, title, caption, tuple(panels), tuple(records), marks)


def _column(memory: str) -> str:
    return names.show_memory(memory).split(":")[0]


def _number(value: float | None) -> str:
    return DASH if value is None else f"{value:.3f}"
