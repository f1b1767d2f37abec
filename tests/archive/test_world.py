from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter

import pytest

from agents.models.simulated import lexicon
from agents.models.simulated.reading import Reader
from benchmarks.archive import filler, prose
from benchmarks.archive.benchmark import ArchiveBenchmark
from benchmarks.archive.kinds import KINDS
from benchmarks.archive.world import World
from tests.archive.solver import small

_DIGEST = (
    "import tests.archive.test_world as t; print(t.digest(t.small(documents=120, questions=12)))"
)


def digest(archive: ArchiveBenchmark) -> str:
    """A hash over everything that a run can see of a world."""
    found = hashlib.sha256(archive.revision.encode())
    for number in range(1, archive.library.size + 1):
        document = archive.library.document(number)
        found.update(f"{document.title}\n{document.text}\n".encode())
    for task in archive.tasks():
        found.update(f"{task.id} {task.level} {task.question}\n".encode())
        found.update(archive.questions[task.id].answer.encode())
        for file in task.files:
            found.update(file.read_bytes())
    return found.hexdigest()


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_same_seed_gives_the_same_bytes_in_any_process(hash_seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    run = subprocess.run(
        [sys.executable, "-c", _DIGEST], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == digest(small(documents=120, questions=12))


def test_another_seed_gives_another_world() -> None:
    one, other = (small(documents=120, questions=12, world_seed=seed) for seed in (0, 1))
    assert digest(one) != digest(other)


def test_all_kinds_exist_with_one_to_three_documents_each() -> None:
    world = World(0, 400)
    assert len(world.sources) == 400
    assert len(KINDS) == 12 and all(world.by_kind.values())
    assert {len(numbers) for numbers in world.documents_of.values()} == {1, 2, 3}
    roles = Counter(source.role for source in world.sources)
    assert min(roles[role] for role in ("main", "companion", "outdated", "mirror")) > 20


def test_namesakes_share_a_name_but_never_a_descriptor() -> None:
    world = World(0, 400)
    assert len(world.namesakes) >= 20
    for index, twin in world.namesakes.items():
        one, other = world.entities[index], world.entities[twin]
        assert (one.kind, one.name) == (other.kind, other.name)
        assert one.descriptor != other.descriptor
        assert one.descriptor in world.mention(index)
    names = Counter(entity.name for entity in world.entities)
    assert sum(count - 1 for count in names.values()) == len(world.namesakes) // 2


def test_documents_have_200_to_1200_words() -> None:
    world = World(3, 400)
    lengths = [len(prose.write(world, number).text.split()) for number in range(1, 401)]
    assert min(lengths) >= 200 and max(lengths) <= 1200
    assert max(lengths) - min(lengths) > 500


def test_every_relation_has_six_phrasings_and_all_are_used() -> None:
    relations = {relation for kind in KINDS.values() for relation in kind.attributes}
    assert relations == set(prose.phrasings())
    for relation in relations:
        assert len(set(prose.phrasings()[relation]["say"])) >= 6, relation
        assert len(prose.phrasings()[relation]["ask"]) >= 2, relation
    assert len(filler.LEADS) >= 6


@pytest.mark.parametrize("seed", [0, 7])
def test_a_reader_finds_in_a_text_exactly_what_it_was_meant_to_tell(seed: int) -> None:
    """No fact is lost in its phrasing, no filler states one, no mark is overlooked."""
    world = World(seed, 300)
    reader = Reader(lexicon.load(["benchmarks/archive/lexicon.yaml"]))
    for number in range(1, 301):
        document = prose.write(world, number)
        source = world.sources[number - 1]
        subject = world.entities[source.entity]
        attributes = world.attributes(source.entity)
        told = {
            (relation, _flat(world.answer(attributes[relation], value)))
            for relation, value in world.told(number).items()
        }
        text = f"Document {number}: {document.title}, page 1 of 1\n{document.text}"
        read = reader.statements(text)
        assert {(s.relation, _flat(s.key)) for s in read} == told
        assert len(read) == len(told)
        assert all(s.subject.name == subject.name for s in read)
        assert all(s.trusted == source.official for s in read)


def _flat(value: str) -> str:
    """A value without separators, its words in order (lists stand in the order of the text)."""
    return " ".join(sorted(value.replace(",", "").lower().split()))


def test_superseded_editions_and_mirrors_err_in_two_things_at_least() -> None:
    world = World(0, 400)
    for source in world.sources:
        rivals = world.rivals(source.entity, source.role)
        assert source.official == (not rivals)
        if not source.official:
            assert len(rivals) >= 2
            assert all(world.facts(source.entity)[key] != value for key, value in rivals.items())


def test_a_companion_alone_tells_one_thing() -> None:
    world = World(0, 400)
    pairs = [n for n, source in enumerate(world.sources, 1) if source.role == "companion"]
    for number in pairs:
        main = next(
            other
            for other in world.documents_of[world.sources[number - 1].entity]
            if world.sources[other - 1].role == "main"
        )
        assert len(set(world.told(number)) - set(world.told(main))) == 1


def test_a_hundred_thousand_documents_are_only_a_list_until_they_are_read() -> None:
    world = World(0, 100_000)
    assert len(world.sources) == 100_000
    assert len(prose.write(world, 99_999).text.split()) >= 200
