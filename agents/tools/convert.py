"""Documents, images and recordings to text, in a child process.

The libraries that read these formats are large, and fed with files that nobody checked. In a child
they can be ended at the time limit, and neither a crash nor a memory bomb reaches the run.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from agents.tools.base import ToolError
from agents.tools.cassette import LastingError
from agents.tools.process import run_process

_ROOT = Path(__file__).resolve().parents[2]
_MAX_OUTPUT = 20_000_000


async def convert(kind: str, name: str, data: bytes, seconds: float) -> str:
    """The text of `data`; `kind` names a function of `converters`. Raises `ToolError`."""
    finished = await run_process(
        [sys.executable, "-m", "agents.tools.converters", kind, name],
        stdin=data,
        seconds=seconds,
        max_output=_MAX_OUTPUT,
        # Nothing of ours but what finds programs and model caches: no tokens, no keys.
        environment={
            key: value
            for key, value in os.environ.items()
            if key in ("PATH", "HOME", "LANG", "WMT_WHISPER_MODEL", "HF_HOME", "HF_HUB_CACHE")
        },
        folder=_ROOT,
    )
    if finished.stopped == "time":
        raise ToolError(f"{name} could not be read within {seconds:g} s.")
    if finished.stopped == "output":
        raise ToolError(f"{name} holds more text than can be read.")
    try:
        reply = json.loads(finished.output)
        if "error" in reply:
            raise ToolError(str(reply["error"]))
        if "lasting" in reply:
            raise LastingError(str(reply["lasting"]))
        return str(reply["text"])
    except (ValueError, KeyError):
        raise ToolError(f"{name} is damaged: reading it ended with {finished.status}.") from None
