"""The tools of the archive: `search` and `read`. Calculator and file tool are the common ones."""

from __future__ import annotations

from typing import Any

from agents.tools.arguments import refuse_unknown, schema, text_argument, whole_argument
from agents.tools.base import ToolError, ToolResult
from benchmarks.archive import prose
from benchmarks.archive.search import Library


class Search:
    """BM25 over the archive."""

    name = "search"
    description = "Search the archive. Shows document numbers, titles and the best passage of each."
    parameters: dict[str, Any] = schema(("query",), query=("string", "words to search for"))

    def __init__(self, library: Library, results: int, page_words: int, snippet_words: int) -> None:
        self._library = library
        self._results = results
        self._page_words = page_words
        self._snippet_words = snippet_words

    async def call(self, arguments: dict[str, Any]) -> ToolResult:
        """Search; raises `ToolError` for a bad argument."""
        refuse_unknown(arguments, self.parameters)
        query = text_argument(arguments, "query")
        lines: list[str] = []
        for number in self._library.search(query, self._results):
            snippet = self._library.snippet(number, query, self._snippet_words)
            cut = prose.pages(self._library.document(number).text, self._page_words)
            start = snippet.removesuffix(" ...")
            page = next((at for at, text in enumerate(cut, 1) if start in text), 1)
            lines += [_header(self._library, number, page, len(cut)), snippet]
        if not lines:
            return ToolResult("Nothing was found.", ok=False)
        return ToolResult("\n".join(lines))


class Read:
    """One page of one document."""

    name = "read"
    description = "Read one page of a document of the archive by its number."
    parameters: dict[str, Any] = schema(
        ("document",),
        document=("integer", "document number"),
        page=("integer", "page, from 1"),
    )

    def __init__(self, library: Library, page_words: int) -> None:
        self._library = library
        self._page_words = page_words

    async def call(self, arguments: dict[str, Any]) -> ToolResult:
        """Read; raises `ToolError` for a document or page that does not exist."""
        refuse_unknown(arguments, self.parameters)
        number = whole_argument(arguments, "document", 0)
        page = whole_argument(arguments, "page", 1)
        if not 1 <= number <= self._library.size:
            raise ToolError(f"No document {number}: they are numbered 1 to {self._library.size}.")
        cut = prose.pages(self._library.document(number).text, self._page_words)
        if not 1 <= page <= len(cut):
            raise ToolError(f"Document {number} has no page {page}: it has {len(cut)}.")
        return ToolResult(f"{_header(self._library, number, page, len(cut))}\n{cut[page - 1]}")


def _header(library: Library, number: int, page: int, pages: int) -> str:
    return f"Document {number}: {library.document(number).title}, page {page} of {pages}"
