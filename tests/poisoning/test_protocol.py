"""The order of a replay, and that a model which cannot answer is data."""

from __future__ import annotations

from agents.ledger import Meter
from poisoning.attack_check import AttackCheck
from poisoning.lines import CompleteLine, CriticalLine, EntryLine, FinalLine, OpenLine
from poisoning.protocol import Replay
from wmt.chat import ChatModel, ContextOverflow
from wmt.grammar import parse

from .fakes import KeepAll, ScriptedChat, answer, dead, two_subtasks


def replay(replies: list[str | Exception]) -> tuple[Replay, KeepAll, ScriptedChat]:
    memory, chat = KeepAll(), ScriptedChat(replies)
    return Replay(two_subtasks(), memory, Meter(chat), max_tokens=100, seed=7), memory, chat


async def test_order() -> None:
    run, memory, _ = replay([answer("Rome"), answer("Bergen"), answer("Rome; Bergen")])
    final = await run.run()
    assert memory.log == [
        "start",
        "open Find s1.1",
        "record s1.1.e1",
        "context",
        "record s1.1.e2",
        "context",
        "complete Rome",
        "open Find s1.2",
        "record s1.2.e1",
        "context",
        "record s1.2.e2",
        "context",
        "record s1.2.e3",
        "context",
        "complete Bergen",
        "context",
        "finish Rome; Bergen",
    ]
    assert [type(line) for line in run.lines] == [
        OpenLine,
        *[EntryLine] * 2,
        CriticalLine,
        CompleteLine,
        OpenLine,
        *[EntryLine] * 3,
        CriticalLine,
        CompleteLine,
        FinalLine,
    ]
    assert (final.status, final.answer, final.right_parts) == (
        "answered",
        "Rome; Bergen",
        [False, True],
    )


async def test_questions_are_asked_on_the_last_context() -> None:
    run, _, chat = replay([answer("Oslo"), answer("Bergen"), answer("Oslo; Bergen")])
    await run.run()
    asked = [parse(request.messages[1].content.split("\n\n", 1)[1]) for request in chat.requests]
    assert [sections[0].text for sections in asked[:2]] == ["What is s1.1?", "What is s1.2?"]
    assert asked[2][0].text == two_subtasks().question
    assert "s1.1.e2 says Rome" in chat.requests[0].messages[1].content
    assert "Find s1.2" not in chat.requests[0].messages[1].content
    assert {request.seed for request in chat.requests} == {7}


async def test_provenance_goes_with_the_action_alone() -> None:
    run, memory, _ = replay([answer("Oslo"), answer("Bergen"), answer("Oslo; Bergen")])
    await run.run()
    actions = [step.action for step in memory.steps if step.action is not None]
    assert [action.provenance["poisoned"] for action in actions] == [
        False,
        True,
        True,
        False,
        False,
    ]
    assert [action.outcome.value for action in actions][2] == "failure"
    assert all("poison" not in str(action.arguments) for action in actions)


async def test_an_unreadable_reply_completes_as_unknown() -> None:
    run, memory, _ = replay(["no idea", answer("Bergen"), answer("x; y")])
    final = await run.run()
    assert "complete unknown" in memory.log
    critical = [line for line in run.lines if isinstance(line, CriticalLine)]
    assert [line.answer for line in critical] == [None, "Bergen"]
    assert critical[0].reply == "no idea"
    assert final.status == "answered"


async def test_a_dead_server_ends_the_scenario() -> None:
    run, memory, _ = replay([answer("Oslo"), dead()])
    final = await run.run()
    assert (final.status, final.error) == ("error", "the server is gone")
    assert final.context is None
    assert memory.log[-1] == "finish None"


async def test_a_full_window_ends_the_scenario() -> None:
    run, _, _ = replay([ContextOverflow("too long")])
    final = await run.run()
    assert (final.status, final.error) == ("context_limit", "too long")


async def test_attack_check_asks_with_one_entry_alone() -> None:
    class Factory:
        def build(self, model: ChatModel) -> KeepAll:
            return KeepAll()

    chat = ScriptedChat([answer("Rome"), answer("unknown")])
    check = AttackCheck(two_subtasks(), Factory(), Meter(chat), 100, 0)
    final = await check.run()
    assert final.status == "answered"
    assert len(chat.requests) == 2
    texts = [request.messages[1].content for request in chat.requests]
    assert "says Rome" in texts[0] and "says Paris" not in texts[0] and "says Oslo" not in texts[0]
    assert "says Paris" in texts[1] and "What is s1.2?" in texts[1]
