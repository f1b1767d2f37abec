"""The text of a document: its facts in varied phrasings, between sentences that state nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random

import yaml

from benchmarks.archive import filler
from benchmarks.archive.kinds import Attribute, Link, Links, Number
from benchmarks.archive.world import Role, Value, World

LEXICON = Path(__file__).with_name("lexicon.yaml")
SHORTEST, LONGEST = 200, 1200
"""Bounds of a document's length in words."""

_WORKS: dict[Role, tuple[str, ...]] = {
    "main": ("Gazetteer of the Seven Reaches", "General Handbook", "Cyclopaedia of the Reaches"),
    "companion": ("Proceedings of the Antiquaries", "Quarterly Review", "Reports of the Survey"),
    "outdated": (
        "Gazetteer of the Seven Reaches",
        "General Handbook",
        "Cyclopaedia of the Reaches",
    ),
    "mirror": ("Open Reach Pages", "Reaches for Everyone", "Common Handbook Copy"),
}


@dataclass(frozen=True)
class Document:
    """One document. `title` names what it is about, the work, and what the work says of itself."""

    number: int
    title: str
    text: str
    sentences: dict[str, str]


@lru_cache(maxsize=1)
def phrasings() -> dict[str, dict[str, tuple[str, ...]]]:
    """Relation -> `ask`, `say` and `column` phrases of the archive's lexicon."""
    loaded = yaml.safe_load(LEXICON.read_text("utf-8"))["relations"]
    return {
        key: {name: tuple(entry.get(name, ())) for name in ("ask", "say", "column")}
        for key, entry in loaded.items()
    }


def write(world: World, number: int) -> Document:
    """Write document `number`; the same world and number give the same text."""
    source = world.sources[number - 1]
    rng = world.rng("text", number)
    title = _title(world, number, rng)
    told = list(world.told(number).items())
    rng.shuffle(told)
    facts = {key: _fact(world, source.entity, key, value, rng) for key, value in told}
    length = round(rng.triangular(SHORTEST + 40, LONGEST - 120, 480))
    lines = list(facts.values())
    words = sum(len(line.split()) for line in lines)
    fill: list[str] = []
    while words < length:
        fill.append(filler.sentence(rng))
        words += len(fill[-1].split())
    # Facts fall anywhere among the filler; an order of facts is kept.
    places = sorted(rng.sample(range(len(lines) + len(fill)), len(lines)))
    for place, line in zip(places, lines, strict=True):
        fill.insert(place, line)
    opening = rng.choice(filler.OPENINGS).replace("{s}", world.mention(source.entity, full=True))
    return Document(number, title, _paragraphs([opening, *fill], rng), facts)


def _title(world: World, number: int, rng: Random) -> str:
    source = world.sources[number - 1]
    entity = world.entities[source.entity]
    name = entity.name
    if world.ambiguous(source.entity):
        name += f" ({entity.descriptor})"
    work = rng.choice(_WORKS[source.role])
    match source.role:
        case "outdated":
            return f"{name} - {work}, edition of {rng.randint(1951, 1989)}, since superseded"
        case "mirror":
            return f"{name} - {work}, an unofficial mirror"
        case "companion":
            return f"{name} - {work}, volume {rng.randint(2, 60)}"
        case _:
            return f"{name} - {work}, edition of {rng.randint(2012, 2021)}"


def _fact(world: World, entity: int, relation: str, value: Value, rng: Random) -> str:
    """One sentence that states a fact."""
    attribute = world.attributes(entity)[relation]
    phrase = rng.choice(phrasings()[relation]["say"])
    return _sentence(
        phrase,
        _subject(world, entity, phrase, rng),
        shown(world, attribute, value, rng),
        rng.choice(filler.LEADS) if rng.random() < 0.35 else "",
        rng.choice(filler.TAILS) if rng.random() < 0.25 else "",
    )


def _sentence(phrase: str, subject: str, value: str, lead: str = "", tail: str = "") -> str:
    text = lead + phrase.replace("{s}", subject).replace("{v}", value) + tail + "."
    return text[0].upper() + text[1:]


def plain_sentence(world: World, entity: int, relation: str, rng: Random) -> str:
    """A fact with its subject named, for a text file."""
    attribute = world.attributes(entity)[relation]
    value = shown(world, attribute, world.facts(entity)[relation], rng)
    return _sentence(rng.choice(phrasings()[relation]["say"]), world.mention(entity), value)


def _subject(world: World, entity: int, phrase: str, rng: Random) -> str:
    found = world.entities[entity]
    draw = rng.random()
    if draw < 0.5:
        return world.mention(entity, full=rng.random() < 0.3)
    if draw < 0.75 and phrase.startswith("{s} "):
        return found.pronoun
    return f"the {found.descriptor}"


def shown(world: World, attribute: Attribute, value: Value, rng: Random) -> str:
    """A value as prose has it."""
    if isinstance(attribute, Link) and isinstance(value, int):
        return world.mention(value, full=rng.random() < 0.25)
    if isinstance(attribute, Links) and isinstance(value, tuple):
        names = [world.mention(index) for index in value]
        return f"{', '.join(names[:-1])} and {names[-1]}"
    if isinstance(attribute, Number) and not attribute.year and isinstance(value, int):
        return f"{value:,}" if rng.random() < 0.6 else str(value)
    return str(value)


def _paragraphs(sentences: list[str], rng: Random) -> str:
    paragraphs: list[str] = []
    at = 0
    while at < len(sentences):
        size = rng.randint(3, 7)
        paragraphs.append(" ".join(sentences[at : at + size]))
        at += size
    return "\n".join(paragraphs)


_END = re.compile(r"(?<=[.!?])\s+")


def pages(text: str, page_words: int) -> list[str]:
    """A text cut into pages of at most `page_words` words, never inside a sentence."""
    cut: list[list[str]] = [[]]
    used = 0
    for paragraph in text.splitlines():
        line: list[str] = []
        for sentence in _END.split(paragraph):
            words = len(sentence.split())
            if used and used + words > page_words:
                cut[-1] += [" ".join(line)] if line else []
                cut.append([])
                line, used = [], 0
            line.append(sentence)
            used += words
        cut[-1] += [" ".join(line)] if line else []
    return ["\n".join(lines) for lines in cut]
