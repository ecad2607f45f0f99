"""Model calls of one request. All prompts begin with the same text, which a server can cache."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from adacoder.agents.budget import NO_CEILING, BudgetSpent, Ceiling
from adacoder.agents.prompt import NO_FIELDS, Briefing, RoleCall
from adacoder.agents.role import Field, Role
from adacoder.aside import aside
from adacoder.domain import Ended, Reply, Target
from adacoder.journal import Asked, Journal, OpenStep
from adacoder.models.base import Answering, Ask, Enough, Sampling
from adacoder.models.errors import OnlyThought
from adacoder.models.window import Window
from adacoder.replies.completion import is_without
from adacoder.replies.filters import is_thinking
from adacoder.replies.repetition import is_repetition

T = TypeVar("T")

_AGAIN = "The server ended the reply before the function was whole: it is asked for once more."
_STRIDE = 256
"""Minimum number of new characters in a reply before it is checked for repetition again."""
_SHORT = 4000
"""Maximum length of a reply that is checked in the event loop. Longer replies are checked in a thread."""
_GROWTH = 16
_LONGEST = 1_000_000


class _Looks:
    """Checks in a thread whether a growing reply is complete."""

    def __init__(self, enough: Enough) -> None:
        self._enough = enough
        self._least = 0
        """Length of the reply at which the next check starts."""
        self._look: asyncio.Future[bool] | None = None

    def are_enough(self, text: str) -> bool:
        """Return True if a check has found the reply complete."""
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
    """Sends the prompts of one request to the model."""

    def __init__(
        self,
        model: Answering,
        target: Target,
        journal: Journal,
        pack: Callable[[Window], Awaitable[Briefing]],
        ceiling: Ceiling = NO_CEILING,
    ) -> None:
        self._model = model
        self._target = target
        self._journal = journal
        self._pack = pack
        self._ceiling = ceiling
        self._briefing: Briefing | None = None
        self._said: set[str] = set()
        self._never_stops = False
        """True if stop sequences are no longer sent, because a stop sequence may have cut off a reply."""

    async def ask(self, role: Role[T], fields: Mapping[str, Field] = NO_FIELDS, sampling: Sampling | None = None) -> T:
        """Ask the model as `role` and read its reply. The values in `fields` are inserted into the prompt.

        Raises:
            BudgetSpent: a user's limit is reached.
            ModelError: the model cannot reply or may not be used, or the task does not fit into its window.
        """
        while True:
            if limit := self._ceiling.reached(self._journal):
                raise BudgetSpent(limit)
            if self._briefing is None:
                self._briefing = await self._pack(await self._model.window())
            call = self._briefing.call(role, fields)
            with self._journal.step(role.agent, role.action, role.doing) as step:
                reply, asked = await self._reply(self._briefing, call, step, role, sampling)
                if await self._was_stopped_short(role, call, reply):
                    self._never_stops = True
                    step.details = replace(asked, again=_AGAIN)
                    continue
                found = await aside(role.read, reply, self._target)
                if found is not None and role.has_found(found):
                    step.details = replace(asked, designed=role.tests and role.tests(found))
                    return found
                if role.otherwise is not None:
                    designed = role.tests and role.tests(role.otherwise)
                    step.details = replace(asked, unread=True, designed=designed)
                    return role.otherwise
                if is_thinking(reply.text):
                    raise OnlyThought(self._model.name or "", ran_out=reply.ended is Ended.LENGTH)
                self._never_stops = True  # a stop sequence may have ended the reply before the function began
                return found  # type: ignore[return-value]  # only a Role with a default reads None

    async def _was_stopped_short(self, role: Role[T], call: RoleCall, reply: Reply) -> bool:
        if role.was_stopped_short is None or self._never_stops or not call.stop or reply.ended is not Ended.STOP:
            return False
        return await aside(role.was_stopped_short, reply.text, self._target)

    async def _reply(
        self, briefing: Briefing, call: RoleCall, step: OpenStep, role: Role[T], sampling: Sampling | None
    ) -> tuple[Reply, Asked]:
        """Get the model's reply, and record it in `step`.

        A reply that repeats itself, or becomes very long without the function, is ended early and counts as cut off.
        """
        looked = 0
        is_endless = False
        looks = _Looks(role.enough(self._target))
        before = None if role.limits.before is None else role.limits.before + len(self._target.text)

        def watch(text: str) -> bool:
            nonlocal looked, is_endless
            step.moved(text)
            if len(text) - looked >= max(_STRIDE, looked // _GROWTH):
                looked = len(text)
                is_lost = before is not None and looked > before and is_without(text, self._target, before)
                is_endless = is_lost or looked > _LONGEST or is_repetition(text)
            return is_endless or looks.are_enough(text)

        asked = Asked(call.instruction)
        step.details = asked
        messages = briefing.messages(call.instruction)
        stop = () if self._never_stops else call.stop
        ask = Ask(messages, max_tokens=call.max_tokens, enough=watch, stop=stop, sampling=sampling or Sampling())
        reply = await self._model.reply(ask)
        if reply.ended is Ended.STOPPED_EARLY and is_endless:
            reply = replace(reply, ended=Ended.LENGTH)
        step.tokens, step.time = reply.tokens, reply.time
        asked = replace(asked, reply=reply.text, ended=reply.ended, is_known=reply.text in self._said)
        step.details = asked
        self._said.add(reply.text)
        return reply, asked
