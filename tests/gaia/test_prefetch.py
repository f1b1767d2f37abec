from __future__ import annotations

from pathlib import Path

import huggingface_hub
import pytest

from scripts import prefetch
from tests.gaia import folder

OWN = ["model=simulated", "dataset=gaia_text", "dataset.counts={1:2,2:1,3:1}"]


def test_data_and_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = folder.write(tmp_path)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(root))
    assert prefetch.main([*OWN, "memory=wmt"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"gaia_text: 4 questions in {root}",
        "simulated: nothing to fetch",
    ]


def test_no_network_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def snapshot_download(*_: object, **__: object) -> str:
        raise ConnectionError("no route to the hub\nmore")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    assert prefetch.main(OWN) == 2
    assert "no route to the hub" in capsys.readouterr().err
    assert prefetch.main(["model=qwen3", "dataset=archive"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "qwen3: cannot be fetched: no route to the hub" in line
