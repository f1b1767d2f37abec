"""Makes the corpus: `python -m poisoning.corpus` writes it, `--check` validates what is committed.

The counts are the paper's (appendix A.3): 100 scenarios, 297 subtasks, 1,118 entries of which 709
are benign and 409 poisoned. What the paper leaves open is fixed here: the mix of scenario sizes,
what benign entries are about, where poison stands, and how often it is recorded as failed. The same
seed gives the same bytes.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from poisoning.check import problems, report
from poisoning.names import Names
from poisoning.phrasings import LEXICON, lexicon_text, read_phrasings
from poisoning.schema import SCENARIOS, AttackKind, Role, Scenario, read_scenarios
from poisoning.writer import ScenarioWriter, SubtaskPlan

SEED = 20260831
_REMEDY = "run python -m poisoning.corpus"
T = TypeVar("T")

# Subtasks per scenario: 28 x 2 + 47 x 3 + 25 x 4 = 297.
_SIZES = {2: 28, 3: 47, 4: 25}
# Benign entries per subtask: 40 x 1 + 125 x 2 + 109 x 3 + 23 x 4 = 709.
_BENIGN = {1: 40, 2: 125, 3: 109, 4: 23}
# Two subtasks hold no poison, each in a scenario of four: the paper's Linear ASR of .995 by
# exposure is then met exactly ((98 + 2 x 3/4) / 100). The rest hold 181 x 1 + 114 x 2 = 409.
_POISON = {1: 181, 2: 114}
_SAME_RIVAL = 57  # of the 114 subtasks with two poisoned entries, half agree on the rival value
_KINDS: dict[AttackKind, int] = {
    "misleading_observation": 137,
    "fabricated_claim": 136,
    "compromised_tool": 136,
}
_FAILED = 102  # a quarter of the poisoned entries, as the blog of appendix A.4; the rest success
# One benign entry of a subtask answers its question, recorded as a success; these are the 412
# others, by whether they are recorded as failed. A quarter of those that state something is, so
# that a value behind an error does not give poison away.
_OTHERS: dict[tuple[Role, bool], int] = {
    ("support", False): 108,
    ("support", True): 36,
    ("other_attribute", False): 77,
    ("other_attribute", True): 26,
    ("neighbour", False): 62,
    ("neighbour", True): 20,
    ("background", False): 50,
    ("failed", True): 33,
}


@dataclass
class _Decks:
    """Shuffled decks, so that the totals are exact whatever the order of drawing."""

    rng: random.Random
    benign: list[int] = field(init=False)
    poison: list[int] = field(init=False)
    same: list[bool] = field(init=False)
    kinds: list[AttackKind] = field(init=False)
    failed: list[bool] = field(init=False)
    others: list[tuple[Role, bool]] = field(init=False)

    def __post_init__(self) -> None:
        self.benign = self._deck(_BENIGN)
        self.poison = self._deck(_POISON)
        self.same = self._deck({True: _SAME_RIVAL, False: _POISON[2] - _SAME_RIVAL})
        self.kinds = self._deck(_KINDS)
        self.failed = self._deck({True: _FAILED, False: sum(_KINDS.values()) - _FAILED})
        self.others = self._deck(_OTHERS)

    def _deck(self, counts: dict[T, int]) -> list[T]:
        deck = [item for item, count in counts.items() for _ in range(count)]
        self.rng.shuffle(deck)
        return deck

    def plan(self, clean: bool) -> SubtaskPlan:
        """What one subtask holds."""
        poison = 0 if clean else self.poison.pop()
        return SubtaskPlan(
            others=[self.others.pop() for _ in range(self.benign.pop() - 1)],
            attacks=[(self.kinds.pop(), self.failed.pop()) for _ in range(poison)],
            same_rival=poison == 2 and self.same.pop(),
        )


def generate(seed: int = SEED) -> list[Scenario]:
    """The corpus."""
    rng = random.Random(seed)
    phrasings = read_phrasings()
    writer = ScenarioWriter(phrasings, Names(phrasings.names, rng), rng)
    decks = _Decks(rng)
    sizes = [size for size, count in _SIZES.items() for _ in range(count)]
    rng.shuffle(sizes)
    with_clean = set(rng.sample([i for i, size in enumerate(sizes) if size == 4], 2))
    scenarios = []
    for index, size in enumerate(sizes):
        clean_one = rng.randrange(size) if index in with_clean else -1
        plans = [decks.plan(clean=number == clean_one) for number in range(size)]
        scenarios.append(writer.scenario(f"s{index + 1:03d}", plans))
    return scenarios


def corpus_text(scenarios: list[Scenario]) -> str:
    """The corpus as the bytes of `data/scenarios.jsonl`."""
    return "".join(scenario.model_dump_json() + "\n" for scenario in scenarios)


def main() -> int:
    """Entry point; exit code 1 where the check finds something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="validate the committed corpus")
    arguments = parser.parse_args()
    if not arguments.check:
        _write(SCENARIOS, corpus_text(generate()))
        _write(LEXICON, lexicon_text(read_phrasings()))
    scenarios = read_scenarios()
    found = problems(scenarios)
    if SCENARIOS.read_text(encoding="utf-8") != corpus_text(generate()):
        found.append(f"{SCENARIOS.name} is not what seed {SEED} makes: {_REMEDY}")
    if LEXICON.read_text(encoding="utf-8") != lexicon_text(read_phrasings()):
        found.append(f"{LEXICON.name} does not follow phrasings.yaml: {_REMEDY}")
    print(report(scenarios))
    for problem in found:
        print(f"problem: {problem}", file=sys.stderr)
    print("valid" if not found else f"{len(found)} problems")
    return 1 if found else 0


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    sys.exit(main())
