"""How a memory looks in a prompt: one function for each section that shows memories."""

from __future__ import annotations

from wmt.grammar import (
    MEMORIES,
    QUESTION,
    SUMMARIES,
    TASK_PATH,
    WARNINGS,
    Item,
    call_text,
    clean,
    item_text,
    quote,
    summary_content,
)
from wmt.nodes import Lifecycle, MemoryNode, NodeKind, Outcome

Parts = tuple[tuple[str, str], ...]
"""What a memory puts into a context: pairs of section title and text."""

WARNING_CHARS = 200


def shown_kind(node: MemoryNode) -> str:
    """The kind a prompt names: the root is a task like any other."""
    return NodeKind.TASK.value if node.kind is NodeKind.ROOT else node.kind.value


def history_item(node: MemoryNode) -> Item:
    """A memory in full: an action with its call, thought and observation, a folded task by its
    summary, another task by its goal and result."""
    if node.kind is NodeKind.ACTION:
        return Item(
            node.id,
            "action",
            _outcome(node),
            tool=node.tool or "none",
            arguments=node.arguments or {},
            thought=node.thought,
            content=node.content,
        )
    return Item(node.id, shown_kind(node), node.lifecycle.value, content=task_content(node))


def task_content(node: MemoryNode) -> str:
    """A folded task's summary; another task's goal and, once completed, result."""
    if node.summary is not None and node.lifecycle is Lifecycle.FOLDED:
        return summary_content(node.summary)
    if node.result and node.lifecycle is Lifecycle.COMPLETED:
        return f"{node.content}\nresult: {node.result}"
    return node.content


def warning_item(node: MemoryNode) -> Item:
    """A failed action as a warning: its call and the first line of what came back."""
    return Item(
        node.id,
        "action",
        _outcome(node),
        tool=node.tool or "none",
        arguments=node.arguments or {},
        content=first_line(node.content)[:WARNING_CHARS],
    )


def first_line(text: str) -> str:
    """The first line that is not blank; nothing if there is none."""
    return next((line for line in clean(text).splitlines() if line.strip()), "")


def path_parts(node: MemoryNode) -> Parts:
    """A task of the active path; a reopened one keeps its summary at hand (section 2.5). The root's
    content is the question, which stands in a section of its own."""
    if node.kind is NodeKind.ROOT:
        head = item_text(Item(node.id, "task", node.lifecycle.value))
        return ((QUESTION, quote(node.content)), (TASK_PATH, head))
    shown = item_text(Item(node.id, "task", node.lifecycle.value, content=node.content))
    return ((TASK_PATH, shown), *_kept_summary(node))


def memory_parts(node: MemoryNode, whole: bool) -> Parts:
    """A selected memory in its section (section 2.6). A failed action stands among the warnings,
    unless it is to be shown `whole`."""
    if node.kind is NodeKind.ACTION:
        if node.outcome is Outcome.FAILURE and not whole:
            return ((WARNINGS, item_text(warning_item(node))),)
        return ((MEMORIES, item_text(history_item(node))),)
    if node.lifecycle is Lifecycle.FOLDED:
        return ((SUMMARIES, item_text(history_item(node))),)
    return ((MEMORIES, item_text(history_item(node))), *_kept_summary(node))


def candidate_text(node: MemoryNode, chars: int | None = None) -> str:
    """What a selector reads of a candidate: an action's call and outcome before its observation,
    of which at most `chars` characters."""
    if node.kind is not NodeKind.ACTION:
        return task_content(node)
    content = node.content
    if chars is not None and len(content) > chars:
        content = content[:chars] + " ..."
    return f"{call_text(node.tool or 'none', node.arguments)} {_outcome(node)}\n{content}"


def _kept_summary(node: MemoryNode) -> Parts:
    if node.summary is None or node.lifecycle is not Lifecycle.ACTIVE:
        return ()
    item = Item(node.id, "task", node.lifecycle.value, content=summary_content(node.summary))
    return ((SUMMARIES, item_text(item)),)


def _outcome(node: MemoryNode) -> str:
    return "unknown" if node.outcome is None else node.outcome.value
