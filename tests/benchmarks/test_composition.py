from __future__ import annotations

import re
from pathlib import Path

import pytest
from hydra.errors import MissingConfigException

from benchmarks import sweep
from benchmarks.composition import compose
from benchmarks.errors import SetupError
from benchmarks.sweep import combinations

CELL = ["model=simulated", "dataset=archive"]


def refusal(*overrides: str) -> str:
    with pytest.raises(SetupError) as caught:
        compose([*CELL, *overrides])
    return "\n".join(caught.value.lines)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["memory=wnt"], r"^memory=wnt: no such choice; allowed: .*\blinear\b.*\bwmt\b"),
        (["experiment=none_such"], r"^experiment=none_such: no such choice; .*\bquickstart\b"),
        (["memory.retention.rho=1.5"], r"^memory\.retention\.rho=1\.5: .*allowed: .*> 0.*<= 1"),
        (["memory.selector=bm25"], r"^memory\.selector=bm25: .*allowed: one of llm, lexical$"),
        (["memory.foo=1"], r"^memory\.foo: unknown key; allowed: .*\bselector\b"),
        (["+memory.foo=1"], r"^memory\.foo: unknown key; allowed: .*\bselector\b"),
        (["memory.retention.foo=1"], r"^memory\.retention\.foo: unknown key; allowed: .*\brho\b"),
        (["foo=1"], r"^foo: unknown key; allowed: .*\bexperiment\b.*\bresults_dir\b"),
        (["+foo=1"], r"^foo: unknown key; allowed: .*\bresults_dir\b"),
        (["modle=qwen3"], r"^modle: unknown key; allowed: .*\bmodel\b"),
        (["memory=linear", "memory.selector=llm"], r"^memory\.selector: unknown key; allowed: "),
        (["concurrency=0"], r"^concurrency=0: .*allowed: an integer, >= 1$"),
        (["label=a/b"], r"^label=a/b: .*matching "),
        (["dataset.limit=none"], r"^dataset\.limit=none: .*allowed: an integer, >= 1 or null$"),
        (["agent.max_steps=0"], r"^agent\.max_steps=0: .*>= 1$"),
        (["tools.web=lve"], r"^tools\.web=lve: .*one of live, record, replay, off$"),
        (["nonsense"], r"^nonsense: .*KEY=VALUE"),
        (["label=é"], r"^label=é: .*KEY=VALUE.*quotes"),
        (['memory.selector="lexical'], r'^memory\.selector="lexical: .*KEY=VALUE.*quotes'),
        (["dataset.ids=[it's]"], r"^dataset\.ids=\[it's\]: .*KEY=VALUE.*quotes"),
        (["=3"], r"^=3: .*KEY=VALUE"),
        (["memory=null"], r"^memory=null: no such choice; allowed: .*\bwmt\b"),
        (["memory=3"], r"^memory=3: no such choice; allowed: .*\bwmt\b"),
        (["memory="], r"^memory=: no such choice; allowed: .*\bwmt\b"),
        (["memory=[a2,wmt]"], r"^memory=\[a2,wmt\]: no such choice; allowed: .*\bwmt\b"),
        (["memory=linear,wmt"], r"^memory=linear,wmt: no such choice; .*several.*-m"),
        (["seed=1,2"], r"^configuration: [^+]*seed=1,2.*several.*-m"),
        (["experiment=3"], r"^experiment=3: no such choice; .*\bquickstart\b"),
        (["~memory"], r"^memory: must be chosen; allowed: .*\bwmt\b"),
        (["memory.name=../x"], r"^memory\.name=\.\./x: .*matching "),
        (["model.name=a/b"], r"^model\.name=a/b: .*matching "),
        (["results_dir="], r"^results_dir=: .*folder"),
        (["results_dir=null"], r"^results_dir=null: "),
        (["cells=[]"], r"^cells: must be a list of override lists"),
        (["dataset.ids=[]"], r"^dataset\.ids=\[\]: .*allowed: a list"),
        (
            ["memory.retention.u_failure=0.9"],
            r"^memory\.retention: u_success must be above u_failure \(Eq. 2\)[^{};]*$",
        ),
        (["experiment=quickstart", "memory.foo=1"], r"^memory\.foo: unknown key; allowed: "),
        (["memory.retention=[1,2]"], r"^configuration: [^+]*memory\.retention=\[1,2\]"),
        (
            ["memory.suppression=true", "memory.scoring=false"],
            r"^memory.*suppression needs scoring",
        ),
        (["model._target_=agents.nope.X"], r"^model: .*'agents\.nope\.X': ModuleNotFound"),
        (["seed=${nowhere}"], r"^configuration: .*nowhere"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_key_and_what_is_allowed(
    overrides: list[str], expected: str
) -> None:
    line = refusal(*overrides)
    assert "\n" not in line
    assert re.search(expected, line), line


def test_every_mistake_is_told_at_once() -> None:
    assert len(refusal("memory.foo=1", "agent.max_steps=0", "seed=-1").splitlines()) == 3


def test_a_cell_is_its_choices(tmp_path: Path) -> None:
    (cell,) = compose([*CELL, "memory=linear", "seed=4", f"results_dir={tmp_path}"]).cells
    assert cell.folder == tmp_path / "main/archive/simulated/linear/seed4"
    assert cell.title == "archive / simulated / linear / seed 4"


def test_the_published_command_is_the_default() -> None:
    (cell,) = compose([]).cells
    names = (cell.model.name, cell.memory.name, cell.dataset.name, cell.agent.max_steps)
    assert names == ("qwen3", "wmt", "gaia_text", 10)


def test_the_digest_knows_what_can_change_a_result() -> None:
    def digest(*overrides: str) -> str:
        return compose([*CELL, *overrides]).cells[0].digest

    outside = [
        *("concurrency=7", "results_dir=elsewhere", "label=arm", "dataset.limit=3"),
        *("dataset.level=1", "dataset.ids=[a]", "parallel_cells=2", "price_per_gpu_hour=1.5"),
    ]
    inside = ["seed=1", "memory.retention.rho=0.8", "agent.max_steps=9", "tools.web=off"]
    assert {digest(key) for key in outside} == {digest()}
    assert len({digest(key) for key in [*inside, "seed=0"]}) == len(inside) + 1


def test_the_server_that_is_attached_to_is_outside_the_digest() -> None:
    url = "model.base_url=http://127.0.0.1:9/v1"
    one, two = (compose(["model=qwen3", *more]).cells[0] for more in ([], [url]))
    assert one.digest == two.digest


ARMS = "'memory=wmt','memory.retention.rho=0.95'"
CELLS = f"cells=[['memory=linear'],['memory=wmt'],[{ARMS},'label=rho95']]"


def test_an_experiment_is_its_cells_in_turn() -> None:
    cells = compose([*CELL, CELLS]).cells
    assert [(cell.label, cell.memory.name) for cell in cells] == [
        ("main", "linear"),
        ("main", "wmt"),
        ("rho95", "wmt"),
    ]


def test_the_command_line_wins_in_every_cell() -> None:
    cells = compose([*CELL, CELLS, "memory.retention.rho=0.8", "seed=3"]).cells
    assert [cell.seed for cell in cells] == [3, 3, 3]
    rho = [cell.identity()["memory"].get("retention", {}).get("rho") for cell in cells]
    assert rho == [None, 0.8, 0.8]


def test_a_key_that_a_cell_does_not_have_is_left_out_and_said() -> None:
    plan = compose([*CELL, CELLS, "memory.selector=lexical"])
    assert plan.notes == (
        "archive / simulated / linear / seed 0: has no memory.selector, left as it is",
    )
    selectors = [cell.identity()["memory"].get("selector") for cell in plan.cells]
    assert selectors == [None, "lexical", "lexical"]


def test_a_key_that_no_cell_has_is_refused() -> None:
    assert re.search(r"^memory\.foo: unknown key; allowed: ", refusal(CELLS, "memory.foo=1"))


def test_cells_that_become_the_same_run_once() -> None:
    plan = compose([*CELL, "cells=[['memory=linear'],['memory=none']]", "memory=wmt"])
    assert [cell.memory.name for cell in plan.cells] == ["wmt"]


def test_different_cells_cannot_share_a_folder() -> None:
    line = refusal(f"cells=[['memory=wmt'],[{ARMS}]]")
    assert "give them a label=" in line


def test_malformed_cells_are_refused() -> None:
    assert refusal("cells=memory").startswith("cells: must be a list of override lists")


def test_a_sweep_is_expanded_as_hydra_would() -> None:
    jobs = combinations(["++seed=1,2", "memory=wmt,linear", "model=simulated"])
    assert len(jobs) == 4
    assert ["++seed=2", "memory=linear", "model=simulated"] in jobs


def test_the_papers_grid_has_its_42_cells() -> None:
    jobs = combinations(["+grid=paper"])
    assert len({tuple(job) for job in jobs}) == 42
    folders = {compose(job).cells[0].folder for job in jobs[::8]}  # all of them in tests/slurm
    assert len(folders) == len(jobs[::8])


def test_a_launcher_without_its_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_submitit(**_: object) -> object:
        raise MissingConfigException("Could not load 'hydra/launcher/submitit_slurm'")

    monkeypatch.setattr(sweep.hydra, "main", no_submitit)
    with pytest.raises(SetupError, match=r"pip install -e '\.\[slurm\]'"):
        sweep.by_hydra(["model=simulated", "dataset=archive"], lambda _: 0)
