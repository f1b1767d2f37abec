"""The simulated model: a deterministic, rule-based reader behind the `ChatModel` protocol.

It stands in for a language model in tests, overhead measurements and the poisoning study. It sees
the text of the prompt and nothing else; its lexicon is language, not knowledge. So what it answers
measures what a memory put into the context. Its results are always labelled simulated.
"""

from __future__ import annotations

import json
import time
from typing import Any

from agents.models.simulated import agent_role, memory_roles, tokens
from agents.models.simulated.view import Language, read_prompt
from wmt import grammar
from wmt.chat import ChatRequest, Completion, ContextOverflow, Usage

CRITICAL_QUESTION = "Critical question"


class SimulatedModel:
    """Answers by role and by the sections of the last message."""

    def __init__(self, name: str, context_window: int, language: Language) -> None:
        self.name = name
        self.context_window = context_window
        self._language = language

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer one request; raises `ContextOverflow`, and `GrammarError` for a prompt that
        breaks the grammar, which is a bug of whoever wrote it."""
        started = time.perf_counter()
        prompt = sum(tokens.count(message.content) for message in request.messages)
        if prompt + request.max_tokens > self.context_window:
            raise ContextOverflow(
                f"{prompt} prompt tokens and {request.max_tokens} new ones do not fit into "
                f"{self.context_window}"
            )
        text = json.dumps(self._answer(request), ensure_ascii=False)
        usage = Usage(prompt=prompt, completion=tokens.count(text))
        return Completion(text, "stop", usage, time.perf_counter() - started)

    async def count_tokens(self, text: str) -> int:
        """Tokens by the simulated tokenizer."""
        return tokens.count(text)

    def _answer(self, request: ChatRequest) -> dict[str, Any]:
        sections = grammar.parse(request.messages[-1].content)
        if request.role == "selector":
            return memory_roles.select(sections, self._language)
        if request.role == "summarizer":
            return memory_roles.summarize(sections, self._language)
        view = read_prompt(sections, self._language)
        critical = [s.text for s in sections if s.title == CRITICAL_QUESTION]
        if critical:
            return {"answer": memory_roles.answer(critical[-1], view.knowledge, self._language)}
        return agent_role.next_step(view, self._language)
