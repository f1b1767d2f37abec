"""Keeps pages that hold a benchmark's questions with their answers from the agent, and counts them.

Two signs: an address or phrase of the list in the configuration, and a long run of the question's
own words. What is dropped goes into every row, so that a reader sees how often it mattered.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field

_WORD = re.compile(r"[^\W_]+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
"""Soft hyphens and characters without width, which part words for a program only."""


class ContaminationConfig(BaseModel):
    """The list. `addresses` are parts of web addresses, `phrases` parts of texts, in any case;
    `question_words` is the run of words of the question that marks a text as a copy of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    addresses: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    question_words: int = Field(15, ge=5)


class ContaminationGuard:
    """Judges addresses and texts for one question."""

    def __init__(self, config: ContaminationConfig, question: str) -> None:
        self._addresses = tuple(part.lower() for part in config.addresses)
        self._phrases = tuple(_words(phrase) for phrase in config.phrases)
        words = _words(question).split()
        # A question shorter than the run is looked for as a whole.
        length = min(config.question_words, len(words))
        runs = range(len(words) - length + 1) if length >= 5 else range(0)
        self._runs = {" ".join(words[at : at + length]) for at in runs}
        self._length = length

    def bars_address(self, url: str) -> bool:
        """Whether `url` is on the list."""
        written = unquote(unquote(url)).lower()  # some sites decode an address twice
        return any(part in written for part in self._addresses)

    def bars_text(self, text: str) -> bool:
        """Whether `text` holds a listed phrase or a long run of the question."""
        plain = _words(text)
        if any(f" {phrase} " in f" {plain} " for phrase in self._phrases):
            return True
        if not self._runs:
            return False
        words = plain.split()
        length = self._length
        return any(
            " ".join(words[at : at + length]) in self._runs for at in range(len(words) - length + 1)
        )


def _words(text: str) -> str:
    """Lower-case words with one blank between, so that markup, line breaks and other ways to write
    the same letters hide nothing."""
    plain = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    return " ".join(_WORD.findall(plain.lower()))
