r"""The grammar of every prompt that shows memories: how it is written, and how it is read back.

    Section title:
    [12] action, success, search {"query": "..."}
    > a line of the agent's own thought
    | a line of content

Structure lines start at column 0. Content is quoted line by line, so whatever an observation says,
it cannot forge an id, a header, or the end of a section: `parse` reads out of `section_text` the
very items that went in. Content is split wherever `str.splitlines` splits, so that no reader finds
a line break that the writer did not see.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from wmt.nodes import Summary

QUESTION = "Question"
TASK_PATH = "Task path"
MEMORIES = "Memories"
SUMMARIES = "Folded summaries"
WARNINGS = "Failure warnings"
ACTIVE_TASK = "Active task"
CANDIDATES = "Candidates"
OBJECTIVE = "Objective"
STEPS = "Steps"

_TITLE = re.compile(r"([A-Z][A-Za-z ]*):")
_HEAD = re.compile(r"\[([0-9]+)\] (task|action|global), ([a-z]+)(?:, (.*))?")
_TOOL = re.compile(r"""([A-Za-z_][A-Za-z0-9_.\-]*|"(?:[^"\\]|\\.)*") (.*)""")
_SCORES = re.compile(r"(?:u=([0-9.]+))?(?:, )?(?:U=(-?[0-9.]+))?")
_PLAIN_TOOL = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_JSON_BREAKS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


class GrammarError(ValueError):
    """A line that the grammar has no place for."""


@dataclass(frozen=True, slots=True)
class Item:
    """One memory in a prompt.

    `state` is a lifecycle, or the outcome of an action where the section shows actions with their
    `tool` and `arguments`. `score` and `priority` are u and U where a selector may see them.
    """

    id: int
    kind: str
    state: str
    tool: str | None = None
    arguments: dict[str, Any] | None = None
    score: float | None = None
    priority: float | None = None
    thought: str = ""
    content: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a prompt: quoted text of its own, items, or both."""

    title: str
    text: str = ""
    items: tuple[Item, ...] = ()


def clean(text: str) -> str:
    """`text` with lone surrogates replaced: no server's UTF-8 can carry them."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def one_line(text: str) -> str:
    """`text` with every run of white space (all line breaks included) made one blank."""
    return " ".join(clean(text).split())


def normal(text: str) -> str:
    """What `parse` gives back for content `text`: breaks made `\\n`, surrogates replaced."""
    return "\n".join(clean(text).splitlines())


def quote(text: str, mark: str = "|") -> str:
    """`text` quoted line by line, each line ended; nothing for no text."""
    lines = clean(text).splitlines()
    return "".join([f"{mark} {line}\n" if line else f"{mark}\n" for line in lines])


def json_line(value: Any) -> str:
    """`value` as JSON that holds no line break in any reader's eyes."""
    return clean(json.dumps(value, ensure_ascii=False)).translate(_JSON_BREAKS)


def call_text(tool: str, arguments: dict[str, Any] | None) -> str:
    """A tool call on one line. A name that is not a plain one is written as a JSON string."""
    name = tool if _PLAIN_TOOL.fullmatch(tool) else json_line(tool)
    return f"{name} {json_line(arguments or {})}"


def item_text(item: Item) -> str:
    """An item as it stands in a prompt, its last line ended."""
    head = [item.kind, item.state]
    if item.tool is not None:
        head.append(call_text(item.tool, item.arguments))
    if item.score is not None:
        head.append(f"u={item.score:.2f}")
    if item.priority is not None:
        head.append(f"U={item.priority:.2f}")
    return f"[{item.id}] {', '.join(head)}\n{quote(item.thought, '>')}{quote(item.content)}"


def section_text(section: Section) -> str:
    """A section as it stands in a prompt."""
    body = "".join(map(item_text, section.items))
    return f"{section.title}:\n{quote(section.text)}{body}"


def parse(text: str) -> tuple[Section, ...]:
    """Read the sections of a prompt; a line of prose ends a section, as does a blank line.

    Raises `GrammarError` for quoted lines and items outside a section and for a malformed header.
    """
    sections: list[Section] = []
    title: str | None = None
    own: list[str] = []
    items: list[tuple[Item, list[str], list[str]]] = []

    def close() -> None:
        if title is not None:
            done = tuple(
                replace(item, thought="\n".join(thought), content="\n".join(content))
                for item, thought, content in items
            )
            sections.append(Section(title, "\n".join(own), done))

    for line in text.splitlines():
        mark, body = line[:1], line[2:]
        if mark in ("|", ">", "["):
            if title is None:
                raise GrammarError(f"outside a section: {line!r}")
            if mark == "[":
                items.append((_parse_head(line), [], []))
            elif line[1:2] not in ("", " "):
                raise GrammarError(f"no blank after the quotation mark: {line!r}")
            elif items:
                _, thought, content = items[-1]
                (thought if mark == ">" else content).append(body)
            elif mark == "|":
                own.append(body)
            else:
                raise GrammarError(f"a thought outside an item: {line!r}")
            continue
        close()
        match = _TITLE.fullmatch(line)
        title, own, items = (match[1] if match else None), [], []
    close()
    return tuple(sections)


def _parse_head(line: str) -> Item:
    match = _HEAD.fullmatch(line)
    if match is None:
        raise GrammarError(f"not an item header: {line!r}")
    item = Item(int(match[1]), match[2], match[3])
    rest = match[4]
    if rest is None:
        return item
    scores = _SCORES.fullmatch(rest)
    if scores is not None:
        score, priority = scores.groups()
        return replace(
            item,
            score=None if score is None else float(score),
            priority=None if priority is None else float(priority),
        )
    call = _TOOL.fullmatch(rest)
    if call is None:
        raise GrammarError(f"neither scores nor a tool call: {line!r}")
    name = call[1]
    try:
        arguments = json.loads(call[2])
        tool = json.loads(name) if name.startswith('"') else name
    except ValueError:
        raise GrammarError(f"the call is not JSON: {line!r}") from None
    return replace(item, tool=tool, arguments=arguments)


def summary_content(summary: Summary) -> str:
    """A summary as the content of its task's item, one field a line."""
    lines = [f"objective: {one_line(summary.objective)}", f"result: {one_line(summary.result)}"]
    for name in ("evidence", "unresolved", "warnings"):
        lines += [f"{name}: {one_line(entry)}" for entry in getattr(summary, name)]
    return "\n".join(lines)


def parse_summary(content: str) -> Summary:
    """Read a summary back from the content of an item; raises `GrammarError`."""
    fields: dict[str, list[str]] = {
        name: [] for name in ("objective", "result", "evidence", "unresolved", "warnings")
    }
    for line in content.splitlines():
        name, colon, value = line.partition(":")
        if not colon or name not in fields:
            raise GrammarError(f"not a line of a summary: {line!r}")
        fields[name].append(value.strip())
    return Summary(
        objective=" ".join(fields["objective"]),
        result=" ".join(fields["result"]),
        evidence=tuple(fields["evidence"]),
        unresolved=tuple(fields["unresolved"]),
        warnings=tuple(fields["warnings"]),
    )
