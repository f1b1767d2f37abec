"""Real vLLM on the CPU: what the harness relies on, measured at the server itself."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from agents.models.openai_chat import ClientSettings, OpenAIChat
from agents.schema import Bounds, step_schema
from agents.serving.base import RunningServer
from agents.tools.calculator import Calculator
from benchmarks.compute import read_ledger
from benchmarks.state import read_state
from benchmarks.store import find_cells, read_trace
from tests.serving_vllm.conftest import WINDOW, Tiny, command, descendants
from tests.serving_vllm.test_process import alive, until
from wmt.chat import ChatRequest, ContextOverflow, Message

pytestmark = pytest.mark.vllm

ROOT = Path(__file__).parents[2]


@pytest_asyncio.fixture
async def chat(vllm: RunningServer) -> AsyncIterator[OpenAIChat]:
    settings = ClientSettings(model=vllm.info.model)
    async with OpenAIChat(
        "tiny", vllm.base_urls, settings, context_window=WINDOW, api_key="none"
    ) as opened:
        yield opened


def ask(text: str, **options: Any) -> ChatRequest:
    options = {"max_tokens": 12, **options}
    messages = (Message("system", "Be brief."), Message("user", text))
    return ChatRequest(messages=messages, role="agent", **options)


async def tokenized(vllm: RunningServer, request: ChatRequest) -> int:
    """The server's own count of a request's prompt, chat template included."""
    base = vllm.base_urls[0].removesuffix("/v1")
    messages = [{"role": m.role, "content": m.content} for m in request.messages]
    body = {"model": vllm.info.model, "messages": messages, "add_generation_prompt": True}
    async with httpx.AsyncClient(trust_env=False) as client:
        reply = await client.post(f"{base}/tokenize", json=body)
    count: int = reply.json()["count"]
    return count


def test_it_says_its_version_model_and_revision(vllm: RunningServer) -> None:
    assert vllm.info.server == "vllm"
    assert vllm.info.version == "0.32.0"
    assert vllm.info.model.startswith("tiny-llama")
    assert vllm.info.revision.startswith("local-")


def test_health(vllm: RunningServer) -> None:
    base = vllm.base_urls[0].removesuffix("/v1")
    assert httpx.get(f"{base}/health", trust_env=False).status_code == 200


@pytest.mark.parametrize("text", ["hello", "def main():\n    return 1\n" * 20, "日本語 — naïve"])
async def test_usage_is_what_tokenize_counts(
    vllm: RunningServer, chat: OpenAIChat, text: str
) -> None:
    request = ask(text)
    usage = (await chat.complete(request)).usage
    assert not usage.estimated
    assert usage.prompt == await tokenized(vllm, request)
    assert 0 < usage.completion <= request.max_tokens


async def test_a_repeated_prefix_is_cached(chat: OpenAIChat) -> None:
    prefix = " ".join(f"item {number} of the list" for number in range(120))
    first = (await chat.complete(ask(prefix + " one"))).usage
    second = (await chat.complete(ask(prefix + " two"))).usage
    assert first.cached < second.cached < second.prompt
    assert second.cached > second.prompt / 2


async def test_a_json_schema_binds_the_reply(chat: OpenAIChat) -> None:
    schema = {
        "type": "object",
        "properties": {
            "thought": {"type": "string", "maxLength": 30},
            "action": {"enum": ["search", "stop"]},
        },
        "required": ["thought", "action"],
        "additionalProperties": False,
    }
    for seed in range(3):
        request = ask("go on", max_tokens=200, json_schema=schema, temperature=1.0, seed=seed)
        completion = await chat.complete(request)
        assert completion.finish_reason == "stop"
        reply = json.loads(completion.text)
        assert set(reply) == {"thought", "action"}
        assert len(reply["thought"]) <= 30 and reply["action"] in ("search", "stop")


async def test_the_agents_own_schema_with_its_widest_bounds_is_taken(chat: OpenAIChat) -> None:
    schema = step_schema([Calculator()], Bounds(1500, 400, 2000))
    request = ask("go on", max_tokens=300, json_schema=schema, temperature=1.0, seed=1)
    completion = await chat.complete(request)
    assert completion.text.startswith('{"thought":"')


async def test_an_overlong_prompt_is_refused_before_it_is_sent_and_by_the_server(
    vllm: RunningServer, chat: OpenAIChat
) -> None:
    long = "word " * (2 * WINDOW)
    with pytest.raises(ContextOverflow):
        await chat.complete(ask(long))
    body = {"model": vllm.info.model, "messages": [{"role": "user", "content": long}]}
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        reply = await client.post(f"{vllm.base_urls[0]}/chat/completions", json=body)
    assert reply.status_code == 400
    assert (await chat.complete(ask("still there?"))).usage.completion > 0


async def test_a_seed_fixes_what_is_sampled(chat: OpenAIChat) -> None:
    async def sample(seed: int) -> str:
        request = ask("tell me", max_tokens=30, temperature=1.0, seed=seed)
        return (await chat.complete(request)).text

    assert await sample(1) == await sample(1)
    assert await sample(1) != await sample(2)


async def test_at_temperature_zero_company_changes_nothing(chat: OpenAIChat) -> None:
    requests = [ask(f"question {number}", temperature=0.0) for number in range(6)]
    alone = [(await chat.complete(request)).text for request in requests]
    together = await asyncio.gather(*map(chat.complete, requests))
    assert [completion.text for completion in together] == alone


def cell(tiny: Tiny, results: Path, *overrides: str) -> list[str]:
    """The command of a small cell with the tiny model; what it answers is noise."""
    env = ",".join(f'{key}:"{value}"' for key, value in tiny.server().env.items())
    return [
        sys.executable,
        "run.py",
        "model=llama31",
        "model.name=tiny",
        f"model.model={tiny.model}",
        "model.server.revision=null",
        "model.server.gated=false",
        f"model.server.executable={tiny.executable}",
        "model.server.device=cpu",
        "model.server.dtype=float32",
        f"model.server.max_model_len={WINDOW}",
        "model.server.extra_args=[--enforce-eager]",
        f"model.server.env={{{env}}}",
        "dataset=archive",
        "memory=wmt",
        "agent=small",
        "agent.max_steps=3",
        f"results_dir={results}",
        *overrides,
    ]


def test_a_whole_cell(tiny: Tiny, vllm: RunningServer, tmp_path: Path) -> None:
    attach = [f"model.model={vllm.info.model}", f"model.base_url={vllm.base_urls[0]}"]
    line = cell(tiny, tmp_path, *attach, "dataset.limit=3")
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = find_cells(tmp_path)
    state = read_state(folder)
    assert (state.state, state.done, state.errors) == ("done", 3, 0)
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    for row in rows:
        assert row["cell"]["server"] == "vllm"
        assert row["cell"]["server_version"] == "0.32.0"
        assert not row["usage_estimated"]
        assert row["tokens"]["agent"]["calls"] == row["steps"]
        steps = [line for line in read_trace(folder, row["task_id"]) if line["type"] == "step"]
        assert len(steps) == row["steps"]
    assert sum(row["tokens"]["agent"]["cached"] for row in rows) > 0
    ledger = read_ledger(folder)
    assert ledger is not None and ledger.totals is not None
    prompt = sum(role["prompt"] for row in rows for role in row["tokens"].values())
    assert ledger.totals.prompt_tokens == prompt
    assert ledger.totals.prompt_tokens_computed < prompt
    assert ledger.totals.gpu_memory_peak is None and ledger.totals.gpu_energy is None


async def test_death_of_the_server_in_mid_cell(tiny: Tiny, tmp_path: Path) -> None:
    """The server is killed after the first row; it is restarted and the cell goes on."""
    items = 8
    run = await asyncio.create_subprocess_exec(
        *cell(tiny, tmp_path, f"dataset.limit={items}", "model.server.max_restarts=1"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output = asyncio.create_task(run.communicate())
    folder = tmp_path / "main" / "archive" / "tiny" / "wmt" / "seed0"
    rows = folder / "rows.jsonl"
    await until(lambda: (rows.exists() and rows.stat().st_size > 0) or output.done(), 300)
    family = descendants(run.pid)
    (server,) = [pid for pid in family if f"serve {tiny.model}" in command(pid).split("guard")[0]]
    engines = descendants(server)
    assert engines
    os.kill(server, signal.SIGKILL)
    before = rows.read_bytes()
    text = (await output)[0].decode()
    assert run.returncode == 0, text
    assert rows.read_bytes().startswith(before)
    state = read_state(folder)
    assert state.done + state.errors == items
    # Only what was in flight can have suffered; nothing fails while the server comes back.
    assert state.errors <= 1, text
    assert (folder / "log" / "vllm.log").read_text().count("non-default args") == 2
    assert not any(map(alive, [server, *engines, *family]))
