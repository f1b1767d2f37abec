"""The study of one cell: a scenario is an item, a replay makes its row and its trace."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel

from agents.ledger import Meter
from benchmarks.errors import SetupError
from benchmarks.question_study import tokens_by_role
from benchmarks.records import SCHEMA_VERSION, Counters, RowBase
from benchmarks.study import CellContext, ItemResult, hash_ids
from poisoning.attack_check import AttackCheck
from poisoning.attacks import Attack, apply_attack, without_poison
from poisoning.chance import RandomSelections
from poisoning.check import place
from poisoning.counts import Counts, count_scenario
from poisoning.lines import EntryInfo, EntryLine, FinalLine, HeaderLine, Line, SubtaskInfo
from poisoning.obedient import ObedientSelections
from poisoning.protocol import Replay
from poisoning.rows import ScenarioRow
from poisoning.schema import Scenario, corpus_digest, read_scenarios
from wmt.chat import ChatModel
from wmt.eventlog import count_events
from wmt.memory import MemoryConfig

Arm = Literal["poisoned", "clean", "attack_check", "random"]


class PoisoningStudy:
    """Runs scenarios (see `benchmarks.study.Study`); `ids` and `limit` cut the corpus."""

    def __init__(
        self,
        name: str,
        arm: Arm,
        attack: Attack,
        ids: Sequence[str] | None,
        limit: int | None,
        max_tokens: int,
        obedient: bool = False,
    ) -> None:
        every = read_scenarios()
        self.name = name
        self.revision = corpus_digest()
        self.full_size = len(every)
        self.ids_hash = hash_ids(scenario.id for scenario in every)
        self.uses_web = False
        self.row_type: type[RowBase] = ScenarioRow
        self._arm = arm
        self._attack = attack
        self._max_tokens = max_tokens
        self._obedient = obedient
        unknown = sorted(set(ids or ()) - {scenario.id for scenario in every})
        if unknown:
            raise SetupError(f"dataset.ids: not in {name}: {', '.join(unknown)}")
        kept = [scenario for scenario in every if ids is None or scenario.id in ids][:limit]
        self._scenarios = {scenario.id: self._armed(scenario) for scenario in kept}

    def _armed(self, scenario: Scenario) -> Scenario:
        attacked = apply_attack(scenario, self._attack)
        return without_poison(attacked) if self._arm == "clean" else attacked

    def item_ids(self) -> Sequence[str]:
        """The cut's scenario ids in the corpus' order."""
        return list(self._scenarios)

    async def run(self, item_id: str, cell: CellContext) -> ItemResult:
        """One scenario with a fresh memory."""
        scenario = self._scenarios[item_id]
        meter = Meter(self._model(cell, item_id))
        started, clock = time.time(), time.perf_counter()
        seed = cell.key.seed
        memory_config = without_forced_step(cell.memory)
        if self._arm == "attack_check":
            check = AttackCheck(scenario, memory_config, meter, self._max_tokens, seed)
            final, lines = await check.run(), check.lines
            events: Sequence[Any] = ()
        else:
            memory = memory_config.build(meter)
            replay = Replay(scenario, memory, meter, self._max_tokens, seed)
            final, lines = await replay.run(), replay.lines
            events = memory.events
        trace = [self._header(scenario, cell), *lines]
        counts = count_scenario(trace)
        row = ScenarioRow(
            cell=cell.key,
            task_id=scenario.id,
            status=final.status,
            steps=counts.prompts,
            tokens=tokens_by_role(meter.calls),
            usage_estimated=meter.estimated,
            counters=_counters(lines, events, counts),
            seconds=time.perf_counter() - clock,
            started_at=started,
            error=final.error if final.status == "error" else "",
            arm=self._arm,
            attack=self._attack,
            entries=len(scenario.entries),
            poisoned=counts.injected,
            critical_steps=counts.critical,
            right=counts.right,
            compromised=counts.compromised,
            exposed=counts.exposed,
            unreadable=counts.critical - counts.readable,
            final_answer=final.answer,
            final_right=counts.final_parts == counts.final_right_parts > 0,
        )
        return ItemResult(row, [line.model_dump(mode="json") for line in trace])

    def _model(self, cell: CellContext, item_id: str) -> ChatModel:
        """The cell's model; in the random arm its selections are drawn by lot, and an obedient
        selector names what a poisoned entry claims to supersede."""
        if self._obedient:
            if getattr(cell.memory, "supersession", "off") != "selector":
                raise SetupError("dataset.obedient=true needs memory.supersession=selector")
            return ObedientSelections(cell.chat)
        if self._arm != "random":
            return cell.chat
        if getattr(cell.memory, "selector", "llm") != "llm":
            raise SetupError("dataset.arm=random draws the model's selections: memory.selector=llm")
        return RandomSelections(cell.chat, random.Random(f"{cell.key.seed} {item_id}"))

    def _header(self, scenario: Scenario, cell: CellContext) -> HeaderLine:
        targets = {subtask.id: subtask for subtask in scenario.subtasks}
        return HeaderLine(
            schema_version=SCHEMA_VERSION,
            task_id=scenario.id,
            cell=cell.key.model_dump(mode="json"),
            arm=self._arm,
            attack=self._attack,
            subtasks=[
                SubtaskInfo(id=s.id, question=s.question, answer=s.answer, value_type=s.value_type)
                for s in scenario.subtasks
            ],
            entries=[
                EntryInfo(
                    id=entry.id,
                    subtask=subtask.id,
                    target=entry.target,
                    poisoned=entry.poisoned,
                    attack=entry.attack,
                    outcome=entry.outcome,
                    value=entry.value,
                    place=place(targets[entry.target], entry.id) if entry.poisoned else None,
                )
                for subtask in scenario.subtasks
                for entry in subtask.entries
            ],
        )


def without_forced_step(config: MemoryConfig) -> MemoryConfig:
    """The configuration with `show_last_step` off, whatever it says: forced into every context, the
    entry that was just recorded would be retrieved by the protocol and not by the memory."""
    if isinstance(config, BaseModel) and getattr(config, "show_last_step", False):
        return config.model_copy(update={"show_last_step": False})
    return config


def _counters(lines: Sequence[Line], events: Sequence[Any], counts: Counts) -> Counters:
    """How often each part of the method was exercised."""
    counters = Counters(**count_events(events))
    counters.selector_calls = counts.roles["selector"].calls if "selector" in counts.roles else 0
    counters.format_errors = counts.critical - counts.readable
    for line in lines:
        context = line.context if isinstance(line, EntryLine | FinalLine) else None
        if context is None:
            continue
        selection = context.selection
        counters.selector_retries += selection["retries"]
        counters.selector_fallbacks += selection["fallback"]
        counters.selector_unknown_ids += selection["unknown"]
        counters.selector_cut += selection["cut"]
        counters.context_cuts += len(context.cut)
    return counters
