"""VllmServer's life with a stand-in for vLLM: flags, failures, restarts, preflight."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import urllib.request
from pathlib import Path

import pytest
from pydantic import ValidationError

from agents.serving.base import ServerError
from agents.serving.diagnosis import CAUSES, diagnose
from agents.serving.vllm import VllmServer
from tests.serving_vllm.test_process import alive, until

FAKE = Path(__file__).with_name("fake_vllm.py")


@pytest.fixture
def server(tmp_path: Path) -> VllmServer:
    return VllmServer(
        model="org/tiny",
        executable=str(FAKE),
        device="cpu",
        start_seconds=20,
        env={"FAKE_VLLM": "serve", "FAKE_CHILD": str(tmp_path / "children")},
    )


def children(tmp_path: Path) -> list[int]:
    path = tmp_path / "children"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def command_lines() -> list[bytes]:
    """Of every process of this machine."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_bytes())
    return found


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as reply:
        body: bytes = reply.read()
    return body


async def test_it_serves_and_says_who_it_is(server: VllmServer, tmp_path: Path) -> None:
    async with server.running(tmp_path) as running:
        assert running.info.server == "vllm"
        assert running.info.version == "0.0-fake"
        assert running.info.model == "org/tiny"
        (url,) = running.base_urls
        assert url.startswith("http://127.0.0.1:") and url.endswith("/v1")
        assert running.revive is not None and await running.revive()
    assert len(children(tmp_path)) == 1
    assert not any(map(alive, children(tmp_path)))


async def test_two_servers_side_by_side_share_nothing(server: VllmServer, tmp_path: Path) -> None:
    async with (
        server.running(tmp_path / "a") as first,
        server.running(tmp_path / "b") as second,
    ):
        assert first.base_urls != second.base_urls
        assert all(map(alive, children(tmp_path)))
    scratch = [
        VllmServer.environment(server, Path(name))["TMPDIR"] for name in ("/tmp/x", "/tmp/y")
    ]
    assert scratch == ["/tmp/x", "/tmp/y"]


async def test_a_dead_server_is_restarted_on_its_port(server: VllmServer, tmp_path: Path) -> None:
    async with server.running(tmp_path) as running:
        base = running.base_urls[0].removesuffix("/v1")
        with pytest.raises(OSError):
            get(f"{base}/die")
        assert running.revive is not None
        assert await running.revive()
        assert get(f"{base}/health") == b"{}"
    assert len(children(tmp_path)) == 2
    assert not any(map(alive, children(tmp_path)))


async def test_restarts_are_bounded(server: VllmServer, tmp_path: Path) -> None:
    server = server.model_copy(update={"max_restarts": 1})
    async with server.running(tmp_path) as running:
        assert running.revive is not None
        base = running.base_urls[0].removesuffix("/v1")
        for expected in (True, False):
            with pytest.raises(OSError):
                get(f"{base}/die")
            assert await running.revive() is expected


@pytest.mark.parametrize(
    ("says", "cause", "remedy"),
    [
        ("RuntimeError: No CUDA GPUs are available", "no GPU", "gres=gpu:1"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried", "out of memory", "max_model_len"),
        ("huggingface_hub.errors.GatedRepoError: 401 Client Error", "gated", "HF_TOKEN"),
        ("Transformers does not recognize this architecture", "architecture", "newer vLLM"),
        ("The NVIDIA driver on your system is too old", "wrong CUDA", "driver"),
        (
            "ValueError: Bfloat16 is only supported on GPUs with compute capability",
            "Turing",
            "half",
        ),
    ],
)
async def test_a_server_that_does_not_start_says_why(
    server: VllmServer, tmp_path: Path, says: str, cause: str, remedy: str
) -> None:
    server = server.model_copy(update={"env": {"FAKE_VLLM": f"refuse:{says}"}})
    with pytest.raises(ServerError) as caught:
        async with server.running(tmp_path):
            raise AssertionError("it must not come up")
    first, *tail = str(caught.value).splitlines()
    assert cause in first and remedy in first and str(tmp_path / "vllm.log") in first
    assert says in tail


async def test_an_old_failure_in_the_log_is_not_reported_again(
    server: VllmServer, tmp_path: Path
) -> None:
    (tmp_path / "vllm.log").write_text("CUDA out of memory\n" * 3)
    server = server.model_copy(update={"env": {"FAKE_VLLM": "refuse:No space left on device"}})
    with pytest.raises(ServerError, match="disk is full"):
        async with server.running(tmp_path):
            pass


async def test_a_server_that_never_answers_is_given_up_and_stopped(
    server: VllmServer, tmp_path: Path
) -> None:
    env = {"FAKE_VLLM": "silent"}
    server = server.model_copy(update={"env": env, "start_seconds": 0.5})
    with pytest.raises(ServerError, match="was not ready"):
        async with server.running(tmp_path):
            pass


async def test_an_error_inside_still_stops_it(server: VllmServer, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with server.running(tmp_path):
            raise ZeroDivisionError
    assert not any(map(alive, children(tmp_path)))


async def test_cancelling_the_start_stops_it(server: VllmServer, tmp_path: Path) -> None:
    silent = server.model_copy(update={"env": {"FAKE_VLLM": "silent"}})

    async def start() -> None:
        async with silent.running(tmp_path):
            pass

    task = asyncio.create_task(start())
    log = tmp_path / "vllm.log"
    await until(lambda: log.exists() and "started with" in log.read_text())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    port = log.read_text().split("--port ")[1].split()[0]
    assert not [line for line in command_lines() if f"--port\0{port}\0".encode() in line]


def test_the_command_line_carries_every_setting() -> None:
    server = VllmServer(
        model="org/model",
        revision="a" * 40,
        dtype="half",
        reasoning_parser="qwen3",
        images=2,
        tensor_parallel_size=2,
        extra_args=["--enforce-eager"],
    )
    line = " ".join(server.command(4711))
    for part in (
        "serve org/model --host 127.0.0.1 --port 4711 --served-model-name org/model",
        f"--revision {'a' * 40} --tokenizer-revision {'a' * 40}",
        "--dtype half",
        "--enable-prefix-caching --enable-prompt-tokens-details",
        "--gpu-memory-utilization 0.9",
        "--tensor-parallel-size 2",
        "--reasoning-parser qwen3",
        '--limit-mm-per-prompt {"image": 2, "audio": 0, "video": 0}',
    ):
        assert part in line
    assert line.endswith("--enforce-eager")
    config = json.loads(line.split("--structured-outputs-config ")[1].split(" --")[0])
    assert config == {"backend": "xgrammar", "disable_any_whitespace": True}


def test_on_the_cpu_no_gpu_flag_is_passed() -> None:
    assert "--gpu-memory-utilization" not in VllmServer(model="m", device="cpu").command(1)


def test_preflight_names_what_is_missing_one_line_each(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("agents.serving.vllm._gpu_driver", lambda: False)
    server = VllmServer(model="org/gated", gated=True, executable="no-such-vllm")
    lines = server.preflight()
    assert len(lines) == 3 and not any("\n" in line for line in lines)
    assert "pip install vllm" in lines[0] and "model.base_url" in lines[1]
    assert "HF_TOKEN" in lines[2]
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    assert len(server.preflight()) == 2
    assert "hf_x" not in " ".join(server.preflight())
    assert server.model_copy(update={"device": "cpu", "executable": "sh"}).preflight() == []


def test_a_name_of_a_revision_is_resolved_from_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    server = VllmServer(model="org/name")
    assert server.resolved_revision() == "main"
    reference = tmp_path / "hub" / "models--org--name" / "refs" / "main"
    reference.parent.mkdir(parents=True)
    reference.write_text("b" * 40)
    assert server.resolved_revision() == "b" * 40
    pinned = server.model_copy(update={"revision": "c" * 40})
    assert pinned.resolved_revision() == "c" * 40


def test_unknown_keys_and_values_out_of_range_are_refused() -> None:
    for wrong in ({"port": 1}, {"gpu_memory_utilization": 1.5}, {"dtype": "int8"}):
        with pytest.raises(ValidationError):
            VllmServer(model="m", **wrong)


def test_an_unknown_death_is_no_guess() -> None:
    assert diagnose("all is well", 1).cause == "cause not recognised"
    assert "SIGKILL" in diagnose("all is well", 137).cause


def test_each_cause_has_a_remedy() -> None:
    assert all(cause.cause and cause.remedy and cause.pattern for cause in CAUSES)


def test_the_environment_keeps_ours_and_ends_telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5")
    env = VllmServer(model="m", env={"X": "1"}).environment(Path("/tmp/s"))
    assert env["CUDA_VISIBLE_DEVICES"] == "5" and env["X"] == "1"
    assert env["VLLM_NO_USAGE_STATS"] == "1"
    inside = {key for key, value in env.items() if value.startswith("/tmp/s")}
    assert inside == {
        "TMPDIR",
        "VLLM_RPC_BASE_PATH",
        "VLLM_CACHE_ROOT",
        "TRITON_CACHE_DIR",
        "TORCHINDUCTOR_CACHE_DIR",
    }
    assert os.environ.get("VLLM_CACHE_ROOT") != env["VLLM_CACHE_ROOT"]


async def test_a_command_that_is_not_there_is_said(tmp_path: Path) -> None:
    server = VllmServer(model="m", executable=str(tmp_path / "vllm"), device="cpu")
    with pytest.raises(ServerError, match=r"cannot be run; correct model\.server\.executable"):
        async with server.running(tmp_path):
            pass
