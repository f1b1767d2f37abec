"""Says what a configuration key may hold, in words, from its pydantic class's JSON schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

_NUMBER_BOUNDS = (
    ("minimum", ">="),
    ("exclusiveMinimum", ">"),
    ("maximum", "<="),
    ("exclusiveMaximum", "<"),
)


def explain(
    error: ValidationError,
    kind: type[BaseModel],
    prefix: tuple[str, ...],
    also: Sequence[str] = (),
) -> list[str]:
    """One line per mistake: the full key, its value, what is wrong, what is allowed.

    `prefix` is the key of what failed to validate: a group and, below it, a nested object of
    `kind`, the group's class. `also` names keys that are allowed beside the class's fields.
    """
    schema = _schema(kind)
    lines: list[str] = []
    for mistake in error.errors():
        inner = (*prefix[1:], *mistake["loc"])
        key = ".".join(str(part) for part in (*prefix[:1], *inner))
        if mistake["type"] == "extra_forbidden":
            owner = _at(schema, inner[:-1]) if schema else None
            keys = ", ".join(sorted({*_properties(schema, owner), *also}))
            lines.append(f"{key}: unknown key" + (f"; allowed: {keys}" if keys else ""))
        elif mistake["type"] == "missing":
            lines.append(f"{key}: must be given")
        else:
            reason = mistake["msg"].removeprefix("Value error, ")
            given = _given(mistake["input"])
            if given is None:  # fields that do not go together: the reason names them
                lines.append(f"{key}: {reason}" if key else reason)
                continue
            allowed = _words(schema, _at(schema, inner)) if schema else ""
            hint = f"; allowed: {allowed}" if allowed else ""
            lines.append(f"{key}={given}: {reason}{hint}")
    return list(dict.fromkeys(lines))


def _given(value: Any) -> str | None:
    """A value as it is written on a command line; None for a mapping or an object."""
    if value is None or isinstance(value, bool):
        return str(value).lower().replace("none", "null")
    return str(value) if isinstance(value, str | int | float | list) else None


def has_key(kind: type[BaseModel], path: Sequence[str]) -> bool:
    """Whether the config class has a field at a dotted path (below a free mapping, anything)."""
    schema = _schema(kind)
    return schema is None or _at(schema, path) is not None


def _schema(kind: type[BaseModel]) -> dict[str, Any] | None:
    try:
        return kind.model_json_schema()
    except PydanticInvalidForJsonSchema:  # a field of a type of our own: ask field by field
        fields = {name: _field_schema(kind, name) for name in kind.model_fields}
        return {"properties": fields}


def _field_schema(kind: type[BaseModel], name: str) -> dict[str, Any]:
    field = kind.model_fields[name]
    annotation: Any = field.annotation
    for constraint in field.metadata:
        annotation = Annotated[annotation, constraint]
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        return adapter.json_schema()
    except (PydanticInvalidForJsonSchema, PydanticSchemaGenerationError):
        return {}


def _branches(schema: dict[str, Any], node: dict[str, Any]) -> list[dict[str, Any]]:
    """The alternatives of a schema node, references followed."""
    if "$ref" in node:
        return _branches(schema, schema["$defs"][node["$ref"].rsplit("/", 1)[-1]])
    inner = [*node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("allOf", ())]
    return [branch for part in inner for branch in _branches(schema, part)] or [node]


def _properties(schema: dict[str, Any] | None, node: dict[str, Any] | None) -> set[str]:
    if schema is None or node is None:
        return set()
    return {key for branch in _branches(schema, node) for key in branch.get("properties", ())}


def _at(schema: dict[str, Any] | None, path: Sequence[Any]) -> dict[str, Any] | None:
    """The schema node at a path; None where there is no such key. Union tags are passed over."""
    node: dict[str, Any] | None = schema
    for part in path:
        if schema is None or node is None:
            return None
        node = _child(schema, node, part)
    return node


def _child(schema: dict[str, Any], node: dict[str, Any], part: Any) -> dict[str, Any] | None:
    for branch in _branches(schema, node):
        if part in branch.get("properties", ()):
            found: dict[str, Any] = branch["properties"][part]
            return found
        if isinstance(part, int) and "items" in branch:
            items: dict[str, Any] = branch["items"]
            return items
        if isinstance(branch.get("additionalProperties"), dict):
            more: dict[str, Any] = branch["additionalProperties"]
            return more
        if branch.get("additionalProperties") is True or branch == {}:
            return {}
    return None


def _words(schema: dict[str, Any] | None, node: dict[str, Any] | None) -> str:
    """E.g. `a number, > 0, <= 1`, `one of llm, lexical`, `an integer, >= 1 or null`."""
    if schema is None or node is None:
        return ""
    return " or ".join(dict.fromkeys(filter(None, (_word(b) for b in _branches(schema, node)))))


def _word(node: dict[str, Any]) -> str:
    if "enum" in node:
        return "one of " + ", ".join(str(choice) for choice in node["enum"])
    if "const" in node:
        return str(node["const"])
    bounds = [f"{sign} {node[name]}" for name, sign in _NUMBER_BOUNDS if name in node]
    names = {
        "number": "a number",
        "integer": "an integer",
        "boolean": "true or false",
        "string": "a text",
        "array": "a list",
        "object": "a mapping",
        "null": "null",
    }
    name = names.get(str(node.get("type")), "")
    pattern = [f"matching {node['pattern']}"] if "pattern" in node else []
    return ", ".join([name, *bounds, *pattern]) if name else ""
