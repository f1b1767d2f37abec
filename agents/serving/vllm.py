"""vLLM as the server of a model: flags, start, watch, restart, stop.

`vllm serve` runs under `guard.py` on a loopback port of its own with a scratch folder of its own
(temporary files and compile caches), so that users and jobs on one node never meet; only the
weights' cache is shared, which Hugging Face's library locks. It is always stopped with its
children, whatever happens to us.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar, Literal

import httpx
from pydantic import BaseModel, ConfigDict, Field

from agents.models.base import ServerInfo
from agents.serving.base import RunningServer, ServerError
from agents.serving.diagnosis import diagnose
from agents.serving.process import GuardedProcess, reserved_port

_log = logging.getLogger(__name__)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_POLL_SECONDS = 0.5
_TAIL_LINES = 12
_MAX_SCRATCH_PATH = 40  # Unix sockets go below it, whose paths may have 107 characters


class VllmServer(BaseModel):
    """How vLLM serves a model (`server` of `configs/model/NAME.yaml`).

    `executable` is a name on PATH or a path; `device: cpu` skips the look for a GPU.
    `gpu_memory_utilization` is the share of the card that weights and KV cache may take.
    `images` is the most images a prompt may hold (0: a text model, no flag is passed).
    `extra_args` go to `vllm serve` as they are; `env` is added to its environment.
    `start_seconds` bounds the wait for `/health`, download of the weights included.
    """

    model_config = ConfigDict(extra="forbid")
    outside_digest: ClassVar[frozenset[str]] = frozenset(
        {"executable", "device", "gpu_memory_utilization", "start_seconds", "max_restarts"}
    )

    model: str = Field(min_length=1)
    revision: str | None = None
    gated: bool = False
    executable: str = "vllm"
    device: Literal["cuda", "cpu"] = "cuda"
    dtype: Literal["auto", "half", "bfloat16", "float32"] = "auto"
    max_model_len: int = Field(default=32768, ge=256)
    gpu_memory_utilization: float = Field(default=0.90, gt=0, le=1)
    max_num_seqs: int = Field(default=16, ge=1)
    tensor_parallel_size: int = Field(default=1, ge=1)
    reasoning_parser: str | None = None
    structured_backend: Literal["auto", "xgrammar", "guidance"] = "xgrammar"
    images: int = Field(default=0, ge=0)
    extra_args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    start_seconds: float = Field(default=1800, gt=0)
    max_restarts: int = Field(default=3, ge=0)

    @property
    def served_name(self) -> str:
        """The name of requests and rows: the hub's name, or a local folder's last part."""
        path = Path(self.model)
        return path.name if path.is_dir() else self.model

    def preflight(self) -> list[str]:
        """What is missing, one line each with its remedy; starts nothing and touches no GPU."""
        missing = []
        if shutil.which(self.executable) is None:
            missing.append(
                f"model.server.executable: `{self.executable}` is not there. On a machine with a "
                "GPU: pip install vllm (in an environment of its own if you like, and give the "
                "path of its vllm); or use a running server with model.base_url=http://..../v1"
            )
        if self.device == "cuda" and not _gpu_driver():
            missing.append(
                "model.server: no NVIDIA driver on this machine. Run on a GPU node, or use a "
                "running server with model.base_url=http://..../v1"
            )
        if self.gated and not _may_download(self.model):
            missing.append(
                f"model.server.model: {self.model} is gated. Accept its licence on its page, then "
                "set HF_TOKEN (or run `hf auth login`)"
            )
        return missing

    def prefetch(self) -> str:
        """Download the weights at their revision (on a login node, say); returns their folder.

        Needs huggingface-hub; formats that vLLM does not read are left out.
        """
        if Path(self.model).is_dir():
            return self.model
        from huggingface_hub import snapshot_download

        return snapshot_download(
            self.model, revision=self.revision, ignore_patterns=["original/*", "*.pth", "*.gguf"]
        )

    def command(self, port: int) -> list[str]:
        """The `vllm serve` command line (flags of vLLM 0.32 and 0.33)."""
        structured: dict[str, Any] = {"backend": self.structured_backend}
        if self.structured_backend != "auto":
            # Without this a weak model may write blanks between tokens up to its limit.
            structured["disable_any_whitespace"] = True
        command = [shutil.which(self.executable) or self.executable, "serve", self.model]
        command += ["--host", "127.0.0.1", "--port", str(port)]
        command += ["--served-model-name", self.served_name]
        command += ["--dtype", self.dtype, "--max-model-len", str(self.max_model_len)]
        command += ["--max-num-seqs", str(self.max_num_seqs)]
        command += ["--enable-prefix-caching", "--enable-prompt-tokens-details"]
        command += ["--structured-outputs-config", json.dumps(structured)]
        # Sampling comes from our configuration alone, not from a file beside the weights.
        command += ["--generation-config", "vllm"]
        if self.revision:
            command += ["--revision", self.revision, "--tokenizer-revision", self.revision]
        if self.device == "cuda":
            command += ["--gpu-memory-utilization", str(self.gpu_memory_utilization)]
        if self.tensor_parallel_size > 1:
            command += ["--tensor-parallel-size", str(self.tensor_parallel_size)]
        if self.reasoning_parser:
            command += ["--reasoning-parser", self.reasoning_parser]
        if self.images:
            limits = {"image": self.images, "audio": 0, "video": 0}
            command += ["--limit-mm-per-prompt", json.dumps(limits)]
        return command + self.extra_args

    def environment(self, scratch: Path) -> dict[str, str]:
        """Our environment, no telemetry; temporary files and compile caches in `scratch`."""
        executable = shutil.which(self.executable)
        beside = [str(Path(executable).parent)] if executable else []
        return {
            **os.environ,
            # vLLM compiles kernels with tools of its own environment, such as ninja.
            "PATH": os.pathsep.join([*beside, os.environ.get("PATH", os.defpath)]),
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # so that device numbers agree with NVML's
            "TMPDIR": str(scratch),
            "VLLM_RPC_BASE_PATH": str(scratch),
            "VLLM_CACHE_ROOT": str(scratch / "vllm"),
            "TRITON_CACHE_DIR": str(scratch / "triton"),
            "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"),
            **self.env,
        }

    @contextlib.asynccontextmanager
    async def running(self, log_dir: Path) -> AsyncIterator[RunningServer]:
        """Start it and wait until it answers, or raise `ServerError`; stop it on exit."""
        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=10))
            port = stack.enter_context(reserved_port())
            supervisor = _Supervisor(self, port, client, log_dir / "vllm.log")
            stack.push_async_callback(supervisor.stop)
            await supervisor.start()
            watcher = asyncio.create_task(supervisor.watch())
            try:
                yield RunningServer(
                    base_urls=(f"{supervisor.url}/v1",),
                    info=await supervisor.info(),
                    revive=supervisor.revive,
                )
            finally:
                watcher.cancel()
                await asyncio.gather(watcher, return_exceptions=True)

    def resolved_revision(self) -> str:
        """The commit that answers: the pinned one, what the cache resolved a name to, or for a
        local folder a hash of its configuration and the names and sizes of its weights."""
        folder = Path(self.model)
        if folder.is_dir():
            digest = hashlib.sha256((folder / "config.json").read_bytes())
            for path in sorted(folder.glob("*.safetensors")):
                digest.update(f"{path.name} {path.stat().st_size}".encode())
            return f"local-{digest.hexdigest()[:16]}"
        revision = self.revision or "main"
        if _COMMIT.fullmatch(revision):
            return revision
        reference = _hub_cache(self.model) / "refs" / revision
        return reference.read_text().strip() if reference.is_file() else revision


class _Supervisor:
    """One server's life: start, watch with bounded restarts, stop."""

    def __init__(self, config: VllmServer, port: int, client: httpx.AsyncClient, log: Path) -> None:
        self._config = config
        self._client = client
        self._scratch = _scratch_name()
        self._log_file = log
        self._command = config.command(port)
        self._process: GuardedProcess | None = None
        self._restarts = 0
        self._gone = False
        self.url = f"http://127.0.0.1:{port}"

    async def start(self) -> None:
        """Start the process and wait for `/health`; `ServerError` says why it did not come up."""
        offset = self._log_file.stat().st_size if self._log_file.exists() else 0
        begin = time.monotonic()
        self._process = await GuardedProcess.start(
            self._command, self._log_file, self._scratch, self._config.environment(self._scratch)
        )
        while self._process.exit_code is None:
            if await self._healthy():
                return
            if time.monotonic() - begin > self._config.start_seconds:
                await self._process.stop()
                raise ServerError(self._report("was not ready", begin, offset))
            await asyncio.sleep(_POLL_SECONDS)
        raise ServerError(self._report("did not start", begin, offset))

    async def watch(self) -> None:
        """Restart the server when it dies, at most `max_restarts` times in all."""
        while True:
            assert self._process is not None
            code = await self._process.wait()
            if self._restarts >= self._config.max_restarts:
                break
            self._restarts += 1
            _log.warning(
                "vLLM died (exit code %d): %s; restart %d of %d. Log: %s",
                code,
                diagnose(self._process.tail(200), code).cause,
                self._restarts,
                self._config.max_restarts,
                self._log_file,
            )
            try:
                await self.start()
            except ServerError as error:
                _log.warning("%s", error)
        self._gone = True
        _log.error("vLLM died and has used its %d restarts", self._config.max_restarts)

    async def revive(self) -> bool:
        """Wait until the server answers; False if it is gone for good or takes too long."""
        end = time.monotonic() + self._config.start_seconds
        while not self._gone and time.monotonic() < end:
            if await self._healthy():
                return True
            await asyncio.sleep(_POLL_SECONDS)
        return False

    async def stop(self) -> None:
        if self._process is not None:
            await self._process.stop()

    async def info(self) -> ServerInfo:
        """What `/version` and `/v1/models` say, for the rows."""
        version = (await self._client.get(f"{self.url}/version")).json()["version"]
        models = (await self._client.get(f"{self.url}/v1/models")).json()["data"]
        return ServerInfo("vllm", version, models[0]["id"], self._config.resolved_revision())

    async def _healthy(self) -> bool:
        try:
            return (await self._client.get(f"{self.url}/health")).status_code == 200
        except httpx.HTTPError:
            return False

    def _report(self, what: str, begin: float, offset: int) -> str:
        assert self._process is not None
        code = self._process.exit_code
        found = diagnose(self._process.tail(2000, offset), code)
        seconds = time.monotonic() - begin
        tail = self._process.tail(_TAIL_LINES, offset)
        return (
            f"vLLM {what} within {seconds:.0f} s (exit code {code}): {found.cause}; "
            f"{found.remedy}. Log: {self._log_file}; its last lines:\n{tail}"
        )


def _scratch_name() -> Path:
    """A path that nobody uses, short enough for Unix sockets in it."""
    parent = Path(tempfile.gettempdir())
    if len(str(parent)) > _MAX_SCRATCH_PATH:
        parent = Path("/tmp")
    return parent / f"wmt-vllm-{uuid.uuid4().hex[:12]}"


def _gpu_driver() -> bool:
    """Whether a driver is loaded; looks at files only, no GPU is opened."""
    if sys.platform != "linux":
        return False
    # The second is where WSL shows its driver.
    return Path("/proc/driver/nvidia/version").exists() or Path("/dev/dxg").exists()


def _hub_cache(model: str) -> Path:
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    return hub / ("models--" + model.replace("/", "--"))


def _may_download(model: str) -> bool:
    """Whether a gated model can be had: a token, a local folder, or cached weights."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    return bool(
        os.environ.get("HF_TOKEN")
        or (home / "token").is_file()
        or Path(model).is_dir()
        or any((_hub_cache(model) / "snapshots").glob("*/config.json"))
    )
