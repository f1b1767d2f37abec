"""The kinds of things in the archive's world, what is known of each, and how they are named."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Link:
    """A relation to one other entity of a kind."""

    kind: str


@dataclass(frozen=True)
class Links:
    """A relation to two to four entities of a kind."""

    kind: str


@dataclass(frozen=True)
class Number:
    """A whole number between two bounds; a `year` is written without a thousands separator."""

    low: int
    high: int
    year: bool = False


@dataclass(frozen=True)
class Word:
    """One word of a fixed set."""

    words: tuple[str, ...]


Attribute = Link | Links | Number | Word


@dataclass(frozen=True)
class Kind:
    """A kind of entity. `weight` is its share; `descriptors` tell namesakes apart, and a kind with
    a single one has no namesakes; `pronouns` are drawn from."""

    weight: int
    descriptors: tuple[str, ...]
    attributes: dict[str, Attribute]
    pronouns: tuple[str, ...] = ("it",)

    @property
    def namesakes(self) -> bool:
        """Whether two of this kind may share a name."""
        return len(self.descriptors) > 1


_ANIMALS = ("heron", "otter", "stag", "raven", "salmon", "lynx", "crane", "badger", "marten", "owl")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_FOUNDED = Number(1180, 1940, year=True)

KINDS: dict[str, Kind] = {
    "person": Kind(
        34,
        (
            *("navigator", "glassblower", "astronomer", "composer", "surveyor", "botanist"),
            *("clockmaker", "jurist", "physician", "cartographer", "weaver", "engineer", "poet"),
        ),
        {
            "birthplace": Link("town"),
            "birth_year": Number(1790, 1985, year=True),
            "teacher": Link("person"),
            "employer": Link("company"),
        },
        ("he", "she"),
    ),
    "town": Kind(
        14,
        ("harbour town", "hill town", "mill town", "market town", "mining town", "river town"),
        {
            "region": Link("region"),
            "population": Number(800, 240_000),
            "mayor": Link("person"),
            "town_river": Link("river"),
            "twins": Links("town"),
            "founded": _FOUNDED,
        },
    ),
    "region": Kind(
        4,
        ("region",),
        {
            "capital": Link("town"),
            "area": Number(300, 60_000),
            "emblem": Word(_ANIMALS),
            "governor": Link("person"),
        },
    ),
    "ship": Kind(
        9,
        ("brig", "schooner", "barque", "steamer", "cutter", "ferry"),
        {
            "captain": Link("person"),
            "home_port": Link("town"),
            "launched": Number(1850, 2005, year=True),
            "tonnage": Number(90, 30_000),
            "builder": Link("company"),
        },
        ("she",),
    ),
    "observatory": Kind(
        5,
        ("mountain observatory", "coastal observatory", "royal observatory", "school observatory"),
        {
            "seat": Link("town"),
            "director": Link("person"),
            "elevation": Number(40, 4100),
            "opened": Number(1750, 1999, year=True),
        },
    ),
    "bridge": Kind(
        5,
        ("stone bridge", "iron bridge", "chain bridge", "timber bridge"),
        {
            "spans": Link("river"),
            "designer": Link("person"),
            "span_length": Number(30, 2900),
            "opened": Number(1600, 1999, year=True),
        },
    ),
    "river": Kind(
        4,
        ("river",),
        {"course": Number(25, 1900), "mouth": Link("town")},
    ),
    "academy": Kind(
        4,
        ("naval academy", "art academy", "mining academy", "music academy"),
        {
            "seat": Link("town"),
            "director": Link("person"),
            "students": Number(60, 9000),
            "founded": _FOUNDED,
        },
    ),
    "company": Kind(
        7,
        ("trading company", "family firm", "joint company", "guild company"),
        {
            "seat": Link("town"),
            "founder": Link("person"),
            "employees": Number(12, 18_000),
            "founded": _FOUNDED,
        },
    ),
    "book": Kind(
        6,
        ("novel", "treatise", "travel book", "chronicle"),
        {
            "author": Link("person"),
            "published": Number(1800, 2010, year=True),
            "publisher": Link("company"),
            "pages": Number(80, 1400),
        },
    ),
    "festival": Kind(
        4,
        ("summer festival", "winter festival", "music festival", "harvest festival"),
        {"seat": Link("town"), "founder": Link("person"), "month": Word(_MONTHS)},
    ),
    "museum": Kind(
        4,
        ("art museum", "maritime museum", "folk museum", "science museum"),
        {
            "seat": Link("town"),
            "director": Link("person"),
            "holdings": Number(150, 90_000),
            "donors": Links("person"),
            "founded": _FOUNDED,
        },
    ),
}

_ONSETS = (
    *("B", "Br", "C", "Cal", "D", "Dr", "El", "F", "G", "Gr", "H", "Il", "J", "K", "Kr", "L", "M"),
    *("Mor", "N", "Or", "P", "Qu", "R", "S", "Sk", "St", "T", "Tr", "Ul", "V", "W", "Y", "Z"),
)
_VOWELS = ("a", "e", "i", "o", "u", "ae", "ei", "ou", "a", "e", "o")
_MIDDLES = (
    "l",
    "r",
    "n",
    "m",
    "st",
    "nd",
    "rv",
    "lt",
    "sk",
    "th",
    "v",
    "br",
    "nn",
    "rr",
    "ss",
    "d",
)
_ENDS = ("en", "or", "um", "ek", "ard", "in", "ess", "oth", "ain", "el", "ov", "ira", "ane", "us")
_FIRST = (
    *("Tomas", "Mira", "Anselm", "Edda", "Jorun", "Piet", "Salome", "Ruben", "Ilka", "Bastian"),
    *("Corin", "Dagny", "Elio", "Freya", "Gideon", "Hanne", "Ivo", "Jutta", "Kaspar", "Leonie"),
    *("Matthis", "Nadia", "Oswin", "Petra", "Quentin", "Rosalind", "Sander", "Tilda", "Ulrich"),
    *("Vera", "Wendel", "Yrsa", "Zeno", "Amelie", "Bruno", "Clara", "Dorian", "Esther", "Falk"),
)
_FIGURES = (
    *("Heron", "Lantern", "Anchor", "Ledger", "Compass", "Sparrow", "Harbour", "Orchard", "Mirror"),
    *("Candle", "Falcon", "Garden", "Winter", "Meadow", "Beacon", "Pilgrim", "Thistle", "Walrus"),
    *("Pendulum", "Sextant", "Willow", "Kestrel", "Granary", "Causeway", "Almond", "Halyard"),
)
_MANNERS = (
    *("Silent", "Morning", "Salt", "Golden", "Crooked", "Northern", "Patient", "Copper", "Hollow"),
    *(
        "Distant",
        "Borrowed",
        "Restless",
        "Amber",
        "Quiet",
        "Broken",
        "Scarlet",
        "Frozen",
        "Wandering",
    ),
    *("Gilded", "Nameless", "Eastern", "Painted", "Weathered", "Drowned", "Faithful", "Late"),
)


def _base(rng: Random) -> str:
    middle = rng.choice(_VOWELS) + rng.choice(_MIDDLES)
    longer = rng.choice(_VOWELS) + rng.choice(_MIDDLES) if rng.random() < 0.3 else ""
    return rng.choice(_ONSETS) + middle + longer + rng.choice(_ENDS)


def name_for(kind: str, rng: Random, crowded: bool) -> str:
    """A name in the manner of a kind; `crowded` asks for a longer one after a collision."""
    base = _base(rng)
    match kind:
        case "person":
            middle = f" {rng.choice(_FIRST)}" if crowded else ""
            return f"{rng.choice(_FIRST)}{middle} {base}"
        case "town":
            front = ("Port ", "Upper ", "New ", "Great ", "Saint ", "", "", "", "", "")
            return rng.choice(front[:5] if crowded else front) + base
        case "region":
            return base + rng.choice(("shire", "mark", "moor", "gau")) + ("land" if crowded else "")
        case "river":
            return base + (rng.choice(("water", "beck")) if crowded else "")
        case "company":
            ends = ("Works", "Press", "Yards", "Brothers", "Mills", "Trading House")
            return f"{base} {_base(rng) + ' ' if crowded else ''}{rng.choice(ends)}"
        case "ship":
            return (
                f"{rng.choice(_MANNERS)} {rng.choice(_FIGURES)}{f' of {base}' if crowded else ''}"
            )
        case "book":
            last = f"{rng.choice(_MANNERS)} {rng.choice(_FIGURES)}"
            return f"{rng.choice(_FIGURES)} of the {f'{base} ' if crowded else ''}{last}"
        case "festival":
            fairs = ("Lantern Fair", "Regatta", "Kite Week", "Harvest Feast", "Song Days")
            return f"{base} {_base(rng) + ' ' if crowded else ''}{rng.choice(fairs)}"
        case _:
            return f"{base} {_base(rng) + ' ' if crowded else ''}{kind.capitalize()}"
