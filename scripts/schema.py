"""Write results/README.md: the row schema field by field, from the code.

    python -m scripts.schema [--check]

--check writes nothing and exits 1 if the file is not what the code says.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from benchmarks.records import SCHEMA_VERSION, CellKey, Counters, RoleTokens, Row, RowBase
from poisoning.rows import ScenarioRow

PATH = Path(__file__).resolve().parent.parent / "results" / "README.md"

_HEAD = f"""# Results

Written by `python -m scripts.schema` from the row classes; schema version {SCHEMA_VERSION}.

A cell is one memory with one model on one data set, in one arm and with one seed. Its folder is

    results_dir/LABEL/DATASET/MODEL/MEMORY/seedN/
        cell.yaml        the resolved configuration and its digest
        rows.jsonl       one row an item (question or scenario), as below
        errors.jsonl     error rows that a retry has replaced
        traces/          one TASKID.jsonl.gz an item: a header, its steps, its end
        ledger.json      compute: sessions, GPUs, energy where it can be measured

`example/` is a small committed result set: the seven memories on the archive and the five poisoning
configurations, answered by the simulated model, a rule-based reader and no language model. It shows
what tables and figures look like (`make tables`), not which memory is better. Of the archive's
traces it holds a sample; Table 4 is computed from traces, so those of the poisoning study are all
there. `make example` makes it anew. Everything else in this folder is ignored by git.

A row with status `error` counts as wrong, is listed apart, and is tried again on the next run.
Tokens are those that the server reports, over every model call of the configuration.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.schema", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--check", action="store_true", help="only compare")
    options = parser.parse_args(arguments)
    text = document()
    if not options.check:
        PATH.write_text(text, encoding="utf-8")
        return 0
    if PATH.exists() and PATH.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PATH.name} is not what the row classes say: run python -m scripts.schema")
    return 1


def document() -> str:
    """The whole file."""
    own = [name for name in ScenarioRow.model_fields if name not in RowBase.model_fields]
    questions = [name for name in Row.model_fields if name not in RowBase.model_fields]
    parts = [
        _HEAD,
        _section("Every row", RowBase, list(RowBase.model_fields)),
        _section("Question rows, beyond those", Row, questions),
        _section("Rows of the poisoning study, beyond those", ScenarioRow, own),
        _section("`cell`", CellKey, list(CellKey.model_fields)),
        _section("`tokens`, for each role", RoleTokens, list(RoleTokens.model_fields)),
        _section("`counters`", Counters, list(Counters.model_fields)),
    ]
    return "\n".join(parts)


def _section(title: str, model: type[BaseModel], fields: Sequence[str]) -> str:
    lines = [f"## {title}", "", "| field | type | meaning |", "|:--|:--|:--|"]
    for name in fields:
        field = model.model_fields[name]
        if not field.description:
            raise ValueError(f"{model.__name__}.{name} has no docstring; say what it holds")
        meaning = " ".join(field.description.split()).replace("|", r"\|")
        lines.append(f"| `{name}` | {_type(model, name, field)} | {meaning} |")
    return "\n".join(lines) + "\n"


def _type(model: type[BaseModel], name: str, field: FieldInfo) -> str:
    """The JSON type of a field, with its allowed values where they are few."""
    schema: dict[str, Any] = model.model_json_schema()
    entry = schema["properties"][name]
    return _json_type(entry, schema.get("$defs", {})) or str(field.annotation)


def _json_type(entry: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "$ref" in entry:
        return f"object ({entry['$ref'].rsplit('/', 1)[1]})"
    if "enum" in entry:
        return " / ".join(f"`{value}`" for value in entry["enum"])
    if "anyOf" in entry:
        return " or ".join(_json_type(part, definitions) for part in entry["anyOf"])
    if entry.get("type") == "object" and "additionalProperties" in entry:
        return f"object of {_json_type(entry['additionalProperties'], definitions)}"
    return str(entry.get("type", ""))


if __name__ == "__main__":
    sys.exit(main())
