"""How the corpus speaks: `data/phrasings.yaml`, and the reader's lexicon that follows from it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from poisoning.schema import Register, ValueType

PHRASINGS = Path(__file__).parent / "data" / "phrasings.yaml"
LEXICON = Path(__file__).parent / "data" / "lexicon.yaml"
PROSE: tuple[Register, ...] = ("encyclopedia", "news", "forum")
STRUCTURED: tuple[Register, ...] = ("register", "log", "table")


class Attribute(BaseModel):
    """One thing that can be asked of an entity, and its clauses by register."""

    model_config = ConfigDict(extra="forbid")

    type: ValueType
    label: str
    ask: str
    question: str
    encyclopedia: list[str]
    news: list[str]
    forum: list[str]
    range: tuple[int, int] = (0, 0)


class Kind(BaseModel):
    """A kind of entity; `the` is the article before its name."""

    model_config = ConfigDict(extra="forbid")

    name: str
    the: str
    attributes: dict[str, Attribute]


class NameParts(BaseModel):
    """What invented names are put together from."""

    model_config = ConfigDict(extra="forbid")

    onsets: list[str]
    codas: list[str]
    given: list[str]
    family_stems: list[str]
    family_ends: list[str]
    trades: list[str]


class Phrasings(BaseModel):
    """The whole file; its head explains every key."""

    model_config = ConfigDict(extra="forbid")

    kinds: dict[str, Kind]
    frames: dict[Register, list[str]]
    structured: dict[Register, list[str]]
    claim_frames: list[str]
    background: dict[Register, list[str]]
    failed: list[str]
    failed_with_text: list[str]
    sources: dict[Register, list[str]]
    tools: dict[Register, str]
    topics: list[str]
    users: list[str]
    names: NameParts
    months: list[str]

    def clauses(self, attribute: Attribute, register: Register) -> list[str]:
        """The clauses of an attribute in one register, with `{e}` and `{v}` still open."""
        if register in PROSE:
            clauses: list[str] = getattr(attribute, register)
            return clauses
        field = attribute.label.replace(" ", "_")
        return [
            clause.replace("{label}", attribute.label).replace("{field}", field)
            for clause in self.structured[register]
        ]


def read_phrasings(path: Path = PHRASINGS) -> Phrasings:
    """The committed phrasings, validated."""
    return Phrasings.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def lexicon(phrasings: Phrasings) -> dict[str, Any]:
    """The simulated reader's lexicon: the language of the corpus, none of its facts.

    It lists every clause of every register, benign and poisoned entries alike use them.
    """
    relations: dict[str, Any] = {}
    for kind_name, kind in phrasings.kinds.items():
        for attribute_name, attribute in kind.attributes.items():
            said = [
                clause
                for register in PROSE + STRUCTURED
                for clause in phrasings.clauses(attribute, register)
            ]
            relations[f"{kind_name}_{attribute_name}"] = {
                "value": "number" if attribute.type in ("year", "number") else "entity",
                "ask": [_reader_slots(attribute.ask)],
                "question": [_reader_slots(attribute.question)],
                "say": [_reader_slots(clause) for clause in said],
            }
    return {"relations": relations}


def lexicon_text(phrasings: Phrasings) -> str:
    """The lexicon as the bytes of `data/lexicon.yaml`."""
    head = "# Made from phrasings.yaml by `python -m poisoning.corpus`; language only, no facts.\n"
    return head + yaml.safe_dump(lexicon(phrasings), sort_keys=False, width=200)


def _reader_slots(text: str) -> str:
    """{e} and {v} in the reader's notation; it takes a mention's own article with the mention."""
    return re.sub(r"(\bthe )?\{e\}", "{s}", text)
