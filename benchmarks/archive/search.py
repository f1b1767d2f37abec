"""BM25 search over titles and texts, and the shelf from which documents are read."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from functools import lru_cache

import bm25s
import numpy as np

from benchmarks.archive import prose
from benchmarks.archive.prose import Document
from benchmarks.archive.world import World

_TOKEN = re.compile(r"\w\w+")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by for from had has have he her his in into is it its of on or she "
        "that the their they this to was were which who with whom what where when",
    )
)
TITLE_WEIGHT = 3
"""How often a title counts, so that what a document is about outweighs what it mentions."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def tokens(text: str) -> list[str]:
    """Words of two letters and more in lower case, the commonest ones left out."""
    return [word for word in _TOKEN.findall(text.lower()) if word not in _STOP]


class Library:
    """The documents of a world. The index is built at the first search."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.document = lru_cache(maxsize=5000)(self._document)
        self._index: bm25s.BM25 | None = None
        self._vocabulary: dict[str, int] = {}

    @property
    def size(self) -> int:
        """Number of documents; they are numbered from 1."""
        return len(self.world.sources)

    def _document(self, number: int) -> Document:
        return prose.write(self.world, number)

    def search(self, query: str, results: int) -> list[int]:
        """Numbers of the best documents, best first; equal scores in order of number."""
        if self._index is None:
            self._index = self._build()
        asked = [self._vocabulary[word] for word in tokens(query) if word in self._vocabulary]
        if not asked:
            return []
        scores = self._index.get_scores(asked)
        found = np.flatnonzero(scores > 0)
        order = found[np.lexsort((found, -scores[found]))]
        return [int(at) + 1 for at in order[:results]]

    def _build(self) -> bm25s.BM25:
        """Texts are written one after the other and only their word numbers are kept."""
        corpus: list[array[int]] = []
        known = self._vocabulary
        for number in range(1, self.size + 1):
            document = prose.write(self.world, number)
            words = tokens(document.title) * TITLE_WEIGHT + tokens(document.text)
            corpus.append(array("i", [known.setdefault(word, len(known)) for word in words]))
        index = bm25s.BM25()
        index.index((corpus, known), create_empty_token=False, show_progress=False)
        return index

    def snippet(self, number: int, query: str, most_words: int) -> str:
        """The sentence of a document that shares the rarest words with the query."""
        sentences = [s for line in self.document(number).text.splitlines() for s in _split(line)]
        bags = [frozenset(tokens(sentence)) for sentence in sentences]
        frequency = Counter(word for bag in bags for word in bag)
        asked = sorted(set(tokens(query)))
        weights = [sum(1 / frequency[word] for word in asked if word in bag) for bag in bags]
        best = sentences[max(range(len(weights)), key=lambda at: weights[at])]
        words = best.split()
        return best if len(words) <= most_words else " ".join(words[:most_words]) + " ..."


def _split(line: str) -> list[str]:
    return _SENTENCE.split(line)
