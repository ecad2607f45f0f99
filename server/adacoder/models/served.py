"""The chat model for all kinds of servers.

Each kind of server implements the protocol `Server` (`server.py`). `ServedModel` fits requests into the context window,
detects truncated prompts, and ends a reply as soon as it is complete.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import replace
from typing import TypeVar

from adacoder.domain import Ended, Message, Reply, Timing, Tokens
from adacoder.models.base import Ask, Enough, OnWait
from adacoder.models.errors import (
    BadReply,
    Busy,
    ContextOverflow,
    Loading,
    OnlyThought,
    Stalled,
    TooSlow,
)
from adacoder.models.server import Chat, Deadlines, End, Facts, Part, Server, Thinking, permitted
from adacoder.models.waiting import Begun, FirstPart, Parts
from adacoder.models.window import Bound, Calibration, Window, lower_estimate
from adacoder.settings import Settings
from adacoder.thoughts import has_thoughts

T = TypeVar("T")

_LEAST_REPLY = 256
"""Minimum for the token limit of a reply, because the free space in the window is only an estimate."""
_THOUGHT_TOKENS = 2048
"""Extra tokens for a reply if the model's thinking cannot be switched off."""
_MOST_CHARACTERS = 4 * 1024 * 1024
"""Maximum length of a reply and its thoughts, in characters. Some servers ignore `max_tokens`."""
_PARTS_A_TOKEN, _MORE_PARTS = 16, 1024
"""A reply may have `_PARTS_A_TOKEN * max_tokens + _MORE_PARTS` parts. Some servers send single characters as parts."""
_LONGEST_WRITING = 60
"""Maximum duration of a reply after its first part, as a multiple of the token timeout.

This limit applies only if the user sets no timeout for whole replies."""
_THINKS = "<think>\n"
"""Opening mark of thoughts, as most models write it."""
_LIVELY = 0.2
"""Minimum temperature of a repeated request, so that the reply can differ."""
_WARMER = 0.3
"""Amount by which the temperature rises each time the model repeats itself."""
_WARMEST = 1.0
"""Maximum temperature after all increases."""


class ServedModel:
    """Implements `ChatModel` for one model on one server."""

    def __init__(
        self,
        server: Server,
        model: str,
        settings: Settings,
        *,
        prefix: str,
        deadlines: Deadlines,
        calibration: Calibration,
        on_wait: OnWait,
    ) -> None:
        self._server = server
        self._model = model
        self._settings = settings
        self._prefix = prefix
        self._deadlines = deadlines
        self._calibration = calibration
        self._on_wait = on_wait
        self._facts: Facts | None = None
        self._window: Window | None = None
        self._asked: Counter[tuple[tuple[Message, ...], tuple[str, ...]]] = Counter()
        self._first_part = FirstPart(server, model, deadlines, calibration, on_wait)
        self._warmth = 0.0
        """Total increase of the temperature so far."""

    @property
    def name(self) -> str:
        """Model id, such as `ollama:qwen2.5-coder:7b`."""
        return f"{self._prefix}:{self._model}"

    @property
    def lease_key(self) -> Hashable:
        """Implement `ChatModel.lease_key`."""
        return self._server.url, self._model

    async def close(self) -> None:
        """Close the connections to the server, even if the caller is cancelled."""
        await asyncio.shield(self._server.aclose())

    async def window(self) -> Window:
        """Implement `ChatModel.window`."""
        if self._window is None:
            facts = await self._permitted()
            self._window = replace(facts.window_for(self._settings.context_tokens), ratio=self._calibration.ratio)
        return self._window

    async def reply(self, ask: Ask) -> Reply:
        """Implement `ChatModel.reply`. Cancellation closes the connection, and this stops the server."""
        try:
            async with asyncio.timeout(self._deadlines.whole) as limit:
                window, facts = await self.window(), await self._permitted()
                if not facts.reads_system:
                    ask = replace(ask, messages=_without_system(ask.messages))
                if lower_estimate(ask.messages) > window.tokens or (
                    # a server may drop old messages, and no token count would show this
                    len(ask.messages) > 2 and window.measure_chat(ask.messages) > window.tokens
                ):
                    raise ContextOverflow.by(self._model)
                chat, enough = self._chat(ask, facts, window), ask.enough
                thinks = self._may_think(facts)
                return await self._patiently(lambda: self._read(chat, window, enough, may_think=thinks))
        except ContextOverflow:  # the error should name the limit that the user can change
            bound = Bound.SETTING if self._window is None else self._window.bound
            raise ContextOverflow.by(self._model, bound) from None
        except TimeoutError:
            if self._deadlines.whole is None or not limit.expired():
                raise
            raise TooSlow(self._model, self._deadlines.whole) from None

    async def _permitted(self) -> Facts:
        """Return the model's properties. Raise a ModelError if the settings forbid the model."""
        if self._facts is None:
            facts = await self._patiently(lambda: self._server.facts(self._model))
            self._facts = permitted(self._model, facts, allow_cloud=self._settings.allow_cloud)
        return self._facts

    def _chat(self, ask: Ask, facts: Facts, window: Window) -> Chat:
        """Create a request that fits into the window.

        A repeated request means that the earlier reply was not usable. Such a request gets another seed, and a
        temperature of at least `_LIVELY`.
        """
        again = self._asked[ask.messages, ask.stop]
        self._asked[ask.messages, ask.stop] += 1
        settings = self._settings
        temperature = settings.temperature if ask.sampling.temperature is None else ask.sampling.temperature
        if again:
            temperature = max(temperature, _LIVELY)
        max_tokens = ask.max_tokens + (_THOUGHT_TOKENS if facts.thinking is Thinking.ALWAYS else 0)
        room = max(window.tokens - window.measure_chat(ask.messages), _LEAST_REPLY)
        return Chat(
            model=self._model,
            messages=tuple(Message(message.role, _encodable(message.content)) for message in ask.messages),
            max_tokens=min(max_tokens, room),
            context_tokens=window.tokens,
            bound=window.bound,
            temperature=max(temperature, min(temperature + self._warmth, _WARMEST)),
            top_p=ask.sampling.top_p,
            seed=None if settings.seed is None else settings.seed + again,
            # a stop sequence in a thought would end the reply too early
            stop=(*facts.stop, *ask.stop) if ask.stop and not self._may_think(facts) else (),
            thinking=facts.thinking,
            keep_alive=settings.keep_alive,
        )

    def _may_think(self, facts: Facts) -> bool:
        """Return whether the model may think before it replies.

        If this is unknown, the model's last complete reply decides.
        """
        is_possible = facts.may_think_aloud and self._calibration.thinks_aloud is not False
        return is_possible or facts.thinking is Thinking.ALWAYS

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Call `ask` again while the server is busy or loads the model."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._deadlines.first
        pauses = iter(self._deadlines.busy)
        while True:
            try:
                return await ask()
            except Loading:
                if loop.time() >= until:
                    raise
                pause = self._deadlines.sign
                self._on_wait(f"loading {self._model}")
            except Busy:
                pause = next(pauses, 0.0)
                if not pause:
                    raise
                self._on_wait(f"the server has too many requests waiting, asking again in {pause:g} s")
            await asyncio.sleep(pause)

    async def _read(self, chat: Chat, window: Window, enough: Enough, *, may_think: bool) -> Reply:
        # Some servers report token counts only at the end of a reply, and only these counts show that a prompt was
        # truncated. So end a reply early only if the prompt surely fits, or if counts have come.
        may_stop = window.measure_chat(chat.messages) <= window.tokens
        text, thoughts, parts = "", "", 0
        began = time.perf_counter()
        async with self._first_part.begun(chat, window.measure_chat(chat.messages)) as begun:
            first = time.perf_counter()
            longest = math.inf if self._deadlines.whole else _LONGEST_WRITING * self._deadlines.next
            until = asyncio.get_running_loop().time() + longest
            part = self._there(begun.part)
            while part.end is None:
                parts += 1
                if part.thought:
                    thoughts += part.text
                else:
                    text += part.text
                if (
                    parts > _PARTS_A_TOKEN * chat.max_tokens + _MORE_PARTS
                    or parts + len(thoughts) + len(text) > _MOST_CHARACTERS
                ):
                    raise BadReply(self._server.url, "the reply does not end")
                so_far = part.so_far or End(Ended.STOPPED_EARLY)
                # Some chat templates put the opening mark of thoughts into the prompt, so the mark is missing in the
                # reply. `enough` needs the mark to tell thoughts from the answer.
                opening = _THINKS if may_think and not thoughts else ""
                can_end = part.text and not part.thought and enough(opening + _encodable(text))
                if can_end and (may_stop or so_far.prompt):
                    spent = self._clocked(chat, begun, began, first)
                    return self._concluded(chat, _encodable(text), parts, so_far, spent)
                part = await self._next(begun.rest, until)
        text += part.text
        if text.strip() and (part.end.ended is Ended.STOP or thoughts or has_thoughts(text)):
            self._calibration.thinks_aloud = bool(thoughts) or has_thoughts(text)
        if part.end.repeats_itself:
            self._warmth += _WARMER
        elif thoughts.strip() and not text.strip():
            if part.end.ended is Ended.LENGTH:
                raise OnlyThought(self._model)
            # Some servers do not notice the end of the thoughts and send the answer as a thought. The parser of replies
            # separates the two.
            text = _THINKS + thoughts
        text = _encodable(text)
        return self._concluded(chat, text, parts, part.end, self._clocked(chat, begun, began, first))

    async def _next(self, parts: Parts, until: float) -> Part:
        """Return the next part of a stream. Raise an error after the token timeout, or at the time `until`."""
        clock, seconds = asyncio.get_running_loop().time, self._deadlines.next
        try:
            async with asyncio.timeout_at(min(clock() + seconds, until)):
                return self._there(await parts.next())
        except TimeoutError:
            if clock() >= until:
                raise TooSlow(self._model, _LONGEST_WRITING * seconds) from None
            raise Stalled(self._server.url, seconds, self._server.kind, model=self._model) from None

    def _there(self, part: Part | None) -> Part:
        """Return `part`. Raise BadReply if `part` is None, because the stream then has no last part."""
        if part is None:
            raise BadReply(self._server.url, "the reply broke off before it was done")
        return part

    def _clocked(self, chat: Chat, begun: Begun, began: float, first: float) -> Timing:
        """Return the durations of a reply as AdaCoder measured them, for servers that report no durations.

        The request was sent at `began`, and the first part came at `first`. If the model had to be loaded, the time for
        reading the prompt is an estimate.
        """
        waited = first - began - begun.waited
        reading = min(waited, self._calibration.expected(chat.messages) * self._calibration.seconds_a_token)
        return Timing(
            queue=begun.waited,
            load=waited - reading if begun.loads else 0.0,
            prompt=reading if begun.loads else waited,
            generation=time.perf_counter() - first,
        )

    def _concluded(self, chat: Chat, text: str, parts: int, end: End, clocked: Timing) -> Reply:
        """Create the reply, and estimate missing token counts. Raise ContextOverflow if the prompt was truncated."""
        learned = self._calibration
        if end.prompt:
            if learned.was_cut(chat.messages, end.prompt, chat.context_tokens):
                raise ContextOverflow.by(self._model)
            learned.learn(chat.messages, end.prompt)
        took = clocked if end.time is None else replace(end.time, queue=end.time.queue + clocked.queue)
        read = end.prompt or learned.expected(chat.messages)
        had_nothing = end.time is None and clocked.load > 0
        seconds = None if had_nothing else took.prompt
        cached = learned.cached(chat.messages, read, seconds, by_server=end.time is not None)
        tokens = Tokens(
            read,
            # most servers send one token per part, and some send several
            end.completion or max(parts, len(text.split())),
            estimated=not (end.prompt and end.completion),
            cached=cached if end.cached is None else min(end.cached, read),
        )
        return Reply(text, tokens, end.ended, took)


def _without_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Move the system message into the first user message, for chat templates without system messages."""
    system = [message.content for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    text = "\n\n".join([*system, *(message.content for message in others[:1])])
    return Message("user", text), *others[1:]


def _encodable(text: str) -> str:
    """Replace lone surrogates by U+FFFD, because lone surrogates cannot be encoded.

    Two halves of a surrogate pair from different parts of a reply are joined first.
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
