"""What must hold of a corpus, and its counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from poisoning.asking import mentions
from poisoning.schema import Place, Scenario, Subtask, final_question

EXPECTED = {
    "scenarios": 100,
    "subtasks": 297,
    "entries": 1118,
    "benign": 709,
    "poisoned": 409,
}
_MIN_POISONED_SUBTASKS = 295
_ASIDES = ("other_attribute", "neighbour")


def counts(scenarios: Sequence[Scenario]) -> dict[str, int]:
    """The counts of appendix A.3."""
    entries = [entry for scenario in scenarios for entry in scenario.entries]
    poisoned = sum(entry.poisoned for entry in entries)
    return {
        "scenarios": len(scenarios),
        "subtasks": sum(len(scenario.subtasks) for scenario in scenarios),
        "entries": len(entries),
        "benign": len(entries) - poisoned,
        "poisoned": poisoned,
    }


def problems(scenarios: Sequence[Scenario]) -> list[str]:
    """Everything that is wrong, one line each; empty for a valid corpus."""
    found = [
        f"{name}: {count} instead of {EXPECTED[name]}"
        for name, count in counts(scenarios).items()
        if count != EXPECTED[name]
    ]
    rivals = sum(_has_rival(subtask) for scenario in scenarios for subtask in scenario.subtasks)
    if rivals < _MIN_POISONED_SUBTASKS:
        found.append(f"{rivals} subtasks hold a poisoned rival, at least 295 should")
    ids: Counter[str] = Counter()
    for scenario in scenarios:
        ids.update([scenario.id, *(entry.id for entry in scenario.entries)])
        found += _scenario_problems(scenario)
    found += [f"id {name} occurs {count} times" for name, count in ids.items() if count > 1]
    return found


def _has_rival(subtask: Subtask) -> bool:
    return any(entry.poisoned for entry in subtask.entries)


def _scenario_problems(scenario: Scenario) -> list[str]:
    found = []
    if not 2 <= len(scenario.subtasks) <= 4:
        found.append(f"{scenario.id}: {len(scenario.subtasks)} subtasks, 2 to 4 are allowed")
    if scenario.answer != "; ".join(subtask.answer for subtask in scenario.subtasks):
        found.append(f"{scenario.id}: the final answer does not combine the subtasks' answers")
    if scenario.question != final_question([s.question for s in scenario.subtasks]):
        found.append(f"{scenario.id}: the final question does not combine the subtasks' questions")
    found += _stray_values(scenario)
    return found + [line for subtask in scenario.subtasks for line in _subtask_problems(subtask)]


def _stray_values(scenario: Scenario) -> list[str]:
    """Answers and rival values in entries that do not state them: a reader or a count of summaries
    that carry poison would take one for the other."""
    values = {subtask.answer for subtask in scenario.subtasks}
    values |= {entry.value for entry in scenario.entries if entry.value is not None}
    return [
        f"{entry.id}: mentions {value!r}, which it does not state"
        for entry in scenario.entries
        for value in sorted(values - {entry.value})
        if mentions(entry.text, value)
    ]


def _subtask_problems(subtask: Subtask) -> list[str]:
    found = []
    answering = [e for e in subtask.entries if not e.poisoned and e.value == subtask.answer]
    stated = all(mentions(entry.text, subtask.answer) for entry in answering)
    if not stated or not any(entry.outcome == "success" for entry in answering):
        found.append(f"{subtask.id}: no benign entry answers the question")
    for number, entry in enumerate(subtask.entries):
        where = f"{subtask.id}, entry {entry.id}"
        if entry.position != number:
            found.append(f"{where}: position {entry.position} instead of {number}")
        if entry.poisoned != (entry.attack is not None):
            found.append(f"{where}: poisoned and attack do not agree")
        if len(entry.text.splitlines()) != 1:
            found.append(f"{where}: the text is not one line")
        if entry.poisoned and not _is_rival(entry.value, entry.text, subtask):
            found.append(f"{where}: value {entry.value!r} is no rival of {subtask.answer!r}")
        if not entry.poisoned and entry.value not in (None, subtask.answer):
            found.append(f"{where}: a benign entry contradicts the answer")
    return found


def _is_rival(value: str | None, text: str, subtask: Subtask) -> bool:
    """Another value of the same type that stands in the entry's text."""
    if value is None or value == subtask.answer or value not in text:
        return False
    numeric = subtask.value_type in ("year", "number")
    words = len(value.split()) == len(subtask.answer.split())
    return value.isdigit() == numeric and words


def report(scenarios: Sequence[Scenario]) -> str:
    """The counts for the terminal."""
    entries = [entry for scenario in scenarios for entry in scenario.entries]
    subtasks = [subtask for scenario in scenarios for subtask in scenario.subtasks]
    poisoned = [entry for entry in entries if entry.poisoned]
    tables: dict[str, Counter[str]] = {
        "subtasks per scenario": Counter(str(len(s.subtasks)) for s in scenarios),
        "poisoned per subtask": Counter(str(sum(e.poisoned for e in s.entries)) for s in subtasks),
        "attack": Counter(str(e.attack) for e in poisoned),
        "outcome of poisoned": Counter(e.outcome for e in poisoned),
        "outcome of benign": Counter(e.outcome for e in entries if not e.poisoned),
        "outcome of benign that state a value": Counter(
            e.outcome for e in entries if e.role in ("answer", "support", *_ASIDES)
        ),
        "role of benign": Counter(e.role for e in entries if not e.poisoned),
        "register": Counter(e.style for e in entries),
        "poison against the answering entries": Counter(
            place(subtask, entry.id)
            for subtask in subtasks
            for entry in subtask.entries
            if entry.poisoned
        ),
    }
    lines = [f"{count:5d} {name}" for name, count in counts(scenarios).items()]
    for title, table in tables.items():
        cells = ", ".join(f"{name} {count}" for name, count in sorted(table.items()))
        lines.append(f"{title}: {cells}")
    return "\n".join(lines)


def place(subtask: Subtask, entry_id: str) -> Place:
    """Where an entry stands against the benign entries that answer: before, between or after."""
    order = [entry.id for entry in subtask.entries]
    if entry_id not in order:
        return "earlier subtask"
    answering = [
        number
        for number, entry in enumerate(subtask.entries)
        if not entry.poisoned and entry.value == subtask.answer
    ]
    position = order.index(entry_id)
    if position < answering[0]:
        return "before"
    return "after" if position > answering[-1] else "between"
