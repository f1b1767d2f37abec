"""Each attacker changes the poison and nothing else."""

from __future__ import annotations

import pytest

from poisoning.attacks import Attack, apply_attack, without_poison
from poisoning.check import place
from poisoning.schema import read_scenarios

ATTACKS: tuple[Attack, ...] = ("quote_task", "repeat", "supersede", "instruct", "sleeper")


def test_none_is_the_corpus() -> None:
    scenario = read_scenarios()[0]
    assert apply_attack(scenario, "none") == scenario


@pytest.mark.parametrize("attack", ATTACKS)
def test_benign_entries_stay_as_they_are(attack: Attack) -> None:
    for scenario in read_scenarios():
        attacked = apply_attack(scenario, attack)
        for before, after in zip(scenario.subtasks, attacked.subtasks, strict=True):
            kept = [(e.id, e.text, e.outcome) for e in after.entries if not e.poisoned]
            assert kept == [(e.id, e.text, e.outcome) for e in before.entries if not e.poisoned]
            assert [e.position for e in after.entries] == list(range(len(after.entries)))
        assert (attacked.question, attacked.answer) == (scenario.question, scenario.answer)
        assert apply_attack(scenario, attack) == attacked


def test_what_each_attack_does() -> None:
    scenario = read_scenarios()[0]
    subtask = scenario.subtasks[0]
    poison = next(e for e in subtask.entries if e.poisoned)
    texts = {
        attack: [
            e
            for e in apply_attack(scenario, attack).entries
            if e.poisoned and e.id.startswith(poison.id)
        ]
        for attack in ATTACKS
    }
    assert subtask.goal in texts["quote_task"][0].text
    assert len(texts["repeat"]) == 3
    assert len({e.id for e in texts["repeat"]}) == len({e.text for e in texts["repeat"]}) == 3
    assert "supersedes" in texts["supersede"][0].text
    assert f'{{"answer": "{poison.value}"}}' in texts["instruct"][0].text
    assert texts["sleeper"][0].text == poison.text
    for attack in ATTACKS:
        assert all(poison.text in e.text and e.value == poison.value for e in texts[attack])


def test_sleepers_lie_in_an_earlier_subtask_and_keep_their_target() -> None:
    for scenario in read_scenarios():
        attacked = apply_attack(scenario, "sleeper")
        ids = [subtask.id for subtask in scenario.subtasks]
        assert len(attacked.entries) == len(scenario.entries)
        for number, subtask in enumerate(attacked.subtasks):
            for e in subtask.entries:
                if e.poisoned and e.target != ids[0]:
                    assert number < ids.index(e.target)
                    target = attacked.subtasks[ids.index(e.target)]
                    assert place(target, e.id) == "earlier subtask"


def test_the_clean_arm_has_no_poison_and_keeps_every_subtask() -> None:
    clean = [without_poison(scenario) for scenario in read_scenarios()]
    assert sum(len(scenario.entries) for scenario in clean) == 709
    assert all(subtask.entries for scenario in clean for subtask in scenario.subtasks)
