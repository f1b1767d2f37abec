from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agents.tools.base import ToolError
from agents.tools.cassette import Web
from agents.tools.contamination import ContaminationConfig, ContaminationGuard
from agents.tools.search import Hit, RateLimited, Search, SearchConfig, ask_ddgs

HITS = [
    {"title": f"Pier {n}", "url": f"https://piers.example/{n}", "text": f"About\npier {n}."}
    for n in range(1, 4)
]
GUARD = ContaminationGuard(
    ContaminationConfig(addresses=("gaia-benchmark",), phrases=("GAIA validation set",)), ""
)


class Service:
    """A search service that refuses a number of times, then answers."""

    def __init__(self, hits: list[Hit], refusals: int = 0) -> None:
        self.hits, self.refusals = hits, refusals
        self.asked: list[str] = []
        self.waited: list[float] = []

    def ask(self, query: str, config: SearchConfig) -> list[Hit]:
        self.asked.append(query)
        if len(self.asked) <= self.refusals:
            raise RateLimited("429")
        return self.hits

    async def pause(self, seconds: float) -> None:
        self.waited.append(seconds)

    def tool(self, web: Web | None = None, **options: Any) -> Search:
        web = web or Web("live", None)
        return Search(web, GUARD, ask=self.ask, pause=self.pause, **options)


async def test_results() -> None:
    result = await Service(HITS).tool().call({"query": " old  pier "})
    assert result.ok
    assert result.text.startswith("1. Pier 1\nhttps://piers.example/1\nAbout pier 1.\n2. Pier 2")


async def test_backoff_doubles() -> None:
    service = Service(HITS, refusals=3)
    assert (await service.tool().call({"query": "pier"})).ok
    assert service.waited == [2, 4, 8]


async def test_a_service_that_stays_limited_is_a_clear_error() -> None:
    service = Service(HITS, refusals=99)
    with pytest.raises(ToolError, match=r"after 4 attempts \(rate limit\)"):
        await service.tool().call({"query": "pier"})
    assert service.waited == [2, 4, 8]


async def test_no_result_is_not_ok() -> None:
    result = await Service([]).tool().call({"query": "pier"})
    assert (result.ok, result.text) == (False, "No results for 'pier'.")


async def test_contaminated_results_are_dropped_and_counted() -> None:
    bad = [
        {"title": "x", "url": "https://hub.example/datasets/GAIA-benchmark/GAIA", "text": "y"},
        {"title": "The GAIA  validation set", "url": "https://blog.example", "text": "answers"},
    ]
    tool = Service([bad[0], HITS[0], bad[1]]).tool()
    text = (await tool.call({"query": "pier"})).text
    assert "1. Pier 1" in text
    assert "2." not in text
    assert tool.contaminated_dropped == 2
    assert not (await Service(bad).tool().call({"query": "pier"})).ok


async def test_long_results_come_in_parts() -> None:
    hits = [{"title": "t", "url": f"https://e.example/{n}", "text": "word " * 60} for n in range(9)]
    tool = Service(hits).tool(result_tokens=200)
    assert "go on with part=2" in (await tool.call({"query": "q"})).text
    assert "https://e.example/8" not in (await tool.call({"query": "q", "part": 2})).text


async def test_replay_asks_nobody(tmp_path: Path) -> None:
    cassette = tmp_path / "c.sqlite"
    service = Service(HITS)
    recorded = await service.tool(Web("record", cassette)).call({"query": "old pier"})
    silent = Service([], refusals=99)
    tool = silent.tool(Web("replay", cassette))
    assert await tool.call({"query": "old   pier"}) == recorded
    with pytest.raises(ToolError, match="Not recorded: search"):
        await tool.call({"query": "new pier"})
    assert silent.asked == []


@pytest.mark.parametrize(
    ("message", "expected"),
    [("No results found.", []), ("202 Ratelimit", RateLimited), ("boom", ToolError)],
)
def test_what_ddgs_raises(
    monkeypatch: pytest.MonkeyPatch, message: str, expected: type[Exception] | list[Hit]
) -> None:
    import ddgs
    from ddgs.exceptions import DDGSException

    class Failing:
        def __init__(self, timeout: int) -> None: ...

        def text(self, query: str, **options: object) -> list[dict[str, str]]:
            raise DDGSException(message)

    monkeypatch.setattr(ddgs, "DDGS", Failing)
    if isinstance(expected, list):
        assert ask_ddgs("pier", SearchConfig()) == expected
    else:
        with pytest.raises(expected):
            ask_ddgs("pier", SearchConfig())


def test_what_ddgs_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    import ddgs

    class Answering:
        def __init__(self, timeout: int) -> None: ...

        def text(self, query: str, **options: object) -> list[dict[str, str]]:
            assert (query, options["max_results"]) == ("pier", 8)
            return [{"title": "T", "href": "https://e.example", "body": "B"}]

    monkeypatch.setattr(ddgs, "DDGS", Answering)
    expected = [{"title": "T", "url": "https://e.example", "text": "B"}]
    assert ask_ddgs("pier", SearchConfig()) == expected


@pytest.mark.network
async def test_live_search() -> None:
    result = await Search(Web("live", None), GUARD).call({"query": "longest river in Europe"})
    assert "Volga" in result.text
