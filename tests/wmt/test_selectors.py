"""Selectors: what a model may reply, what it may see, and the ones that ask nobody."""

from __future__ import annotations

import json
from typing import Any

import bm25s
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wmt.models import DEAD, Replies
from tests.wmt.test_grammar import hostile
from wmt.grammar import normal, parse
from wmt.lexical import IncrementalBM25, LexicalSelector, tokens
from wmt.llm_selector import LLMSelector
from wmt.nodes import Lifecycle, MemoryNode, NodeKind, Outcome
from wmt.selectors import Candidate, SelectAll, SelectionRequest, WholeBranches, by_usefulness
from wmt.views import candidate_text


def candidate(
    node_id: int,
    text: str = "text",
    score: float | None = 0.5,
    priority: float | None = 0.4,
    unit: int = 0,
    cost: int = 10,
) -> Candidate:
    node = MemoryNode(
        node_id, NodeKind.ACTION, text, 0, score or 0.5, 1, outcome=Outcome.SUCCESS, tool="read"
    )
    return Candidate(node, candidate_text(node), cost, score, priority, unit)


def request(*candidates: Candidate, room: int | None = None) -> SelectionRequest:
    return SelectionRequest(("Who wrote it?", "find the year"), candidates, room)


FOUR = tuple(candidate(i, f"fact {i}", 0.1 * i, 0.2) for i in (1, 2, 3, 4))


@pytest.mark.parametrize(
    ("reply", "chosen", "unknown"),
    [
        ('{"selected": [2, 4]}', (2, 4), 0),
        ('{"selected": [4, 2, 4, 2]}', (4, 2), 0),
        ('{"selected": []}', (), 0),
        ('{"selected": [2, 99, 77]}', (2,), 2),
        ('{"selected": ["2", "[3]"]}', (2, 3), 0),
        ('<think>maybe {"selected": [1]}</think>{"selected": [3]}', (3,), 0),
        ('maybe {"selected": [1]}</think>{"selected": [3]}', (3,), 0),
        ('<|channel>thought {"selected": [1]}<channel|>{"selected": [3]}', (3,), 0),
        ('Sure:\n```json\n{"selected": [3]}\n```', (3,), 0),
        ('{"reason": {"a": 1}} {"selected": [1]}', (1,), 0),
        ('{"selected": [3, 2, 2, 2, 1', (3, 2), 0),  # cut by the token limit
        ('{"selected": [3, 2, ', (3, 2), 0),
        ('{"selected": [3, 2], "superseded": [1, 1', (3, 2), 0),
    ],
)
async def test_replies_that_can_be_read(reply: str, chosen: tuple[int, ...], unknown: int) -> None:
    model = Replies([reply])
    done = await LLMSelector(model, scores=True).select(request(*FOUR))
    assert done.ids == chosen
    assert (done.selection.unknown, done.selection.retries) == (unknown, 0)
    assert not done.selection.fallback and len(model.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "2, 4",
        "[2]",
        '{"selected": "2"}',
        '{"selected": [2.5]}',
        '{"selected": [true]}',
        '{"selected": [1',
        '<think>{"selected": [1]}',
        f'{{"selected": ["{"9" * 40}"]}}',
    ],
)
async def test_a_reply_that_cannot_be_read_is_asked_for_once_more(reply: str) -> None:
    model = Replies([reply, '{"selected": [3]}'])
    done = await LLMSelector(model, scores=True).select(request(*FOUR))
    assert done.ids == (3,) and done.selection.retries == 1 and not done.selection.fallback
    model = Replies([reply])
    done = await LLMSelector(model, scores=True).select(request(*FOUR))
    assert done.ids == (4, 3, 2, 1) and done.selection.fallback and done.selection.retries == 1
    first, second = model.requests
    assert first.messages != second.messages, "the same prompt would bring the same reply"


async def test_a_dead_server_is_not_asked_again() -> None:
    model = Replies([DEAD])
    done = await LLMSelector(model, scores=True).select(request(*FOUR))
    assert done.selection.fallback and done.selection.retries == 0 and len(model.requests) == 1


async def test_no_candidates_no_call() -> None:
    model = Replies()
    assert (await LLMSelector(model, scores=True).select(request())).ids == ()
    assert not model.requests


def test_the_deterministic_order_is_priority_then_score_then_recency() -> None:
    many = (
        candidate(1, score=0.9, priority=0.2),
        candidate(2, score=0.5, priority=0.6),  # the older, but of the higher u
        candidate(3, score=0.3, priority=0.6),
        candidate(4, score=0.3, priority=0.6),
        candidate(5, score=0.1, priority=0.7),
        candidate(6, score=0.65, priority=None),  # a global stands by its u
        candidate(7, score=0.55, priority=None),
        candidate(8, score=0.0, priority=-0.1),
    )
    expected = [5, 6, 2, 4, 3, 7, 1, 8]
    for order in (many, many[::-1], many[3:] + many[:3]):
        assert [each.id for each in by_usefulness(order)] == expected
    unscored = [candidate(i, score=None, priority=None) for i in (2, 4, 3)]
    assert [each.id for each in by_usefulness(unscored)] == [4, 3, 2]


async def test_the_fallback_names_all_in_the_deterministic_order() -> None:
    many = (
        candidate(1, score=0.9, priority=0.2),
        candidate(2, score=0.5, priority=0.6),
        candidate(3, score=0.3, priority=0.6),
    )
    for reply in ("junk", DEAD):
        done = await LLMSelector(Replies([reply]), scores=True).select(request(*many, room=25))
        assert done.ids == (2, 3, 1) and done.selection.fallback


@pytest.mark.parametrize("scores", [True, False])
async def test_only_a_selector_with_scores_sees_them(scores: bool) -> None:
    model = Replies()
    await LLMSelector(model, scores).select(request(*FOUR))
    system, user = model.requests[0].messages
    sections = {section.title: section for section in parse(user.content)}
    assert sections["Active task"].text == "Who wrote it?\nfind the year"
    items = sections["Candidates"].items
    assert [item.id for item in items] == [1, 2, 3, 4]
    expected = [(0.1, 0.2), (0.2, 0.2), (0.3, 0.2), (0.4, 0.2)] if scores else [(None, None)] * 4
    assert [(item.score, item.priority) for item in items] == expected
    assert ("U is the priority" in system.content) is scores
    assert ("u=" in user.content) is scores


async def test_superseded_ids_only_where_the_key_says_so() -> None:
    reply = '{"selected": [1], "superseded": [2, 99]}'
    model = Replies([reply])
    done = await LLMSelector(model, scores=True, supersession=True).select(request(*FOUR))
    assert done.selection.superseded == (2,) and done.selection.unknown == 1
    assert "superseded" in model.requests[0].messages[0].content
    model = Replies([reply])
    done = await LLMSelector(model, scores=True).select(request(*FOUR))
    assert done.selection.superseded == () and done.selection.unknown == 0
    assert "superseded" not in json.dumps(model.requests[0].json_schema)


def bounded(schema: dict[str, Any]) -> bool:
    match schema.get("type"):
        case "object":
            closed = schema["additionalProperties"] is False
            return closed and all(map(bounded, schema["properties"].values()))
        case "array":
            return "maxItems" in schema and bounded(schema["items"])
        case "string":
            return "maxLength" in schema
        case "integer":
            return "enum" in schema or ("minimum" in schema and "maximum" in schema)
    return False


async def test_the_schema_is_bounded_and_takes_few_forms() -> None:
    model = Replies()
    selector = LLMSelector(model, scores=True, supersession=True)
    for number in range(1, 41):
        await selector.select(request(*[candidate(i) for i in range(number)]))
    schemas = [each.json_schema for each in model.requests]
    assert all(schema is not None and bounded(schema) for schema in schemas)
    bounds = [schema["properties"]["selected"]["maxItems"] for schema in schemas if schema]
    assert all(number <= bound < 2 * number for number, bound in enumerate(bounds, 1))
    assert set(bounds) == {1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64}
    assert len({json.dumps(schema) for schema in schemas}) == 11
    assert all(each.max_tokens >= 200 for each in model.requests)


async def test_while_few_are_shown_the_schema_names_their_ids() -> None:
    """A tiny model names ids that are not there, and a server's grammar can keep it from that."""
    for few in ((7, 3, 12), range(10, 18)):
        model = Replies()
        selector = LLMSelector(model, scores=True, supersession=True)
        await selector.select(request(*[candidate(i) for i in few]))
        schema = model.requests[0].json_schema
        assert schema is not None
        ids = {"type": "integer", "enum": sorted(few)}
        named = {"type": "array", "items": ids, "maxItems": len(few)}
        assert schema["properties"] == {"selected": named, "superseded": named}
    model = Replies()
    await LLMSelector(model, scores=True).select(request(*[candidate(i) for i in range(9)]))
    assert "enum" not in json.dumps(model.requests[0].json_schema)


@pytest.mark.parametrize("room", [-50, 0, 9])
async def test_where_no_candidate_fits_the_budget_no_call_is_made(room: int) -> None:
    model = Replies(['{"selected": [1]}'])
    done = await LLMSelector(model, scores=True).select(request(*FOUR, room=room))
    assert not model.requests and done.ids == () and done.cut == (1, 2, 3, 4)
    assert done.selection.shown == 0 and not done.selection.fallback
    small = candidate(5, "small", cost=9)
    done = await LLMSelector(model, scores=True).select(request(*FOUR, small, room=9))
    assert len(model.requests) == 1 and done.ids == (1,) and done.cut == ()


@pytest.mark.parametrize("window", [700, 1000, 8000])
async def test_the_prompt_is_held_within_the_window_and_the_cut_is_counted(window: int) -> None:
    many = [candidate(i, "word " * 60, score=i / 100, priority=0.2) for i in range(1, 41)]
    model = Replies(context_window=window)
    done = await LLMSelector(model, scores=True).select(request(*many))
    shown = parse(model.requests[0].messages[1].content)[1].items
    assert done.selection.shown == len(shown)
    assert done.selection.cut == 40 - len(shown) and (done.selection.cut > 0) is (window < 8000)
    assert [item.id for item in shown] == list(range(41 - len(shown), 41)), "the best are shown"


async def test_a_candidate_is_not_counted_again_when_its_scores_move() -> None:
    """Every count is a request to the server's tokenizer; models cache them by text."""
    model = Replies()
    selector = LLMSelector(model, scores=True)
    await selector.select(request(*[candidate(i, f"fact {i}") for i in range(5)]))
    before = set(model.counted)
    await selector.select(request(*[candidate(i, f"fact {i}", 0.31, 0.17) for i in range(5)]))
    assert set(model.counted) == before
    assert "u=0.31, U=0.17" in model.requests[1].messages[1].content


async def test_a_window_too_small_for_any_candidate_makes_no_call() -> None:
    model = Replies(context_window=400)
    done = await LLMSelector(model, scores=True).select(request(*FOUR))
    assert not model.requests and done.selection.fallback and done.selection.cut == 4


@given(st.lists(hostile, min_size=1, max_size=5), st.lists(hostile, min_size=1, max_size=3))
@settings(max_examples=100)
def test_no_candidate_can_forge_another(contents: list[str], goals: list[str]) -> None:
    import asyncio

    model = Replies()
    many = tuple(candidate(10 + i, text) for i, text in enumerate(contents))
    asyncio.run(LLMSelector(model, True).select(SelectionRequest(tuple(goals), many, None)))
    user = model.requests[0].messages[1]
    active, candidates = parse(user.content)
    assert (active.title, candidates.title) == ("Active task", "Candidates")
    assert active.text == normal("\n".join(goals))
    assert [item.id for item in candidates.items] == [each.id for each in many]
    assert [item.content for item in candidates.items] == [normal(each.text) for each in many]


CORPUS = [
    "The bridge over the river Vell was completed in 1912.",
    "Ana Torr wrote a history of the bridge; the bridge is long, and the river is short.",
    "No page found.",
    "In 1912 the town of Vell had 310 inhabitants.",
    "A river, a bridge, a river, a bridge.",
]
QUERY = "When was the bridge over the river completed? bridge"


def test_tokens_are_those_of_bm25s() -> None:
    for text in [*CORPUS, QUERY, "naïve CAFÉ x 12-34"]:
        ((*theirs,),) = bm25s.tokenize([text], return_ids=False, show_progress=False)
        assert tokens(text) == theirs


def test_scores_are_those_of_bm25s_however_the_index_came_about() -> None:
    reference = bm25s.BM25()
    reference.index([tokens(text) for text in CORPUS], show_progress=False)
    expected = reference.get_scores(tokens(QUERY))
    index = IncrementalBM25()
    index.update({0: CORPUS[1], 7: "to be removed: river river", 3: CORPUS[0]})
    index.update({3: CORPUS[3], 4: CORPUS[4]})
    index.update(dict(enumerate(CORPUS)))
    scores = index.scores(tokens(QUERY))
    assert [scores.get(i, 0.0) for i in range(len(CORPUS))] == pytest.approx(list(expected), 1e-5)


async def test_the_lexical_selector_weighs_relevance_with_scores() -> None:
    same = [candidate(i, "the year 1912", u, p) for i, u, p in ((1, 0.9, 0.5), (2, 0.2, 0.1))]
    other = candidate(3, "nothing alike", 1.0, 1.0)
    with_scores = await LexicalSelector(True, 8).select(request(*same, other))
    assert with_scores.ids == (1, 2) and with_scores.selection.selector == "lexical"
    without = await LexicalSelector(False, 8).select(request(*same, other))
    assert without.ids == (2, 1), "equals: the latest first"
    assert (await LexicalSelector(True, 1).select(request(*same, other))).ids == (1,)


async def test_the_lexical_weight_is_the_mean_of_u_and_priority_and_u_alone_for_a_global() -> None:
    """The same words everywhere, so that the weights alone rank."""
    many = (
        candidate(1, "the year", score=0.9, priority=0.1),  # mean 0.50
        candidate(2, "the year", score=0.5, priority=0.7),  # mean 0.60
        candidate(3, "the year", score=0.55, priority=None),
        candidate(4, "the year", score=0.9, priority=-0.3),  # a priority below 0 counts as 0: 0.45
        candidate(5, "the year", score=0.40, priority=None),
    )
    done = await LexicalSelector(scores=True, top_k=9).select(request(*many))
    assert done.ids == (2, 3, 1, 4, 5)
    done = await LexicalSelector(scores=False, top_k=9).select(request(*many))
    assert done.ids == (5, 4, 3, 2, 1)


async def test_relevance_is_that_to_the_active_task() -> None:
    year, author = candidate(1, "the year 1912"), candidate(2, "wrote it: Ana")
    assert (await LexicalSelector(True, 8).select(request(year, author))).ids == (1,)
    assert (await LexicalSelector(True, 8).select(request(author))).ids == (2,), "the question"


async def test_whole_branches_stand_or_fall_together() -> None:
    members = [
        candidate(1, priority=0.6, unit=1, cost=30),
        candidate(2, priority=0.6, unit=1, cost=30),
        candidate(3, priority=0.5, unit=3, cost=50),
        candidate(4, priority=0.5, unit=3, cost=50),
        candidate(5, priority=0.2, unit=5, cost=40),
    ]
    everything = await WholeBranches().select(request(*members))
    assert set(everything.ids) == {1, 2, 3, 4, 5} and everything.cut == ()
    tight = await WholeBranches().select(request(*members, room=100))
    assert set(tight.ids) == {1, 2, 5} and set(tight.cut) == {3, 4}


async def test_select_all_names_the_latest_first() -> None:
    assert (await SelectAll().select(request(*FOUR))).ids == (4, 3, 2, 1)


def test_a_long_observation_is_shortened_for_the_selector_alone() -> None:
    node = MemoryNode(1, NodeKind.ACTION, "x" * 50, 0, 0.5, 1, Lifecycle.ACTIVE, tool="read")
    assert candidate_text(node, 10).endswith("\n" + "x" * 10 + " ...")
    assert candidate_text(node, 50).endswith("\n" + "x" * 50)
