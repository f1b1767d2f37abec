"""Chat models for tests: replies from a list, tokens by a rule of thumb."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from wmt.chat import ChatError, ChatRequest, Completion, Usage

SUMMARY = (
    '{"result": "1912", "evidence": ["The year was 1912."], "unresolved": [], "warnings": ["w"]}'
)


class Replies:
    """Answers the selector with `selector` replies in turn (the last one again and again), the
    summarizer likewise; an exception among them is raised. `requests` keeps what was asked."""

    name = "replies"

    def __init__(
        self,
        selector: Iterable[str | Exception] = ('{"selected": []}',),
        summarizer: Iterable[str | Exception] = (SUMMARY,),
        context_window: int = 32_768,
        count: Callable[[str], int] = lambda text: (len(text) + 3) // 4,
    ) -> None:
        self.context_window = context_window
        self.requests: list[ChatRequest] = []
        self.counted: list[str] = []
        self._replies = {"selector": list(selector), "summarizer": list(summarizer)}
        self._count = count

    async def complete(self, request: ChatRequest) -> Completion:
        self.requests.append(request)
        prompt = sum(self._count(message.content) for message in request.messages)
        assert prompt + request.max_tokens <= self.context_window, "the window is exceeded"
        replies = self._replies[request.role]
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if isinstance(reply, Exception):
            raise reply
        return Completion(reply, "stop", Usage(prompt, 1), 0.0)

    async def count_tokens(self, text: str) -> int:
        self.counted.append(text)
        return self._count(text)

    def asked(self, role: str) -> list[ChatRequest]:
        return [request for request in self.requests if request.role == role]


DEAD = ChatError("the server is gone")
