"""The archive's world: entities, what is true of them, and which documents say what.

Everything follows from the seed. Entities and the list of documents are made at once and kept
small; facts and texts are made when they are asked for, so that a world of 100,000 documents fits
into memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Literal

from benchmarks.archive.kinds import KINDS, Attribute, Link, Links, Number, Word, name_for

Value = int | str | tuple[int, ...]
"""An entity's index (Link), a number, a word, or the indices of several entities (Links)."""

Role = Literal["main", "companion", "outdated", "mirror"]
_ROLES: tuple[tuple[int, tuple[Role, ...]], ...] = (
    (44, ("main",)),
    (14, ("main", "companion")),
    (14, ("main", "outdated")),
    (14, ("main", "mirror")),
    (4, ("main", "companion", "outdated")),
    (4, ("main", "companion", "mirror")),
    (6, ("main", "outdated", "mirror")),
)
_NAMESAKE_SHARE = 0.14


@dataclass(frozen=True, slots=True)
class Entity:
    """One thing of the world. `ambiguous` if another of its kind has the same name."""

    index: int
    kind: str
    name: str
    descriptor: str
    pronoun: str


@dataclass(frozen=True, slots=True)
class Source:
    """One document before its text: what it is about and what manner of document it is."""

    entity: int
    role: Role

    @property
    def official(self) -> bool:
        """Neither a superseded edition nor an unofficial mirror."""
        return self.role in ("main", "companion")


class World:
    """A world of `documents` documents, numbered from 1 in an order that says nothing."""

    def __init__(self, seed: int, documents: int) -> None:
        self.seed = seed
        self.withheld: set[tuple[int, str]] = set()
        self.entities: list[Entity] = []
        self.by_kind: dict[str, list[int]] = {kind: [] for kind in KINDS}
        self.namesakes: dict[int, int] = {}
        self.sources: list[Source] = []
        self._populate(documents)
        self.documents_of: dict[int, list[int]] = {}
        for number, source in enumerate(self.sources, start=1):
            self.documents_of.setdefault(source.entity, []).append(number)
        self.facts = lru_cache(maxsize=20_000)(self._facts)
        self.rivals = lru_cache(maxsize=20_000)(self._rivals)

    def rng(self, *key: object) -> Random:
        """A random stream of its own for each key; strings seed the same way in every process."""
        return Random("/".join(map(str, (self.seed, *key))))

    def _populate(self, documents: int) -> None:
        rng = self.rng("population")
        kinds, weights = list(KINDS), [kind.weight for kind in KINDS.values()]
        taken: set[str] = set()
        while len(self.sources) < documents:
            index = len(self.entities)
            # Two of each kind come first, so that every link has somewhere to go; towns and people
            # stand in lists and need a few more.
            first = (*kinds, *kinds, *["person"] * 4, *["town"] * 4)
            kind = first[index] if index < len(first) else rng.choices(kinds, weights)[0]
            self._add(index, kind, rng, taken)
            roles = rng.choices([r for _, r in _ROLES], [w for w, _ in _ROLES])[0]
            room = documents - len(self.sources)
            self.sources += [Source(index, role) for role in roles[:room]]
        rng.shuffle(self.sources)

    def _add(self, index: int, kind: str, rng: Random, taken: set[str]) -> None:
        descriptors = KINDS[kind].descriptors
        descriptor = rng.choice(descriptors)
        twin = None
        if KINDS[kind].namesakes and self.by_kind[kind] and rng.random() < _NAMESAKE_SHARE:
            twin = rng.choice(self.by_kind[kind])
        if twin is not None and twin not in self.namesakes:
            name = self.entities[twin].name
            descriptor = rng.choice([d for d in descriptors if d != self.entities[twin].descriptor])
            self.namesakes[twin], self.namesakes[index] = index, twin
        else:
            name = name_for(kind, rng, crowded=False)
            while name.lower() in taken:
                name = name_for(kind, rng, crowded=True)
        taken.add(name.lower())
        pronoun = rng.choice(KINDS[kind].pronouns)
        self.entities.append(Entity(index, kind, name, descriptor, pronoun))
        self.by_kind[kind].append(index)

    def attributes(self, entity: int) -> dict[str, Attribute]:
        """What can be known of an entity."""
        return KINDS[self.entities[entity].kind].attributes

    def _facts(self, entity: int) -> dict[str, Value]:
        """What is true of an entity, by relation."""
        rng = self.rng("facts", entity)
        return {key: self._draw(a, entity, rng) for key, a in self.attributes(entity).items()}

    def _draw(self, attribute: Attribute, entity: int, rng: Random) -> Value:
        match attribute:
            case Number(low=low, high=high, year=year):
                # Even in the logarithm, so that a town is more often small than large.
                return rng.randint(low, high) if year else round(low * (high / low) ** rng.random())
            case Word(words=words):
                return rng.choice(words)
            case Link(kind=kind):
                return self._other(kind, {entity}, rng)
            case Links(kind=kind):
                chosen: list[int] = []
                for _ in range(rng.randint(2, 4)):
                    # No two of one name in a list: it would read like a repetition.
                    names = {self.entities[i].name for i in (entity, *chosen)}
                    chosen.append(self._other(kind, {entity, *chosen}, rng, names))
                return tuple(chosen)

    def _other(self, kind: str, avoid: set[int], rng: Random, names: set[str] | None = None) -> int:
        while True:
            found = rng.choice(self.by_kind[kind])
            if found not in avoid and self.entities[found].name not in (names or ()):
                return found

    def _rivals(self, entity: int, role: Role) -> dict[str, Value]:
        """What a document of this role says otherwise than it is: nothing, or at least two things
        where a superseded edition or an unofficial mirror errs."""
        if role in ("main", "companion"):
            return {}
        rng = self.rng("rivals", entity, role)
        attributes = self.attributes(entity)
        count = min(len(attributes), max(2, round(len(attributes) * 0.5)))
        wrong: dict[str, Value] = {}
        for key in rng.sample(list(attributes), count):
            value = self.facts(entity)[key]
            while (other := self._draw(attributes[key], entity, rng)) == value or self._same_names(
                attributes[key], other, value
            ):
                pass
            wrong[key] = other
        return wrong

    def _same_names(self, attribute: Attribute, one: Value, other: Value) -> bool:
        """Whether two values read alike although they differ (namesakes)."""
        if isinstance(attribute, Link) and isinstance(one, int) and isinstance(other, int):
            return self.entities[one].name == self.entities[other].name
        return False

    def told(self, number: int) -> dict[str, Value]:
        """What document `number` says of its entity, by relation."""
        source = self.sources[number - 1]
        facts = {**self.facts(source.entity), **self.rivals(source.entity, source.role)}
        roles = [self.sources[n - 1].role for n in self.documents_of[source.entity]]
        if source.role in ("main", "companion") and "companion" in roles:
            # The companion alone tells one thing; it shares about half of the rest with the main.
            rng = self.rng("companion", source.entity)
            keys = list(facts)
            rng.shuffle(keys)
            mine = keys[1:] if source.role == "main" else keys[: 1 + len(keys) // 2]
            facts = {key: facts[key] for key in mine}
        return {k: v for k, v in facts.items() if (source.entity, k) not in self.withheld}

    def official_documents(self, entity: int, relation: str) -> Iterator[int]:
        """Documents that can be trusted and state a relation of an entity."""
        for number in self.documents_of.get(entity, ()):
            if self.sources[number - 1].official and relation in self.told(number):
                yield number

    def false_values(self, entity: int, relation: str) -> list[Value]:
        """What superseded editions, unofficial mirrors and a namesake give instead."""
        found: list[Value] = []
        truth = self.facts(entity)[relation]
        for number in self.documents_of.get(entity, ()):
            source = self.sources[number - 1]
            if not source.official and (entity, relation) not in self.withheld:
                rival = self.rivals(entity, source.role).get(relation)
                found += [] if rival is None else [rival]
        twin = self.namesakes.get(entity)
        if twin is not None and self.documents_of.get(twin):
            found.append(self.facts(twin)[relation])
        return [value for value in found if value != truth]

    def ambiguous(self, entity: int) -> bool:
        """Whether the bare name would leave two things open."""
        return entity in self.namesakes

    def mention(self, entity: int, full: bool = False) -> str:
        """How a text names an entity: with its descriptor where the name is not enough."""
        found = self.entities[entity]
        if self.ambiguous(entity) or (full and KINDS[found.kind].namesakes):
            return f"the {found.descriptor} {found.name}"
        return found.name

    def answer(self, attribute: Attribute, value: Value) -> str:
        """A value as the answer to a question; several entities in alphabetical order."""
        if isinstance(attribute, Link) and isinstance(value, int):
            return self.entities[value].name
        if isinstance(value, tuple):
            return ", ".join(sorted(self.entities[index].name for index in value))
        return str(value)
