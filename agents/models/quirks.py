"""What a model family's chat template and server do differently, as data."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from wmt.chat import CallRole, Message


class Quirks(BaseModel):
    """Peculiarities of one model family.

    `system_role: false` for chat templates that refuse a system message: it is put in front of the
    first user message. `alternation: true` for templates that refuse two messages of one role in a
    row: they are joined. `thinking` sets the template's switch named `thinking_switch`; null leaves
    it alone. Only the agent thinks: the replies of selector and summarizer are bounded to a few
    hundred tokens, which thinking would use up, so for them the switch is off.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    system_role: bool = True
    alternation: bool = False
    thinking: bool | None = None
    thinking_switch: str = "enable_thinking"

    def apply(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages as the chat template takes them."""
        if not self.system_role:
            messages = tuple(
                Message("user", m.content, m.images) if m.role == "system" else m for m in messages
            )
        if self.alternation or not self.system_role:
            messages = _joined(messages)
        return messages

    def template_switches(self, role: CallRole) -> dict[str, Any]:
        """What the chat template must be told in a request of this role. Always said, also where it
        is the template's default: vLLM's reasoning parsers hold a JSON schema back until thinking
        has ended, and go by this switch."""
        if self.thinking is None:
            return {}
        return {self.thinking_switch: self.thinking and role == "agent"}


def _joined(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            last = joined.pop()
            message = Message(
                last.role, f"{last.content}\n\n{message.content}", last.images + message.images
            )
        joined.append(message)
    return tuple(joined)
