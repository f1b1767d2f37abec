"""What a memory needs of a language model: the `ChatModel` protocol and the data that cross it.

The same protocol serves the agent, so that every model call of a configuration passes one place
where its tokens can be counted (paper, section 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

CallRole = Literal["agent", "selector", "summarizer", "tool"]
"""Who spends the tokens of a call."""


@dataclass(frozen=True)
class Message:
    """One chat message. `images` are data URLs, for models that see."""

    role: Literal["system", "user", "assistant"]
    content: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChatRequest:
    """One model call. Sampling parameters left at None take the model's configured values."""

    messages: tuple[Message, ...]
    role: CallRole
    max_tokens: int
    json_schema: dict[str, Any] | None = None
    temperature: float | None = None
    seed: int | None = None


@dataclass(frozen=True)
class Usage:
    """Tokens of one call as the server reports them; `estimated` if we had to count them ourselves.

    `prompt` includes `cached`, the share of it that the server took from its prefix cache.
    """

    prompt: int
    completion: int
    cached: int = 0
    estimated: bool = False


@dataclass(frozen=True)
class Completion:
    """A model's reply. `text` may be empty; `reasoning` is what a reasoning parser split off."""

    text: str
    finish_reason: str
    usage: Usage
    latency_seconds: float
    reasoning: str = ""


class ChatError(Exception):
    """The model could not answer: the server is gone, refused the request, or timed out.

    Data, not a bug: a memory falls back, an episode ends with status `error`.
    """


class ContextOverflow(ChatError):
    """Prompt and completion do not fit into the context window (checked before sending)."""


class ChatModel(Protocol):
    """A model behind a server, or the simulated one."""

    name: str
    context_window: int

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer one request; raises `ChatError`."""
        ...

    async def count_tokens(self, text: str) -> int:
        """Tokens of `text` by the model's own tokenizer where it can be reached."""
        ...
