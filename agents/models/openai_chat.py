"""Client of every OpenAI-compatible server: vLLM, llama.cpp, or somebody else's."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.models.endpoints import Endpoint, Endpoints, OutageClock
from agents.models.plain_http import JsonPoster
from agents.models.quirks import Quirks
from agents.models.tokens import Refused, TokenCounter, open_counter
from agents.salvage import clean_text
from wmt.chat import ChatError, ChatRequest, Completion, ContextOverflow, Message, Usage

if TYPE_CHECKING:
    from openai import AsyncOpenAI

REVIVALS = 2
"""How often a request may wait for a server that is being restarted."""

_SWITCHES = "chat_template_kwargs"

LONGEST_WAIT = 30.0
"""Seconds; caps the growing waits between attempts and what a server asks for."""


@dataclass(frozen=True)
class ClientSettings:
    """What a request carries and how failures are met; times in seconds."""

    model: str
    temperature: float = 0.0
    top_p: float | None = None
    seed: int | None = None
    structured_output: bool = True
    vision: bool = False
    quirks: Quirks = field(default_factory=Quirks)
    extra_body: dict[str, Any] = field(default_factory=dict)
    request_seconds: float = 600.0
    retries: int = 4
    retry_seconds: float = 0.5
    cool_down_seconds: float = 10.0


class _RetryableError(Exception):
    """Worth another attempt, after `wait` seconds if the server asks for them.

    `unreachable` if nothing answered at all, `busy` if the server is well but wants no more now.
    """

    def __init__(
        self, message: str, *, unreachable: bool = False, busy: bool = False, wait: float = 0.0
    ) -> None:
        super().__init__(message)
        self.unreachable, self.busy, self.wait = unreachable, busy, wait


class OpenAIChat:
    """A `ChatModel` behind one or more servers. Use as `async with OpenAIChat(...) as chat`."""

    def __init__(
        self,
        name: str,
        base_urls: Sequence[str],
        settings: ClientSettings,
        *,
        context_window: int,
        api_key: str = "none",
        tokenizer: str | None = None,
        revive: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        self.name, self.context_window = name, context_window
        self.structured_output = settings.structured_output
        self._settings, self._tokenizer, self._revive = settings, tokenizer, revive
        self._urls, self._api_key = tuple(base_urls), api_key
        self._endpoints = Endpoints(self._urls, settings.cool_down_seconds)
        self._clients: dict[str, AsyncOpenAI] = {}
        self._posters: dict[str, JsonPoster] = {}
        self._tokens: TokenCounter | None = None
        self._outages = OutageClock()

    async def __aenter__(self) -> OpenAIChat:
        from openai import AsyncOpenAI  # three quarters of a second: only where a server is used

        for url in self._urls:
            self._clients[url] = AsyncOpenAI(
                base_url=url,
                api_key=self._api_key,
                max_retries=0,  # ours move on to another endpoint
                timeout=self._settings.request_seconds,
            )
            self._posters[url] = JsonPoster(
                url.rstrip("/").removesuffix("/v1"),
                api_key=self._api_key,
                timeout=min(60.0, self._settings.request_seconds),
            )
        return self

    async def __aexit__(self, *exception: object) -> None:
        for client in self._clients.values():
            await client.close()
        for poster in self._posters.values():
            poster.close()

    async def complete(self, request: ChatRequest) -> Completion:
        """One chat completion; `ChatError` once the retries are used up."""
        started = time.perf_counter()
        body = self._body(request)
        answer = await self._retrying(lambda endpoint: self._chat(endpoint, body))
        latency = time.perf_counter() - started
        try:
            choice = answer["choices"][0]
            message = choice["message"]
            text = message.get("content") or ""
            reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
        except (KeyError, IndexError, TypeError, AttributeError):
            raise ChatError(f"{self.name}: the server answered without a choice") from None
        usage = _usage(answer.get("usage")) or await self._counted(request, text + reasoning)
        finish = choice.get("finish_reason") or "stop"
        return Completion(text, finish, usage, latency, reasoning)

    async def count_tokens(self, text: str) -> int:
        """Tokens of `text` by the best tokenizer at hand; counts are cached."""
        if self._tokens is None:
            self._tokens = await open_counter(
                self._post_root, self._settings.model, self._tokenizer
            )
        return await self._tokens.count(clean_text(text)[0])

    async def _counted(self, request: ChatRequest, reply: str) -> Usage:
        counts = [await self.count_tokens(message.content) for message in request.messages]
        return Usage(sum(counts), await self.count_tokens(reply), estimated=True)

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        settings = self._settings
        temperature, seed = request.temperature, request.seed
        body: dict[str, Any] = {
            "model": settings.model,
            "messages": [
                _message(message, settings.vision)
                for message in settings.quirks.apply(request.messages)
            ],
            "max_tokens": request.max_tokens,
            "temperature": settings.temperature if temperature is None else temperature,
            "top_p": settings.top_p,
            "seed": settings.seed if seed is None else seed,
        }
        body = {key: value for key, value in body.items() if value is not None}
        if request.json_schema is not None and settings.structured_output:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": request.role, "schema": request.json_schema},
            }
        switches = settings.quirks.template_switches(request.role)
        switches |= settings.extra_body.get(_SWITCHES, {})
        extra = {**settings.extra_body, **({_SWITCHES: switches} if switches else {})}
        return {**body, **extra}

    async def _post_root(self, path: str, body: dict[str, Any]) -> Any:
        return await self._retrying(lambda endpoint: self._count(endpoint, path, body))

    async def _retrying(self, attempt: Callable[[Endpoint], Awaitable[Any]]) -> Any:
        """Bounded attempts, each at the endpoint that is then the best."""
        revivals = retries = 0
        while True:
            with self._endpoints.use() as endpoint:
                try:
                    answer = await attempt(endpoint)
                    self._endpoints.answered(endpoint)
                    return answer
                except _RetryableError as error:
                    failure = error
                    if not failure.busy:
                        self._endpoints.failed(endpoint)
            if failure.unreachable and self._revive is not None and revivals < REVIVALS:
                revivals += 1
                with self._outages.running():
                    revived = await self._revive()
                if revived:
                    continue
            if retries >= self._settings.retries:
                raise ChatError(f"{self.name}: {failure}")
            wait = max(failure.wait, self._settings.retry_seconds * 2**retries)
            retries += 1
            await asyncio.sleep(min(wait, LONGEST_WAIT))

    @property
    def outage_seconds(self) -> float:
        """Seconds for which requests have waited for a server to come back; see `OutageClock`."""
        return self._outages.seconds

    async def _chat(self, endpoint: Endpoint, body: dict[str, Any]) -> Any:
        """One attempt at a completion."""
        import openai

        base = endpoint.url
        try:
            client = self._clients[base]
            return await client.post("/chat/completions", cast_to=object, body=body)
        except openai.APITimeoutError:
            raise self._late(base) from None
        except openai.APIConnectionError as error:
            raise _unreachable(base, error.__cause__ or error) from None
        except openai.APIStatusError as error:
            retry_after = error.response.headers.get("retry-after")
            raise self._refusal(base, error.status_code, error.message, retry_after) from None
        except (ValueError, openai.APIError) as error:  # half an answer, or none in JSON
            raise _unreadable(base, error) from None

    async def _count(self, endpoint: Endpoint, path: str, body: dict[str, Any]) -> Any:
        """One attempt at a request outside `/v1`."""
        base = endpoint.url
        try:
            status, content = await self._posters[base].post(path, body)
        except TimeoutError:
            raise self._late(base) from None
        except (OSError, http.client.HTTPException) as error:
            raise _unreachable(base, error) from None
        if status != 200:
            raise self._refusal(base, status, content.decode(errors="replace"), None)
        try:
            return json.loads(content)
        except ValueError as error:
            raise _unreadable(base, error) from None

    def _late(self, base: str) -> _RetryableError:
        return _RetryableError(f"no answer from {base} in {self._settings.request_seconds:g} s")

    def _refusal(self, base: str, status: int, message: str, retry_after: str | None) -> Exception:
        """What an answer other than 200 means."""
        said = f"{base} answered {status}: {_one_line(message)}"
        if status in (408, 409, 429) or status >= 500:
            return _RetryableError(said, busy=status < 500, wait=_seconds(retry_after))
        if status in (400, 413) and _overlong(message):
            return ContextOverflow(f"{self.name}: {_one_line(message)}")
        return Refused(f"{self.name}: {said}")


def _unreachable(base: str, cause: BaseException) -> _RetryableError:
    return _RetryableError(f"nothing answers at {base} ({type(cause).__name__})", unreachable=True)


def _unreadable(base: str, error: Exception) -> _RetryableError:
    return _RetryableError(f"an answer that cannot be read from {base}: {_one_line(str(error))}")


def _message(message: Message, vision: bool) -> dict[str, Any]:
    text, _ = clean_text(message.content)
    if not (vision and message.images):
        return {"role": message.role, "content": text}
    images = [{"type": "image_url", "image_url": {"url": url}} for url in message.images]
    return {"role": message.role, "content": [{"type": "text", "text": text}, *images]}


def _usage(usage: Any) -> Usage | None:
    """Usage as the server reports it; None where it reports none."""
    if not isinstance(usage, dict) or usage.get("prompt_tokens") is None:
        return None
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        prompt=int(usage["prompt_tokens"]),
        completion=int(usage.get("completion_tokens") or 0),
        cached=int(details.get("cached_tokens") or 0),
    )


def _overlong(message: str) -> bool:
    lowered = message.lower()
    if "maximum model length" in lowered:  # vLLM, where images count too
        return True
    words = ("length", "exceed", "size", "window", "too long", "maximum")
    return "context" in lowered and any(word in lowered for word in words)


def _seconds(header: str | None) -> float:
    try:
        return max(0.0, float(header or 0.0))
    except ValueError:
        return 0.0


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:300] + "..."
