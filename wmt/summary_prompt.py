"""The steps of a branch as a summarizer's prompt shows them, held within what its window leaves."""

from __future__ import annotations

from dataclasses import replace

from wmt.chat import ChatModel
from wmt.grammar import item_text
from wmt.nodes import MemoryNode, NodeKind
from wmt.views import history_item

_SHORTEST_CHARS = 100  # of an observation; less of it says nothing


async def steps_within(
    model: ChatModel, members: list[MemoryNode], room: int
) -> tuple[list[str], int]:
    """The texts of `members` that fit `room` tokens, in the order they happened, and how many
    members are not shown in whole.

    Those of the highest score come first, the later first among equals. Where not all fit, an
    action that alone takes over half of the room is shortened, and leaves half to the others.
    """
    ranked = sorted(members, key=lambda node: (-node.score, -node.id))
    texts = {member.id: item_text(history_item(member)) for member in ranked}
    costs = {each: await model.count_tokens(text) for each, text in texts.items()}
    over = sum(costs.values()) > room
    long = [
        member
        for member in ranked
        if over and member.kind is NodeKind.ACTION and costs[member.id] > room // 2
    ]
    left = room - room // 2 if long else room
    shown: dict[int, str] = {}
    for member in ranked:
        if member not in long and costs[member.id] <= left:
            shown[member.id] = texts[member.id]
            left -= costs[member.id]
    whole = len(shown)
    if long:
        left += room // 2
    for position, member in enumerate(long):
        made = await _shortened(model, member, left // (len(long) - position))
        if made is not None:
            shown[member.id], cost = made
            left -= cost
    return [shown[each] for each in sorted(shown)], len(members) - whole


async def _shortened(model: ChatModel, action: MemoryNode, room: int) -> tuple[str, int] | None:
    """An action with as much of the beginning of its observation as `room` holds, and its tokens;
    None where that is next to nothing."""
    item = history_item(action)
    keep = len(item.content)
    cost = await model.count_tokens(item_text(item))
    while True:
        # Tokens are not spread evenly over a text, so an estimate is tried and tightened.
        keep = min(keep * 9 // 10, keep * max(room, 0) // cost)
        if keep < _SHORTEST_CHARS:
            return None
        text = item_text(replace(item, content=f"{item.content[:keep]} ..."))
        cost = await model.count_tokens(text)
        if cost <= room:
            return text, cost
