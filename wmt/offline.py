"""A stand-in where no model is at hand: it counts tokens by a rule of thumb and answers nothing."""

from __future__ import annotations

from wmt.chat import ChatError, ChatRequest, Completion


class OfflineModel:
    """Four characters are a token. Every call fails as a dead server's would, so a memory that
    needs a model falls back to its deterministic order and extractive summaries."""

    name = "offline"

    def __init__(self, context_window: int = 32_768) -> None:
        self.context_window = context_window

    async def complete(self, request: ChatRequest) -> Completion:
        """Raises `ChatError`."""
        raise ChatError("there is no model behind this memory")

    async def count_tokens(self, text: str) -> int:
        """A quarter of the characters, rounded up."""
        return (len(text) + 3) // 4
