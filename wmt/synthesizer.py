"""The Prompt Synthesizer's second half (paper, section 2.6): selected memories -> budget -> text.

The first half, which candidates are chosen, is a selector's. Order of the context: question, active
path, selected memories as they happened, folded summaries, failure warnings. Within a section
memories stand by id, so what was shown before keeps its place and a prefix cache can be used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from wmt.chat import ChatModel
from wmt.grammar import MEMORIES, QUESTION, SUMMARIES, TASK_PATH, WARNINGS
from wmt.memory import Selection, WorkingContext
from wmt.nodes import MemoryNode
from wmt.tree import MemoryTree
from wmt.views import Parts, candidate_text, memory_parts, path_parts

SECTIONS = (QUESTION, TASK_PATH, MEMORIES, SUMMARIES, WARNINGS)


@dataclass(frozen=True, slots=True)
class View:
    """A memory as this context would show it: its parts, their tokens, and what a selector reads
    of it. `state` tells when it must be made anew."""

    state: tuple[object, ...]
    parts: Parts
    tokens: int
    text: str


PartsOf = Callable[[MemoryNode, bool, bool], Parts]
"""How a memory is shown: the node, whether it is on the active path, whether to show it whole."""


def tree_parts(node: MemoryNode, on_path: bool, whole: bool) -> Parts:
    """How the tree memories show a node (section 2.6)."""
    return path_parts(node) if on_path else memory_parts(node, whole)


class Synthesizer:
    """Renders, counts, cuts to the budget and composes; keeps views of the last pool only."""

    def __init__(
        self,
        model: ChatModel,
        parts: PartsOf = tree_parts,
        candidate_chars: int | None = None,
    ) -> None:
        self._model = model
        self._parts = parts
        self._candidate_chars = candidate_chars
        self._views: dict[int, View] = {}
        self._title_tokens: int | None = None

    async def views(
        self, tree: MemoryTree, pool: Sequence[int], whole: frozenset[int] = frozenset()
    ) -> dict[int, View]:
        """A view of every member of the pool; failed actions in `whole` are shown in full. Only
        what changed since the last call is rendered and counted again."""
        path = frozenset(tree.path)
        made: dict[int, View] = {}
        for each in pool:
            node = tree.nodes[each]
            on_path = each in path
            state = (node.lifecycle, node.outcome, on_path, each in whole, node.summary)
            view = self._views.get(each)
            if view is None or view.state != state:
                parts = self._parts(node, on_path, each in whole)
                tokens = await self._tokens(parts, view)
                text = "" if on_path else candidate_text(node, self._candidate_chars)
                view = View(state, parts, tokens, text)
            made[each] = view
        self._views = made
        return made

    async def _tokens(self, parts: Parts, known: View | None) -> int:
        if known is not None and known.parts == parts:
            return known.tokens
        tokens = 0
        for _, text in parts:
            tokens += await self._model.count_tokens(text)
        return tokens

    async def room(self, budget: int | None, shown: Iterable[View]) -> int | None:
        """Tokens that `budget` leaves beside section titles and what is `shown` anyway."""
        if budget is None:
            return None
        if self._title_tokens is None:
            titles = "".join(f"\n{title}:\n" for title in SECTIONS)
            self._title_tokens = await self._model.count_tokens(titles)
        return budget - self._title_tokens - sum(view.tokens for view in shown)

    def compose(
        self,
        views: dict[int, View],
        path: tuple[int, ...],
        kept: Iterable[int],
        cut: Iterable[int],
        selection: Selection,
        sections: tuple[str, ...] = SECTIONS,
    ) -> WorkingContext:
        """The working context of the active path and `kept`. Ids grow with time, and downwards
        along the path, so their order is the order of every section."""
        selected = sorted({*path, *kept})
        bodies: dict[str, list[str]] = {title: [] for title in sections}
        for each in selected:
            for title, text in views[each].parts:
                bodies[title].append(text)
        text = "\n".join(f"{title}:\n{''.join(body)}" for title, body in bodies.items() if body)
        return WorkingContext(
            text=text,
            selected=tuple(selected),
            pool=tuple(views),
            active_path=path,
            cut=tuple(sorted(cut)),
            selected_tokens=sum(views[each].tokens for each in selected),
            pool_tokens=sum(view.tokens for view in views.values()),
            selection=selection,
        )


def fit(
    ids: Sequence[int], views: dict[int, View], room: int | None
) -> tuple[list[int], list[int]]:
    """Split `ids`, the most useful first, into what fits `room` and what is cut from the least
    useful end. What alone exceeds the room can never be shown and takes nothing else with it."""
    if room is None:
        return list(ids), []
    kept: list[int] = []
    cut: list[int] = []
    left, full = room, False
    for each in ids:
        tokens = views[each].tokens
        full = full or left < tokens <= room
        if full or tokens > room:
            cut.append(each)
        else:
            kept.append(each)
            left -= tokens
    return kept, cut
