"""What the model-based Agents of one request share: the model, and the briefing every call begins with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from adacoder.agents.prompt import Briefing
from adacoder.domain import Reply
from adacoder.journal import OpenStep
from adacoder.models.base import ChatModel, Enough


class Conversation:
    """One request's dealings with its model. The briefing is packed once, at the first call."""

    def __init__(self, model: ChatModel, pack: Callable[[], Awaitable[Briefing]], *, reply_tokens: int) -> None:
        self.reply_tokens = reply_tokens
        """What a reply with a whole function may take."""
        self._model = model
        self._pack = pack
        self._briefing: Briefing | None = None

    async def ask(self, instruction: str, step: OpenStep, *, enough: Enough, max_tokens: int) -> Reply:
        """The model's reply to `instruction`; `step` hears how far it has come, and keeps what was said."""
        if self._briefing is None:
            self._briefing = await self._pack()

        def watch(text: str) -> bool:
            step.moved(step.written + 1)  # a reply grows by about a token at a time
            return enough(text)

        step.details["instruction"] = instruction
        reply = await self._model.reply(self._briefing.messages(instruction), enough=watch, max_tokens=max_tokens)
        step.tokens = reply.tokens
        step.details.update(reply=reply.text, ended=reply.ended.value)
        return reply
