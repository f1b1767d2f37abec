"""The corpus is the paper's in its counts, valid, and reproducible to the byte."""

from __future__ import annotations

import math
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from poisoning.check import counts, place, problems
from poisoning.corpus import corpus_text, generate, main
from poisoning.phrasings import LEXICON, lexicon_text, read_phrasings
from poisoning.schema import SCENARIOS, Entry, Scenario, read_scenarios


@pytest.fixture(scope="module")
def corpus() -> list[Scenario]:
    return read_scenarios()


def test_counts_are_the_papers(corpus: list[Scenario]) -> None:
    assert counts(corpus) == {
        "scenarios": 100,
        "subtasks": 297,
        "entries": 1118,
        "benign": 709,
        "poisoned": 409,
    }
    assert {len(scenario.subtasks) for scenario in corpus} == {2, 3, 4}
    poisoned = [any(e.poisoned for e in s.entries) for sc in corpus for s in sc.subtasks]
    assert sum(poisoned) == 295
    assert problems(corpus) == []


def test_same_seed_same_bytes(corpus: list[Scenario]) -> None:
    assert corpus_text(generate()).encode() == SCENARIOS.read_bytes()
    assert lexicon_text(read_phrasings()).encode() == LEXICON.read_bytes()
    assert corpus_text(generate(seed=1)) != corpus_text(generate(seed=2))


def test_any_seed_makes_a_valid_corpus() -> None:
    assert problems(generate(seed=random.Random(5).randrange(10**6))) == []


def test_poison_varies(corpus: list[Scenario]) -> None:
    poisoned = [e for s in corpus for e in s.entries if e.poisoned]
    kinds = Counter(e.attack for e in poisoned)
    assert set(kinds) == {"misleading_observation", "fabricated_claim", "compromised_tool"}
    assert min(kinds.values()) > 130
    assert Counter(e.outcome for e in poisoned) == {"success": 307, "failure": 102}
    places = Counter(
        place(subtask, e.id)
        for scenario in corpus
        for subtask in scenario.subtasks
        for e in subtask.entries
        if e.poisoned
    )
    assert set(places) == {"before", "between", "after"}
    # A uniform place favours neither side.
    assert abs(places["before"] - places["after"]) < 3 * (409 * 0.25) ** 0.5 * 2
    assert {e.style for e in poisoned} == {e.style for s in corpus for e in s.entries}


def test_neither_text_nor_call_tells_poison(corpus: list[Scenario]) -> None:
    """Tools, sources and styles of poisoned entries all occur among benign ones."""
    entries = [e for s in corpus for e in s.entries]
    for part in ("tool", "style", "outcome"):
        benign = {getattr(e, part) for e in entries if not e.poisoned}
        assert {getattr(e, part) for e in entries if e.poisoned} <= benign
    sources = {v for e in entries if not e.poisoned for k, v in e.arguments.items()}
    poisoned_sources = {next(iter(e.arguments.values())) for e in entries if e.poisoned}
    assert poisoned_sources <= sources
    assert not [e.id for e in entries if "poison" in e.text.lower() or "attack" in e.text.lower()]


def _words(entry: Entry) -> set[str]:
    """Single words and pairs of a text; subject and value are content and made alike."""
    text = entry.text.replace(str(entry.value), "VALUE").replace(_subject(entry), "SUBJECT")
    words = re.findall(r"[A-Za-z]+|\d+|[^\w\s]", text)
    words = ["9" if word.isdigit() else word for word in words]
    return {*words, *map(" ".join, pairwise(words))}


def _subject(entry: Entry) -> str:
    return list(entry.arguments.values())[-1]


def _auc(scored: list[tuple[float, bool]]) -> float:
    """Chance that a poisoned entry scores above a benign one, ties counted half."""
    poison = [score for score, poisoned in scored if poisoned]
    benign = [score for score, poisoned in scored if not poisoned]
    above = sum((p > b) + 0.5 * (p == b) for p in poison for b in benign)
    return above / (len(poison) * len(benign))


def _classified(corpus: list[Scenario], features: Callable[[Entry], set[str]]) -> float:
    """AUC of naive Bayes over entries that claim the asked value, trained on the other fifths."""
    claims = [(n % 5, e) for n, s in enumerate(corpus) for e in s.entries if e.value is not None]
    scored = []
    for fold in range(5):
        seen: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
        for part, e in claims:
            if part != fold:
                seen[e.poisoned].update([*features(e), ""])
        for part, e in claims:
            if part == fold:
                shares = {
                    side: sum(math.log((counter[f] + 1) / (counter[""] + 2)) for f in features(e))
                    for side, counter in seen.items()
                }
                scored.append((shares[True] - shares[False], e.poisoned))
    return _auc(scored)


def test_no_phrase_gives_poison_away(corpus: list[Scenario]) -> None:
    """A classifier that sees wording, source and length, but no fact, is near a coin's 0.5.

    What is left comes from the outcome: poison is recorded as failed more often (A.4), and an
    opening such as "Error 206" goes with that.
    """
    successes = [_without_failures(scenario) for scenario in corpus]
    assert 0.42 < _classified(successes, _words) < 0.58
    assert _classified(corpus, _words) < 0.65
    assert (
        0.42 < _classified(successes, lambda e: {e.tool, next(iter(e.arguments.values()))}) < 0.58
    )
    assert 0.42 < _classified(successes, lambda e: {str(len(e.text) // 15)}) < 0.58


def _without_failures(scenario: Scenario) -> Scenario:
    kept = [
        s.model_copy(update={"entries": tuple(e for e in s.entries if e.outcome == "success")})
        for s in scenario.subtasks
    ]
    return scenario.model_copy(update={"subtasks": tuple(kept)})


def test_every_frame_and_opening_is_used_for_true_statements_too(corpus: list[Scenario]) -> None:
    phrasings = read_phrasings()
    benign = [e.text for s in corpus for e in s.entries if not e.poisoned]
    openings = [text.split("{")[0] for text in phrasings.failed_with_text]
    marks = [max(re.split(r"\{\w+\}", frame), key=len) for frame in phrasings.claim_frames]
    for mark in openings + marks:
        assert sum(mark in text for text in benign) > 5, mark


def test_no_entry_mentions_a_value_that_it_does_not_state(corpus: list[Scenario]) -> None:
    scenario = corpus[0]
    rival = next(e.value for e in scenario.entries if e.poisoned)
    subtask = scenario.subtasks[1]
    entry = subtask.entries[0].model_copy(update={"text": subtask.entries[0].text + f" ({rival})"})
    broken = subtask.model_copy(update={"entries": (entry, *subtask.entries[1:])})
    parts = tuple(broken if s is subtask else s for s in scenario.subtasks)
    found = problems([scenario.model_copy(update={"subtasks": parts}), *corpus[1:]])
    assert found == [f"{entry.id}: mentions {rival!r}, which it does not state"]


def test_values_of_a_scenario_are_distinct(corpus: list[Scenario]) -> None:
    for scenario in corpus:
        answers = [subtask.answer for subtask in scenario.subtasks]
        rivals = {e.value for e in scenario.entries if e.poisoned}
        assert len(set(answers)) == len(answers)
        assert not rivals & set(answers)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"poisoned": False}, "poisoned and attack do not agree"),
        ({"value": "5"}, "is no rival of"),
        ({"text": "two\nlines"}, "not one line"),
        ({"position": 77}, "position 77"),
    ],
)
def test_check_finds_a_changed_entry(
    corpus: list[Scenario], change: dict[str, object], found: str
) -> None:
    scenario = corpus[0]
    subtask = next(s for s in scenario.subtasks if any(e.poisoned for e in s.entries))
    entries = [e.model_copy(update=change) if e.poisoned else e for e in subtask.entries]
    broken = subtask.model_copy(update={"entries": tuple(entries)})
    changed = scenario.model_copy(
        update={"subtasks": tuple(broken if s is subtask else s for s in scenario.subtasks)}
    )
    assert any(found in line for line in problems([changed, *corpus[1:]]))


def test_check_finds_a_missing_scenario_and_a_double_id(corpus: list[Scenario]) -> None:
    assert any(line.startswith("scenarios: 99") for line in problems(corpus[1:]))
    assert any("occurs 2 times" in line for line in problems([*corpus, corpus[0]]))


def test_check_command() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "poisoning.corpus", "--check"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert " 1118 entries" in done.stdout
    assert done.stdout.endswith("valid\n")


def test_check_command_reports_a_foreign_corpus(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("poisoning.corpus.generate", lambda: generate(seed=1))
    monkeypatch.setattr(sys, "argv", ["corpus", "--check"])
    assert main() == 1
    assert "run python -m poisoning.corpus" in capsys.readouterr().err
