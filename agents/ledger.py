"""Counts the tokens of every model call by role (paper, section 3.1).

One `Meter` per question stands between the model and whoever calls it, the agent as well as its
memory, so that the calls of the selector and the summarizer cannot be missed.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from agents.trace import CallRecord
from wmt.chat import CallRole, ChatError, ChatModel, ChatRequest, Completion

_COUNT_SECONDS = 10.0
"""How long the count of a call that was cut off may take before it is guessed from its length."""


@dataclass
class RoleTotals:
    """Calls, tokens and summed latency in seconds of one role."""

    calls: int = 0
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    seconds: float = 0.0


class Meter:
    """A `ChatModel` that records what passes through it; not shared between questions."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self.name = chat.name
        self.context_window = chat.context_window
        self.structured_output: bool = getattr(chat, "structured_output", True)
        self.calls: list[CallRecord] = []
        self.totals: dict[CallRole, RoleTotals] = {}
        self._cut_off: list[tuple[ChatRequest, float]] = []
        self.busy_seconds = 0.0
        """Time spent waiting for the model, token counts included."""

    @property
    def estimated(self) -> bool:
        """Whether any usage was counted by us because the server reported none."""
        return any(call.estimated for call in self.calls)

    @property
    def total_tokens(self) -> int:
        """Prompt and completion tokens of all roles."""
        return sum(total.prompt + total.completion for total in self.totals.values())

    @property
    def outage_seconds(self) -> float:
        """Seconds for which the model's server was down so far, for everybody who uses it."""
        return float(getattr(self._chat, "outage_seconds", 0.0))

    async def complete(self, request: ChatRequest) -> Completion:
        """Pass a request on. A call that failed is recorded without tokens, as `error`; for one
        that is cancelled see `count_cut_off`."""
        started = time.perf_counter()
        try:
            completion = await self._chat.complete(request)
        except asyncio.CancelledError:
            elapsed = time.perf_counter() - started
            self.busy_seconds += elapsed
            self._cut_off.append((request, elapsed))
            raise
        except ChatError:
            elapsed = time.perf_counter() - started
            self.busy_seconds += elapsed
            self._add(
                CallRecord(
                    role=request.role,
                    prompt_tokens=0,
                    completion_tokens=0,
                    seconds=elapsed,
                    finish_reason="error",
                )
            )
            raise
        self.busy_seconds += time.perf_counter() - started
        usage = completion.usage
        self._add(
            CallRecord(
                role=request.role,
                prompt_tokens=usage.prompt,
                completion_tokens=usage.completion,
                cached_tokens=usage.cached,
                estimated=usage.estimated,
                seconds=completion.latency_seconds,
                finish_reason=completion.finish_reason,
            )
        )
        return completion

    async def count_cut_off(self) -> None:
        """Record the calls that a time limit has cancelled, as `cut_off`. The server has read their
        prompts but reports nothing: prompts are counted by us, what it had written is not known."""
        while self._cut_off:
            request, elapsed = self._cut_off.pop(0)
            try:
                async with asyncio.timeout(_COUNT_SECONDS):
                    counts = [await self.count_tokens(each.content) for each in request.messages]
            except (ChatError, TimeoutError):
                counts = [len(each.content) // 4 for each in request.messages]
            self._add(
                CallRecord(
                    role=request.role,
                    prompt_tokens=sum(counts),
                    completion_tokens=0,
                    estimated=True,
                    seconds=elapsed,
                    finish_reason="cut_off",
                )
            )

    async def count_tokens(self, text: str) -> int:
        """Tokens of `text`; not a model call."""
        started = time.perf_counter()
        try:
            return await self._chat.count_tokens(text)
        finally:
            self.busy_seconds += time.perf_counter() - started

    def _add(self, call: CallRecord) -> None:
        self.calls.append(call)
        total = self.totals.setdefault(call.role, RoleTotals())
        total.calls += 1
        total.prompt += call.prompt_tokens
        total.completion += call.completion_tokens
        total.cached += call.cached_tokens
        total.seconds += call.seconds
