"""The selector that calls no model: BM25 relevance to the active task, combined with u and U."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from bm25s.stopwords import STOPWORDS_EN

from wmt.memory import Selection
from wmt.selectors import Candidate, Chosen, SelectionRequest

_TOKEN = re.compile(r"\b\w\w+\b")
_STOPWORDS = frozenset(STOPWORDS_EN)


def tokens(text: str) -> list[str]:
    """Words as `bm25s.tokenize` splits them by default, English stop words left out."""
    return [word for word in _TOKEN.findall(text.lower()) if word not in _STOPWORDS]


class IncrementalBM25:
    """BM25 (Lucene's variant, k1 1.5, b 0.75: the defaults of bm25s) over a changing set of texts.

    bm25s builds an index once and cannot take a document out or in, and rebuilding costs over a
    millisecond for ten documents at every step. Its scores are the reference in the tests.
    """

    def __init__(self, k1: float = 1.5, b: float = 0.75) -> None:
        self._k1, self._b = k1, b
        self._texts: dict[int, str] = {}
        self._counts: dict[int, Counter[str]] = {}
        self._lengths: dict[int, int] = {}
        self._postings: dict[str, dict[int, int]] = {}
        self._total = 0

    def update(self, texts: Mapping[int, str]) -> None:
        """Make the index hold exactly `texts`; only what is new, changed or gone costs."""
        for doc in [doc for doc in self._texts if doc not in texts]:
            self._remove(doc)
        for doc, text in texts.items():
            known = self._texts.get(doc)
            if known is text or known == text:
                continue
            if known is not None:
                self._remove(doc)
            self._add(doc, text)

    def scores(self, query: Iterable[str]) -> dict[int, float]:
        """Score of every document that holds a word of the query, a repeated word repeatedly."""
        found: dict[int, float] = {}
        number = len(self._texts)
        mean_length = self._total / number if number else 0.0
        for word, repeats in Counter(query).items():
            posting = self._postings.get(word)
            if posting is None:
                continue
            idf = math.log(1 + (number - len(posting) + 0.5) / (len(posting) + 0.5))
            for doc, count in posting.items():
                norm = 1 - self._b + self._b * self._lengths[doc] / mean_length
                gain = repeats * idf * count / (count + self._k1 * norm)
                found[doc] = found.get(doc, 0.0) + gain
        return found

    def _add(self, doc: int, text: str) -> None:
        words = tokens(text)
        counts = Counter(words)
        self._texts[doc], self._counts[doc], self._lengths[doc] = text, counts, len(words)
        self._total += len(words)
        for word, count in counts.items():
            self._postings.setdefault(word, {})[doc] = count

    def _remove(self, doc: int) -> None:
        del self._texts[doc]
        self._total -= self._lengths.pop(doc)
        for word in self._counts.pop(doc):
            posting = self._postings[word]
            del posting[doc]
            if not posting:
                del self._postings[word]


class LexicalSelector:
    """At most `top_k` candidates that share a word with the active task, or with the tasks above it
    where none does with the active one. They are ranked by relevance; with `scores`, by relevance
    times the mean of u and U (u alone for a global memory). Equals are taken latest first."""

    def __init__(self, scores: bool, top_k: int) -> None:
        self._scores = scores
        self._top_k = top_k
        self._index = IncrementalBM25()

    async def select(self, request: SelectionRequest) -> Chosen:
        """See the class."""
        self._index.update({each.id: each.text for each in request.candidates})
        *above, active = request.goals
        relevance = self._index.scores(tokens(active))
        if not relevance:
            relevance = self._index.scores(word for goal in above for word in tokens(goal))
        ranked = sorted(
            (-relevance[each.id] * self._weight(each), -each.id)
            for each in request.candidates
            if each.id in relevance
        )
        ids = tuple(-negative for _, negative in ranked[: self._top_k])
        return Chosen(ids, Selection("lexical", shown=len(request.candidates)))

    def _weight(self, candidate: Candidate) -> float:
        if not self._scores or candidate.score is None:
            return 1.0
        if candidate.priority is None:
            return candidate.score
        return (candidate.score + max(0.0, candidate.priority)) / 2
