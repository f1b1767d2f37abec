from __future__ import annotations

import re
from typing import Any

import pytest

from agents.tools.base import ToolError
from benchmarks.archive import prose
from benchmarks.archive.benchmark import ArchiveBenchmark
from tests.archive.solver import small


@pytest.fixture(scope="module")
def archive() -> ArchiveBenchmark:
    return small(documents=120, questions=12, page_words=110, results=3, snippet_words=20)


async def call(archive: ArchiveBenchmark, tool: str, **arguments: Any) -> str:
    tools = {found.name: found for found in archive.tools(archive.tasks()[0])}
    return (await tools[tool].call(arguments)).text


def test_tools_are_the_same_for_every_question(archive: ArchiveBenchmark) -> None:
    for task in archive.tasks():
        names = [tool.name for tool in archive.tools(task)]
        assert names == ["search", "read", "read_file", "calculator"]


async def test_search_shows_titles_pages_and_short_passages(archive: ArchiveBenchmark) -> None:
    document = archive.library.document(5)
    name = document.title.split(" - ")[0]
    lines = (await call(archive, "search", query=name)).splitlines()
    assert len(lines) == 6
    numbers = [int(re.match(r"Document (\d+): ", line)[1]) for line in lines[::2]]  # type: ignore[index]
    assert 5 in numbers
    for number, head, passage in zip(numbers, lines[::2], lines[1::2], strict=True):
        page = int(re.search(r", page (\d+) of \d+$", head)[1])  # type: ignore[index]
        assert len(passage.split()) <= 21
        cut = prose.pages(archive.library.document(number).text, 110)
        assert passage.removesuffix(" ...") in cut[page - 1]


async def test_a_search_without_a_result_is_a_failure(archive: ArchiveBenchmark) -> None:
    tools = {found.name: found for found in archive.tools(archive.tasks()[0])}
    result = await tools["search"].call({"query": "xyzzy"})
    assert not result.ok and result.text


async def test_pages_make_up_the_document_and_stay_short(archive: ArchiveBenchmark) -> None:
    for number in range(1, 121):
        text = archive.library.document(number).text
        cut = prose.pages(text, 110)
        assert " ".join(cut).split() == text.split()
        assert all(len(page.split()) <= 110 for page in cut)
    first = await call(archive, "read", document=7)
    assert first == await call(archive, "read", document=7, page=1)
    assert first.startswith(f"Document 7: {archive.library.document(7).title}, page 1 of ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"document": 999}, "No document 999: they are numbered 1 to 120"),
        ({"document": 3, "page": 99}, "Document 3 has no page 99: it has"),
        ({"document": "three"}, "must be a whole number"),
        ({"number": 3}, "Unknown argument 'number'"),
    ],
)
async def test_a_wrong_call_is_told_to_the_model(
    archive: ArchiveBenchmark, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ToolError, match=message):
        await call(archive, "read", **arguments)


def test_nothing_in_texts_and_titles_names_an_id(archive: ArchiveBenchmark) -> None:
    for number in range(1, 121):
        document = archive.library.document(number)
        assert not re.search(r"[{}<>\[\]_]|\bid\b", document.title + document.text)


def test_every_document_is_found_by_the_name_of_its_subject(archive: ArchiveBenchmark) -> None:
    """Also by what is asked of it, in nearly all cases: a search may fail, as real ones do."""
    library, world = archive.library, archive.library.world
    asked = missed = 0
    for index in world.documents_of:
        for relation in world.attributes(index):
            able = set(world.official_documents(index, relation))
            if not able:
                continue
            assert able & set(library.search(world.mention(index), 5)), (index, relation)
            question = prose.phrasings()[relation]["ask"][0].replace("{s}", world.mention(index))
            asked += 1
            missed += not able & set(library.search(question, 5))
    assert asked > 200
    assert missed <= asked * 0.02
