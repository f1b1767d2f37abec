"""TreeMemory: the Weighted Memory Tree and, by four switches, its seven ablations (paper, 2.4-2.6).

selection    none, relevance (the selector sees no scores), relevance_scores, branches
folding      a completed branch is represented by its summary
scoring      event scores, selection-based decay, branch priorities
suppression  a branch of low priority becomes obsolete
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from wmt.chat import ChatModel
from wmt.controller import LifecycleRules
from wmt.llm_selector import LLMSelector
from wmt.memory import WorkingContext
from wmt.recording import RecordingConfig, RecordingMemory, SelectorName, SummarizerName, smaller
from wmt.retention import InitialScores, RetentionParams
from wmt.selectors import Candidate, SelectAll, SelectionRequest, Selector, WholeBranches
from wmt.summarizer import ExtractiveSummarizer, LLMSummarizer
from wmt.synthesizer import Synthesizer, View, fit
from wmt.tree import MemoryTree


class TreeMemoryConfig(RecordingConfig):
    """Keys of the tree memories; `configs/memory/*.yaml` set the switches.

    `selector_chars` bounds what a selector reads of one observation, in characters (null: all of
    it), `lexical_top_k` how many candidates the lexical selector names. `show_last_step` puts what
    the agent did last into every context, whatever the selector says. `supersession: selector`
    lets the selector name superseded memories.
    """

    selection: Literal["none", "relevance", "relevance_scores", "branches"]
    folding: bool
    scoring: bool
    suppression: bool
    selector: SelectorName = "llm"
    summarizer: SummarizerName = "llm"
    retention: RetentionParams = RetentionParams()
    initial: InitialScores = InitialScores()
    priority_nodes: Literal["subtree", "actions"] = "subtree"
    folded_priority: Literal["summary", "subtree"] = "summary"
    show_last_step: bool = True
    supersession: Literal["off", "selector"] = "off"
    allow_resume_obsolete: bool = False
    conversation: bool = False
    selector_chars: int | None = Field(default=1000, ge=1)
    lexical_top_k: int = Field(default=8, ge=1)

    @model_validator(mode="after")
    def _switches_agree(self) -> Self:
        if not self.scoring:
            if self.suppression:
                raise ValueError("suppression needs scoring: it compares branch priorities (Eq. 7)")
            if self.selection in ("relevance_scores", "branches"):
                raise ValueError(f"selection {self.selection} needs scoring: it uses u and U")
        return self

    def build(self, model: ChatModel) -> TreeMemory:
        """A fresh memory that uses `model` for selection, summaries and token counts."""
        return TreeMemory(self, model, self._selector(model))

    def _selector(self, model: ChatModel) -> Selector:
        if self.selection == "none":
            return SelectAll()
        if self.selection == "branches":
            return WholeBranches()
        scores = self.selection == "relevance_scores"
        if self.selector == "lexical":
            from wmt.lexical import LexicalSelector  # brings numpy, which the others do without

            return LexicalSelector(scores, self.lexical_top_k)
        return LLMSelector(model, scores, self.supersession == "selector")

    @property
    def rules(self) -> LifecycleRules:
        """The switches as the controller takes them."""
        return LifecycleRules(
            folding=self.folding,
            scoring=self.scoring,
            suppression=self.suppression,
            retention=self.retention,
            initial=self.initial,
            allow_resume_obsolete=self.allow_resume_obsolete,
        )


class TreeMemory(RecordingMemory):
    """One question's memory tree, or a conversation's."""

    config: TreeMemoryConfig

    def __init__(self, config: TreeMemoryConfig, model: ChatModel, selector: Selector) -> None:
        super().__init__(
            config,
            config.rules,
            LLMSummarizer(model) if config.summarizer == "llm" else ExtractiveSummarizer(),
            MemoryTree(config.priority_nodes, config.folded_priority),
            config.conversation,
        )
        self._selector = selector
        self._whole_branches = config.selection == "branches"
        self._synthesizer = Synthesizer(model, candidate_chars=config.selector_chars)

    async def context(self, available_tokens: int | None = None) -> WorkingContext:
        """Steps 1-3 of an interaction: pool, selection, budget; feedback to what was and was not
        selected (Eq. 3-5); suppression (Eq. 7)."""
        self._check_running()
        tree, config = self.tree, self.config
        pool = tree.pool()
        path = frozenset(tree.path)
        last = self._forced()
        views = await self._synthesizer.views(tree, pool, last)
        budget = smaller(config.budget_tokens, available_tokens)
        room = await self._synthesizer.room(budget, (views[each] for each in tree.path))
        forced, too_large = fit(sorted(last), views, room)
        if room is not None:
            room -= sum(views[each].tokens for each in forced)
        candidates = self._candidates([i for i in pool if i not in path and i not in last], views)
        goals = tuple(tree.nodes[each].content for each in tree.path)
        chosen = await self._selector.select(SelectionRequest(goals, candidates, room))
        kept, cut = fit(chosen.ids, views, room)
        context = self._synthesizer.compose(
            views,
            tree.path,
            (*forced, *kept),
            (*too_large, *cut, *chosen.cut),
            chosen.selection,
        )
        self._to_supersede = list(chosen.selection.superseded)
        self._feedback(context)
        self.controller.evaluate()
        return context

    def priority(self, task: int) -> float | None:
        """U of a branch (Eq. 6); None where there is no scoring. KeyError for an unknown task."""
        if not self.config.scoring:
            return None
        return self.tree.priority(task, self.config.retention)

    def _forced(self) -> frozenset[int]:
        """What shows the last step: its action, or else the task that it completed; where that was
        folded, the summary that stands for it."""
        if self._last_step is None or not self.config.show_last_step:
            return frozenset()
        shown = self.tree.stand_in(self._last_step)
        return frozenset(() if shown is None or shown in self.tree.path else (shown,))

    def _candidates(self, ids: Sequence[int], views: dict[int, View]) -> tuple[Candidate, ...]:
        tree, scoring = self.tree, self.config.scoring
        priorities: dict[int, float | None] = {}
        made = []
        for each in ids:
            node = tree.nodes[each]
            branch = self._unit(each) if self._whole_branches else tree.branch_of(each)
            priority = None
            if scoring and branch is not None:
                if branch not in priorities:
                    priorities[branch] = tree.priority(branch, self.config.retention)
                priority = priorities[branch]
            made.append(
                Candidate(
                    node,
                    views[each].text,
                    views[each].tokens,
                    node.score if scoring else None,
                    priority,
                    each if branch is None else branch,
                )
            )
        return tuple(made)

    def _unit(self, node_id: int) -> int | None:
        """What is retrieved whole with a node under A3: the branch that leaves the active path
        above it, or what hangs directly below a task of the path."""
        path = self.tree.path
        unit = self.tree.branch_of(node_id)
        while unit is not None and unit not in path:
            parent = self.tree.nodes[unit].parent
            if parent in path:
                break
            unit = parent
        return unit

    def _feedback(self, context: WorkingContext) -> None:
        selected = frozenset(context.selected)
        for each in context.pool:
            if each in selected:
                self.tree.select(each)
            elif self.config.scoring:
                self.tree.miss(each, self.config.retention)
