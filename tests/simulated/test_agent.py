"""The simulated agent's steps, from prompts alone."""

from __future__ import annotations

from typing import Any

from tests.simulated.prompts import did, memories, path, question, step_of
from wmt import grammar
from wmt.grammar import Item, Section

CHAIN = question("What is the population of the birthplace of Tomas Hale?")
HEAD = "Document {}: {} - Handbook, edition of 2019, page {} of {}\n"


def action(reply: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return reply["action"]["tool"], reply["action"]["arguments"]


async def test_a_long_question_opens_a_subtask_with_its_first_search() -> None:
    reply = await step_of(CHAIN, path())
    assert reply["task_operation"] == {"open": "Find the birthplace of Tomas Hale"}
    assert action(reply) == ("search", {"query": "the birthplace of Tomas Hale"})


async def test_a_question_of_one_hop_needs_no_subtask() -> None:
    reply = await step_of(question("What is the population of Port Callen?"), path())
    assert reply["task_operation"] is None
    assert action(reply) == ("search", {"query": "the population of Port Callen"})


async def test_it_reads_what_the_search_pointed_to_and_pages_on() -> None:
    found = did(
        3,
        "search",
        HEAD.format(9, "Anna Hale", 1, 1) + "Nothing.\n" + HEAD.format(4, "Tomas Hale", 2, 3),
        query="the birthplace of Tomas Hale",
    )
    goal = path("Find the birthplace of Tomas Hale")
    assert action(await step_of(CHAIN, goal, memories(found)))[1] == {"document": 4, "page": 2}
    read = did(4, "read", HEAD.format(4, "Tomas Hale", 2, 3) + "Nothing.", document=4, page=2)
    reply = await step_of(CHAIN, goal, memories(found, read))
    assert action(reply) == ("read", {"document": 4, "page": 1})


async def test_a_known_result_completes_the_subtask_and_reads_one_more_page() -> None:
    found = did(
        3,
        "search",
        HEAD.format(4, "Tomas Hale", 1, 2) + "He was born in Port Callen.",
        query="the birthplace of Tomas Hale",
    )
    reply = await step_of(CHAIN, path("Find the birthplace of Tomas Hale"), memories(found))
    assert reply["task_operation"] == {"complete": "Port Callen"}
    assert action(reply) == ("read", {"document": 4, "page": 1})


async def test_it_trusts_a_marked_source_only_when_all_else_was_tried() -> None:
    asked = question("What is the population of Port Callen?")
    mirror = HEAD.replace("Handbook", "Pages, an unofficial mirror").format(4, "Port Callen", 1, 1)
    queries = (
        "the population of Port Callen",
        "the number of inhabitants of Port Callen",
        "Port Callen",
    )
    searches = [
        did(3 + at, "search", mirror + "It has 9 inhabitants.", query=query)
        for at, query in enumerate(queries)
    ]
    for known in range(1, 4):
        reply = await step_of(asked, path(), memories(*searches[:known]))
        if known < 3:
            assert action(reply) == ("search", {"query": queries[known]})
        else:
            assert action(reply) == ("read", {"document": 4, "page": 1})
    read = did(9, "read", mirror + "It has 9 inhabitants.", document=4, page=1)
    reply = await step_of(asked, path(), memories(*searches, read))
    assert action(reply) == ("final_answer", {"answer": "9"})


async def test_it_repeats_what_the_context_does_not_show_and_never_what_it_shows() -> None:
    first = await step_of(CHAIN)
    assert await step_of(CHAIN) == first
    tool, arguments = action(first)
    failed = Item(3, "action", "failure", tool, arguments, content="Nothing was found.")
    shown = Section(grammar.WARNINGS, items=(failed,))
    assert action(await step_of(CHAIN, shown)) != (tool, arguments)


async def test_attached_files_come_first_and_are_believed() -> None:
    asked = question("What is the population of Port Callen?\n\nAttached files: list.csv")
    assert action(await step_of(asked, path())) == ("read_file", {"path": "list.csv"})
    table = "| name | inhabitants |\n| --- | --- |\n| Port Callen | 12 |"
    done = memories(did(1, "read_file", table, path="list.csv"))
    assert action(await step_of(asked, path(), done)) == ("final_answer", {"answer": "12"})


async def test_sums_go_through_the_calculator() -> None:
    asked = question("What is the sum of the population of Aven and the population of Boren?")
    facts = did(1, "read", "Aven has 1,200 inhabitants. Boren has 50 inhabitants.", document=1)
    reply = await step_of(asked, path(), memories(facts))
    assert action(reply) == ("calculator", {"expression": "1200 + 50"})
    computed = did(2, "calculator", "1250", expression="1200 + 50")
    reply = await step_of(asked, path(), memories(facts, computed))
    assert action(reply) == ("final_answer", {"answer": "1250"})


async def test_what_it_does_not_understand_it_does_not_know() -> None:
    reply = await step_of(question("How are you today?"), path())
    assert action(reply) == ("final_answer", {"answer": "unknown"})
