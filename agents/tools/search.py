"""`search`: the web by ddgs, which needs no key."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveFloat

from agents.tools.arguments import refuse_unknown, schema, text_argument, whole_argument
from agents.tools.base import ToolError, ToolResult
from agents.tools.cassette import Web
from agents.tools.contamination import ContaminationGuard
from agents.tools.tokens import Parts

Pause = Callable[[float], Awaitable[None]]
Hit = dict[str, str]
"""One result: `title`, `url`, `text`."""


class SearchConfig(BaseModel):
    """How `search` asks: results a query, engines (`backend`, as ddgs names them), patience."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    results: int = Field(8, ge=1, le=50)
    region: str = "us-en"
    backend: str = "auto"
    seconds: PositiveFloat = 30.0
    retries: NonNegativeInt = 3
    first_wait_seconds: float = Field(2.0, ge=0)


class RateLimited(Exception):
    """The search service wants us to wait."""


def ask_ddgs(query: str, config: SearchConfig) -> list[Hit]:
    """Results of ddgs, best first; raises `RateLimited` or `ToolError`."""
    from ddgs import DDGS
    from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

    try:
        found = DDGS(timeout=10).text(
            query, region=config.region, backend=config.backend, max_results=config.results
        )
    except (RatelimitException, TimeoutException) as error:
        raise RateLimited(str(error)) from None
    except DDGSException as error:
        reason = str(error)
        if "No results found" in reason:
            return []
        if any(sign in reason.lower() for sign in ("ratelimit", "429", "202 ", "403")):
            raise RateLimited(reason) from None
        raise ToolError(f"The search failed: {reason[:200]}.") from None
    return [{key: str(hit.get(name, "")) for key, name in _FIELDS.items()} for hit in found]


_FIELDS = {"title": "title", "url": "href", "text": "body"}


class Search:
    """The tool. `ask` and `pause` stand in for the service and for waiting in tests."""

    name = "search"
    description = "Search the web: titles, addresses and excerpts."
    parameters: dict[str, Any] = schema(
        ("query",),
        query=("string", "search words"),
        part=("integer", "which part of a long result, from 1"),
    )

    def __init__(
        self,
        web: Web,
        guard: ContaminationGuard,
        *,
        config: SearchConfig | None = None,
        result_tokens: int = 2000,
        ask: Callable[[str, SearchConfig], list[Hit]] = ask_ddgs,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._web = web
        self._guard = guard
        self._config = config or SearchConfig()
        self._result_tokens = result_tokens
        self._ask = ask
        self._pause = pause
        self.contaminated_dropped = 0

    async def call(self, arguments: dict[str, Any]) -> ToolResult:
        """Numbered results; no result is not ok. Raises `ToolError`."""
        refuse_unknown(arguments, self.parameters)
        query = " ".join(text_argument(arguments, "query").split())
        part = whole_argument(arguments, "part", 1)
        config = self._config
        asked = {
            "query": query,
            "results": config.results,
            "region": config.region,
            "backend": config.backend,
        }
        hits: list[Hit] = await self._web.ask(self.name, asked, lambda: self._live(query))
        clean = [hit for hit in hits if not self._bars(hit)]
        if part == 1:
            self.contaminated_dropped += len(hits) - len(clean)
        if not clean:
            return ToolResult(f"No results for {query!r}.", ok=False)
        lines = [
            f"{number}. {hit['title']}\n{hit['url']}\n{' '.join(hit['text'].split())}"
            for number, hit in enumerate(clean, start=1)
        ]
        return ToolResult(Parts.of("\n".join(lines), self._result_tokens).show(part))

    def _bars(self, hit: Hit) -> bool:
        text = f"{hit['title']}\n{hit['text']}"
        return self._guard.bars_address(hit["url"]) or self._guard.bars_text(text)

    async def _live(self, query: str) -> list[Hit]:
        """Ask, and wait longer each time the service refuses."""
        config = self._config
        for attempt in range(config.retries + 1):
            try:
                async with asyncio.timeout(config.seconds):
                    return await asyncio.to_thread(self._ask, query, config)
            except TimeoutError:
                raise ToolError(f"The search took over {config.seconds:g} s.") from None
            except RateLimited:
                if attempt < config.retries:
                    await self._pause(config.first_wait_seconds * 2**attempt)
        raise ToolError(
            f"The search service still refuses after {config.retries + 1} attempts (rate limit); "
            "work with what you have, or read a page you know the address of."
        )
