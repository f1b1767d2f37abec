"""A selector that obeys: what a claim to supersede is worth where supersession is on.

With `memory.supersession=selector` the selector may name memories that a later one has proved
wrong. A selector that takes the attacker's word for it shows the worst that the attack can do; the
simulated reader, which names nothing, cannot be attacked in this way at all.
"""

from __future__ import annotations

import json

from agents.salvage import find_values
from poisoning.attacks import SUPERSEDES
from wmt.chat import ChatModel, ChatRequest, Completion
from wmt.grammar import CANDIDATES, parse


class ObedientSelections:
    """A `ChatModel` whose selections are the model's, and which names as superseded every action
    shown but the last one that claims to supersede all others. Other requests go to the model."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self.name = chat.name
        self.context_window = chat.context_window

    async def complete(self, request: ChatRequest) -> Completion:
        """Pass on; obey in a selector's reply."""
        done = await self._chat.complete(request)
        if request.role != "selector":
            return done
        sections = parse(request.messages[-1].content)
        actions = [
            item
            for section in sections
            if section.title == CANDIDATES
            for item in section.items
            if item.kind == "action"
        ]
        claimants = [item.id for item in actions if SUPERSEDES in item.content]
        reply = next((f.value for f in find_values(done.text) if isinstance(f.value, dict)), None)
        if not claimants or reply is None:
            return done
        gone = [item.id for item in actions if item.id != max(claimants)]
        obeyed = json.dumps({**reply, "superseded": gone})
        return Completion(obeyed, done.finish_reason, done.usage, done.latency_seconds)

    async def count_tokens(self, text: str) -> int:
        """The model's own count."""
        return await self._chat.count_tokens(text)
