"""Random scripts for `wmt.drive`: they stray over every operation, allowed or not."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from wmt.presets import NAMES

ids = st.integers(0, 24)
operations = st.one_of(
    st.none(),
    st.sampled_from([{"open": "find the year"}, {"open": "find the author"}]),
    st.just({"complete": True}),
    ids.map(lambda i: {"resume": i}),
    ids.map(lambda i: {"open": "under a named task", "parent": i}),
)
actions = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {
            "outcome": st.sampled_from(["success", "failure", "failure"]),
            "content": st.sampled_from(["The year was 1912.", "no page", ""]),
        }
    ),
)
lines = st.fixed_dictionaries(
    {
        "select": st.none() | st.lists(ids, max_size=4),
        "task_op": operations,
        "action": actions,
        "supersede": st.lists(ids, max_size=1),
    }
)
scripts = st.lists(lines, min_size=1, max_size=30)
names = st.sampled_from(NAMES)


def header(name: str, **more: Any) -> dict[str, Any]:
    return {"memory": name, "question": "Who wrote it, and in which year?", **more}
