"""State on disk: what is not a snapshot of this memory is refused in one clear line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wmt.models import Replies
from wmt.memory import Action, Step, TaskOperation
from wmt.nodes import Outcome
from wmt.presets import preset
from wmt.recording import RecordingMemory
from wmt.snapshot import SnapshotError, dump, load, restore, save


def fresh(**keys: Any) -> RecordingMemory:
    return preset("wmt", selector="lexical", summarizer="extractive", **keys).build(Replies())


@pytest.fixture
async def memory() -> RecordingMemory:
    made = fresh()
    made.start("Who wrote it? \ud800 \u2028")
    action = Action("read", {"page": 1}, "The year was 1912.", Outcome.SUCCESS, {"poisoned": True})
    await made.record(Step("t", TaskOperation("open", goal="find the year"), action))
    await made.record(Step("t", TaskOperation("complete", result="1912"), action))
    await made.context()
    return made


def test_what_is_loaded_is_what_was_saved(memory: RecordingMemory, tmp_path: Path) -> None:
    path = tmp_path / "memory.json"
    save(memory, path)
    save(memory, path)
    other = fresh()
    load(other, path)
    assert dump(other) == dump(memory) and list(other.events) == list(memory.events)
    assert [entry.name for entry in tmp_path.iterdir()] == ["memory.json"]


async def test_a_conversation_goes_on_from_its_snapshot() -> None:
    made = fresh(conversation=True)
    made.start("first question")
    action = Action("read", {"page": 1}, "The year was 1912.", Outcome.SUCCESS)
    await made.record(Step("t", None, action))
    await made.finish("1912")
    between = fresh(conversation=True)
    restore(between, made.snapshot())
    for each in (made, between):
        each.start("second question")
        await each.record(Step("t", TaskOperation("open", goal="find the author")))
    later = fresh(conversation=True)
    restore(later, made.snapshot())
    assert await made.context() == await between.context() == await later.context()
    assert made.pool() == (2, 3, 4) and made.snapshot() == later.snapshot()


async def test_what_is_still_to_be_judged_is_saved() -> None:
    """A suppressed child lowers its parent, which the next evaluation looks at."""

    def a3() -> RecordingMemory:
        return preset("a3", summarizer="extractive", show_last_step=False).build(Replies())

    made = a3()
    made.start("q")
    failed = Action("read", {}, "no page", Outcome.FAILURE)
    await made.record(Step("", TaskOperation("open", goal="outer"), failed))
    await made.record(Step("", TaskOperation("open", goal="inner"), failed))
    for node, score in ((1, 0.36), (2, 0.36), (3, 0.30), (4, 0.30)):
        made.tree.commit("scored", node, {"score": score}, {})
    await made.record(Step("", TaskOperation("resume", task=0)))
    restored = a3()
    restore(restored, made.snapshot())
    await restored.context()
    assert restored.pool() == (0,) != made.pool()


def test_a_snapshot_has_the_documented_fields(memory: RecordingMemory) -> None:
    data = json.loads(json.dumps(memory.snapshot()))
    assert list(data) == [
        "format",
        "version",
        "config",
        "step",
        "active",
        "nodes",
        "changed",
        "extra",
        "events",
    ]
    assert (data["format"], data["version"]) == ("wmt-memory", 1)


@given(st.data())
@settings(max_examples=40)
async def test_a_torn_file_is_refused(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    path = tmp_path_factory.mktemp("torn") / "memory.json"
    made = fresh()
    made.start("q")
    save(made, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(SnapshotError, match=r"memory\.json: ") as caught:
        load(fresh(), path)
    assert "\n" not in str(caught.value)


EVENT = {"step": 1, "kind": "scored", "node": 0, "before": {}, "after": {}, "detail": {}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not a snapshot"),
        ({"version": 2}, "version 2 .* this is version 1"),
        ({"config": {"name": "linear"}}, "another configuration; differing: .*folding"),
        ({"nodes": [{"id": 0}]}, "damaged"),
        ({"nodes": None}, "damaged"),
        ({"nodes": [3]}, "damaged"),
        ({"active": 99}, "damaged"),
        ({"events": [{"step": 1}]}, "damaged"),
        ({"events": [{**EVENT, "kind": "x"}]}, "damaged"),
        ({"events": [{**EVENT, "node": None}]}, "damaged"),
        ({"extra": {}}, "damaged"),
        ({"step": "soon"}, "damaged"),
    ],
)
def test_foreign_and_damaged_data_are_refused(
    memory: RecordingMemory, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(SnapshotError, match=message):
        restore(fresh(), {**memory.snapshot(), **change})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("nodes", 2, "content"), 7),
        (("nodes", 2, "content"), None),
        (("nodes", 2, "thought"), None),
        (("nodes", 2, "tool"), 3),
        (("nodes", 2, "arguments"), []),
        (("nodes", 2, "score"), 1.5),
        (("nodes", 2, "score"), "0.5"),
        (("nodes", 2, "missed"), -1),
        (("nodes", 2, "missed"), True),
        (("nodes", 2, "missed"), None),
        (("nodes", 2, "kind"), None),
        (("nodes", 2, "lifecycle"), None),
        (("nodes", 2, "id"), 9),
        (("nodes", 2, "parent"), True),
        (("nodes", 1, "folded"), 1),
        (("nodes", 1, "result"), None),
        (("nodes", 1, "summary", "result"), 3),
        (("nodes", 1, "summary", "evidence"), "text"),
        (("nodes", 1, "summary", "evidence"), [3]),
        (("nodes", 0), {}),
        (("active",), 2),
        (("active",), None),
        (("active",), True),
        (("step",), True),
        (("changed",), ["x"]),
        (("extra", "running"), "yes"),
        (("extra", "last_step"), 99),
        (("extra", "to_supersede"), ["x"]),
        (("events", 0, "step"), "x"),
        (("events", 0, "node"), 1.5),
        (("events", 0, "before"), None),
        (("events", 0, "after"), []),
        (("events", 0, "detail"), "x"),
    ],
)
def test_a_field_of_another_type_is_refused(
    memory: RecordingMemory, path: tuple[str | int, ...], value: Any
) -> None:
    data = json.loads(json.dumps(memory.snapshot()))
    holder = data
    for key in path[:-1]:
        holder = holder[key]
    assert holder[path[-1]] != value or type(holder[path[-1]]) is not type(value)
    holder[path[-1]] = value
    with pytest.raises(SnapshotError, match="damaged") as caught:
        restore(fresh(), data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "field", ["config", "step", "active", "nodes", "changed", "extra", "events"]
)
def test_a_missing_field_is_refused(memory: RecordingMemory, field: str) -> None:
    data = memory.snapshot()
    del data[field]
    with pytest.raises(SnapshotError):
        restore(fresh(), data)


def test_other_things_than_snapshots_are_refused(memory: RecordingMemory, tmp_path: Path) -> None:
    for text in ("[]", "null", "3", '"wmt-memory"', "{}", "\x00", "[" * 100_000):
        (tmp_path / "other").write_text(text)
        with pytest.raises(SnapshotError):
            load(fresh(), tmp_path / "other")
    with pytest.raises(SnapshotError, match="no_such"):
        load(fresh(), tmp_path / "no_such")
    with pytest.raises(SnapshotError, match="fresh"):
        restore(memory, memory.snapshot())


def test_another_configuration_is_named(memory: RecordingMemory) -> None:
    with pytest.raises(SnapshotError, match=r"differing: retention$"):
        restore(fresh(retention={"rho": 0.8}), memory.snapshot())
