"""A model's reply -> one step: its thought, at most one task operation, one action.

What models really send is repaired where the meaning is plain, and each repair is named in
`Reply.format_errors`. Where it is not plain, `Reply.problem` says why, to the model, and the step
counts as a failed action. Nothing here raises on any text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents import salvage
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
        if given is None and (call := salvage.find_call(action, tools)):
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
    call = salvage.find_call(text, tools)
    if call is None:
        return None
    errors = ["bare_call"]
    if salvage.find_call(text[call.end :], tools) is not None:
        errors.append("several_actions")
    return _Draft(tool=call.name, arguments=_named(call, tools), errors=errors)


def _named(call: salvage.Call, tools: Parameters) -> dict[str, Any]:
    names = list(tools[call.name].get("properties", {}))
    return {**dict(zip(names, call.positional, strict=False)), **call.named}


def _from_lines(text: str, tools: Parameters, errors: list[str]) -> _Draft | None:
    """`Thought: / Task: / Action: / Action Input: / Final Answer:` lines."""
    parts, more = salvage.labelled_lines(text)
    draft = _Draft(thought=parts.get("thought", ""), operation=parts.get("task"))
    draft.errors = [*errors, *(["text_after_step"] if more else [])]
    if "final answer" in parts:
        draft.tool, draft.arguments = FINAL_ANSWER, {"answer": parts["final answer"]}
        return draft
    name = parts.get("action", "").strip("`*\"' \t")
    if not name:
        return None
    call = salvage.find_call(name, tools)
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


def read_operation(value: Any) -> tuple[TaskOperation | None, list[str]]:
    """`{"open": goal}`, `{"complete": result}`, `{"resume": id}` or nothing, and the repairs."""
    errors: list[str] = []
    if isinstance(value, str):
        kind, colon, rest = value.strip().strip("{}").partition(":")
        kind = kind.strip("\"' ").lower()
        if kind in ("", "null", "none", "n/a"):
            return None, []
        value = {kind: rest.strip("\"' ")} if colon else kind
    if value is None or value == {} or value is False:
        return None, []
    if not isinstance(value, dict):
        return None, ["bad_task_operation"]
    given = {key: item for key, item in value.items() if item is not None and item != ""}
    kinds = [key for key in ("open", "complete", "resume") if key in given]
    if not kinds:
        return None, ["bad_task_operation"] if given else []
    if len(kinds) > 1:
        errors.append("several_task_operations")
    kind, content = kinds[0], given[kinds[0]]
    if kind == "resume":
        digits = str(content).strip("[] ")
        if isinstance(content, bool) or not (digits.isascii() and digits.isdigit()):
            return None, [*errors, "bad_task_operation"]
        return TaskOperation("resume", task=int(digits[:9])), errors
    if isinstance(content, dict):
        content = next((item for item in content.values() if isinstance(item, str)), "")
    content = content if isinstance(content, str) else _plain(content)
    if not content.strip():
        return None, [*errors, "bad_task_operation"]
    if kind == "open":
        return TaskOperation("open", goal=content), errors
    return TaskOperation("complete", result=content), errors


def read_arguments(value: Any, schema: dict[str, Any]) -> tuple[dict[str, Any], list[str], str]:
    """Arguments that fit a tool's schema, what was repaired, and what is wrong with them."""
    properties: dict[str, Any] = schema.get("properties", {})
    errors: list[str] = []
    if isinstance(value, str):
        errors.append("arguments_as_string")
        try:
            loaded = salvage.clean_value(salvage.loads(value.strip()))
        except ValueError:
            loaded = None
        value = loaded if isinstance(loaded, dict | list) else [value]
    elif value is None:
        errors += ["arguments_null"] if properties else []
        value = {}
    if isinstance(value, list):
        errors.append("arguments_as_list")
        if len(value) == 1 and isinstance(value[0], dict):
            value = value[0]
        else:
            value = dict(zip(properties, value, strict=False))
    if not isinstance(value, dict):
        errors.append("arguments_as_list")
        value = dict(zip(properties, [value], strict=False))
    arguments: dict[str, Any] = {}
    for key, item in value.items():
        if properties and key not in properties:
            errors.append("unknown_argument")
            continue
        bent, changed = _coerce(item, properties.get(key, {}))
        errors += ["coerced_argument"] if changed else []
        arguments[key] = bent
    missing = [key for key in schema.get("required", []) if arguments.get(key) is None]
    if missing:
        errors.append("missing_argument")
        return arguments, errors, f"Missing argument: {', '.join(missing)}."
    return {key: item for key, item in arguments.items() if item is not None}, errors, ""


def _coerce(value: Any, schema: dict[str, Any]) -> tuple[Any, bool]:
    """Bend a value to the type its schema names where that is plain; else leave it to the tool."""
    kind = schema.get("type")
    if kind == "string" and value is not None and not isinstance(value, str):
        return _plain(value), True
    if kind in ("integer", "number") and isinstance(value, str):
        try:
            return (int(value) if kind == "integer" else float(value)), True
        except ValueError:
            return value, False
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value), True
    if kind == "boolean" and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true", True
    if kind == "array" and value is not None and not isinstance(value, list):
        return [value], True
    return value, False


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value)
    if isinstance(value, dict) and len(value) == 1:
        return _plain(next(iter(value.values())))
    return str(value)


def _first(value: dict[str, Any], *keys: str) -> Any:
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _unique(errors: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(errors))
