"""Attached files: a table, a record list or a note that holds one needed fact among others."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile

from benchmarks.archive.kinds import Attribute, Link, Links
from benchmarks.archive.prose import phrasings, plain_sentence
from benchmarks.archive.quiz import Question
from benchmarks.archive.world import World

_ROWS = 9
Cells = list[str | int]

_EPOCH = (1980, 1, 1, 0, 0, 0)


def content(world: World, question: Question) -> bytes:
    """The bytes of a question's file; the same world gives the same bytes."""
    assert question.filed is not None, "a question without a file has no content"
    needed = question.hops[question.filed]
    kind = world.entities[needed.entity].kind
    rng = world.rng("file", question.id)
    taken = {hop.entity for hop in question.hops}
    others = [index for index in world.by_kind[kind] if index not in taken]
    listed = [needed.entity, *rng.sample(others, min(_ROWS, len(others)))]
    rng.shuffle(listed)
    if question.file_kind == "txt":
        lines = [plain_sentence(world, index, needed.relation, rng) for index in listed]
        return ("Notes for the next edition.\n\n" + "\n".join(lines) + "\n").encode()
    header: Cells = ["name", phrasings()[needed.relation]["column"][0]]
    attribute = world.attributes(needed.entity)[needed.relation]
    rows: list[Cells] = [
        [_name(world, i), _cell(world, attribute, world.facts(i)[needed.relation])] for i in listed
    ]
    match question.file_kind:
        case "csv":
            return _csv([header, *rows])
        case "json":
            records = [dict(zip(map(str, header), row, strict=True)) for row in rows]
            return (json.dumps({"entries": records}, indent=1, ensure_ascii=False) + "\n").encode()
        case _:
            return _xlsx([header, *rows], kind)


def _name(world: World, index: int) -> str:
    entity = world.entities[index]
    return f"{entity.name} ({entity.descriptor})" if world.ambiguous(index) else entity.name


def _cell(world: World, attribute: Attribute, value: object) -> str | int:
    assert not isinstance(attribute, Links), "lists do not stand in tables"
    if isinstance(attribute, Link) and isinstance(value, int):
        return world.mention(value)
    return value if isinstance(value, int) else str(value)


def _csv(rows: list[Cells]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _xlsx(rows: list[Cells], title: str) -> bytes:
    """A workbook without the time of its making, which openpyxl would write in two places."""
    from openpyxl import Workbook

    workbook = Workbook()
    sheet = workbook.active
    assert sheet is not None, "a new workbook has a sheet"
    sheet.title = title
    for row in rows:
        sheet.append(row)
    raw, clean = io.BytesIO(), io.BytesIO()
    workbook.save(raw)
    with zipfile.ZipFile(raw) as source, zipfile.ZipFile(clean, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name == "docProps/core.xml":
                data = re.sub(rb"\d{4}-\d\d-\d\dT[\d:]+Z", b"2020-01-01T00:00:00Z", data)
            target.writestr(zipfile.ZipInfo(name, _EPOCH), data)
    return clean.getvalue()
