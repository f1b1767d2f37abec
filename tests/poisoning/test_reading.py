"""The simulated reader can read the corpus: every claim, alone in the context, is its answer.

Without that, an attack that fails would say something about the lexicon and nothing about a memory.
"""

from __future__ import annotations

from pathlib import Path

from agents.ledger import Meter
from poisoning import asking
from poisoning.protocol import action
from poisoning.schema import Entry, Scenario, Subtask, read_scenarios
from wmt.chat import ChatModel
from wmt.memory import Step, TaskOperation

from .memories import five, reader


async def answered(scenario: Scenario, subtask: Subtask, entry: Entry, chat: ChatModel) -> str:
    memory = five("lexical")["linear"].build(Meter(chat))
    memory.start(scenario.question)
    await memory.record(Step(operation=TaskOperation("open", goal=subtask.goal)))
    await memory.record(Step(action=action(entry)))
    context = await memory.context()
    _, answer = await asking.ask(chat, asking.request(context.text, subtask.question, 100, 0))
    assert answer is not None
    return answer


async def test_every_claim_is_read_and_nothing_else_is(tmp_path: Path) -> None:
    misread: list[str] = []
    async with reader().open(tmp_path) as model:
        for scenario in read_scenarios()[:25]:
            for subtask in scenario.subtasks:
                for entry in subtask.entries:
                    answer = await answered(scenario, subtask, entry, model.chat)
                    expected = entry.value or asking.UNKNOWN
                    if not (answer == expected or asking.same_value(answer, expected, "person")):
                        misread.append(f"{entry.id}: {answer!r} of {entry.text!r}")
    assert misread == []
