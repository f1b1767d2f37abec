"""Prose that states no fact of the world: what surrounds the facts in an archive document.

Sentences are drawn from frames whose slots are filled from word lists. None of them may state a
relation of the lexicon; a test reads a large world and finds nothing but its facts.
"""

from __future__ import annotations

import re
from random import Random

_WORDS: dict[str, tuple[str, ...]] = {
    "adj": (
        *("old", "narrow", "pale", "quiet", "stubborn", "generous", "careful", "plain", "sturdy"),
        *("faded", "crowded", "windy", "modest", "curious", "solemn", "weathered", "bright", "dim"),
        *("patient", "restless", "uneven", "polished", "damp", "lively", "forgotten", "well kept"),
    ),
    "thing": (
        *("ledgers", "lamps", "carvings", "letters", "drawings", "ropes", "barrels", "benches"),
        *(
            "window panes",
            "copper pots",
            "wooden chests",
            "maps",
            "bells",
            "nets",
            "looms",
            "tiles",
        ),
        *("stone steps", "weights and measures", "brass fittings", "account books", "lanterns"),
        *("painted boards", "garden walls", "carts", "instruments", "songs", "recipes", "toys"),
    ),
    "people": (
        *(
            "fishermen",
            "schoolchildren",
            "carters",
            "millers",
            "clerks",
            "market women",
            "travellers",
        ),
        *("pensioners", "apprentices", "neighbours", "pilots", "gardeners", "masons", "students"),
        *("musicians", "shepherds", "innkeepers", "printers", "bakers", "watchmen", "collectors"),
    ),
    "place": (
        *(
            "attic",
            "back room",
            "chapel",
            "tavern",
            "reading room",
            "boathouse",
            "courtyard",
            "barn",
        ),
        *("cellar", "workshop", "town hall", "orchard", "long gallery", "customs shed", "kitchen"),
        *("tower", "archive", "covered market", "library", "cloister", "stable", "gatehouse"),
    ),
    "season": (
        *("spring", "summer", "autumn", "winter", "the dry months", "the weeks after harvest"),
        *("the first frost", "the season of storms", "the long evenings", "the rainy weeks"),
    ),
    "weather": (
        *("fog", "drizzle", "frost", "heavy snow", "a warm wind", "hail", "low cloud", "still air"),
        *("a sea mist", "thunder", "dust", "thin sunshine"),
    ),
    "verb": (
        *("described", "praised", "sketched", "mentioned", "discussed", "defended", "questioned"),
        *("recalled", "compared", "copied", "disputed", "admired", "parodied"),
    ),
    "abstract": (
        *(
            "patience",
            "good humour",
            "thrift",
            "ambition",
            "caution",
            "pride",
            "loyalty",
            "routine",
        ),
        *("craft", "hospitality", "rivalry", "memory", "habit", "curiosity", "order", "chance"),
    ),
    "material": (
        *("oak", "slate", "copper", "linen", "granite", "leather", "limestone", "glass", "iron"),
        *("clay", "wax", "wool", "parchment", "reed"),
    ),
    "count": ("two", "three", "four", "several", "a handful of", "no more than a few", "a dozen"),
    "often": ("seldom", "often", "now and then", "every so often", "almost never", "as a rule"),
    "source": (
        *("a retired schoolmaster", "an anonymous diarist", "a visiting lecturer", "the editors"),
        *("a court stenographer", "a local choir", "one harbour pilot", "a travelling salesman"),
        *("the last caretaker", "an elderly neighbour", "two rival historians", "a photographer"),
    ),
}

_FRAMES: tuple[str, ...] = (
    "In {season} the {people} gather in the {adj} {place} and talk about {thing}.",
    "A visitor will notice the {adj} {thing} first, and only later the {thing} behind them.",
    "Much has been said about {abstract}, but {source} {verb} something closer to {abstract}.",
    "The {thing} in the {place} are made of {material}, which {often} survives the {weather}.",
    "When {weather} sets in, the {people} close their shutters and wait.",
    "It is {often} possible to see the {adj} {thing} without asking the {people} for the key.",
    "Among the {people} there is a saying about {abstract} that loses its point in translation.",
    "There are {count} accounts of the matter, and {source} {verb} all of them with {abstract}.",
    "Some of the {thing} were lent to the {place} and came back {adj}.",
    "Whoever looks for {abstract} here is {often} let down, whoever expects {abstract} is not.",
    "The smell of {material} and {material} hangs over the {place} until well into {season}.",
    "Of the {adj} {thing}, {count} were repaired with {material}; the others were not.",
    "{Source} once {verb} the {weather}, the {people} and the {thing} in a single page.",
    "Nobody remembers who first hung the {thing} in the {place}, or why they were painted.",
    "During {season} the {adj} {place} serves the {people} as a meeting place.",
    "Guides tell of {weather} and of {people} who waited in the {place} for better news.",
    "The question of {abstract} against {abstract} has divided the {people} ever since.",
    "A set of {adj} {thing}, tied with {material}, lay unnoticed in the {place}.",
    "{Source} {verb} the matter at length, with more {abstract} than evidence.",
    "What remains today are {count} {thing}, a {adj} doorway and a deal of {abstract}.",
    "Children are {often} told that the {thing} bring luck if touched in {season}.",
    "Repairs have been carried out in {material}, and the {people} approve of the result.",
    "For the {people} this was a matter of {abstract} rather than money.",
    "Anyone who comes in {season} should bring a coat, since {weather} is {often} far away.",
    "The {adj} habit of counting the {thing} aloud was given up without a word of regret.",
    "Behind the {place} there is a yard with {thing}, {thing} and a pump that no longer works.",
    "Opinions differ on the {thing}; {source} found them {adj}, and {source} did not.",
    "In the {place} one can still find {thing} of {material}, sorted by size.",
    "The {people} have their own word for {weather}, and it is not a polite one.",
    "To speak of {abstract} would be too much, yet something like it is felt in the {adj} {place}.",
    "A short walk leads from the {place} to a wall of {material} with {count} niches.",
    "{Source} is said to have {verb} nothing else for the rest of the evening.",
    "Later writers {verb} the {adj} {thing} again, mostly without having seen them.",
    "This account leaves out the {thing}, which deserve an article of their own.",
    "On market days the {people} sell {thing} and {material} by the roadside.",
    "Letters from {season} complain of {weather}, of {adj} {thing} and of the post.",
    "There was talk of a fire, but the {place} shows no trace of one.",
    "A print in the {place} shows {people} with {thing}, drawn with much {abstract}.",
    "Without the {people} there would be little to report, and with them there is almost too much.",
    "The sound of {thing} carries far on days of {weather}.",
    "Several {people} were asked about it, and each {verb} a different afternoon.",
    "{Count} {thing} of {material} stand in the {place}, dusted once a week.",
    "It would be wrong to conclude that {abstract} played no part.",
    "The present state of the {thing} gives no cause for alarm, according to {source}.",
    "As so {often}, {weather} did more harm than the {people} ever could.",
    "Among collectors the {adj} {thing} are sought after, in particular those without {material}.",
    "A footnote by {source} on {abstract} is worth the trouble of looking up.",
    "In {season} the light falls through the {place} in a way that painters have {verb}.",
    "One should not confuse the {thing} with the {adj} {thing} kept elsewhere.",
    "There is no agreement on the {thing}, and the {people} like it that way.",
)

LEADS: tuple[str, ...] = (
    "According to the parish register, ",
    "By all accounts, ",
    "As the yearbooks have it, ",
    "It is well established that ",
    "The records agree that ",
    "To begin with what is certain, ",
    "As every schoolchild knows, ",
    "Visitors learn early on that ",
    "For the sake of completeness, ",
    "Not everyone is aware that ",
    "On the authority of the land office, ",
    "If the clerks counted well, ",
)

TAILS: tuple[str, ...] = (
    ", as older readers will remember",
    ", and nobody has ever disputed it",
    ", which surprises many visitors",
    ", a point that guides like to stress",
    ", as a brass plate recalls",
    ", to the quiet pride of the neighbours",
    ", so far as can be told",
    ", which is more than can be said of others",
)

OPENINGS: tuple[str, ...] = (
    "This article deals with {s}.",
    "The following pages are devoted to {s}.",
    "Few entries are consulted as often as the one on {s}.",
    "The editors have collected here what is known of {s}.",
    "Readers have asked for more on {s}, and here it is.",
    "Of {s} much has been told, not all of it in print.",
)

_SLOT = re.compile(r"\{(\w+)\}")
_PARTS = tuple(tuple(_SLOT.split(frame)) for frame in _FRAMES)


def sentence(rng: Random) -> str:
    """One sentence of filler."""
    parts = rng.choice(_PARTS)
    text = parts[0]
    for slot, literal in zip(parts[1::2], parts[2::2], strict=True):
        word = rng.choice(_WORDS[slot.lower()])
        text += (word[:1].upper() + word[1:] if slot[0].isupper() else word) + literal
    return text
