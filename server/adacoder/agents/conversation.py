"""What the model-based Agents of one request share: the model, and the briefing every call begins with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from adacoder.agents.prompt import Briefing
from adacoder.domain import Reply
from adacoder.journal import OpenStep
from adacoder.models.base import ChatModel, Enough
from adacoder.models.window import Window


class Conversation:
    """One request's dealings with its model. The briefing is packed once, at the first call."""

    def __init__(self, model: ChatModel, pack: Callable[[Window], Awaitable[Briefing]]) -> None:
        self._model = model
        self._pack = pack
        self._briefing: Briefing | None = None

    async def ask(
        self,
        instruction: str,
        step: OpenStep,
        *,
        enough: Enough,
        max_tokens: int | None = None,
        stop: Sequence[str] = (),
    ) -> Reply:
        """The model's reply to `instruction`; `step` hears how far it has come, and keeps what was said.

        Without `max_tokens` it may be as long as a whole function takes.
        """
        if self._briefing is None:
            self._briefing = await self._pack(await self._model.window())

        def watch(text: str) -> bool:
            step.moved(step.written + 1)  # a reply grows by about a token at a time
            return enough(text)

        step.details["instruction"] = instruction
        reply = await self._model.reply(
            self._briefing.messages(instruction),
            enough=watch,
            max_tokens=max_tokens or self._briefing.reply_tokens,
            stop=stop,
        )
        step.tokens, step.time = reply.tokens, reply.time
        step.details.update(reply=reply.text, ended=reply.ended.value)
        return reply
