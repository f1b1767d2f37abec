"""The four forms of a table hold the same values; LaTeX is well-formed and escaped."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from scripts.report.layout import Panel, Table, Value, block, row
from scripts.report.render import (
    PAGE_LINES,
    csv_text,
    escape_latex,
    latex,
    latex_document,
    markdown,
    terminal,
)

TABLE = Table(
    name="some_table",
    title="A title",
    caption="50% of a_b & c: p < 0.05",
    panels=(
        Panel(
            columns=("Memory", "Acc. %", "published", "Marks"),
            lines=(
                block("Model_1 [arm]"),
                row("plain", "1.00", "2.00 t", "error 1"),
                row(Value("best", True), Value("9.00", True), "–", ""),
            ),
            groups=(("Set A", 3),),
        ),
    ),
    records=({"memory": "plain", "value": 1.0}, {"memory": "best", "value": 9.0, "more": "x"}),
    marks=("error 1",),
)


def test_markdown_has_one_head_line_with_the_groups_in_it() -> None:
    text = markdown(TABLE)
    assert "| Memory | Set A: Acc. % | Set A: published | Set A: Marks |" in text
    assert "| **best** | **9.00** | – |  |" in text
    assert r"| **Model\_1 [arm]** |  |  |  |" in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths == {5}


def test_latex_is_a_booktabs_table_with_every_line_of_its_width() -> None:
    text = latex(TABLE)
    for command in (r"\toprule", r"\midrule", r"\bottomrule", r"\cmidrule(lr){2-4}"):
        assert text.count(command) == 1
    assert r"\begin{tabular}{lrrl}" in text
    assert r"\multicolumn{4}{l}{\textit{Model\_1 [arm]}} \\" in text
    assert r"\textbf{best} & \textbf{9.00} & -- &  \\" in text
    assert r"50\% of a\_b \& c: p \textless{} 0.05" in text
    begun = re.findall(r"\\begin\{([a-z*]+)\}", text)
    ended = re.findall(r"\\end\{([a-z*]+)\}", text)
    assert sorted(begun) == sorted(ended)
    body = text[text.index(r"\begin{tabular}") : text.index(r"\end{tabular}")]
    for line in body.splitlines():
        if line.endswith(r"\\") and "multicolumn{4}{l}" not in line:
            spans = [int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d)\}", line)]
            assert len(re.findall(r"(?<!\\)&", line)) + 1 + sum(spans) == 4
    assert text.replace(r"\{", "").replace(r"\}", "").count("{") == text.replace(r"\{", "").replace(
        r"\}", ""
    ).count("}")


@pytest.mark.parametrize("character", "\\&%$#_{}~^<>|–−±≤≥Δ↑↓·×")
def test_latex_escapes_leave_no_special_character(character: str) -> None:
    text = escape_latex(f"a{character}b")
    assert text != f"a{character}b"
    assert text.isascii()


def test_the_document_takes_every_table() -> None:
    text = latex_document(["table1", "table2"])
    assert text.count(r"\input{") == 2
    assert r"\usepackage{booktabs}" in text


def test_csv_holds_the_unrounded_records() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(TABLE))))
    assert rows == [
        {"memory": "plain", "value": "1.0", "more": ""},
        {"memory": "best", "value": "9.0", "more": "x"},
    ]


@pytest.mark.parametrize("width", [40, 200])
def test_the_terminal_shows_every_value_at_any_width(width: int) -> None:
    console = Console(width=width, record=True, force_terminal=False, file=io.StringIO())
    console.print(terminal(TABLE, width))
    text = console.export_text()
    for value in ("1.00", "2.00 t", "9.00", "error 1", "Model_1 [arm]", "Set A"):
        assert value in text
    assert "…" not in text


def long_table(blocks: int, rows: int) -> Table:
    lines = [
        line
        for number in range(blocks)
        for line in (block(f"block {number}"), *(row(f"r{number}-{k}", "1") for k in range(rows)))
    ]
    return replace(TABLE, panels=(Panel(("Memory", "Acc. %"), tuple(lines)),))


@pytest.mark.parametrize(
    ("blocks", "rows", "floats"), [(1, 20, 1), (6, 28, 6), (3, 12, 1), (1, 200, 5)]
)
def test_a_table_longer_than_a_page_is_continued_on_the_next(
    blocks: int, rows: int, floats: int
) -> None:
    text = latex(long_table(blocks, rows))
    assert text.count(r"\begin{table*}") == text.count(r"\end{table*}") == floats
    assert text.count(r"\addtocounter{table}{-1}") == floats - 1
    assert text.count("continued.}") == floats - 1
    assert text.count(r"\label{") == 1
    assert len(re.findall(r"^r\d+-\d+ & 1 ", text, flags=re.MULTILINE)) == blocks * rows
    for part in text.split(r"\begin{table*}")[1:]:
        assert len(re.findall(r"\\\\$", part, flags=re.MULTILINE)) <= PAGE_LINES


def test_latex_fonts_lack_some_characters() -> None:
    assert escape_latex("é模型Ж") == "é???"
