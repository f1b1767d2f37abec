"""Tables to Markdown, LaTeX (booktabs), CSV and the terminal (rich)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from scripts.report.layout import Line, Panel, Table, Value

PAGE_LINES = 52
"""Lines of a table that a page of `document.tex` has room for beside the caption."""

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",
    "−": r"$-$",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "Δ": r"$\Delta$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "·": r"\textperiodcentered{}",
    "×": r"$\times$",
}
_LATIN_END = 0x180


def markdown(table: Table) -> str:
    """GitHub-flavoured Markdown, title and caption included."""
    parts = [f"## {table.title}", "", table.caption, ""]
    for panel in table.panels:
        if panel.title:
            parts += [f"**{panel.title}**", ""]
        heads = [_escape_md(head) for head in _full_heads(panel)]
        parts.append("| " + " | ".join(heads) + " |")
        rules = [":--" if panel.left(place) else "--:" for place in range(len(heads))]
        parts.append("|" + "|".join(rules) + "|")
        for line in panel.lines:
            cells = [_md(value, line) for value in line.values]
            cells += [""] * (len(heads) - len(cells))
            parts.append("| " + " | ".join(cells) + " |")
        parts.append("")
    return "\n".join(parts)


def latex(table: Table) -> str:
    """`table*` floats, as many as the lines need pages; needs booktabs and graphicx."""
    title = re.sub(r"^Table \d: ", "", table.title)  # LaTeX numbers by itself
    title = title[0].upper() + title[1:]
    parts = []
    for number, panels in enumerate(_pages(table.panels)):
        parts += [r"\begin{table*}[p]", r"\centering", r"\footnotesize"]
        if number == 0:
            parts.append(rf"\caption{{{escape_latex(f'{title}. {table.caption}')}}}")
            parts.append(rf"\label{{tab:{table.name.replace('_', '-')}}}")
        else:
            parts.append(r"\addtocounter{table}{-1}")
            parts.append(rf"\caption{{{escape_latex(title)}, continued.}}")
        for panel in panels:
            parts.append(r"\par\medskip")
            if panel.title:
                parts.append(rf"\textbf{{{escape_latex(panel.title)}}}\par\smallskip")
            parts += _latex_panel(panel)
        parts.append(r"\end{table*}")
    return "\n".join(parts) + "\n"


def _pages(panels: Sequence[Panel]) -> list[list[Panel]]:
    """Panels for one float each; long ones are cut before a block's heading."""
    pages: list[list[Panel]] = [[]]
    room = PAGE_LINES
    for panel in panels:
        lines: list[Line] = []
        for part in _blocks(panel.lines):
            if len(part) + 4 > room and (lines or pages[-1]):
                if lines:
                    pages[-1].append(replace(panel, lines=tuple(lines)))
                pages.append([])
                room, lines = PAGE_LINES, []
            lines += part
            room -= len(part)
        pages[-1].append(replace(panel, lines=tuple(lines)))
        room -= 6  # heads and rules
    return pages


def _blocks(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines by block: a heading and what stands below it, no more than a page."""
    parts: list[list[Line]] = []
    for line in lines:
        if not parts or line.kind == "block" or len(parts[-1]) >= PAGE_LINES - 8:
            parts.append([])
        parts[-1].append(line)
    return parts


def latex_document(names: Iterable[str]) -> str:
    """A document that sets the given table files, to look at or to check that they compile."""
    inputs = "\n".join(rf"\input{{{name}.tex}}\clearpage" for name in names)
    return (
        "\\documentclass{article}\n\\usepackage[utf8]{inputenc}\n"
        "\\usepackage{textcomp}\n"
        "\\usepackage{booktabs}\n\\usepackage{graphicx}\n"
        "\\usepackage[margin=1.5cm]{geometry}\n"
        f"\\begin{{document}}\n{inputs}\n\\end{{document}}\n"
    )


def escape_latex(text: str) -> str:
    """Text with LaTeX's special characters made printable; what its fonts lack becomes `?`."""
    return "".join(_LATEX.get(c, c if ord(c) < _LATIN_END else "?") for c in text)


def csv_text(table: Table) -> str:
    """The unrounded numbers, one record a line."""
    out = io.StringIO()
    fields: dict[str, None] = {}
    for record in table.records:
        fields.update(dict.fromkeys(record))
    writer = csv.DictWriter(out, list(fields), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.records)
    return out.getvalue()


def terminal(table: Table, width: int) -> RenderableType:
    """For a terminal of `width` characters; wide panels are folded, the first column repeated."""
    parts: list[RenderableType] = [Text(table.title, style="bold")]
    for panel in table.panels:
        if panel.title:
            parts.append(Text(panel.title, style="italic"))
        parts += [_grid(panel, title, columns) for title, columns in _pieces(panel, width)]
    parts.append(Text(table.caption, style="dim"))
    return Group(*parts, Text(""))


def write_tables(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Write every table as NAME.md, NAME.tex and NAME.csv, and document.tex over all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in tables:
        for suffix, text in (
            ("md", markdown(table)),
            ("tex", latex(table)),
            ("csv", csv_text(table)),
        ):
            path = folder / f"{table.name}.{suffix}"
            path.write_text(text, encoding="utf-8")
            written.append(path)
    document = folder / "document.tex"
    document.write_text(latex_document(table.name for table in tables), encoding="utf-8")
    return [*written, document]


def print_tables(tables: Sequence[Table], console: Console) -> None:
    """Print every table."""
    for table in tables:
        console.print(terminal(table, console.width))


def _full_heads(panel: Panel) -> list[str]:
    """Column heads with their group's heading before them, for formats of one head line."""
    if not panel.groups:
        return list(panel.columns)
    heads = [panel.columns[0]]
    place = 1
    for text, width in panel.groups:
        under = panel.columns[place : place + width]
        heads += [f"{text}: {head}" if text else head for head in under]
        place += width
    return heads + list(panel.columns[place:])


def _escape_md(text: str) -> str:
    return text.replace("|", r"\|").replace("*", r"\*").replace("_", r"\_").replace("<", "&lt;")


def _md(value: Value, line: Line) -> str:
    text = _escape_md(value.text)
    if line.kind == "block":
        return f"**{text}**"
    return f"**{text}**" if value.bold else text


def _pieces(panel: Panel, width: int) -> list[tuple[str, list[int]]]:
    """Columns that fit beside the first one, cut at group borders: (heading, column numbers)."""
    widths = [
        max(
            [len(head)]
            + [len(line.values[place].text) for line in panel.lines if place < len(line.values)]
        )
        for place, head in enumerate(panel.columns)
    ]
    groups = panel.groups or (("", len(panel.columns) - 1),)
    pieces: list[tuple[str, list[int]]] = []
    start = 1
    for text, span in groups:
        room, piece = width - widths[0] - 3, list[int]()
        for place in range(start, start + span):
            if not any(line.values[place].text for line in panel.lines if place < len(line.values)):
                continue  # an empty column of marks would only take room
            if piece and widths[place] + 3 > room:
                pieces.append((text, piece))
                room, piece = width - widths[0] - 3, []
            piece.append(place)
            room -= widths[place] + 3
        if piece:
            pieces.append((text, piece))
        start += span
    return pieces


def _grid(panel: Panel, title: str, columns: list[int]) -> RichTable:
    grid = RichTable(title=title or None, title_justify="left", show_edge=False)
    shown = [0, *columns]
    for place in shown:
        justify: Literal["left", "right"] = "left" if panel.left(place) else "right"
        grid.add_column(Text(panel.columns[place]), justify=justify, no_wrap=place == 0)
    for line in panel.lines:
        if line.kind == "block":
            grid.add_section()
        cells = [line.values[place] for place in shown if place < len(line.values)]
        grid.add_row(*(_rich(value, line) for value in cells))
    return grid


def _rich(value: Value, line: Line) -> Text:
    style = "bold" if value.bold else "italic" if line.kind == "block" else ""
    return Text(value.text, style=style)


def _latex_panel(panel: Panel) -> list[str]:
    width = len(panel.columns)
    lines = [r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%"]
    letters = "".join("l" if panel.left(place) else "r" for place in range(width))
    lines.append(rf"\begin{{tabular}}{{{letters}}}")
    lines.append(r"\toprule")
    if panel.groups:
        heads, rules, place = [""], [], 2
        for text, span in panel.groups:
            heads.append(rf"\multicolumn{{{span}}}{{c}}{{{escape_latex(text)}}}")
            rules.append(rf"\cmidrule(lr){{{place}-{place + span - 1}}}")
            place += span
        heads += [""] * (width + 1 - place)
        lines += [" & ".join(heads) + r" \\", "".join(rules)]
    lines.append(" & ".join(escape_latex(head) for head in panel.columns) + r" \\")
    lines.append(r"\midrule")
    for number, line in enumerate(panel.lines):
        if line.kind == "block":
            if number:
                lines.append(r"\addlinespace")
            text = escape_latex(line.values[0].text)
            lines.append(rf"\multicolumn{{{width}}}{{l}}{{\textit{{{text}}}}} \\")
            continue
        cells = [_latex_value(value) for value in line.values]
        cells += [""] * (width - len(cells))
        lines.append(" & ".join(cells) + r" \\")
    return [*lines, r"\bottomrule", r"\end{tabular}}", ""]


def _latex_value(value: Value) -> str:
    text = escape_latex(value.text)
    return rf"\textbf{{{text}}}" if value.bold else text
