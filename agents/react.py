"""The agent: a ReAct loop (paper, section 3.1). One step is one prompt, one reply, one action.

The loop knows nothing of trees: it asks the memory for a working context and records what it did.
It is the same for every memory, so that only the memory differs.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from agents.actions import Reply, parse_reply
from agents.guide import StepSchemas
from agents.ledger import Meter
from agents.prompts import question_text, system_prompt, user_prompt, worked_examples
from agents.prompts.examples import EXAMPLES
from agents.salvage import clean_text
from agents.schema import Bounds
from agents.tools.base import Tool, ToolError, ToolResult
from agents.trace import (
    EpisodeRecord,
    Status,
    StepRecord,
    context_record,
    event_record,
    operation_record,
)
from wmt.chat import ChatError, ChatModel, ChatRequest, ContextOverflow, Message
from wmt.memory import Action, Memory, Recorded, Step, WorkingContext
from wmt.nodes import Outcome

T = TypeVar("T")

IMAGE_TOKENS = 300
"""Room left for an image: Gemma 4 takes 280 tokens and their markers, if not told otherwise."""


class AgentConfig(BaseModel):
    """Limits and prompt options; the defaults are the published scaffold's (section 3.1).

    Tokens are the model's, sizes of strings are in characters. `examples` worked examples are put
    into the prompt; `guided` narrows each step for models too small to plan (`agents.guide`);
    `context_margin` tokens are left for what the chat template adds.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = "react"
    max_steps: int = Field(10, ge=1)
    max_seconds: float = Field(300.0, gt=0)
    max_new_tokens: int = Field(4000, ge=16)
    max_total_tokens: int | None = Field(None, ge=1)
    examples: int = Field(0, ge=0, le=EXAMPLES)
    guided: bool = False
    reply_format: Literal["auto", "json", "text"] = "auto"
    context_margin: int = Field(128, ge=0)
    max_observation_chars: int = Field(20_000, ge=100)
    thought_chars: int = Field(1500, ge=20)
    goal_chars: int = Field(400, ge=20)
    argument_chars: int = Field(2000, ge=20)


async def run_episode(
    question: str,
    memory: Memory,
    chat: ChatModel,
    tools: Sequence[Tool],
    config: AgentConfig,
    *,
    answer_instructions: str = "",
    files: Sequence[Path] = (),
    seed: int | None = None,
) -> EpisodeRecord:
    """Run one question to its end. `chat` should be the `Meter` that the memory calls too.

    A dead server, a bad reply and a spent limit are data (`EpisodeRecord.status`); a bug raises.
    Time that ran out while the server restarted is an error, tried again, and no `time_limit`.
    """
    meter = chat if isinstance(chat, Meter) else Meter(chat)
    text, _ = clean_text(question_text(question, [path.name for path in files]))
    episode = _Episode(text, memory, meter, tools, config, answer_instructions, seed)
    started, outage = time.perf_counter(), meter.outage_seconds
    status: Status
    error = ""
    limit = asyncio.timeout(config.max_seconds)
    try:
        async with limit:
            status = await episode.run()
    except TimeoutError:
        if not limit.expired():
            raise
        status = "time_limit"
        if meter.outage_seconds > outage:
            status, error = "error", "the server was being restarted while the time ran out"
    except ContextOverflow:
        status = "context_limit"
    except ChatError as failure:
        status, error = "error", str(failure) or type(failure).__name__
    if episode.answer is not None:
        # An answer given in time stands, even if the end fell into the memory's last work.
        status, error = "answered", ""
    await meter.count_cut_off()
    with contextlib.suppress(ChatError):
        await memory.finish(episode.answer)
    episode.collect()
    return EpisodeRecord(
        status=status,
        answer=episode.answer,
        steps=episode.steps,
        seconds=time.perf_counter() - started,
        error=error,
    )


class _Episode:
    """The state of one run: its steps so far and what the next prompt must say about the last."""

    def __init__(
        self,
        question: str,
        memory: Memory,
        meter: Meter,
        tools: Sequence[Tool],
        config: AgentConfig,
        answer_instructions: str,
        seed: int | None,
    ) -> None:
        self.memory, self.meter, self.config, self.seed = memory, meter, config, seed
        self.tools = {tool.name: tool for tool in tools}
        self.parameters = {tool.name: tool.parameters for tool in tools}
        self.plain_text = config.reply_format == "text" or (
            config.reply_format == "auto" and not meter.structured_output
        )
        system = system_prompt(
            tools,
            answer_instructions,
            plain_text=self.plain_text,
            under=not (config.guided or self.plain_text),  # spared to small models
        )
        examples = worked_examples(self.tools, config.examples, plain_text=self.plain_text)
        self.prefix = (Message("system", system), *examples)
        self.schemas = StepSchemas(
            tools,
            Bounds(config.thought_chars, config.goal_chars, config.argument_chars),
            guided=config.guided,
        )
        self.steps: list[StepRecord] = []
        self.answer: str | None = None
        self.notices: tuple[str, ...] = ()
        self.images: tuple[str, ...] = ()
        self.seen_calls = self.seen_events = 0
        memory.start(question)

    async def run(self) -> Status:
        """The loop of the whole study."""
        for number in range(1, self.config.max_steps + 1):
            context = await self.remembering(self.memory.context(await self.room()))
            step = self.begin(number, context)
            reply = await self.ask(step, context)
            if reply.answer is not None:
                self.answer = reply.answer
                await self.record(step, reply, action=None)
                return "answered"
            action = await self.act(step, reply)
            await self.record(step, reply, action)
            if self.spent():
                return "token_limit"
        return "step_limit"

    def begin(self, number: int, context: WorkingContext) -> StepRecord:
        """Open the record of a step at once, so that a limit in the middle of it loses nothing."""
        step = StepRecord(step=number, context=context_record(context))
        step.memory_seconds = self.memory_seconds
        self.steps.append(step)
        return step

    async def ask(self, step: StepRecord, context: WorkingContext) -> Reply:
        """One prompt, one reply, parsed."""
        user = user_prompt(
            context.text, self.notices, step=step.step, last_step=self.config.max_steps
        )
        await self.check_window(user)
        request = ChatRequest(
            messages=(*self.prefix, Message("user", user, self.images)),
            role="agent",
            max_tokens=self.config.max_new_tokens,
            json_schema=self.schema(step, context),
            seed=self.seed,
        )
        completion = await self.meter.complete(request)
        reply = parse_reply(
            completion.text,
            self.parameters,
            reasoning=completion.reasoning,
            finish_reason=completion.finish_reason,
            plain_text=self.plain_text,
        )
        step.reply, step.thought = completion.text, reply.thought
        step.format_errors = list(reply.format_errors)
        step.operation = operation_record(reply.operation)
        step.tool, step.arguments = reply.tool, reply.arguments
        return reply

    def schema(self, step: StepRecord, context: WorkingContext) -> dict[str, Any] | None:
        """What the reply must look like; none where it is plain text."""
        if self.plain_text:
            return None
        return self.schemas.of(
            step=step.step,
            last_step=self.config.max_steps,
            task_open=len(context.active_path) > 1,
            last_tool=self.steps[-2].tool if len(self.steps) > 1 else None,
        )

    async def act(self, step: StepRecord, reply: Reply) -> Action:
        """Run the tool. What fails in a way that the model should see is a failed action."""
        started = time.perf_counter()
        if reply.problem:
            result = ToolResult(reply.problem, ok=False)
        else:
            try:
                result = await self.tools[reply.tool].call(reply.arguments)
            except ToolError as error:
                result = ToolResult(str(error) or "the tool failed", ok=False)
        step.tool_seconds = time.perf_counter() - started
        self.images = result.images
        text, _ = clean_text(result.text)
        step.observation = _cut(text, self.config.max_observation_chars)
        outcome = Outcome.SUCCESS if result.ok else Outcome.FAILURE
        step.outcome = outcome.value
        return Action(reply.tool, reply.arguments, step.observation, outcome)

    async def record(self, step: StepRecord, reply: Reply, action: Action | None) -> None:
        """Hand the step to the memory; what it refused is said in the next prompt."""
        done = Step(reply.thought, reply.operation, action)
        recorded: Recorded = await self.remembering(self.memory.record(done))
        step.memory_seconds += self.memory_seconds
        step.refused = list(recorded.refused)
        self.notices = (*recorded.refused, *reply.notices)
        self.collect()

    def collect(self) -> None:
        """Give the calls and memory events since the last time to the newest step."""
        if not self.steps:
            return
        step = self.steps[-1]
        step.calls += self.meter.calls[self.seen_calls :]
        self.seen_calls = len(self.meter.calls)
        events = self.memory.events
        step.events += [event_record(event) for event in events[self.seen_events :]]
        self.seen_events = len(events)

    async def remembering(self, work: Awaitable[T]) -> T:
        """Await the memory; `memory_seconds` is the time it took without its model calls."""
        busy, started = self.meter.busy_seconds, time.perf_counter()
        result = await work
        waited = self.meter.busy_seconds - busy
        self.memory_seconds = max(0.0, time.perf_counter() - started - waited)
        return result

    async def room(self) -> int:
        """Tokens that the window leaves for the memory in the next prompt."""
        fixed = user_prompt("", self.notices, step=1, last_step=self.config.max_steps)
        return max(0, await self.room_beside_prefix() - await self.meter.count_tokens(fixed))

    async def room_beside_prefix(self) -> int:
        """Tokens for the user message's text: what the fixed messages, the images and the reply
        leave, and what the chat template adds (a few tokens a message)."""
        counts = [await self.meter.count_tokens(message.content) for message in self.prefix]
        used = sum(counts) + 8 * len(counts) + self.config.context_margin
        used += IMAGE_TOKENS * len(self.images)
        return self.meter.context_window - self.config.max_new_tokens - used

    async def check_window(self, user: str) -> None:
        """Raise `ContextOverflow` instead of sending what cannot fit.

        No tokenizer makes more tokens than bytes, so most prompts need no exact count.
        """
        room = await self.room_beside_prefix()
        if len(user.encode()) <= room:
            return
        if await self.meter.count_tokens(user) > room:
            raise ContextOverflow("prompt and reply do not fit into the context window")

    def spent(self) -> bool:
        """Whether the question's token limit is used up."""
        limit = self.config.max_total_tokens
        return limit is not None and self.meter.total_tokens >= limit


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[cut: the first {limit} of {len(text)} characters]"
