"""The random-selection arm: what a retrieval rate means by chance."""

from __future__ import annotations

import json
import random

from wmt.chat import ChatModel, ChatRequest, Completion, Usage
from wmt.grammar import CANDIDATES, parse

_SHARE = 0.5


class RandomSelections:
    """A `ChatModel` that answers every selector request by tossing a coin for each candidate.

    All other requests go to the model. A toss costs no tokens and no time.
    """

    def __init__(self, chat: ChatModel, rng: random.Random) -> None:
        self._chat = chat
        self._rng = rng
        self.name = chat.name
        self.context_window = chat.context_window

    async def complete(self, request: ChatRequest) -> Completion:
        """Toss, or pass on."""
        if request.role != "selector":
            return await self._chat.complete(request)
        sections = parse(request.messages[-1].content)
        shown = [
            item.id for section in sections if section.title == CANDIDATES for item in section.items
        ]
        selected = [each for each in shown if self._rng.random() < _SHARE]
        reply = json.dumps({"selected": selected, "superseded": []})
        return Completion(reply, "stop", Usage(0, 0), 0.0)

    async def count_tokens(self, text: str) -> int:
        """The model's own count."""
        return await self._chat.count_tokens(text)
