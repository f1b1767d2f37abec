"""A model's reply -> one step: its thought, at most one task operation, one action.

What models really send is repaired where the meaning is plain, and each repair is named in
`Reply.format_errors`. Where it is not plain, `Reply.problem` says why, to the model, and the step
counts as a failed action. Nothing here raises on any text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents import salvage, textcalls
from agents.fields import read_arguments, read_operation
from agents.schema import FINAL_ANSWER, FINAL_ANSWER_PARAMETERS
from wmt.memory import TaskOperation

INVALID_REPLY = "invalid_reply"
"""Tool name under which an unusable reply is recorded."""

Parameters = Mapping[str, dict[str, Any]]
"""JSON schema of the parameters of each tool by name."""


@dataclass(frozen=True)
class Reply:
    """One parsed reply. With a `problem` there is nothing to run; `tool` may still be known."""

    thought: str = ""
    operation: TaskOperation | None = None
    tool: str = INVALID_REPLY
    arguments: dict[str, Any] = field(default_factory=dict)
    format_errors: tuple[str, ...] = ()
    problem: str = ""

    @property
    def answer(self) -> str | None:
        """The final answer, if this step gives it."""
        if self.problem or self.tool != FINAL_ANSWER:
            return None
        return str(self.arguments["answer"])

    @property
    def notices(self) -> tuple[str, ...]:
        """What the model must know of this reply: repairs that changed what was run."""
        notices = [self.problem] if self.problem else []
        if "several_actions" in self.format_errors:
            notices.append("Only the first action of your last reply was run.")
        if "bad_task_operation" in self.format_errors:
            notices.append(
                "The task operation of your last reply could not be read; none was made."
            )
        return tuple(notices)


def parse_reply(
    text: str,
    tools: Parameters,
    *,
    reasoning: str = "",
    finish_reason: str = "stop",
    plain_text: bool = False,
) -> Reply:
    """Read one step. `reasoning` is what the server split off; `plain_text` says that the model was
    asked for `Thought: / Task: / Action: / Action Input:` lines instead of JSON."""
    tools = {**tools, FINAL_ANSWER: FINAL_ANSWER_PARAMETERS}
    text, errors = salvage.clean_text(text)
    reasoning, _ = salvage.clean_text(reasoning)
    text, thinking, found = salvage.strip_thinking(text)
    errors += found
    step = _find_step(text, tools, plain_text)
    if step is None:
        for hidden in (thinking, reasoning):
            # A step inside the thinking counts only where there is no other answer.
            if hidden and not text.strip() and (step := _find_step(hidden, tools, plain_text)):
                errors.append("step_in_reasoning")
                break
    if step is not None:
        return _reply(step, errors, tools)
    if not text.strip():
        errors.append("empty_reply")
    if finish_reason == "length":
        errors.append("cut_reply")
        problem = "Your reply was cut at the token limit before it held an action. Be shorter."
    else:
        wanted = "Thought:, Task:, Action: and Action Input:" if plain_text else "one JSON object"
        problem = f"Your reply held no action. Answer with {wanted} and nothing else."
    return Reply(format_errors=_unique([*errors, "no_action"]), problem=problem)


@dataclass
class _Draft:
    """A step as found: still unchecked."""

    thought: Any = ""
    operation: Any = None
    tool: Any = None
    arguments: Any = None
    errors: list[str] = field(default_factory=list)


def _find_step(text: str, tools: Parameters, plain_text: bool) -> _Draft | None:
    if plain_text:
        return _from_lines(text, tools, []) or _from_json(text, tools, ["json_reply"])
    draft = _from_json(text, tools, [])
    if draft is not None and draft.tool is not None:
        return draft
    return _from_lines(text, tools, ["plain_text"]) or _from_call(text, tools) or draft


def _from_json(text: str, tools: Parameters, errors: list[str]) -> _Draft | None:
    """The first JSON value that is a step; later ones are dropped."""
    first: _Draft | None = None
    start = end = 0
    for found in salvage.find_values(text):
        value, several = found.value, False
        if isinstance(value, list):
            drafts = [d for d in (_shape(item, tools) for item in value) if d is not None]
            draft, several = (drafts[0] if drafts else None), len(drafts) > 1
        else:
            draft = _shape(value, tools)
        if draft is None:
            continue
        if first is not None and first.tool is not None:
            if draft.tool is not None:
                first.errors.append("several_actions")
                break
            continue
        if first is not None and not draft.thought:
            draft.thought = first.thought
        draft.errors += [*found.errors, *(["several_actions"] if several else [])]
        first, start, end = draft, found.start, found.end
        if draft.tool is None and "cut_reply" in found.errors:
            break
    if first is None:
        return None
    before, after = text[:start].strip(), text[end:].strip()
    if before.startswith("```") or after.startswith("```"):
        first.errors.append("fenced_json")
        before = before.removesuffix("```json").removesuffix("```").strip()
        after = after.removeprefix("```").strip()
    if before:
        first.errors.append("text_before_step")
    if after:
        first.errors.append("text_after_step")
    first.errors = [*errors, *first.errors]
    return first


def _shape(value: Any, tools: Parameters) -> _Draft | None:
    """Recognise a step, or an action alone, in one JSON object."""
    if not isinstance(value, dict):
        return None
    action = value.get("action")
    draft = _Draft(thought=value.get("thought", ""), operation=value.get("task_operation"))
    if isinstance(action, list):
        if len(action) > 1:
            draft.errors.append("several_actions")
        action = action[0] if action else None
    if isinstance(action, str):
        draft.errors.append("action_as_string")
        given = _first(value, "arguments", "action_input", "input", "parameters")
        if given is None and (call := textcalls.find_call(action, tools)):
            draft.tool, draft.arguments = call.name, _named(call, tools)
        else:
            draft.tool, draft.arguments = action, given
        return draft
    if isinstance(action, dict):
        return _bare_action(action, tools, draft) or draft
    bare = _bare_action(value, tools, draft)
    if bare is not None:
        bare.errors.append("bare_action")
        return bare
    answer = _first(value, FINAL_ANSWER, "answer")
    if answer is not None:
        draft.tool, draft.arguments = FINAL_ANSWER, {"answer": answer}
        draft.errors.append("bare_answer")
        return draft
    return draft if "thought" in value or "task_operation" in value else None


def _bare_action(value: dict[str, Any], tools: Parameters, draft: _Draft) -> _Draft | None:
    """`{"tool", "arguments"}` under whatever names models give to the two; `{tool: arguments}`."""
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    name = _first(value, "tool", "name", "tool_name", "function", "type")
    if isinstance(name, str):
        keys = ("arguments", "parameters", "args", "input", "action_input", "kwargs")
        draft.tool, draft.arguments = name, _first(value, *keys)
        if draft.arguments is None and not any(key in value for key in keys):
            known = tools.get(name, {}).get("properties", {})
            draft.arguments = {key: item for key, item in value.items() if key in known}
        return draft
    for key in value:
        if key in tools and isinstance(value[key], dict):
            draft.tool, draft.arguments = key, value[key]
            draft.errors.append("tool_as_key")
            return draft
    return None


def _from_call(text: str, tools: Parameters) -> _Draft | None:
    """A call written as code: `[search(query='x')]`, `<|python_tag|>search.call(query='x')`."""
    call = textcalls.find_call(text, tools)
    if call is None:
        return None
    errors = ["bare_call"]
    if textcalls.find_call(text[call.end :], tools) is not None:
        errors.append("several_actions")
    return _Draft(tool=call.name, arguments=_named(call, tools), errors=errors)


def _named(call: textcalls.Call, tools: Parameters) -> dict[str, Any]:
    names = list(tools[call.name].get("properties", {}))
    return {**dict(zip(names, call.positional, strict=False)), **call.named}


def _from_lines(text: str, tools: Parameters, errors: list[str]) -> _Draft | None:
    """`Thought: / Task: / Action: / Action Input: / Final Answer:` lines."""
    parts, more = textcalls.labelled_lines(text)
    draft = _Draft(thought=parts.get("thought", ""), operation=parts.get("task"))
    draft.errors = [*errors, *(["text_after_step"] if more else [])]
    if "final answer" in parts:
        draft.tool, draft.arguments = FINAL_ANSWER, {"answer": parts["final answer"]}
        return draft
    name = parts.get("action", "").strip("`*\"' \t")
    if not name:
        return None
    call = textcalls.find_call(name, tools)
    if call is not None:
        draft.tool, draft.arguments = call.name, _named(call, tools)
    else:
        draft.tool = name.splitlines()[0].strip()
        draft.arguments = given = parts.get("action input")
        # Here an object is expected as text; only what is none of these is a repair.
        objects = salvage.find_values(given or "")
        if (found := next(objects, None)) is not None and isinstance(found.value, dict):
            draft.arguments = found.value
            draft.errors += found.errors
    return draft


def _reply(draft: _Draft, errors: list[str], tools: Parameters) -> Reply:
    """Check a draft against the tools."""
    errors = [*errors, *draft.errors]
    thought = draft.thought if isinstance(draft.thought, str) else str(draft.thought or "")
    operation, wrong = read_operation(draft.operation)
    errors += wrong
    name = draft.tool.strip() if isinstance(draft.tool, str) else None
    if not name:
        cut = " It was cut at the token limit." if "cut_reply" in errors else ""
        return Reply(
            thought,
            operation,
            format_errors=_unique([*errors, "no_action"]),
            problem=f"Your reply held no action.{cut} Give one action with its tool and arguments.",
        )
    if name not in tools:
        errors.append("unknown_tool")
        known = ", ".join(tools)
        problem = f"There is no tool {name[:80]!r}. The tools are: {known}."
        arguments = draft.arguments if isinstance(draft.arguments, dict) else {}
        return Reply(thought, operation, name[:80], arguments, _unique(errors), problem)
    arguments, wrong, problem = read_arguments(draft.arguments, tools[name])
    return Reply(thought, operation, name, arguments, _unique([*errors, *wrong]), problem)


def _first(value: dict[str, Any], *keys: str) -> Any:
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _unique(errors: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(errors))
