"""Two baselines beside the paper's: a window over the last steps, and a window with one running
summary of all steps before it. Both show the active path, as the tree memories do."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from wmt.chat import ChatModel
from wmt.flat_memory import FlatMemory
from wmt.grammar import SUMMARIES, Item, item_text, summary_content
from wmt.memory import Selection, WorkingContext
from wmt.nodes import MemoryNode, NodeKind
from wmt.recording import RecordingConfig, SummarizerName, smaller
from wmt.summarizer import LLMSummarizer, Summarized, extract
from wmt.synthesizer import Synthesizer, fit, tree_parts
from wmt.views import Parts


class WindowMemoryConfig(RecordingConfig):
    """Keys of `window`: at most `last_steps` actions (null: as many as B holds)."""

    last_steps: int | None = Field(default=5, ge=1)

    def build(self, model: ChatModel) -> WindowMemory:
        """A fresh memory that uses `model` for token counts."""
        return WindowMemory(self, model)


class RunningSummaryConfig(RecordingConfig):
    """Keys of `running_summary`: the last `last_steps` actions are shown as they are."""

    last_steps: int = Field(default=5, ge=1)
    summarizer: SummarizerName = "llm"

    def build(self, model: ChatModel) -> RunningSummaryMemory:
        """A fresh memory that uses `model` for summaries and token counts."""
        return RunningSummaryMemory(self, model)


class WindowMemory(FlatMemory):
    """The last steps within B. What left the window is no candidate any more."""

    def __init__(self, config: WindowMemoryConfig | RunningSummaryConfig, model: ChatModel) -> None:
        super().__init__(config)
        self._budget = config.budget_tokens
        self._last_steps = config.last_steps
        self._synthesizer = Synthesizer(model, window_parts)

    def pool(self) -> tuple[int, ...]:
        """The active path and the actions of the window."""
        return tuple(sorted({*self.tree.path, *self._window()}))

    async def context(self, available_tokens: int | None = None) -> WorkingContext:
        """The last steps, the latest kept longest where B binds."""
        self._check_running()
        tree = self.tree
        window = self._window()
        views = await self._synthesizer.views(tree, self.pool(), frozenset(window))
        budget = smaller(self._budget, available_tokens)
        room = await self._synthesizer.room(budget, (views[each] for each in tree.path))
        kept, cut = fit(window[::-1], views, room)
        selection = Selection("all", shown=len(window))
        context = self._synthesizer.compose(views, tree.path, kept, cut, selection)
        for each in context.selected:
            tree.select(each)
        return context

    def _window(self) -> list[int]:
        """The last actions, found from the end: a context does not grow with the history."""
        found: list[int] = []
        for each in range(len(self.tree.nodes) - 1, self.tree.root, -1):
            if len(found) == self._last_steps:
                break
            if self.tree.nodes[each].kind is NodeKind.ACTION:
                found.append(each)
        return found[::-1]


class RunningSummaryMemory(WindowMemory):
    """One summary, rewritten by the model whenever steps leave the window (one retry, then the
    extractive one, counted). The root carries it; rewriting it is logged as a fold."""

    def __init__(self, config: RunningSummaryConfig, model: ChatModel) -> None:
        super().__init__(config, model)
        self._writer = LLMSummarizer(model) if config.summarizer == "llm" else None
        self._summarized_through = -1

    async def context(self, available_tokens: int | None = None) -> WorkingContext:
        """The summary of what left the window, and the window."""
        self._check_running()
        window = self._window()
        between = range(self._summarized_through + 1, window[0] if window else 0)
        nodes = (self.tree.nodes[each] for each in between)
        leaving = [node for node in nodes if node.kind is NodeKind.ACTION]
        if leaving:
            await self._rewrite(leaving)
            self._summarized_through = leaving[-1].id
        return await super().context(available_tokens)

    async def _rewrite(self, leaving: list[MemoryNode]) -> None:
        root = self.tree.nodes[self.tree.root]
        earlier = root.summary
        made = Summarized(extract(root.content, "", leaving, earlier), "extractive")
        if self._writer is not None:
            known = "" if earlier is None else summary_content(earlier)
            made = await self._writer.write(
                root.content, "Summary so far", known, leaving, made.summary
            )
        detail = {**made.detail(), "through": leaving[-1].id}
        self.tree.commit("folded", root.id, {"summary": made.summary}, detail)

    def extra_state(self) -> dict[str, Any]:
        """Beside the tree: the last action that the summary covers."""
        return {**super().extra_state(), "summarized_through": self._summarized_through}

    def restore_extra(self, state: dict[str, Any]) -> None:
        """The inverse of `extra_state`."""
        super().restore_extra(state)
        through = state["summarized_through"]
        if type(through) is not int:
            raise ValueError(f"summarized_through is {through!r}")
        self._summarized_through = through


def window_parts(node: MemoryNode, on_path: bool, whole: bool) -> Parts:
    """As the tree memories show a node, with the root's running summary among the summaries."""
    parts = tree_parts(node, on_path, whole)
    if node.kind is not NodeKind.ROOT or node.summary is None:
        return parts
    item = Item(node.id, "task", node.lifecycle.value, content=summary_content(node.summary))
    return (*parts, (SUMMARIES, item_text(item)))
