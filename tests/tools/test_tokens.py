from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.tools.base import ToolError
from agents.tools.tokens import Parts, estimate_tokens


@given(st.text(max_size=3000), st.integers(120, 400))
def test_parts_lose_nothing_and_keep_the_cap(text: str, limit: int) -> None:
    parts = Parts.of(text, limit)
    assert "".join(parts.pieces) == text
    # One piece of 400 characters may hold more tokens than the cap, if it stands alone.
    assert all(estimate_tokens(piece) <= limit or len(piece) <= 400 for piece in parts.pieces)


def test_a_cut_says_how_to_go_on() -> None:
    parts = Parts.of("a line of words\n" * 400, 500)
    total = len(parts.pieces)
    assert total > 2
    assert parts.show(1).endswith(f"[part 1 of {total}; go on with part=2]")
    assert parts.show(total).endswith(f"[part {total} of {total}; this is the last part]")
    with pytest.raises(ToolError, match=f"the last one is part {total}"):
        parts.show(total + 1)


def test_a_short_text_stands_as_it_is() -> None:
    assert Parts.of("short", 100).show(1) == "short"


def test_an_immense_text_says_that_it_was_not_read_to_its_end() -> None:
    parts = Parts.of("a line of words\n" * 70_000, 5000)
    assert sum(map(len, parts.pieces)) == 1_000_000
    assert parts.show(len(parts.pieces)).endswith("of the first 1000000 characters]")


def test_one_endless_line_is_cut_and_cheap_to_count() -> None:
    text = "x" * 200_000  # a tokenizer that saw it whole would need minutes
    assert len(Parts.of(text, 500).pieces) > 10
    assert estimate_tokens(text) > 1000
