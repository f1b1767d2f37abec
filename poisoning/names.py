"""Invented names and values, so that nothing in the corpus can be known from elsewhere."""

from __future__ import annotations

import random
from collections.abc import Collection

from poisoning.phrasings import Attribute, NameParts


class Names:
    """Draws entity names that were not drawn before in the whole corpus, and values of a type."""

    def __init__(self, parts: NameParts, rng: random.Random) -> None:
        self._parts = parts
        self._rng = rng
        self._used: set[str] = set()

    def stem(self, taken: Collection[str]) -> str:
        """A new entity's stem, such as `Brenholt`, that is not in `taken`."""
        for _ in range(10_000):
            stem = self._place()
            if stem not in self._used and stem not in taken:
                self._used.add(stem)
                return stem
        raise RuntimeError("phrasings.yaml: no unused name is left; add onsets or codas")

    def passing(self, taken: Collection[str]) -> str:
        """A stem of a name mentioned in passing; another scenario may draw it again."""
        while True:
            stem = self._place()
            if stem not in taken:
                return stem

    def value(self, attribute: Attribute, taken: Collection[str]) -> str:
        """A value of the attribute's type that is not in `taken`."""
        while True:
            value = self._draw(attribute)
            if value not in taken:
                return value

    def rival(self, attribute: Attribute, answer: str, taken: Collection[str]) -> str:
        """A plausible wrong value of the same type: a number near the right one, else any other."""
        while True:
            if attribute.type == "year":
                value = str(int(answer) + self._rng.choice((-1, 1)) * self._rng.randint(1, 30))
            elif attribute.type == "number":
                value = str(round(int(answer) * self._rng.uniform(0.6, 1.6)))
            else:
                value = self._draw(attribute)
            if value != answer and value not in taken:
                return value

    def _draw(self, attribute: Attribute) -> str:
        rng, parts = self._rng, self._parts
        if attribute.type == "year":
            return str(rng.randint(1861, 2009))
        if attribute.type == "number":
            return str(rng.randint(*attribute.range))
        if attribute.type == "person":
            family = rng.choice(parts.family_stems) + rng.choice(parts.family_ends)
            return f"{rng.choice(parts.given)} {family}"
        place = self._place()
        return place if attribute.type == "place" else f"{place} {rng.choice(parts.trades)}"

    def _place(self) -> str:
        return self._rng.choice(self._parts.onsets) + self._rng.choice(self._parts.codas)
