"""The simulated selector and summarizer, the tokenizer, and the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agents.models.simulated import lexicon, tokens
from tests.simulated.prompts import ask, config, did, prompt
from wmt import grammar
from wmt.chat import ChatRequest, ContextOverflow, Message
from wmt.grammar import Item, Section

TASK = Section(grammar.ACTIVE_TASK, "Find the birthplace of the mayor of Port Callen")


def candidate(id: int, content: str, u: float | None = None, priority: float | None = None) -> Item:
    return Item(id, "action", "active", score=u, priority=priority, content=content)


async def select(*items: Item) -> list[int]:
    async with config().open(Path()) as opened:
        text = prompt(TASK, Section(grammar.CANDIDATES, items=items))
        reply = await ask(opened, text, "selector")
    assert set(reply) == {"selected"}
    return list(reply["selected"])


async def test_candidates_are_chosen_by_shared_words_along_the_chain() -> None:
    chosen = await select(
        candidate(3, "The mayor of Port Callen is Mira Okon."),
        candidate(4, "Mira Okon lived long."),
        candidate(5, "Weather in the hills."),
        candidate(6, "Anna Hale lived long."),
    )
    assert chosen == [3, 4]


async def test_scores_weigh_in_where_they_are_shown() -> None:
    text = "The mayor of Port Callen spoke."
    assert await select(candidate(3, text), candidate(4, text)) == [3, 4]
    assert await select(candidate(3, text, 0.75, 0.6), candidate(4, text, 0.05, 0.0)) == [3]


async def test_no_candidates_and_no_overlap_are_an_empty_choice() -> None:
    assert await select() == []
    assert await select(candidate(3, "Nothing.")) == []


async def summarize(*items: Item, reported: str = "") -> dict[str, Any]:
    sections = [Section(grammar.OBJECTIVE, "Find the birthplace of the mayor of Port Callen")]
    sections += [Section("Reported result", reported)] if reported else []
    async with config().open(Path()) as opened:
        text = prompt(*sections, Section(grammar.STEPS, items=items))
        return await ask(opened, text, "summarizer")


MAYOR = did(3, "read", "Rain fell. The mayor of Port Callen is Mira Okon. Aven has 9 inhabitants.")
BORN = did(4, "read", "Document 2: Mira Okon - Handbook, page 1 of 1\nShe was born in Old Ferry.")


async def test_a_summary_keeps_the_sentences_of_the_chain_with_their_subjects_named() -> None:
    summary = await summarize(MAYOR, BORN, did(5, "read", "No such page.", state="failure"))
    assert summary == {
        "result": "Old Ferry",
        "evidence": ["The mayor of Port Callen is Mira Okon.", "Mira Okon was born in Old Ferry."],
        "unresolved": [],
        "warnings": ["read failed: No such page."],
    }


async def test_the_reported_result_stands_right_or_wrong() -> None:
    assert (await summarize(MAYOR, BORN, reported="Aven"))["result"] == "Aven"
    assert (await summarize(MAYOR, BORN, reported="unknown"))["result"] == "Old Ferry"


async def test_what_was_not_found_is_unresolved() -> None:
    summary = await summarize(MAYOR)
    assert summary["result"] == "unknown"
    assert summary["unresolved"] == [
        "No statement was found on the birthplace of the mayor of Port Callen."
    ]


async def test_evidence_of_a_marked_source_keeps_its_mark() -> None:
    header = "Document 2: Mira Okon - Pages, an unofficial mirror, page 1 of 1\n"
    doubtful = did(4, "read", header + "She was born in Aven.")
    [_, evidence] = (await summarize(MAYOR, doubtful))["evidence"]
    assert evidence == "Mira Okon was born in Aven. (unofficial mirror)"
    assert (await summarize(MAYOR, doubtful, BORN))["evidence"][
        1
    ] == "Mira Okon was born in Old Ferry."


@given(st.text(), st.text())
def test_tokens_add_up_over_lines(one: str, other: str) -> None:
    assert tokens.count(f"{one}\n{other}") == tokens.count(one) + tokens.count(other)


async def test_the_window_is_kept_and_usage_is_what_was_sent() -> None:
    async with config(context_window=512).open(Path()) as opened:
        messages = (Message("system", "a b c"), Message("user", "Question:\n| Who?\n"))
        done = await opened.chat.complete(ChatRequest(messages, "agent", max_tokens=100))
        expected = tokens.count("a b c") + tokens.count("Question:\n| Who?\n")
        assert (done.usage.prompt, done.usage.estimated) == (expected, False)
        assert done.usage.completion == tokens.count(done.text)
        assert await opened.chat.count_tokens("a b c") == 3
        long = (Message("user", "word " * 500),)
        with pytest.raises(ContextOverflow):
            await opened.chat.complete(ChatRequest(long, "agent", max_tokens=100))


def test_a_wrong_lexicon_is_one_clear_line(tmp_path: Path) -> None:
    file = tmp_path / "words.yaml"
    file.write_text("relations: {age: {value: number, ask: [how old], say: ['{s} is {v}']}}")
    [line] = config(lexicons=(str(file),)).preflight()
    assert "words.yaml" in line and "'how old' needs {s} once" in line
    [line] = config(lexicons=(str(tmp_path / "none.yaml"),)).preflight()
    assert "cannot be read" in line
    assert config().preflight() == []
    [line] = config(lexicons=("benchmarks/archive/lexicon.yaml",) * 2).preflight()
    assert "stands in an earlier file too" in line


def test_wrong_keys_and_rules_are_refused() -> None:
    with pytest.raises(ValidationError, match="conflict"):
        config(conflict="loudest")
    with pytest.raises(ValidationError, match="extra"):
        config(temperature=1)


def test_phrases_of_several_relations_are_asked_together(tmp_path: Path) -> None:
    file = tmp_path / "more.yaml"
    file.write_text(
        "relations: {mayor2: {value: entity, ask: ['the mayor of {s}'], say: ['{v} leads {s}']}}"
    )
    both = lexicon.load(["benchmarks/archive/lexicon.yaml", str(file)])
    [ask_pattern] = [ask for ask in both.asks if ask.prefix == "the mayor of "]
    assert ask_pattern.relations == ("mayor", "mayor2")
