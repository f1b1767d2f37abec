"""The simulated agent: plans from the question, looks into the context, and takes the next step.

It works through the parts of a question in order. A part of two or more hops gets a subtask of its
own (a chain that stands alone: all but its last hop), which is completed with its result as soon as
the context shows it. Since `complete` takes effect after the action of its step, that action reads
one more page on the same subject where there is one. The reader never repeats a call that the
context shows, and repeats whatever the context does not show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agents.models.simulated.knowledge import Known, Need, combine
from agents.models.simulated.mentions import Mention, read_mention
from agents.models.simulated.questions import Combine, Lookup
from agents.models.simulated.view import Language, View

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Action:
    """A tool call still to be made."""

    tool: str
    arguments: dict[str, Any]


def next_step(view: View, language: Language) -> dict[str, Any]:
    """The reply of one agent step as data."""
    question = language.parser.question(view.question)
    if question is None:
        return _reply("I do not understand the question.", None, _final(UNKNOWN))
    planner = _Planner(question, view, language)
    for name in view.files:
        if view.done("read_file", {"path": name}) is None:
            return _reply("The file first.", None, Action("read_file", {"path": name}))
    goal = language.goal(view.goals[-1]) if view.goals else None
    return planner.at_root() if goal is None else planner.in_subtask(goal)


class _Planner:
    """One step's plan."""

    def __init__(self, question: Combine, view: View, language: Language) -> None:
        self._question = question
        self._view = view
        self._lexicon = language.reader.lexicon

    def in_subtask(self, goal: Lookup) -> dict[str, Any]:
        """Go on with the active subtask, or complete it."""
        state = self._pursue(goal)
        if isinstance(state, Action):
            return _reply(f"I still need {goal.text}.", None, state)
        if state == UNKNOWN:
            self._view.given_up.add(goal.text)
        after = self.at_root()
        action = Action(after["action"]["tool"], after["action"]["arguments"])
        if action.tool not in ("final_answer", "calculator"):
            action = self._confirm(goal) or action
        return _reply(f"So {goal.text} is {state}.", {"complete": state}, action)

    def at_root(self) -> dict[str, Any]:
        """Open the next subtask, go on with a part that needs none, or answer."""
        values: list[str] = []
        for part in self._question.parts:
            state = self._pursue(part)
            if isinstance(state, Action):
                branch = self._branch(part)
                if branch is not None and isinstance(self._view.knowledge.resolve(branch), Need):
                    goal = f"Find {branch.text}"
                    return _reply(f"First I need {branch.text}.", {"open": goal}, state)
                return _reply(f"Now I need {part.text}.", None, state)
            values.append(state)
        if UNKNOWN in values:
            return _reply("It cannot be found.", None, _final(UNKNOWN))
        return self._answer(values)

    def _answer(self, values: list[str]) -> dict[str, Any]:
        sign = {"sum": " + ", "difference": " - "}.get(self._question.op)
        if sign is None:
            return _reply("All is known.", None, _final(combine(self._question, values)))
        arguments = {"expression": sign.join(values)}
        done = self._view.done("calculator", arguments)
        if done is None:
            return _reply("All is known; now compute.", None, Action("calculator", arguments))
        if done.state == "success":
            return _reply("Computed.", None, _final(done.content.strip().removeprefix("-")))
        return _reply("Computed by head.", None, _final(combine(self._question, values)))

    def _branch(self, part: Lookup) -> Lookup | None:
        """The phrase that gets a subtask, if the part is long enough for one."""
        if len(self._question.parts) > 1:
            return part if part.depth > 1 else None
        return part.subject if isinstance(part.subject, Lookup) else None

    def _pursue(self, part: Lookup) -> Action | str:
        """The value of a phrase, `unknown` if every way to it was tried, or the next action."""
        accepted: set[Need] = set()
        while True:
            found = self._view.knowledge.resolve(part, accepted)
            if isinstance(found, Known):
                return found.value
            if _given_up(part, self._view):
                return UNKNOWN
            action = next(self._ways(found), None)
            if action is not None:
                return action
            if found.rumour is None:
                return UNKNOWN
            accepted.add(found)

    def _ways(self, need: Need) -> Iterator[Action]:
        """Everything that may lead to a missing fact and was not done yet, the best first."""
        asks = [a for key in need.relations for a in self._lexicon.relations[key].ask]
        queries = [ask.replace("{s}", str(need.subject)) for ask in asks]
        for query in dict.fromkeys([*queries, str(need.subject)]):
            if self._view.done("search", {"query": query}) is None:
                yield Action("search", {"query": query})
            yield from self._unread(need.subject, trusted=True)
        yield from self._unread(need.subject, trusted=False)

    def _unread(self, subject: Mention, trusted: bool) -> Iterator[Action]:
        """Pages on the subject not read yet: those that a search pointed to, then the rest."""
        leads = [x for x in self._view.leads if x.trusted == trusted and x.topic.fits(subject)]
        pages = [(lead.document, lead.page) for lead in leads]
        pages += [(lead.document, page) for lead in leads for page in range(1, lead.pages + 1)]
        for document, page in dict.fromkeys(pages):
            arguments = {"document": document, "page": page}
            if self._view.done("read", arguments) is None:
                yield Action("read", arguments)

    def _confirm(self, goal: Lookup) -> Action | None:
        """A further page on what the last hop of a goal is about."""
        subject = self._view.knowledge.resolve(goal.subject)
        mention = read_mention(subject.value) if isinstance(subject, Known) else None
        return None if mention is None else next(self._unread(mention, trusted=True), None)


def _given_up(part: Lookup, view: View) -> bool:
    """Whether a subtask for the phrase, or for a phrase inside it, ended without a result."""
    if part.text in view.given_up:
        return True
    return isinstance(part.subject, Lookup) and _given_up(part.subject, view)


def _final(answer: str) -> Action:
    return Action("final_answer", {"answer": answer})


def _reply(thought: str, operation: dict[str, Any] | None, action: Action) -> dict[str, Any]:
    call = {"tool": action.tool, "arguments": action.arguments}
    return {"thought": thought, "task_operation": operation, "action": call}
