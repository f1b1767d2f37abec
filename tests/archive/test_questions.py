from __future__ import annotations

import pytest
import yaml

from agents.models.simulated import lexicon
from agents.models.simulated.questions import Lookup, Name, Parser
from benchmarks.archive.benchmark import ArchiveBenchmark
from benchmarks.errors import SetupError
from benchmarks.gaia_scorer import question_score
from tests.archive.solver import Solver, careless, small


@pytest.fixture(scope="module")
def archive() -> ArchiveBenchmark:
    return small()


async def test_the_gold_path_scores_one_everywhere_within_24_steps(
    archive: ArchiveBenchmark,
) -> None:
    steps = []
    for task in archive.tasks():
        solver = Solver(archive, task)
        assert archive.score(task, await solver.solve()) == 1.0, task.question
        steps.append(solver.calls + 1)
    assert len(steps) == 60
    assert max(steps) <= 24


def test_levels_and_their_hops(archive: ArchiveBenchmark) -> None:
    bounds = {1: (1, 2), 2: (3, 4), 3: (5, 8)}
    questions = archive.questions.values()
    for level, (least, most) in bounds.items():
        hops = [len(question.hops) for question in questions if question.level == level]
        assert len(hops) == 20
        assert min(hops) >= least and max(hops) <= most
    assert all(len(q.paths) == 2 for q in questions if q.level == 3)
    assert {q.op for q in questions} >= {"value", "sorted", "sum", "difference", "pair"}


def test_a_fifth_needs_a_file_of_each_kind_and_only_the_file_has_the_fact(
    archive: ArchiveBenchmark,
) -> None:
    world = archive.library.world
    filed = [q for q in archive.questions.values() if q.filed is not None]
    assert len(filed) == 12
    assert {q.file_kind for q in filed} == {"csv", "xlsx", "json", "txt"}
    for question in filed:
        hop = question.hops[question.filed or 0]
        assert not list(world.official_documents(hop.entity, hop.relation))
        for number in world.documents_of[hop.entity]:
            assert hop.relation not in archive.library.document(number).sentences
    with_files = [task for task in archive.tasks() if task.files]
    assert [task.id for task in with_files] == [q.id for q in filed]
    assert all(task.files[0].name in task.question for task in with_files)


def test_a_third_misleads_a_careless_reader_and_the_others_cannot(
    archive: ArchiveBenchmark,
) -> None:
    world = archive.library.world
    misled = [q for q in archive.questions.values() if q.careless is not None]
    assert len(misled) == 20
    for question in misled:
        assert not question_score(careless(archive, question), question.answer)
    for question in archive.questions.values():
        if question.careless is None:
            for at, hop in enumerate(question.hops):
                if at != question.filed:
                    assert not world.false_values(hop.entity, hop.relation)


def test_an_answer_does_not_stand_in_its_question(archive: ArchiveBenchmark) -> None:
    for question in archive.questions.values():
        for part in question.answer.split(", "):
            assert part.lower() not in question.text.lower()


def test_an_agent_without_documents_scores_nothing(archive: ArchiveBenchmark) -> None:
    guesses = ["", "unknown", "0", "1900", None]
    for task in archive.tasks():
        words = task.question.removesuffix("?").split()
        for guess in [*guesses, *words, task.question]:
            assert archive.score(task, guess) == 0.0


def test_questions_are_unlike_each_other(archive: ArchiveBenchmark) -> None:
    assert len({question.text for question in archive.questions.values()}) == 60


def test_a_world_too_small_for_its_questions_says_so() -> None:
    with pytest.raises(SetupError, match=r"dataset\.questions: this world of 60 documents"):
        small(documents=60, questions=1000)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_shipped_reader_understands_every_question(seed: int) -> None:
    """Its other lexicons must not change what the archive's questions mean."""
    shipped = yaml.safe_load((lexicon.ROOT / "configs/model/simulated.yaml").read_text("utf-8"))
    parser = Parser(lexicon.load(shipped["lexicons"]))
    for question in small(world_seed=seed).questions.values():
        understood = parser.question(question.text)
        assert understood is not None, question.text
        assert understood.op == question.op
        for part, path in zip(understood.parts, question.paths, strict=True):
            node: Lookup | Name = part
            for hop in reversed(path.hops):
                assert isinstance(node, Lookup) and hop.relation in node.relations, question.text
                node = node.subject
            assert isinstance(node, Name)
