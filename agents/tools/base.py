"""What a tool is. The same tools serve every memory, so that only the memory differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class ToolResult:
    """What a tool observed. `ok` is the operational outcome: an empty result is not ok.

    `images` are data URLs for models that see.
    """

    text: str
    ok: bool = True
    images: tuple[str, ...] = ()


class ToolError(Exception):
    """A call that failed in a way the model should see: a bad argument, a dead page, a timeout.

    Recorded as a failed action. Any other exception out of a tool is a bug and stops the cell.
    """


class Tool(Protocol):
    """A named operation with JSON-schema parameters."""

    name: str
    description: str
    parameters: dict[str, Any]

    async def call(self, arguments: dict[str, Any]) -> ToolResult:
        """Run it; raises `ToolError`."""
        ...
