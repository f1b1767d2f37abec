"""From text to statements: what a piece of a prompt says, by the phrasings of the lexicon.

A text may consist of sources, each under a header line `Document 12: TITLE ...`. In a source a
pronoun or "the town" means what the title names; a mark of distrust in the header holds for the
whole source, one in a sentence for that sentence. Tables and JSON records are read by their
headers, their first column names the subject.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agents.models.simulated.lexicon import Lexicon, SayPattern
from agents.models.simulated.mentions import Mention, read_list, read_mention, read_title

HEADER = re.compile(r"Document (?P<number>\d+): (?P<title>.*)")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")


@dataclass(frozen=True)
class Statement:
    """One thing that a text says. `text` is the sentence with its subject named."""

    relation: str
    subject: Mention
    value: str
    trusted: bool
    text: str

    @property
    def key(self) -> str:
        """The value in the form in which two statements agree."""
        mention = read_mention(self.value)
        return (mention.name if mention is not None else self.value.replace(",", "")).lower()


class Reader:
    """Reads texts with one lexicon; what a text says is remembered by the text alone."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.statements = lru_cache(maxsize=20_000)(self._statements)

    def _statements(self, text: str) -> tuple[Statement, ...]:
        """Everything that `text` states, in order."""
        return tuple(self._sources(text))

    def _sources(self, text: str) -> Iterator[Statement]:
        topic: Mention | None = None
        trusted = True
        lines: list[str] = []
        for line in text.splitlines():
            header = HEADER.match(line)
            if header is None:
                lines.append(line)
                continue
            yield from self._source(lines, topic, trusted)
            topic, trusted, lines = (
                read_title(header["title"]),
                not self.lexicon.distrusted(line),
                [],
            )
        yield from self._source(lines, topic, trusted)

    def _source(
        self, lines: list[str], topic: Mention | None, trusted: bool
    ) -> Iterator[Statement]:
        if not lines:
            return
        yield from self._records(lines)
        text = "\n".join(lines)
        patterns = [say for say in self.lexicon.says if say.anchor in text]
        if not patterns:
            return
        for line in lines:
            for sentence in _SENTENCE.split(line):
                for say in patterns:
                    if say.anchor not in sentence:
                        continue
                    statement = self._match(say, sentence, topic, trusted)
                    if statement is not None:
                        yield statement

    def _match(
        self, say: SayPattern, sentence: str, topic: Mention | None, trusted: bool
    ) -> Statement | None:
        match = say.regex.search(sentence)
        if match is None:
            return None
        subject = read_mention(match["s"])
        named = sentence.strip()
        if subject is None:
            if topic is None:
                return None
            subject = topic
            start, end = match.span("s")
            name = str(topic) if start else str(topic)[:1].upper() + str(topic)[1:]
            named = (sentence[:start] + name + sentence[end:]).strip()
        value = self._value(say.relation, match["v"])
        if value is None:
            return None
        believed = trusted and not self.lexicon.distrusted(sentence)
        return Statement(say.relation, subject, value, believed, named)

    def _value(self, relation: str, raw: str) -> str | None:
        """A value as an answer would give it; entities keep their descriptor."""
        kind = self.lexicon.relations[relation].value
        if kind == "number":
            return raw.replace(",", "").replace("−", "-")
        if kind == "list":
            return ", ".join(read_list(raw))
        if kind == "entity":
            mention = read_mention(raw)
            return None if mention is None else str(mention)
        return raw

    def _records(self, lines: list[str]) -> Iterator[Statement]:
        """Rows of tables (`| a | b |`, or cells between commas or tabs) and of JSON records."""
        columns = self.lexicon.columns
        if not columns:
            return
        headers: list[str] = []
        for line in lines:
            cells = _cells(line)
            lowered = [cell.lower() for cell in cells]
            if len(cells) > 1 and any(cell in columns for cell in lowered[1:]):
                headers = lowered
            elif headers and len(cells) == len(headers):
                yield from self._row(dict(zip(headers, cells, strict=True)))
            else:
                headers = []
        if any(line.lstrip().startswith(("{", "[")) for line in lines[:3]):
            for record in _json_records("\n".join(lines)):
                yield from self._row(record)

    def _row(self, row: dict[str, str]) -> Iterator[Statement]:
        name, *_ = row.values()
        subject = read_mention(name) or read_title(name)
        if subject is None:
            return
        for header, cell in row.items():
            relation = self.lexicon.columns.get(header)
            value = self._value(relation, cell) if relation and cell else None
            if relation and value is not None:
                phrase = self.lexicon.relations[relation].say[0]
                text = phrase.replace("{s}", str(subject)).replace("{v}", value) + "."
                yield Statement(relation, subject, value, True, text[:1].upper() + text[1:])


def _cells(line: str) -> list[str]:
    stripped = line.strip()
    if stripped.startswith("|"):
        return [cell.strip() for cell in stripped.strip("|").split("|")]
    for mark in ("\t", ","):
        if mark in stripped:
            return [cell.strip() for cell in stripped.split(mark)]
    return []


def _json_records(text: str) -> Iterator[dict[str, str]]:
    try:
        value: Any = json.loads(text)
    except ValueError:
        return
    queue = [value]
    while queue:
        item = queue.pop(0)
        if isinstance(item, dict):
            flat = {k.lower(): str(v) for k, v in item.items() if isinstance(v, str | int | float)}
            if len(flat) > 1:
                yield flat
            queue += [v for v in item.values() if isinstance(v, dict | list)]
        elif isinstance(item, list):
            queue += item
