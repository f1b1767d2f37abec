"""What cannot be read is one clear line and exit code 2, whatever command reads it."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from scripts import claims, figures, tables
from scripts.example import EXAMPLE
from scripts.report.load import ResultsError, load_results
from scripts.report.reference import BENCHMARK_CSV, POISONING_CSV
from scripts.report.synthetic import make_cell, make_row, write_rows

POISONING = EXAMPLE / "main" / "poisoning" / "simulated" / "linear" / "seed0"
Command = Callable[[Sequence[str]], int]


def refused(
    command: Command, arguments: Sequence[object], capsys: pytest.CaptureFixture[str]
) -> str:
    """The one line that the command leaves on the error stream."""
    assert command([str(argument) for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


@pytest.mark.parametrize("line", ["5", "null", "[1]", '"score"', '{"foo": 1}', '{"score": 1}'])
@pytest.mark.parametrize("command", [tables.main, claims.main, figures.main])
def test_foreign_lines(
    tmp_path: Path, command: Command, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_rows(tmp_path, make_cell([1] * 4, [1] * 4))
    (file,) = root.rglob("rows.jsonl")
    file.write_text(file.read_text() + line + "\n")
    assert "rows.jsonl, line 5: " in refused(command, [root], capsys)


@pytest.mark.parametrize("command", [tables.main, claims.main, figures.main])
def test_files_without_a_row(
    tmp_path: Path, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.jsonl").touch()
    assert "no row in 1 rows.jsonl" in refused(command, [tmp_path], capsys)
    (tmp_path / "a" / "rows.jsonl").mkdir(parents=True)
    assert "cannot be read (Is a directory)" in refused(command, [tmp_path / "a"], capsys)


def test_a_cell_that_lies_in_two_folders_is_refused(tmp_path: Path) -> None:
    write_rows(tmp_path / "one", [make_row("q1", 0)])
    write_rows(tmp_path / "two", [make_row("q1", 1)])
    with pytest.raises(
        ResultsError, match=r"one.* and .*two.* hold the same cell \(main/gaia_text"
    ):
        load_results(tmp_path)
    shutil.copytree(POISONING, tmp_path / "three")
    shutil.copytree(POISONING, tmp_path / "four")
    shutil.rmtree(tmp_path / "one")
    with pytest.raises(ResultsError, match=r"hold the same cell \(main/poisoning"):
        load_results(tmp_path)


def test_a_damaged_cell_yaml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = write_rows(tmp_path, [make_row("q1")])
    (file,) = root.rglob("rows.jsonl")
    for text in ("a: [", "5", "digest: x", "config: 3"):
        file.with_name("cell.yaml").write_text(text)
        assert "cell.yaml: cannot be read" in refused(tables.main, [root], capsys)


@pytest.mark.parametrize("command", [tables.main, claims.main])
def test_a_scenario_without_its_trace(
    tmp_path: Path, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(POISONING, tmp_path / "cell")
    trace = min((tmp_path / "cell" / "traces").iterdir())
    trace.write_bytes(b"junk")
    assert f"{trace.name}" in refused(command, [tmp_path], capsys)
    trace.unlink()
    assert f"{trace.name}: no such trace" in refused(command, [tmp_path], capsys)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "cannot be read as a trace"),
        (b"junk", "cannot be read as a trace"),
        (gzip.compress(b"{}\n")[:-4], "cannot be read as a trace"),
        (gzip.compress(b"not json\n"), "cannot be read as a trace"),
        (gzip.compress(b""), "not a trace"),
        (gzip.compress(b'{"a": 1}\n'), "not a trace"),
    ],
)
def test_a_chosen_trace_that_is_none(
    tmp_path: Path, data: bytes | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_rows(tmp_path, [make_row("q1")])
    trace = tmp_path / "q1.jsonl.gz"
    if data is not None:
        trace.write_bytes(data)
    for name in ("tree", "retention"):
        arguments = [root, "--trace", trace, "--only", name, "--out", tmp_path / "out"]
        assert message in refused(figures.main, arguments, capsys)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("43,127", "many,127", "line 8: correct is 'many', not a number"),
        ("43,127", "4.5,127", "line 8: correct is '4.5', not a whole number"),
        ("43,127", "430,127", "line 8: 430 correct of 127 questions"),
        ("43,127", "0,0", "line 8: 0 correct of 0 questions"),
        ("gaia_text,qwen3,linear", "gaia_text,qwen3,none", "line 3: gaia_text, qwen3, none stands"),
        ("43.67", "nan", "line 3: prompt_tokens_millions is 'nan'"),
        ("correct,questions", "right,questions", "no column correct"),
    ],
)
def test_aggregates_that_cannot_be_so(
    tmp_path: Path, old: str, new: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(BENCHMARK_CSV.read_text().replace(old, new, 1))
    assert f"mine.csv{', ' if message[:4] == 'line' else ': '}{message}" in refused(
        claims.main, [file], capsys
    )


def test_aggregates_that_are_no_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.csv"
    file.write_bytes(b"\xff\xfe" + BENCHMARK_CSV.read_bytes())
    assert "mine.csv: not CSV in UTF-8" in refused(claims.main, [file], capsys)
    file.write_text(BENCHMARK_CSV.read_text() + "gaia,qwen3\n")
    assert "line 44: questions is None" in refused(claims.main, [file], capsys)
    file.write_text(POISONING_CSV.read_text() + "ASR,wmt,0.4,stated\n")
    assert "line 47: ASR of wmt stands twice" in refused(claims.main, [file], capsys)
    assert "cannot be read" in refused(claims.main, [tmp_path / "none.csv"], capsys)


def test_aggregates_from_a_spreadsheet_are_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(BENCHMARK_CSV.read_text(), encoding="utf-8-sig")
    assert claims.main([str(file)]) == 0
