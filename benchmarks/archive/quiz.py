"""Questions over the world: paths of hops, what is asked at their end, answers and distractors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from benchmarks.archive.kinds import Link, Links, Number
from benchmarks.archive.prose import phrasings
from benchmarks.archive.world import Value, World

Op = Literal["value", "sorted", "sum", "difference", "greater", "smaller", "pair"]

_NUMERIC: tuple[Op, ...] = ("sum", "difference", "greater", "smaller")
_MOST_TRIES = 4_000


@dataclass(frozen=True)
class Hop:
    """One fact on the way: `relation` of `entity` is `value`."""

    entity: int
    relation: str
    value: Value


@dataclass(frozen=True)
class Path:
    """A chain of hops; each one's value is the next one's entity."""

    hops: tuple[Hop, ...]
    phrase: str


@dataclass
class Question:
    """A question with all that its benchmark keeps to itself.

    `filed` is the index of the hop (over all paths) whose fact stands in the attached file only;
    `careless` the answer of a reader who takes the first false value for a true one.
    """

    id: str
    level: int
    text: str
    op: Op
    paths: tuple[Path, ...]
    answer: str
    filed: int | None = None
    careless: str | None = None
    distracted: int | None = None
    file_kind: str = ""
    file_name: str = ""

    @property
    def hops(self) -> list[Hop]:
        """All hops, path after path."""
        return [hop for path in self.paths for hop in path.hops]


@dataclass
class QuestionMaker:
    """Draws questions that are unlike each other and fit the flags that each one was dealt."""

    world: World
    same: Callable[[str, str], bool]
    used: set[tuple[int, str]] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)

    def make(self, count: int) -> list[Question]:
        """`count` questions: levels in turn, a fifth with a file, a third with a distractor.

        Raises `ValueError` for a world too small for that many.
        """
        rng = self.world.rng("flags")
        filed = set(rng.sample(range(count), round(count / 5)))
        distracted = set(rng.sample(range(count), round(count / 3)))
        return [self._one(i, i in filed, i in distracted) for i in range(count)]

    def _one(self, index: int, filed: bool, distracted: bool) -> Question:
        rng = self.world.rng("question", index)
        level = index % 3 + 1
        for _ in range(_MOST_TRIES):
            question = self._draft(f"archive-{index + 1:03d}", level, rng)
            if question is None or question.text in self.texts:
                continue
            if not self._choose_file(question, filed, rng):
                continue
            if self._distract(question, rng) != distracted:
                continue
            if self._answer_is_asked(question):
                continue
            self.texts.add(question.text)
            self.used.update((hop.entity, hop.relation) for hop in question.hops)
            if question.filed is not None:
                hop = question.hops[question.filed]
                self.world.withheld.add((hop.entity, hop.relation))
            return question
        raise ValueError(
            f"dataset.questions: this world of {len(self.world.sources)} documents has no room for "
            f"question {index + 1}; ask for fewer questions or more documents"
        )

    def _draft(self, id: str, level: int, rng: Random) -> Question | None:
        op, lengths = _shape(level, rng)
        numeric = op in _NUMERIC
        paths: list[Path] = []
        for length in lengths:
            last = Number if numeric else Links if op == "sorted" else None
            path = self._walk(length, last, rng)
            if path is None:
                return None
            paths.append(path)
        if len({(h.entity, h.relation) for p in paths for h in p.hops}) < sum(lengths):
            return None
        values = [path.hops[-1].value for path in paths]
        if len(values) == 2 and values[0] == values[1]:
            return None
        if numeric and not self._comparable(op, paths):
            return None
        if op == "difference" and values[0] < values[1]:  # type: ignore[operator]
            paths.reverse()
        answer = self._combine(op, paths, [path.hops[-1].value for path in paths])
        return Question(id, level, _wording(op, paths, self.world, rng), op, tuple(paths), answer)

    def _comparable(self, op: Op, paths: list[Path]) -> bool:
        """Two years, or two counts; which is greater is asked of two counts of one thing only,
        since otherwise one of the two branches would be enough."""
        ends = [path.hops[-1] for path in paths]
        kinds = [self.world.attributes(end.entity)[end.relation] for end in ends]
        years = [isinstance(kind, Number) and kind.year for kind in kinds]
        if all(years) or (op in ("sum", "difference") and not any(years)):
            return True
        return ends[0].relation == ends[1].relation

    def _walk(self, length: int, last: type | None, rng: Random) -> Path | None:
        """A chain from a random entity that visits nothing twice and ends as `last` asks."""
        world = self.world
        entity = rng.randrange(len(world.entities))
        phrase = world.mention(entity, full=rng.random() < 0.3)
        hops: list[Hop] = []
        for at in range(length):
            attributes = world.attributes(entity)
            final = at == length - 1
            fits = [
                key
                for key, attribute in attributes.items()
                if (isinstance(attribute, Link) and not final)
                or (final and last is not None and isinstance(attribute, last))
                or (final and last is None and not isinstance(attribute, Links))
            ]
            if not fits:
                return None
            relation = rng.choice(fits)
            value = world.facts(entity)[relation]
            if not any(world.official_documents(entity, relation)):
                return None
            hops.append(Hop(entity, relation, value))
            phrase = rng.choice(phrasings()[relation]["ask"]).replace("{s}", phrase)
            if not final:
                entity = value if isinstance(value, int) else entity
                if entity in {hop.entity for hop in hops}:
                    return None
        return Path(tuple(hops), phrase)

    def _combine(self, op: Op, paths: list[Path], values: list[Value]) -> str:
        shown = [
            self.world.answer(
                self.world.attributes(path.hops[-1].entity)[path.hops[-1].relation], v
            )
            for path, v in zip(paths, values, strict=True)
        ]
        numbers = [value for value in values if isinstance(value, int)]
        match op:
            case "sum":
                return str(sum(numbers))
            case "difference":
                return str(abs(numbers[0] - numbers[1]))
            case "greater":
                return str(max(numbers))
            case "smaller":
                return str(min(numbers))
            case _:
                return ", ".join(shown)

    def _choose_file(self, question: Question, filed: bool, rng: Random) -> bool:
        """Pick the hop whose fact is in the file alone; False if the question does not allow it."""
        if not filed:
            return True
        able = [
            at
            for at, hop in enumerate(question.hops)
            if phrasings()[hop.relation]["column"] and (hop.entity, hop.relation) not in self.used
        ]
        if not able:
            return False
        question.filed = rng.choice(able)
        kind = self.world.entities[question.hops[question.filed].entity].kind
        question.file_kind = rng.choice(("csv", "xlsx", "json", "txt"))
        question.file_name = f"list-of-{kind}-entries.{question.file_kind}"
        question.text += f" The attached file {question.file_name} holds a part of what is needed."
        return True

    def _distract(self, question: Question, rng: Random) -> bool | None:
        """Look for a false value on the way that leads to another answer.

        True if there is one, False if every document on the way is right, None for what is neither:
        false values that would not change the answer.
        """
        found: list[tuple[int, str]] = []
        at, clean = -1, True
        for which, path in enumerate(question.paths):
            for step, hop in enumerate(path.hops):
                at += 1
                if at == question.filed:
                    continue
                for value in self.world.false_values(hop.entity, hop.relation):
                    clean = False
                    careless = self._careless(question, which, step, value)
                    if careless is not None and not self.same(careless, question.answer):
                        found.append((at, careless))
        if found:
            question.distracted, question.careless = rng.choice(found)
            return True
        return False if clean else None

    def _careless(self, question: Question, which: int, step: int, value: Value) -> str | None:
        """The answer when one hop takes a false value and the rest follows from it."""
        values = [path.hops[-1].value for path in question.paths]
        for hop in question.paths[which].hops[step + 1 :]:
            if not isinstance(value, int):
                return None
            value = self.world.facts(value)[hop.relation]
        values[which] = value
        return self._combine(question.op, list(question.paths), values)

    def _answer_is_asked(self, question: Question) -> bool:
        asked = question.text.lower()
        return any(part.lower() in asked for part in question.answer.split(", "))


def _shape(level: int, rng: Random) -> tuple[Op, list[int]]:
    """What is asked and how long each path is: 1-2, 3-4 or 5-8 hops in all."""
    if level == 1:
        return "value", [rng.randint(1, 2)]
    if level == 2:
        form = rng.choice(("chain", "list", "arithmetic"))
        if form == "chain":
            return "value", [rng.randint(3, 4)]
        if form == "list":
            return "sorted", [rng.randint(3, 4)]
        return rng.choice(_NUMERIC), rng.choice(([1, 2], [2, 1], [2, 2], [1, 3]))
    return rng.choice((*_NUMERIC, "pair")), rng.choice(
        ([2, 3], [3, 2], [3, 3], [2, 4], [3, 4], [4, 3], [4, 4])
    )


def _wording(op: Op, paths: list[Path], world: World, rng: Random) -> str:
    a = paths[0].phrase
    b = paths[-1].phrase
    match op:
        case "sum":
            return f"What is the sum of {a} and {b}?"
        case "difference":
            return f"By how much does {a} exceed {b}?"
        case "greater" | "smaller":
            return f"What is the {op} of {a} and {b}?"
        case "pair":
            return f"Give {a} and {b}, in that order, separated by a comma."
        case "sorted":
            return f"List {a} in alphabetical order, separated by commas."
        case _:
            last = paths[0].hops[-1]
            attribute = world.attributes(last.entity)[last.relation]
            if isinstance(attribute, Link) and attribute.kind == "person":
                return rng.choice((f"Who is {a}?", f"Name {a}."))
            return rng.choice((f"What is {a}?", f"State {a}."))
