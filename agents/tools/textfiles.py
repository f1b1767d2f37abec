"""Attachments that need no further library: text of any encoding, tables, spreadsheets."""

from __future__ import annotations

import csv
import io
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from agents.tools.base import ToolError

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
    """A table of comma- or tab-separated values."""
    text = decode(data)
    delimiter = "\t" if name.lower().endswith(".tsv") else _delimiter(text)
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            rows.append(row)
            if len(rows) > MAX_ROWS:
                break
    except csv.Error as error:
        raise ToolError(f"{name} is not a readable table: {error}.") from None
    return table(rows)


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
        reason = str(error) or type(error).__name__
        raise ToolError(f"{name} is not a readable xlsx workbook: {reason}.") from None
    return "\n\n".join(
        _sheet(sheet, formulas[sheet.title], hidden=sheet.sheet_state != "visible")
        for sheet in values.worksheets
    )


def _sheet(sheet: Worksheet, formulas: Worksheet, hidden: bool) -> str:
    last_column = min(sheet.max_column, MAX_COLUMNS)
    last_row = min(sheet.max_row, MAX_ROWS, MAX_CELLS // last_column)
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
    cut = ""
    if last_row < sheet.max_row or last_column < sheet.max_column:
        cut = (
            f"\n(shown: {last_row} of {sheet.max_row} rows, "
            f"{last_column} of {sheet.max_column} columns)"
        )
    colours = "".join(f"\nFilled {name}: {' '.join(cells)}" for name, cells in fills.items())
    return f"{title}\n{table(rows)}{cut}{colours}"


def _cell(value: Any, formula: Any) -> str:
    shown = formula if value is None else value
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
