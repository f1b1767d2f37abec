"""The scorer against recorded verdicts of the official one, and what must hold for any text."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.gaia_scorer import question_score

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "scorer_cases.jsonl").read_text("utf-8").splitlines()
]
FINITE = st.floats(allow_nan=False, allow_infinity=False)
WORDS = st.text(st.characters(exclude_characters=",;"), max_size=40)


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case["ground_truth"]))
def test_recorded_verdicts(case: dict[str, object]) -> None:
    answer, truth = case["model_answer"], case["ground_truth"]
    assert answer is None or isinstance(answer, str)
    assert isinstance(truth, str)
    assert question_score(answer, truth) is case["expected"]


def test_cases_hold_right_and_wrong_answers() -> None:
    assert {case["expected"] for case in CASES} == {True, False}


@given(st.text(max_size=60).filter(lambda text: text.strip().lower().lstrip("+-") != "nan"))
def test_the_truth_is_right_unless_a_list_holds_a_nan(truth: str) -> None:
    elements = [part.strip().lower().lstrip("+-") for part in truth.replace(";", ",").split(",")]
    assert question_score(truth, truth) is ("nan" not in elements)


@given(FINITE)
def test_a_number_is_right_in_any_dress(value: float) -> None:
    assert question_score(f" ${value!r}% ", repr(value))


@given(FINITE, WORDS.filter(lambda text: not any(c.isdigit() for c in text)))
def test_words_never_equal_a_finite_number(value: float, words: str) -> None:
    assert not question_score(f"x{words}", repr(value))


@given(WORDS, st.sampled_from([" ", "\t", "\n", "\u00a0", ".", "!", "-", '"']))
def test_strings_ignore_spaces_and_punctuation(truth: str, noise: str) -> None:
    letters = f"q{truth}"
    assert question_score(noise.join(letters), letters)


@given(st.lists(WORDS, min_size=2, max_size=5), WORDS)
def test_a_list_of_another_length_is_wrong(elements: list[str], more: str) -> None:
    assert not question_score(", ".join([*elements, more]), ", ".join(elements))
