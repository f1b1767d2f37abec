"""Text of any encoding, tables and spreadsheets; tables are made in the child of `convert`."""

from __future__ import annotations

import csv
import io
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from agents.tools.base import ToolError
from agents.tools.cassette import LastingError

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

MAX_ROWS = 20_000
MAX_COLUMNS = 200
MAX_CELLS = 200_000
"""Of one sheet, empty ones included: a single value far out claims a whole sheet."""


def decode(data: bytes) -> str:
    """Text of unknown encoding: a byte-order mark, then UTF-8, then Windows-1252."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def render_text(name: str, data: bytes) -> str:
    """Plain text, source code, JSON, XML, PDB as they stand; raises `ToolError` on binary data."""
    text = decode(data)
    if "\0" in text[:4096]:
        kind = PurePosixPath(name).suffix or "unnamed"
        raise ToolError(f"{name} is binary and its kind ({kind}) cannot be read.")
    return text


def render_csv(name: str, data: bytes) -> str:
    """A table of comma- or tab-separated values, within the limits and saying what is beyond."""
    text = decode(data)
    csv.field_size_limit(max(131_072, len(text)))  # one field may be all of the file
    delimiter = "\t" if name.lower().endswith(".tsv") else _delimiter(text)
    rows: list[list[str]] = []
    found = widest = 0
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            found, widest = found + 1, max(widest, len(row))
            if len(rows) < MAX_ROWS:
                rows.append(row[:MAX_COLUMNS])
    except csv.Error as error:
        raise LastingError(f"{name} is not a readable table: {error}.") from None
    last_row, last_column = _shown(found, widest)
    return table(rows[:last_row]) + _cut(last_row, found, last_column, widest)


def _shown(rows: int, columns: int) -> tuple[int, int]:
    """How many of them are shown."""
    last_column = min(columns, MAX_COLUMNS)
    return min(rows, MAX_ROWS, MAX_CELLS // max(1, last_column)), last_column


def _cut(last_row: int, rows: int, last_column: int, columns: int) -> str:
    """What of a table is not shown; "" if it is whole."""
    if (last_row, last_column) == (rows, columns):
        return ""
    return (
        f"\n(shown: {last_row} of {rows} rows, {last_column} of {columns} columns; "
        "read the rest with python)"
    )


def _delimiter(text: str) -> str:
    """The separator found most often in the first line; a comma where there is none."""
    first = text.partition("\n")[0]
    return max(",;\t|", key=lambda mark: (first.count(mark), mark == ","))


def render_xlsx(name: str, data: bytes) -> str:
    """Every sheet as a table of shown values; formulas that were never computed, and fill colours,
    which some sheets use as data, are added."""
    import openpyxl

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl warns of extensions it leaves out
            values = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
            formulas = openpyxl.load_workbook(io.BytesIO(data))
    except Exception as error:  # openpyxl raises whatever its XML and zip layers raise
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise LastingError(f"{name} is not a readable xlsx workbook: {reason}.") from None
    return "\n\n".join(
        _sheet(sheet, formulas[sheet.title], hidden=sheet.sheet_state != "visible")
        for sheet in values.worksheets
    )


def _sheet(sheet: Worksheet, formulas: Worksheet, hidden: bool) -> str:
    last_row, last_column = _shown(sheet.max_row, sheet.max_column)
    rows: list[list[str]] = []
    fills: defaultdict[str, list[str]] = defaultdict(list)
    for shown, written in zip(
        sheet.iter_rows(max_row=last_row, max_col=last_column),
        formulas.iter_rows(max_row=last_row, max_col=last_column),
        strict=True,
    ):
        rows.append([_cell(a.value, b.value) for a, b in zip(shown, written, strict=True)])
        for cell in shown:
            if cell.has_style and cell.fill.fill_type == "solid":
                fills[_colour(cell.fill.fgColor)].append(cell.coordinate)
    title = f"Sheet {sheet.title}{' (hidden)' if hidden else ''}:"
    cut = _cut(last_row, sheet.max_row, last_column, sheet.max_column)
    colours = "".join(f"\nFilled {name}: {' '.join(cells)}" for name, cells in fills.items())
    return f"{title}\n{table(rows)}{cut}{colours}"


def _cell(value: Any, formula: Any) -> str:
    shown = value
    if shown is None:  # an array formula is an object that holds its text, a data table has none
        plain = formula is None or isinstance(formula, str | int | float)
        shown = formula if plain else getattr(formula, "text", None) or "(data table)"
    return "" if shown is None else str(shown)


def _colour(colour: Any) -> str:
    if colour.type == "rgb":
        return f"#{str(colour.rgb)[-6:]}"
    return f"{colour.type} colour {colour.theme if colour.type == 'theme' else colour.indexed}"


def table(rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first row is the head. Empty cells and rows at the end are left out."""
    kept = [_without_empty_end(row) for row in rows]
    while kept and not kept[-1]:
        kept.pop()
    if not kept:
        return "(empty)"
    width = max(len(row) for row in kept)
    lines = [_line([*row, *[""] * (width - len(row))]) for row in kept]
    return "\n".join([lines[0], _line(["---"] * width), *lines[1:]])


def _without_empty_end(row: Sequence[str]) -> list[str]:
    filled = [at for at, cell in enumerate(row, start=1) if cell.strip()]
    return list(row[: filled[-1]]) if filled else []


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"
