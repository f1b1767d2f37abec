"""python examples/own_agent.py

The memory in somebody else's agent. The loop below is a plain one; the lines that say memory are
all that the Weighted Memory Tree adds to it. `decide` stands for the agent's own model call: here a
rule, so that the example runs without a model. Give `preset("wmt").build(model)` any object that
fulfils `wmt.chat.ChatModel` to let a language model select and summarize.
"""

from __future__ import annotations

import asyncio
from typing import Any

from wmt.memory import Action, Step, TaskOperation
from wmt.nodes import Outcome
from wmt.offline import OfflineModel
from wmt.presets import preset

PAGES = {"population": "Vell has 310 inhabitants.", "mayor": "The mayor of Vell is Ana Torr."}


def decide(prompt: str) -> dict[str, Any]:
    """The agent's policy: look up what the prompt does not hold yet, then answer."""
    for topic, page in PAGES.items():
        working_on_it = f"task, active\n| find the {topic}" in prompt
        if page not in prompt:
            return {"goal": None if working_on_it else f"find the {topic}", "look_up": topic}
        if working_on_it:
            return {"done": page}
    return {"answer": "310; Ana Torr"}


async def agent(question: str) -> tuple[str, str]:
    """Answer a question; returns the answer and the last prompt."""
    memory = preset("wmt", selector="lexical", summarizer="extractive").build(OfflineModel())
    memory.start(question)
    for _ in range(10):
        prompt = (await memory.context(available_tokens=2000)).text
        reply = decide(prompt)
        if "answer" in reply:
            await memory.finish(reply["answer"])
            return reply["answer"], prompt
        if "done" in reply:
            await memory.record(Step(operation=TaskOperation("complete", result=reply["done"])))
            continue
        goal, topic = reply["goal"], reply["look_up"]
        action = Action("look_up", {"topic": topic}, PAGES[topic], Outcome.SUCCESS)
        operation = None if goal is None else TaskOperation("open", goal=goal)
        await memory.record(Step(operation=operation, action=action))
    raise RuntimeError("no answer within ten steps")


if __name__ == "__main__":
    answer, last_prompt = asyncio.run(agent("How many people live in Vell, and who is its mayor?"))
    print(f"{last_prompt}\nAnswer: {answer}")
