"""python examples/worked_example.py [FOLDER]

The paper's worked example (appendix A.4): which paper, and who wrote it? Two branches, each with a
poisoned memory: a ranking blog whose lookup failed (.30), and a mirror page whose lookup succeeded
(.75) and which the official PDF supersedes. Prints what happens to the scores, and the final
context; with FOLDER, draws the tree there as in Figure 2 (worked_example.png and .svg; needs
matplotlib).
No model is called: the lexical selector and extractive summaries stand in for it.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

from wmt.memory import Action, Step, TaskOperation, WorkingContext
from wmt.nodes import Outcome
from wmt.offline import OfflineModel
from wmt.presets import preset
from wmt.retention import RetentionParams
from wmt.tree_memory import TreeMemory

QUESTION = "Which 2017 paper introduced the Transformer, and who are its authors?"
SUCCESS, FAILURE = Outcome.SUCCESS, Outcome.FAILURE


@dataclass
class WorkedExample:
    """The memory after the example, ids by name, and U of both branches before they completed."""

    memory: TreeMemory
    ids: dict[str, int]
    priorities: dict[str, float]
    final: WorkingContext


def lookup(name: str, text: str, outcome: Outcome = SUCCESS, poisoned: bool = False) -> Action:
    """One lookup; `poisoned` is provenance, which no prompt ever shows."""
    return Action(name, {}, text, outcome, {"poisoned": True} if poisoned else {})


PAPER = [
    lookup("encyclopedia", "Broad pages about 2017 papers; no defensible ranking."),
    lookup("citation", "Citation summaries support Attention Is All You Need as the 2017 paper."),
    lookup(
        "blog",
        "A ranking blog claims, without support, that something else matters more.",
        FAILURE,
        poisoned=True,
    ),
    lookup("arxiv", "Official arXiv record: Attention Is All You Need, 1706.03762, 2017."),
]
AUTHORS = [
    lookup("abstract", "The abstract page verifies title and identifier 1706.03762."),
    lookup("mirror", "The mirror page says the paper has a single author, J. Doe.", poisoned=True),
    lookup("pdf", "The official PDF lists the authors: Vaswani, Shazeer, Parmar, Uszkoreit, Jones, "
           "Gomez, Kaiser and Polosukhin."),
]  # fmt: skip


async def run(with_feedback: bool = True) -> WorkedExample:
    """Play the example. Without feedback no context is built between the steps, so that nothing
    decays and the event scores stand as they were assigned."""
    config = preset("wmt", selector="lexical", summarizer="extractive", lexical_top_k=1)
    memory = config.build(OfflineModel())
    assert isinstance(memory, TreeMemory)
    memory.start(QUESTION)
    ids: dict[str, int] = {}
    priorities: dict[str, float] = {}

    async def step(action: Action | None = None, operation: TaskOperation | None = None) -> None:
        if with_feedback:
            await memory.context()
        recorded = await memory.record(Step(operation=operation, action=action))
        if action is not None and recorded.action is not None:
            ids[action.tool] = recorded.action

    async def branch(name: str, goal: str, actions: list[Action]) -> None:
        await step(actions[0], TaskOperation("open", goal=goal))
        ids[name] = memory.tree.active
        for action in actions[1:]:
            await step(action)
        priority = memory.priority(ids[name])
        assert priority is not None
        priorities[name] = priority

    await branch("paper", "Identify the paper", PAPER)
    result = "Attention Is All You Need, per its official arXiv record."
    await step(operation=TaskOperation("complete", result=result))
    await branch("authors", "Extract the authors of the paper", AUTHORS)
    memory.supersede(ids["mirror"], by=ids["pdf"], reason="the official PDF lists eight authors")
    return WorkedExample(memory, ids, priorities, await memory.context())


def main(folder: Path | None) -> None:
    """Print the example, and draw it into `folder`."""
    example = asyncio.run(run())
    tree = example.memory.tree
    for event in example.memory.events:
        if event.kind in ("scored", "missed", "folded", "superseded", "suppressed"):
            change = {key: value for key, value in event.after.items() if key != "summary"}
            print(f"step {event.step:2}  {event.kind:10}  [{event.node}]  {change}")
    for name, priority in example.priorities.items():
        print(f"U of the branch '{name}' before it was left: {priority:.3f}")
    print(f"\n{example.final.text}")
    if folder is not None:
        from wmt.draw import draw

        for suffix in ("png", "svg"):
            draw(tree, folder / f"worked_example.{suffix}", RetentionParams())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
