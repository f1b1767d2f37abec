"""Two scripted solvers that go through the real tools: one follows the gold path, one believes
the first thing that it reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agents.tools.base import Tool
from agents.tools.config import ToolsConfig
from benchmarks.archive import prose
from benchmarks.archive.benchmark import ArchiveBenchmark
from benchmarks.archive.config import ArchiveConfig
from benchmarks.archive.quiz import Hop, Question
from benchmarks.task import Task

TOOLS = ToolsConfig(web="off")


def small(**keys: Any) -> ArchiveBenchmark:
    return ArchiveConfig(name="archive", **keys).load(TOOLS)


@dataclass
class Solver:
    """Makes tool calls and counts them; one more step is the final answer."""

    benchmark: ArchiveBenchmark
    task: Task
    calls: int = 0
    tools: dict[str, Tool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tools = {tool.name: tool for tool in self.benchmark.tools(self.task)}

    @property
    def question(self) -> Question:
        return self.benchmark.questions[self.task.id]

    async def call(self, tool: str, **arguments: Any) -> str:
        self.calls += 1
        result = await self.tools[tool].call(arguments)
        assert result.ok, (tool, arguments, result.text)
        return result.text

    async def solve(self) -> str:
        """The answer by the gold path; every value is seen in what a tool returned."""
        for at, hop in enumerate(self.question.hops):
            seen = await (self.from_file(hop) if at == self.question.filed else self.look_up(hop))
            for name in self.shown(hop):
                assert name in seen.replace(",", "") or name in seen, (hop, name)
        return await self.answer([self.shown(path.hops[-1]) for path in self.question.paths])

    async def from_file(self, hop: Hop) -> str:
        text = await self.call("read_file", path=self.question.file_name)
        assert self.benchmark.library.world.entities[hop.entity].name in text
        return text

    async def look_up(self, hop: Hop) -> str:
        """Search for the hop, then read the page that states it in a document that was found."""
        library, world = self.benchmark.library, self.benchmark.library.world
        ask = prose.phrasings()[hop.relation]["ask"][0]
        found = await self.call("search", query=ask.replace("{s}", world.mention(hop.entity)))
        for number in world.official_documents(hop.entity, hop.relation):
            document = library.document(number)
            if f"Document {number}: {document.title}" not in found:
                continue
            sentence = document.sentences[hop.relation]
            cut = prose.pages(document.text, 400)
            page = next(at for at, text in enumerate(cut, 1) if sentence in text)
            text = await self.call("read", document=number, page=page)
            assert sentence in text
            return sentence
        raise AssertionError(f"search does not find {hop}: {found}")

    def shown(self, hop: Hop) -> list[str]:
        world = self.benchmark.library.world
        attribute = world.attributes(hop.entity)[hop.relation]
        return world.answer(attribute, hop.value).split(", ")

    async def answer(self, values: list[list[str]]) -> str:
        flat = [value for group in values for value in group]
        match self.question.op:
            case "sum":
                return await self.call("calculator", expression=" + ".join(flat))
            case "difference":
                return await self.call("calculator", expression=" - ".join(flat))
            case "greater":
                return max(flat, key=int)
            case "smaller":
                return min(flat, key=int)
            case _:
                return ", ".join(flat)


def careless(benchmark: ArchiveBenchmark, question: Question) -> str:
    """What a reader returns who takes a wrong source's word at the distracted hop."""
    world = benchmark.library.world
    hop = question.hops[question.distracted or 0]
    answers = set()
    for false in world.false_values(hop.entity, hop.relation):
        ends: list[str] = []
        for path in question.paths:
            value = path.hops[-1].value
            if hop in path.hops:
                value = false
                for later in path.hops[path.hops.index(hop) + 1 :]:
                    assert isinstance(value, int)
                    value = world.facts(value)[later.relation]
            last = path.hops[-1]
            ends.append(world.answer(world.attributes(last.entity)[last.relation], value))
        answers.add(_combined(question.op, ends))
    assert question.careless in answers, (question.careless, answers)
    return str(question.careless)


def _combined(op: str, ends: list[str]) -> str:
    if op in ("value", "pair", "sorted"):
        return ", ".join(ends)
    numbers = [int(end) for end in ends]
    results = {"sum": sum(numbers), "greater": max(numbers), "smaller": min(numbers)}
    return str(results.get(op, abs(numbers[0] - numbers[-1])))


__all__ = ["TOOLS", "Solver", "careless", "small"]
