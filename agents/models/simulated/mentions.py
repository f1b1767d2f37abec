"""Names in texts, and when two mentions may mean the same thing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from agents.models.simulated.lexicon import NAME

_MENTION = re.compile(
    rf"(?:[Tt]he )?(?:(?P<descriptor>[a-z][a-z-]*(?: [a-z][a-z-]*){{0,2}}) )?(?P<name>{NAME})"
)
_PRONOUNS = frozenset(("He", "She", "It", "They"))
_TITLE = re.compile(rf"(?:The )?(?P<name>{NAME})(?: \((?P<descriptor>[a-z][a-z -]*)\))?")


@dataclass(frozen=True)
class Mention:
    """A name with the descriptor that tells it from its namesakes ("" if none was given)."""

    name: str
    descriptor: str = ""

    def fits(self, other: Mention) -> bool:
        """Same name, and no two different descriptors."""
        return self.name.lower() == other.name.lower() and (
            not self.descriptor or not other.descriptor or self.descriptor == other.descriptor
        )

    def __str__(self) -> str:
        return f"the {self.descriptor} {self.name}" if self.descriptor else self.name


@lru_cache(maxsize=50_000)
def read_mention(text: str) -> Mention | None:
    """`the navigator Tomas Hale` or `Tomas Hale` as a mention; None if it is no name."""
    match = _MENTION.fullmatch(text.strip())
    if match is None:
        return None
    name = match["name"].removeprefix("The ")
    return None if name in _PRONOUNS else Mention(name, match["descriptor"] or "")


@lru_cache(maxsize=50_000)
def read_title(text: str) -> Mention | None:
    """`Tomas Hale (navigator) - Gazetteer ...` as the mention of what the document is about."""
    match = _TITLE.match(text.strip())
    return None if match is None else Mention(match["name"], match["descriptor"] or "")


@lru_cache(maxsize=50_000)
def read_list(text: str) -> tuple[str, ...]:
    """`A, the brig B and C` as its names, in order."""
    parts = re.split(r", and | and |, ", text)
    mentions = [read_mention(part) for part in parts]
    return tuple(m.name if m else part.strip() for m, part in zip(mentions, parts, strict=True))
