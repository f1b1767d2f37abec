"""GAIA's official scoring: does a submitted answer equal the ground truth?

The ground truth alone picks the rule: a number, a list, or a string. No judge and no substring
match takes part, so scores compare with the leaderboard's.
"""

from __future__ import annotations

import re
import string

_DROP_FROM_NUMBERS = str.maketrans("", "", "$%,")
_DROP_PUNCTUATION = str.maketrans("", "", string.punctuation)
_SEPARATORS = re.compile("[,;]")


def question_score(answer: str | None, truth: str) -> bool:
    """Whether `answer` is right. No answer is scored as the text "None", as the official one is."""
    given = "None" if answer is None else answer
    if _is_number(truth):
        return _as_number(given) == float(truth)
    if _SEPARATORS.search(truth):
        return _same_list(_SEPARATORS.split(given), _SEPARATORS.split(truth))
    return _squeeze(given).translate(_DROP_PUNCTUATION) == _squeeze(truth).translate(
        _DROP_PUNCTUATION
    )


def _same_list(given: list[str], truth: list[str]) -> bool:
    """Element by element, in order; elements that are not numbers keep their punctuation."""
    if len(given) != len(truth):
        return False
    return all(
        _as_number(mine) == float(gold) if _is_number(gold) else _squeeze(mine) == _squeeze(gold)
        for mine, gold in zip(given, truth, strict=True)
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _as_number(text: str) -> float:
    """The number in `text` without `$`, `%` and `,`; infinity if there is none."""
    try:
        return float(text.translate(_DROP_FROM_NUMBERS))
    except ValueError:
        return float("inf")


def _squeeze(text: str) -> str:
    """Lower case without any white space."""
    return "".join(text.split()).lower()
