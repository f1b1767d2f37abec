"""What the simulated reader knows of language: how relations are asked for and stated. No facts.

A lexicon is a YAML file with `relations` (key -> `value`, `ask`, `question`, `say`, `column`) and
`marks`, phrases by which a document says that it should not be trusted. `{s}` stands for the
subject, `{v}` for the value. Facts come from the prompt alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

ROOT = Path(__file__).resolve().parents[3]
"""Relative lexicon paths start here: the folder that holds `agents/`."""

_WORD = r"[^\W\d_a-z][\w'’-]*"
NAME = rf"{_WORD}(?:(?: (?:of|the|and|de)){{0,2}} {_WORD})*"
_PLAIN_NAME = rf"{_WORD}(?:(?: (?:of|the|de)){{0,2}} {_WORD})*"
_ARTICLE = r"(?:[Tt]he (?:[a-z][a-z-]* ){0,3})?"
MENTION = _ARTICLE + NAME
_ELEMENT = _ARTICLE + _PLAIN_NAME
_BACK_REFERENCE = r"[Hh]e|[Ss]he|[Tt]hey|[Ii]t|[Tt]he [a-z][a-z-]*(?: [a-z][a-z-]*)?"
_LEFT, _RIGHT = r"(?<![\w'’-])", r"(?!\w)"
_SUBJECT = rf"{_LEFT}(?P<s>{MENTION}|{_BACK_REFERENCE}){_RIGHT}"
_VALUES = {
    "number": r"(?<![\w.,])(?P<v>[-−]?\d+(?:,\d{3})*(?:\.\d+)?)(?![\d%])",
    "entity": rf"{_LEFT}(?P<v>{MENTION}){_RIGHT}",
    "text": rf"{_LEFT}(?P<v>[^\W\d_][\w'’-]*(?: [^\W\d_][\w'’-]*){{0,3}}?){_RIGHT}",
    "list": rf"{_LEFT}(?P<v>{_ELEMENT}(?:, {_ELEMENT})*(?:,? and {_ELEMENT})?){_RIGHT}",
}

ValueType = Literal["number", "entity", "text", "list"]


class LexiconError(ValueError):
    """A lexicon file that cannot be used; the message names file, relation and phrase."""


class Relation(BaseModel):
    """One relation's language. `ask` are noun phrases, `question` whole questions, `say` clauses
    that state it, `column` headers of tables whose first column names the subject."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: ValueType
    ask: tuple[str, ...] = Field(min_length=1)
    question: tuple[str, ...] = ()
    say: tuple[str, ...] = Field(min_length=1)
    column: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _placeholders(self) -> Relation:
        for phrase in (*self.ask, *self.question):
            if phrase.count("{s}") != 1 or "{v}" in phrase:
                raise ValueError(f"{phrase!r} needs {{s}} once and no {{v}}")
        for phrase in self.say:
            if phrase.count("{s}") != 1 or phrase.count("{v}") != 1:
                raise ValueError(f"{phrase!r} needs {{s}} and {{v}} once each")
        return self


class LexiconFile(BaseModel):
    """One file as it stands."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    relations: dict[str, Relation]
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class SayPattern:
    """How a text states a relation. `anchor` is a literal part, for a quick first look; only a
    phrase whose anchor was met is compiled."""

    relation: str
    anchor: str
    phrase: str
    value: ValueType

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The phrase with a subject and a value in it."""
        return _say_regex(self.phrase, self.value)


@dataclass(frozen=True)
class AskPattern:
    """A phrase around a subject; `noun` for noun phrases, which may be nested. Where several
    relations share a phrase, it asks for all of them."""

    relations: tuple[str, ...]
    prefix: str
    suffix: str
    noun: bool

    def subject(self, text: str) -> str | None:
        """The part of `text` where the subject stands, if the phrase fits."""
        end = len(text) - len(self.suffix)
        if end <= len(self.prefix) or not text.endswith(self.suffix):
            return None
        head = text[: len(self.prefix)]
        same = head[1:] == self.prefix[1:] and head[:1].lower() == self.prefix[:1].lower()
        return text[len(self.prefix) : end] if same else None


@dataclass(frozen=True)
class Lexicon:
    """All relations of a reader, compiled once."""

    relations: dict[str, Relation]
    marks: tuple[str, ...]

    @cached_property
    def says(self) -> tuple[SayPattern, ...]:
        """Every way to state a relation."""
        return tuple(
            SayPattern(key, _anchor(phrase), phrase, relation.value)
            for key, relation in self.relations.items()
            for phrase in relation.say
        )

    @cached_property
    def asks(self) -> tuple[AskPattern, ...]:
        """Every way to ask for a relation, the most specific first."""
        shared: dict[tuple[str, str, bool], tuple[str, ...]] = {}
        for key, relation in self.relations.items():
            for noun, phrases in ((True, relation.ask), (False, relation.question)):
                for phrase in phrases:
                    prefix, _, suffix = phrase.removesuffix("?").partition("{s}")
                    same = prefix[:1].lower() + prefix[1:], suffix, noun
                    shared[same] = (*shared.get(same, ()), key)
        found = [
            AskPattern(keys, prefix, suffix, noun)
            for (prefix, suffix, noun), keys in shared.items()
        ]
        return tuple(sorted(found, key=lambda ask: -len(ask.prefix) - len(ask.suffix)))

    @cached_property
    def columns(self) -> dict[str, str]:
        """Table header, in lower case -> relation."""
        return {
            header.lower(): key
            for key, relation in self.relations.items()
            for header in relation.column
        }

    def distrusted(self, text: str) -> bool:
        """Whether `text` holds a mark of a source that a careful reader distrusts."""
        return any(mark in text for mark in self.marks)


def _anchor(phrase: str) -> str:
    """The longest literal part of a phrase, without its first letter, whose case is free."""
    first, *others = re.split(r"\{[sv]\}", phrase)
    return max((first[1:], *others), key=len)


def _say_regex(phrase: str, value: ValueType) -> re.Pattern[str]:
    parts = re.split(r"(\{[sv]\})", phrase)
    pattern = ""
    for at, part in enumerate(parts):
        if part == "{s}":
            pattern += _SUBJECT
        elif part == "{v}":
            pattern += _VALUES[value]
            if value == "text" and not any(parts[at + 1 :]):
                pattern += r"(?=\s*(?:[.,;:!?)]|$))"
        elif at == 0 and part:
            first = part[0]
            choice = f"[{first.upper()}{first.lower()}]" if first.isalpha() else re.escape(first)
            pattern += _LEFT + choice + re.escape(part[1:])
        else:
            pattern += re.escape(part)
    return re.compile(pattern + (_RIGHT if parts[-1] else ""))


def load(paths: Sequence[str]) -> Lexicon:
    """Read lexicon files; relative paths start at the repository root. Raises `LexiconError`."""
    return _load(tuple(str(ROOT / path) for path in paths))


@lru_cache(maxsize=16)
def _load(paths: tuple[str, ...]) -> Lexicon:
    relations: dict[str, Relation] = {}
    marks: dict[str, None] = {}
    for path in paths:
        try:
            file = LexiconFile.model_validate(yaml.safe_load(Path(path).read_text("utf-8")))
        except (OSError, yaml.YAMLError) as error:
            raise LexiconError(f"lexicon {path} cannot be read: {error}") from None
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise LexiconError(f"lexicon {path}, {where}: {first['msg']}") from None
        for key, relation in file.relations.items():
            if key in relations:
                raise LexiconError(
                    f"lexicon {path}: relation {key!r} stands in an earlier file too"
                )
            relations[key] = relation
        marks.update(dict.fromkeys(file.marks))
    return Lexicon(relations, tuple(marks))
