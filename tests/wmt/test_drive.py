"""`python -m wmt.drive`: the command line that others check the memory with."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.wmt.scripts import header
from wmt.drive import DriveError, run
from wmt.presets import NAMES

SCRIPT: list[dict[str, Any]] = [
    {"select": None, "task_op": {"open": "a"}, "action": {"outcome": "success", "content": "x"}},
    {"select": [99, 1], "task_op": {"complete": True}, "action": None, "supersede": []},
    {"select": [], "task_op": {"complete": True}, "action": {"outcome": "failure", "content": "y"}},
]


def play(name: str, script: list[Any] = SCRIPT, **more: Any) -> list[dict[str, Any]]:
    lines = [header(name, **more), *script]
    return [json.loads(line) for line in run(json.dumps(line) for line in lines)]


def test_the_command_line() -> None:
    lines = "\n".join(json.dumps(line) for line in [header("wmt", globals=1), *SCRIPT])
    done = subprocess.run(
        [sys.executable, "-m", "wmt.drive"], input=lines, capture_output=True, text=True, check=True
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == play("wmt", globals=1)
    broken = subprocess.run(
        [sys.executable, "-m", "wmt.drive"],
        input="{",
        capture_output=True,
        text=True,
        check=False,
    )
    assert broken.returncode == 2 and broken.stdout == ""
    assert broken.stderr.startswith("wmt.drive: line 1: ") and broken.stderr.count("\n") == 1


@pytest.mark.parametrize("name", NAMES)
def test_ids_and_shape(name: str) -> None:
    first, second, third = play(name, globals=2)
    kinds = [node["kind"] for node in third["nodes"].values()]
    assert kinds == ["root", "global", "global", "task", "action", "action"]
    assert list(third["nodes"]) == ["0", "1", "2", "3", "4", "5"]
    assert [each["refused"] for each in (first, second, third)] == [[], [], [{"complete": True}]]
    assert set(third["branches"]) == {"0", "3"}
    assert third["nodes"]["4"]["parent"] == 3 and third["nodes"]["5"]["parent"] == 0


def test_an_id_under_a3_stands_for_its_branch() -> None:
    script = [
        {"task_op": {"open": "a"}, "action": {"outcome": "success", "content": "x"}},
        {"task_op": None, "action": {"outcome": "success", "content": "y"}},
        {"task_op": {"resume": 0}},
        {"task_op": {"open": "b"}, "action": {"outcome": "success", "content": "z"}},
        {"task_op": {"resume": 0}},
    ]
    states = play("a3", [*script, {"select": [2]}])
    missed = {i for i, node in states[-1]["nodes"].items() if node["m"]}
    assert missed == {"4", "5"}, "2 brings its task 1 and the other action 3"
    states = play("wmt", [*script, {"select": [2]}])
    missed = {i for i, node in states[-1]["nodes"].items() if node["m"]}
    assert missed == {"1", "3", "4", "5"}


def test_superseding_what_may_not_be_is_ignored() -> None:
    """`refused` tells of task operations; what may not be superseded changes nothing."""
    before, after = (play("wmt", [*SCRIPT, {"supersede": ids}])[-1] for ids in ([3], [0, 77, 3, 3]))
    assert before == after and after["refused"] == []
    assert after["nodes"]["3"]["lifecycle"] == "obsolete"
    refused = {"task_op": {"complete": True}, "supersede": [0, 77]}
    assert play("wmt", [*SCRIPT, refused])[-1]["refused"] == [{"complete": True}]


def test_what_a_step_leaves_out_may_be_null() -> None:
    null = {"select": None, "task_op": None, "action": None, "supersede": None}
    assert play("wmt", [*SCRIPT, null]) == play("wmt", [*SCRIPT, {}])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"selct": []}, "line 2: selct"),
        ({"task_op": {"close": 1}}, "line 2: no task operation"),
        ({"task_op": {"resume": "1"}}, "line 2: no task operation"),
        ({"action": {"outcome": "maybe", "content": ""}}, "line 2: action.outcome"),
        ([], "line 2"),
    ],
)
def test_a_line_that_says_nothing_ends_it(line: Any, message: str) -> None:
    with pytest.raises(DriveError, match=message):
        play("wmt", [line])


def test_an_unknown_memory_is_named() -> None:
    with pytest.raises(DriveError, match=r"line 1: no memory 'wnt'; there are .*wmt"):
        play("wnt")
    with pytest.raises(DriveError, match=r"line 1: retention\.rho"):
        play("wmt", config={"retention": {"rho": 1.5}})
