"""From a question to what has to be known: nested look-ups and what is done with them.

What is the sum of A and B?  ->  Combine("sum", (A, B))
the mayor of the birthplace of X  ->  Lookup(mayor, Lookup(birthplace, Name(X)))
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from agents.models.simulated.lexicon import Lexicon
from agents.models.simulated.mentions import Mention, read_mention


@dataclass(frozen=True)
class Name:
    """Something that the question names."""

    mention: Mention
    text: str


@dataclass(frozen=True)
class Lookup:
    """One hop: the value for `subject` of any of `relations`, which one phrase asks for; `text` is
    that phrase with its subject."""

    relations: tuple[str, ...]
    subject: Lookup | Name
    text: str

    @property
    def depth(self) -> int:
        """Number of hops."""
        return 1 + (self.subject.depth if isinstance(self.subject, Lookup) else 0)


@dataclass(frozen=True)
class Combine:
    """What is done with looked-up values; `op` is `value`, `pair`, `sorted`, `sum`, `difference`,
    `greater` or `smaller`."""

    op: str
    parts: tuple[Lookup, ...]


_FORMS = (
    ("sum", r"(?:What is|Give|Find|Determine) the sum of {a} and {b}"),
    ("difference", r"By how much does {a} exceed {b}"),
    ("difference", r"(?:What is|Give|Find|Determine) the difference between {a} and {b}"),
    ("greater", r"(?:What is|Give|Find|Determine) the greater of {a} and {b}"),
    ("smaller", r"(?:What is|Give|Find|Determine) the smaller of {a} and {b}"),
    ("pair", r"(?:Give|Name|State) {a} and {b}, in that order(?:, separated by a comma)?"),
    ("sorted", r"(?:List|Name) {a},? in alphabetical order(?:, separated by commas)?"),
    (
        "value",
        r"(?:(?:What|Who|Which|Where|When) (?:is|was|are|were)|Give|Find(?: out)?|Determine"
        r"|Establish|Name|State|Identify|Look up) {a}",
    ),
)
_COMPILED = tuple(
    (op, re.compile(form.replace("{a}", "(?P<a>.+)").replace("{b}", "(?P<b>.+)")))
    for op, form in _FORMS
)
_QUESTION_END = re.compile(r"(?<=[.?!])\s+|\n")


class Parser:
    """Reads questions and goals with one lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.phrase = lru_cache(maxsize=20_000)(self._phrase)
        self.question = lru_cache(maxsize=20_000)(self._question)

    def _phrase(self, text: str) -> Lookup | None:
        """A noun phrase that asks for something, e.g. `the mayor of the birthplace of X`."""
        text = text.strip()
        for ask in self.lexicon.asks:
            inner = ask.subject(text) if ask.noun else None
            if inner is None:
                continue
            subject = self._subject(inner)
            if subject is not None:
                return Lookup(ask.relations, subject, text)
        return None

    def _subject(self, text: str) -> Lookup | Name | None:
        nested = self.phrase(text)
        if nested is not None:
            return nested
        mention = read_mention(text)
        return None if mention is None else Name(mention, text)

    def _question(self, text: str) -> Combine | None:
        """The first sentence of `text` that asks something; None if there is none."""
        for sentence in _QUESTION_END.split(text):
            found = self._sentence(sentence.strip().rstrip("?.!").strip())
            if found is not None:
                return found
        return None

    def _sentence(self, text: str) -> Combine | None:
        for op, form in _COMPILED:
            match = form.fullmatch(text)
            if match is None:
                continue
            if "b" not in match.groupdict():
                part = self.phrase(match["a"])
                if part is not None:
                    return Combine(op, (part,))
                continue
            for left, right in _splits(text[match.start("a") : match.end("b")]):
                parts = self.phrase(left), self.phrase(right)
                if parts[0] is not None and parts[1] is not None:
                    return Combine(op, (parts[0], parts[1]))
        for ask in self.lexicon.asks:
            inner = None if ask.noun else ask.subject(text)
            subject = None if inner is None else self._subject(inner)
            if subject is not None:
                return Combine("value", (Lookup(ask.relations, subject, text),))
        bare = self.phrase(text)
        return None if bare is None else Combine("value", (bare,))


def _splits(text: str) -> Iterator[tuple[str, str]]:
    """Every way to cut `A and B` (or `A exceed B`) in two."""
    for match in re.finditer(r" and | exceed ", text):
        yield text[: match.start()], text[match.end() :]
