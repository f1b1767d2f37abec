"""The two memories without a hierarchy in their context (paper, section 3.1): none and linear.

Both record their steps in the same tree as the others; nothing is scored, folded or suppressed.
"""

from __future__ import annotations

from wmt.chat import ChatModel
from wmt.grammar import MEMORIES, QUESTION, SUMMARIES, TASK_PATH, WARNINGS, item_text, quote
from wmt.memory import Selection, WorkingContext
from wmt.nodes import MemoryNode, NodeKind
from wmt.recording import MemoryName, RecordingConfig, RecordingMemory, smaller
from wmt.synthesizer import Synthesizer, fit
from wmt.views import Parts, history_item, path_parts


class NoMemoryConfig(MemoryName):
    """Keys of `none`."""

    def build(self, model: ChatModel) -> NoMemory:
        """A fresh memory that uses `model` for token counts."""
        return NoMemory(self, model)


class LinearMemoryConfig(RecordingConfig):
    """Keys of `linear`."""

    def build(self, model: ChatModel) -> LinearMemory:
        """A fresh memory that uses `model` for token counts."""
        return LinearMemory(self, model)


class FlatMemory(RecordingMemory):
    """A memory that keeps everything as it was recorded and has nothing to supersede."""

    def _try_supersede(self, node_id: int, by: int | None, reason: str) -> str | None:
        return f"{node_id} stays: this memory keeps everything as it was recorded."


class NoMemory(FlatMemory):
    """The question alone: no step, not even an opened goal, is carried into the next prompt."""

    def __init__(self, config: NoMemoryConfig, model: ChatModel) -> None:
        super().__init__(config)
        self._synthesizer = Synthesizer(model, question_only)

    def pool(self) -> tuple[int, ...]:
        """The root."""
        return (self.tree.root,)

    async def context(self, available_tokens: int | None = None) -> WorkingContext:
        """The question."""
        self._check_running()
        views = await self._synthesizer.views(self.tree, self.pool())
        context = self._synthesizer.compose(
            views, (self.tree.root,), (), (), Selection("all"), (QUESTION,)
        )
        self.tree.select(self.tree.root)
        return context


class LinearMemory(FlatMemory):
    """Everything in the order it happened: question, opened goals, steps; over the budget, the
    oldest goes. The active path stands last, so that the history before it only ever grows and a
    server's prefix cache can be used."""

    def __init__(self, config: LinearMemoryConfig, model: ChatModel) -> None:
        super().__init__(config)
        self._budget = config.budget_tokens
        self._synthesizer = Synthesizer(model, linear_parts)

    async def context(self, available_tokens: int | None = None) -> WorkingContext:
        """The whole history."""
        self._check_running()
        tree = self.tree
        pool = tree.pool()
        views = await self._synthesizer.views(tree, pool)
        path = frozenset(tree.path)
        budget = smaller(self._budget, available_tokens)
        room = await self._synthesizer.room(budget, (views[each] for each in tree.path))
        latest_first = [each for each in reversed(pool) if each not in path]
        kept, cut = fit(latest_first, views, room)
        selection = Selection("all", shown=len(latest_first))
        context = self._synthesizer.compose(views, tree.path, kept, cut, selection, LINEAR_SECTIONS)
        for each in context.selected:
            tree.select(each)
        return context


LINEAR_SECTIONS = (QUESTION, MEMORIES, SUMMARIES, WARNINGS, TASK_PATH)


def question_only(node: MemoryNode, on_path: bool, whole: bool) -> Parts:
    """What `none` shows: the root's question."""
    return ((QUESTION, quote(node.content)),)


def linear_parts(node: MemoryNode, on_path: bool, whole: bool) -> Parts:
    """What `linear` shows: every memory in full, tasks of the active path once more at the end."""
    if node.kind is NodeKind.ROOT:
        return path_parts(node)
    told = ((MEMORIES, item_text(history_item(node))),)
    return (*told, *path_parts(node)) if on_path else told
