"""What the user has to put right before a cell can run; printed as plain lines, exit code 2."""

from __future__ import annotations

from collections.abc import Sequence


class CellFailed(Exception):
    """A cell did not come to its end through no fault of the user's; exit code 1."""


class SetupError(Exception):
    """One or more lines, each saying what is wrong, where, and what to do."""

    def __init__(self, lines: str | Sequence[str]) -> None:
        self.lines: tuple[str, ...] = (lines,) if isinstance(lines, str) else tuple(lines)
        super().__init__("\n".join(self.lines))
