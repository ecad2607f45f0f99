"""What the model-based Agents of one request share: the model, and the briefing every call begins with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from adacoder.agents.prompt import Briefing, Call
from adacoder.domain import Ended, Reply
from adacoder.journal import OpenStep
from adacoder.models.base import Answering, Enough
from adacoder.models.errors import OnlyThought
from adacoder.models.window import Window
from adacoder.replies.filters import is_thinking
from adacoder.replies.repetition import is_repetition

_STRIDE = 256
"""Characters that a reply grows by before it is looked at again for going round in circles."""
_SHORT = 4000
"""Characters of a reply that is looked at whenever it has grown, at once; a longer one off the event loop, and when it
has grown by one part in `_GROWTH`, so that all looks together cost as much as some at the whole reply."""
_GROWTH = 16
_LONGEST = 1_000_000
"""Characters after which a reply is ended, since nobody reads on there."""


class _Looks:
    """The looks at a growing reply, such that nothing waits for them for long."""

    def __init__(self, enough: Enough) -> None:
        self._enough = enough
        self._least = 0
        """Characters from which on the reply is looked at again."""
        self._look: asyncio.Future[bool] | None = None

    def are_enough(self, text: str) -> bool:
        """Whether it was seen that the reply can end here, or could have ended a moment ago."""
        if len(text) <= _SHORT:
            return self._enough(text)
        if self._look is not None:
            if not self._look.done():
                return False
            if self._look.result():
                return True
            self._look = None
        if len(text) >= self._least:
            self._least = len(text) + len(text) // _GROWTH
            self._look = asyncio.get_running_loop().run_in_executor(None, self._enough, text)
        return False


class Conversation:
    """One request's dealings with its model. The briefing is packed once, at the first call."""

    def __init__(self, model: Answering, pack: Callable[[Window], Awaitable[Briefing]]) -> None:
        self._model = model
        self._pack = pack
        self._briefing: Briefing | None = None
        self._said: set[str] = set()
        self._never_stops = False
        """Whether no text ends a reply any more, whatever a call says."""

    async def briefing(self) -> Briefing:
        """What every call begins with.

        Raises:
            ModelError: the model may not be used, or the task does not fit into its window.
        """
        if self._briefing is None:
            self._briefing = await self._pack(await self._model.window())
        return self._briefing

    async def ask(self, call: Call, step: OpenStep, *, enough: Enough) -> Reply:
        """The model's reply to `call`; `step` hears how far it has come, and keeps what was said.

        Once the model only repeats itself the reply is ended too, and counts as one that broke off.

        Raises:
            ModelError: the model could not reply.
        """
        looked = 0
        looks = _Looks(enough)

        def watch(text: str) -> bool:
            nonlocal looked
            step.moved(step.written + 1)  # a reply grows by about a token at a time
            if len(text) - looked >= _STRIDE:
                looked = len(text)
                if is_repetition(text) or len(text) > _LONGEST:
                    return True
            return looks.are_enough(text)

        step.details["instruction"] = call.instruction
        messages = (await self.briefing()).messages(call.instruction)
        stop = () if self._never_stops else call.stop
        reply = await self._model.reply(messages, enough=watch, max_tokens=call.max_tokens, stop=stop)
        if reply.ended is Ended.STOPPED_EARLY and (is_repetition(reply.text) or len(reply.text) > _LONGEST):
            reply = replace(reply, ended=Ended.LENGTH)
        step.tokens, step.time = reply.tokens, reply.time
        step.details.update(reply=reply.text, ended=reply.ended.value)
        if reply.text in self._said:
            step.details["known"] = True
        self._said.add(reply.text)
        return reply

    def may_have_stopped(self, call: Call, reply: Reply) -> bool:
        """Whether the server may have ended `reply` where `call` has it stop."""
        return bool(call.stop) and not self._never_stops and reply.ended is Ended.STOP

    def never_stop(self) -> None:
        """From now on have servers end replies nowhere: the model does not write what it is asked for alone."""
        self._never_stops = True

    def insist(self, reply: Reply, *, found: bool) -> None:
        """Make sure that something was `found` in `reply`, or that there is more in it than thoughts.

        Raises:
            OnlyThought: there is not.
        """
        if not found and is_thinking(reply.text):
            raise OnlyThought(self._model.name or "", ran_out=reply.ended is Ended.LENGTH)
