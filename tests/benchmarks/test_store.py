from __future__ import annotations

import contextlib
import errno
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.models.base import OpenModel, ServerInfo
from benchmarks.errors import SetupError
from benchmarks.provenance import PROMPTS, ROOT, prompt_hash
from benchmarks.records import Row
from benchmarks.runner import describe, key
from benchmarks.store import (
    CELL,
    ROWS,
    CellStore,
    differences,
    find_cells,
    read_rows,
    read_trace,
    trace_name,
)
from benchmarks.study import CellContext, ItemResult
from tests.benchmarks.fakes import (
    FakeChat,
    FakeDataset,
    FakeMemoryConfig,
    FakeStudy,
    fake_cell,
    fake_row,
)


def context(folder: Path) -> CellContext:
    cell = fake_cell(folder)
    model = OpenModel(FakeChat(), ServerInfo("fake", "1", "fake"))
    keys = key(cell, FakeStudy(FakeDataset()), model)
    return CellContext(keys, FakeChat(), FakeMemoryConfig(), folder)


def result(folder: Path, item: str, status: Any = "answered") -> ItemResult:
    return ItemResult(
        fake_row(context(folder), item, status), [{"type": "header", "text": "é\ud800"}]
    )


def opened(folder: Path, said: list[str] | None = None) -> CellStore:
    store = CellStore(folder, Row, (said if said is not None else []).append)
    store.open(describe(fake_cell(folder), FakeStudy(FakeDataset())))
    return store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CellStore]:
    with contextlib.closing(opened(tmp_path)) as store:
        yield store


@given(cut=st.integers(min_value=1, max_value=10_000))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_torn_last_line_is_cut_aloud_at_any_byte(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("cell")
    store = opened(folder)
    for item in ("a", "b", "c"):
        store.write(result(folder, item))
    store.close()
    data = (folder / ROWS).read_bytes()
    line = len(data) // 3
    torn = 1 + cut % (line - 1)  # between 1 and line - 1 bytes of the last line are left
    (folder / ROWS).write_bytes(data[: 2 * line + torn])
    said: list[str] = []
    again = opened(folder, said)
    assert list(again.rows) == ["a", "b"]
    assert again.pending(["a", "b", "c"]) == ["c"]
    assert f"cut a torn last line of {torn} bytes" in said[0]
    again.write(result(folder, "c"))
    again.close()
    assert (folder / ROWS).read_bytes() == data


def test_a_full_disk_leaves_no_half_row(
    tmp_path: Path, store: CellStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(result(tmp_path, "a"))
    before = (tmp_path / ROWS).read_bytes()
    line = result(tmp_path, "b")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    store._write_trace = lambda *_: None  # type: ignore[method-assign]
    monkeypatch.setattr("benchmarks.store.os.fsync", full)
    with pytest.raises(SetupError, match=r"cannot be written: no space"):
        store.write(line)
    monkeypatch.undo()
    assert (tmp_path / ROWS).read_bytes() == before
    assert store.pending(["b"]) == ["b"]


def test_a_damaged_row_in_the_middle_is_named_not_dropped(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.write(result(tmp_path, "a"))
    store.close()
    (tmp_path / ROWS).write_bytes(b"{}\n" + (tmp_path / ROWS).read_bytes())
    with pytest.raises(SetupError, match=r"rows\.jsonl:1: not a row"):
        opened(tmp_path)


def test_a_second_row_for_an_item_is_a_bug(tmp_path: Path, store: CellStore) -> None:
    store.write(result(tmp_path, "a"))
    with pytest.raises(RuntimeError, match="has a row already"):
        store.write(result(tmp_path, "a"))


def test_two_processes_cannot_hold_one_cell(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.benchmarks.test_store import opened\n"
        "store = opened(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin and child.stdout
    with child:
        assert child.stdout.readline() == "held\n"
        with pytest.raises(SetupError, match=f"being written by process {child.pid} on "):
            opened(tmp_path)
        child.kill()
    opened(tmp_path).close()  # a killed process lets go by itself


def test_rows_without_a_cell_file_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / ROWS).write_text("")
    with pytest.raises(SetupError, match=r"has rows\.jsonl but no cell\.yaml"):
        opened(tmp_path)


def test_leftovers_of_a_kill_go(tmp_path: Path) -> None:
    opened(tmp_path).close()
    leftover = tmp_path / "traces" / ".a.jsonl.gz.tmp"
    leftover.write_bytes(b"half")
    opened(tmp_path).close()
    assert not leftover.exists()


def test_traces_are_the_same_bytes_for_the_same_lines(tmp_path: Path, store: CellStore) -> None:
    store.write(result(tmp_path, "a"))
    store.write(result(tmp_path, "b"))
    one, two = (tmp_path / "traces" / trace_name(item) for item in ("a", "b"))
    assert one.read_bytes() == two.read_bytes()
    assert read_trace(tmp_path, "a") == [{"type": "header", "text": "é\ud800"}]


@given(st.lists(st.text(max_size=200), unique=True, max_size=20))
def test_trace_names_are_plain_and_never_collide(ids: list[str]) -> None:
    names = [trace_name(item) for item in ids]
    assert len(set(names)) == len(ids)
    assert all("/" not in name and not name.startswith(".") and len(name) < 120 for name in names)


def test_differences_name_each_leaf() -> None:
    before = {"a": {"b": 1, "c": [1]}, "gone": True}
    after = {"a": {"b": 2, "c": [1]}, "new": None}
    assert differences(before, after) == [
        "a.b: 1 there, 2 now",
        "gone: True there, (absent) now",
        "new: (absent) there, None now",
    ]


def test_cells_are_found_below_a_path(tmp_path: Path) -> None:
    opened(tmp_path / "x/y").close()
    opened(tmp_path / "a").close()
    assert find_cells(tmp_path) == [tmp_path / "a", tmp_path / "x/y"]
    assert (tmp_path / "a" / CELL).read_text().startswith("digest: ")
    assert read_rows(tmp_path / "a", Row) == []


@pytest.mark.parametrize("content", ["", "[1]", "digest: x", ": [\n\x00", "config: 3"])
def test_a_damaged_cell_file_is_one_line(tmp_path: Path, content: str) -> None:
    opened(tmp_path).close()
    (tmp_path / CELL).write_text(content)
    with pytest.raises(SetupError, match=r"cell\.yaml: damaged; .*label="):
        opened(tmp_path)


def test_rows_of_another_configuration_are_refused(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.write(result(tmp_path, "a"))
    store.close()
    data = (tmp_path / ROWS).read_bytes()
    digest = fake_cell(tmp_path).digest.encode()
    (tmp_path / ROWS).write_bytes(data.replace(digest, b"0" * 16))
    with pytest.raises(SetupError, match=r"rows\.jsonl: a was made under another configuration"):
        opened(tmp_path)


def test_rows_of_other_prompts_are_said_aloud(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.write(result(tmp_path, "a"))
    store.close()
    data = (tmp_path / ROWS).read_bytes()
    (tmp_path / ROWS).write_bytes(data.replace(prompt_hash().encode(), b"0" * 16))
    said: list[str] = []
    opened(tmp_path, said).close()
    assert len(said) == 1 and "1 row(s) were made with other prompts" in said[0]


@pytest.mark.parametrize("file", ["/dev/null/results", "/proc/results"])
def test_a_folder_that_cannot_be_made_is_one_line(file: str) -> None:
    with pytest.raises(SetupError, match=f"^{file}: cannot be written: .*"):
        opened(Path(file))


def test_rows_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    opened(tmp_path).close()
    (tmp_path / ROWS).mkdir()
    with pytest.raises(SetupError, match="cannot be written: Is a directory"):
        opened(tmp_path)


def test_the_prompt_hash_covers_every_pattern_it_names() -> None:
    for pattern in PROMPTS:
        assert list(ROOT.glob(pattern)), pattern
