from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from agents.tools.base import ToolError
from agents.tools.cassette import Web
from agents.tools.config import ToolsConfig
from agents.tools.contamination import ContaminationConfig, ContaminationGuard


def names(config: ToolsConfig) -> list[str]:
    return [tool.name for tool in config.all((), "question")]


def test_the_tools_of_a_task() -> None:
    everything = ["search", "read_page", "read_file", "calculator", "python"]
    assert names(ToolsConfig()) == everything
    assert names(ToolsConfig(web="off")) == everything[2:]
    assert names(ToolsConfig.model_validate({"web": "off", "python": {"enabled": False}})) == [
        "read_file",
        "calculator",
    ]


def test_every_schema_is_small_and_closed() -> None:
    for tool in ToolsConfig().all((), "question"):
        assert tool.parameters["additionalProperties"] is False
        assert set(tool.parameters["required"]) <= set(tool.parameters["properties"])
        assert len(f"{tool.description}{tool.parameters}") < 500


async def test_every_tool_refuses_unknown_arguments_and_wrong_types() -> None:
    for tool in ToolsConfig().all((), "question"):
        required = tool.parameters["required"][0]
        for wrong in ({"nonsense": 1, required: "1"}, {required: None}, {required: {"a": 1}}):
            with pytest.raises(ToolError):
                await tool.call(wrong)


@pytest.mark.parametrize("mode", ["record", "replay"])
def test_a_recording_needs_a_file(mode: str) -> None:
    with pytest.raises(ValidationError, match=r"tools\.cassette"):
        ToolsConfig.model_validate({"web": mode})


@pytest.mark.parametrize(
    ("url", "barred"),
    [
        ("https://huggingface.co/datasets/gaia-benchmark/GAIA", True),
        ("https://huggingface.co/spaces/gaia-benchmark/leaderboard", True),
        ("https://hub.example/datasets/x/gaia%2Dvalidation/raw/main/a.json", True),
        ("https://arxiv.org/abs/2311.12983", True),
        ("https://hub.example/datasets/gaia%252Dbenchmark/GAIA", True),
        ("https://en.wikipedia.org/wiki/Gaia_(spacecraft)", False),
        ("https://en.wikipedia.org/wiki/Gaia", False),
    ],
)
def test_the_committed_list_of_copies(url: str, barred: bool) -> None:
    file = Path(__file__).parents[2] / "configs" / "tools" / "default.yaml"
    listed = yaml.safe_load(file.read_text())["contamination"]
    guard = ContaminationGuard(ContaminationConfig.model_validate(listed), "")
    assert guard.bars_address(url) is barred
    assert guard.bars_text("All GAIA benchmark questions with their answers")
    assert not guard.bars_text("Gaia is a space observatory; its benchmark stars are listed below.")
    assert not guard.bars_text("The Gaia benchmark stars were observed again in 2015.")
    assert guard.bars_text("GAIA: a benchmark for General AI Assistants")


def test_unknown_keys_are_refused() -> None:
    with pytest.raises(ValidationError, match="extra"):
        ToolsConfig.model_validate({"python": {"unsave": True}})


async def test_the_hash_of_what_is_replayed(tmp_path: Path) -> None:
    cassette = tmp_path / "web.sqlite"

    async def live() -> str:
        return "answer"

    await Web("record", cassette).ask("search", {"query": "q"}, live)
    assert len(ToolsConfig(web="replay", cassette=cassette).cassette_hash()) == 16
    assert ToolsConfig(web="record", cassette=cassette).cassette_hash() == ""
    assert ToolsConfig().cassette_hash() == ""


def test_preflight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = ToolsConfig(web="replay", cassette=tmp_path / "none").preflight()
    assert [line for line in lost if "tools.cassette" in line]
    (tmp_path / "text").write_text("not a database, but long enough to look like a file" * 9)
    wrong = ToolsConfig(web="record", cassette=tmp_path / "text").preflight()
    assert [line for line in wrong if "cannot be recorded into" in line]
    monkeypatch.setattr("agents.tools.config.why_not_isolated", lambda: "unshare: not permitted")
    (line,) = ToolsConfig(web="off").preflight()
    assert "tools.python" in line
    assert "unshare: not permitted" in line
    for python in ({"unsafe": True}, {"enabled": False}):
        assert ToolsConfig.model_validate({"web": "off", "python": python}).preflight() == []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert [line for line in ToolsConfig().preflight() if "'.[web]'" in line]
