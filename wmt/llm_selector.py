"""The paper's selector: a language model that reads the candidates and names ids (section 2.6)."""

from __future__ import annotations

import re
from typing import Any

from wmt.chat import ChatError, ChatModel, ChatRequest, Message
from wmt.grammar import ACTIVE_TASK, CANDIDATES, Item, Section, item_text, section_text
from wmt.memory import Selection
from wmt.prompts import render
from wmt.replies import first_json_object, without_thinking
from wmt.selectors import Candidate, Chosen, SelectionRequest, by_usefulness
from wmt.views import shown_kind

MAX_TOKENS = 256
_MAX_IDS = 64
_FEW = 8
_SCORE_TOKENS = len(", u=0.00, U=-0.00")  # no tokenizer makes more tokens than bytes
_MARGIN_TOKENS = 64  # what a chat template adds around the messages
_CLOSING = "Name the ids of the memories to select as one JSON object."
_CUT = re.compile(r'\{\s*"selected"\s*:\s*\[([0-9,\s]*)(?:(\])|\Z)')
_AGAIN = "That was not a JSON object with a list of ids. Reply with the JSON object alone."


class LLMSelector:
    """One call, one retry for a reply that cannot be read, then the deterministic order, counted.

    `scores` decides whether the model sees u and U; `supersession` whether it may also name
    superseded ids.
    """

    def __init__(self, model: ChatModel, scores: bool, supersession: bool = False) -> None:
        self._model = model
        self._scores = scores
        self._supersession = supersession
        self._system = render("selector_system.j2", scores=scores, supersession=supersession)

    async def select(self, request: SelectionRequest) -> Chosen:
        """See the class; without a candidate that fits the budget no call is made."""
        room = request.room
        if not any(room is None or each.tokens <= room for each in request.candidates):
            cut_by_budget = tuple(candidate.id for candidate in request.candidates)
            return Chosen((), Selection("llm"), cut_by_budget)
        body, shown = await self._prompt(request)
        cut = len(request.candidates) - len(shown)
        messages: tuple[Message, ...] = (
            Message("system", self._system),
            Message("user", body),
        )
        schema = _schema(shown, self._supersession)
        retries = 0
        for attempt in range(2 if shown else 0):
            try:
                done = await self._model.complete(
                    ChatRequest(messages, "selector", MAX_TOKENS, json_schema=schema)
                )
            except ChatError:
                break
            value = first_json_object(done.text, "selected") or _cut_short(done.text)
            named = None if value is None else _ids(value["selected"])
            if value is not None and named is not None:
                superseded = _ids(value.get("superseded", [])) if self._supersession else []
                return self._chosen(shown, cut, retries, named, superseded or [])
            if attempt == 0:
                retries = 1
                messages = (*messages[:1], Message("user", f"{body}\n{_AGAIN}"))
        ids = tuple(candidate.id for candidate in by_usefulness(request.candidates))
        return Chosen(ids, Selection("llm", len(shown), cut, 0, retries, fallback=True))

    def _chosen(
        self, shown: set[int], cut: int, retries: int, named: list[int], superseded: list[int]
    ) -> Chosen:
        known = tuple(each for each in dict.fromkeys(named) if each in shown)
        gone = tuple(each for each in dict.fromkeys(superseded) if each in shown)
        unknown = len({*named, *superseded} - shown)
        return Chosen(known, Selection("llm", len(shown), cut, unknown, retries, superseded=gone))

    async def _prompt(self, request: SelectionRequest) -> tuple[str, set[int]]:
        """The request, with as many candidates as the window holds: the most useful by the
        deterministic order, shown by id, so that a growing pool keeps its prefix."""
        head = section_text(Section(ACTIVE_TASK, "\n".join(request.goals)))
        room = self._model.context_window - MAX_TOKENS - _MARGIN_TOKENS
        room -= await self._model.count_tokens(
            f"{self._system}{head}\n{CANDIDATES}:\n\n{_CLOSING}\n{_AGAIN}"
        )
        blocks: dict[int, str] = {}
        for candidate in by_usefulness(request.candidates):
            # Counted without the scores, which move at every step while counts are cached by text.
            cost = await self._model.count_tokens(self._block(candidate, scores=False))
            cost += _SCORE_TOKENS if self._scores else 0
            if cost <= room:
                blocks[candidate.id] = self._block(candidate, self._scores)
                room -= cost
        listed = "".join(blocks[each] for each in sorted(blocks))
        return f"{head}\n{CANDIDATES}:\n{listed}\n{_CLOSING}", set(blocks)

    def _block(self, candidate: Candidate, scores: bool) -> str:
        node = candidate.node
        return item_text(
            Item(
                node.id,
                shown_kind(node),
                node.lifecycle.value,
                score=candidate.score if scores else None,
                priority=candidate.priority if scores else None,
                content=candidate.text,
            )
        )


def _schema(shown: set[int], supersession: bool) -> dict[str, Any]:
    """Every list bounded: a small model repeats ids up to the bound. While few are shown, only
    their ids can be named: a small model also makes ids up. With more, the bound is a power of two,
    so that a server compiles a handful of grammars and not one for every pool. `uniqueItems` would
    help, but xgrammar refuses it."""
    item: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 999_999}
    most = min(_MAX_IDS, 1 << (len(shown) - 1).bit_length())
    if len(shown) <= _FEW:
        item, most = {"type": "integer", "enum": sorted(shown)}, len(shown)
    ids = {"type": "array", "items": item, "maxItems": most}
    names = ["selected", "superseded"] if supersession else ["selected"]
    return {
        "type": "object",
        "properties": dict.fromkeys(names, ids),
        "required": names,
        "additionalProperties": False,
    }


def _cut_short(text: str) -> dict[str, Any] | None:
    """The selected ids of a reply that the token limit cut. The last number of an open list may be
    half of one, so only numbers with a comma after them count; without any, nothing was read."""
    match = _CUT.search(without_thinking(text))
    if match is None:
        return None
    ids = re.findall(r"[0-9]+" if match[2] else r"[0-9]+(?=\s*,)", match[1])
    return {"selected": ids} if ids else None


def _ids(value: Any) -> list[int] | None:
    """Ids as models write them: numbers, or numbers in strings or brackets; None if it is no list
    or an entry is no id."""
    if not isinstance(value, list):
        return None
    found = []
    for entry in value:
        if isinstance(entry, str):
            entry = entry.strip().strip("[]")
            if not (entry.isascii() and entry.isdigit() and len(entry) < 10):
                return None
            entry = int(entry)
        if not isinstance(entry, int) or isinstance(entry, bool):
            return None
        found.append(entry)
    return found
