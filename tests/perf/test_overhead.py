"""The overhead measurement runs whole cells; what it measures is not asserted here."""

from __future__ import annotations

import argparse
import json

import pytest

from agents.actions import parse_reply
from scripts.perf import overhead
from scripts.perf.scripted_model import Look, reply_for, script


def test_the_script_is_valid_and_uses_a_task() -> None:
    tools = {"look": Look.parameters}
    steps = [parse_reply(text, tools) for text in script(5)]
    assert len(steps) == 5 and steps[-1].answer == "42"
    assert all(step.format_errors == () for step in steps)
    kinds = [step.operation.kind for step in steps if step.operation is not None]
    assert kinds == ["open", "complete"]


@pytest.mark.parametrize("number", [1, 3, 5])
def test_the_reply_is_that_of_the_step(number: int) -> None:
    replies = [str(n) for n in range(1, 6)]
    prompt = f"| Give step 9 of\nGive step {number} of at most 10."
    assert reply_for(prompt, replies) == str(number)
    last = "This is step 5 of 5, the last: give your answer with final_answer now."
    assert reply_for(last, replies) == "5"


@pytest.mark.parametrize("model", list(overhead.AIMS))
@pytest.mark.parametrize("memory", ["linear", "wmt"])
def test_every_arm_answers_every_question(model: str, memory: str) -> None:
    options = argparse.Namespace(questions=3, calls=5, concurrency=2)
    result = overhead.arm(model, memory, options)
    assert (result["model"], result["memory"], result["calls"]) == (model, memory, 15)
    assert json.dumps(result)
