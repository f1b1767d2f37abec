"""`python`: run code that nobody checked, in a cell of its own (see `sandbox`)."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

from agents.tools import sandbox
from agents.tools.arguments import refuse_unknown, schema, text_argument
from agents.tools.base import ToolError, ToolResult
from agents.tools.process import Finished, run_process
from agents.tools.textfiles import decode
from agents.tools.tokens import Parts

_MEGABYTE = 1 << 20
_LAUNCHER = str(Path(sandbox.__file__).resolve())


class PythonConfig(BaseModel):
    """Limits of one call: wall and computing seconds, memory per process, bytes printed.

    `unsafe` runs the code without isolation. It then has the network, your files and the right to
    end your processes (as root: all of the machine's), so keep it for throw-away machines.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    unsafe: bool = False
    seconds: PositiveFloat = 30.0
    cpu_seconds: PositiveInt = 20
    memory_mb: int = Field(1024, ge=64)
    processes: int = Field(16, ge=1)
    file_mb: PositiveInt = 16
    scratch_mb: PositiveInt = 64
    output_bytes: int = Field(200_000, ge=1000)

    def order(self, code: str, files: Sequence[Path]) -> dict[str, Any]:
        """What `sandbox.main` reads."""
        prefixes = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
        return {
            "isolated": not self.unsafe,
            "code": code,
            "python": sys.executable,
            # Where the interpreter and its libraries live; never the folder of this project.
            "visible": sorted({*prefixes, *map(os.path.realpath, prefixes)}),
            "files": {file.name: str(file.resolve()) for file in files},
            "cpu_seconds": self.cpu_seconds,
            "memory_bytes": self.memory_mb * _MEGABYTE,
            "processes": self.processes,
            "file_bytes": self.file_mb * _MEGABYTE,
            "scratch_bytes": self.scratch_mb * _MEGABYTE,
        }


async def _run(config: PythonConfig, code: str, files: Sequence[Path]) -> Finished:
    with tempfile.TemporaryDirectory() as name:
        if config.unsafe:  # the cell shows the files themselves, read-only
            for file in files:
                await asyncio.to_thread(shutil.copyfile, file, Path(name) / file.name)
        return await run_process(
            # A bare interpreter without variables: nothing of the parent reaches the launcher.
            [sys.executable, "-I", "-S", _LAUNCHER],
            stdin=json.dumps(config.order(code, files)).encode(),
            seconds=config.seconds,
            max_output=config.output_bytes,
            environment={},
            folder=Path(name),
            merge_errors=True,
        )


@cache
def why_not_isolated() -> str:
    """Why this machine cannot isolate code; "" if it can. Tried once per process."""
    if sys.platform != "linux":
        return "it needs Linux"
    with ThreadPoolExecutor(1) as beside:  # a loop may already be running in this thread
        probe = _run(PythonConfig(), "print('inside')", ())
        finished = beside.submit(asyncio.run, probe).result()
    text = decode(finished.output.removeprefix(sandbox.REFUSAL)).strip()
    return "" if finished.status == 0 and text == "inside" else text[-200:] or "no answer"


class RunPython:
    """The tool. Every call starts afresh: nothing of an earlier call is left."""

    name = "python"
    description = (
        "Run Python code and see what it prints. No network; attached files are in the working "
        "folder; nothing is kept between calls."
    )
    parameters: dict[str, Any] = schema(("code",), code=("string", "a whole program that prints"))

    def __init__(
        self,
        files: Sequence[Path] = (),
        *,
        result_tokens: int = 2000,
        config: PythonConfig | None = None,
    ) -> None:
        self._files = tuple(files)
        self._result_tokens = result_tokens
        self._config = config or PythonConfig()

    async def call(self, arguments: dict[str, Any]) -> ToolResult:
        """Run `code`; a program that fails is a result that is not ok. Raises `ToolError`."""
        refuse_unknown(arguments, self.parameters)
        code = text_argument(arguments, "code")
        finished = await _run(self._config, code, self._files)
        if finished.status == sandbox.REFUSED and finished.output.startswith(sandbox.REFUSAL):
            reason = decode(finished.output[len(sandbox.REFUSAL) :])
            raise ToolError(f"Python code cannot be isolated on this machine ({reason}).")
        return self._result(finished)

    def _result(self, finished: Finished) -> ToolResult:
        printed = Parts.of(decode(finished.output).strip(), self._result_tokens)
        text = printed.pieces[0].rstrip()
        if len(printed.pieces) > 1:
            text += (
                f"\n[cut here, after part 1 of {len(printed.pieces)}; the rest is not kept: "
                "print less, or only the part you need]"
            )
        ended = self._ended(finished)
        if ended:
            return ToolResult(f"{text}\n[{ended}]".strip(), ok=False)
        if not text:
            return ToolResult("[nothing was printed; print what you want to see]", ok=False)
        return ToolResult(text)

    def _ended(self, finished: Finished) -> str:
        """How the program ended, if not well."""
        if finished.stopped == "time":
            return f"stopped after {self._config.seconds:g} s"
        if finished.stopped == "output":
            return f"stopped after {self._config.output_bytes} bytes of output"
        number = finished.status - 128 if finished.status > 128 else -finished.status
        if number == signal.SIGXCPU:
            return f"stopped after {self._config.cpu_seconds} s of computing"
        if number in signal.valid_signals():
            return f"killed by {signal.Signals(number).name}"
        return f"exit status {finished.status}" if finished.status else ""
