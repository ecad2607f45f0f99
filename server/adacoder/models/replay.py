"""`ReplayModel` answers from a recorded conversation: what the demonstration, the tests and bug reports run on."""

from __future__ import annotations

import asyncio
import difflib
import json
import re
import stat
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, starmap, takewhile, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.domain import JSON, Message, Reply
from adacoder.models.base import Enough, Sampling
from adacoder.models.errors import ModelError, Nameless
from adacoder.models.recording.form import VERSION, Conversation, OtherVersionError, Trouble, understood
from adacoder.models.recording.redaction import fits
from adacoder.models.window import Window

if TYPE_CHECKING:
    from adacoder.models.recording.about import About

_MOST_BYTES = 64 << 20
"""What is read of a file; a conversation of a thousand rounds takes less."""
_PARTS = 100
"""In so many steps, at most, a reply comes in."""
_CONTEXT = 2
"""Lines that a mismatch shows around those that differ."""
_SHOWN_LINES = 40
"""What it shows in all."""
_COMPARED_LINES = 400
_LINE_LENGTH = 160
"""Longer lines are compared, and shown, by parts of this length."""
_BEGUN = re.compile(r"[\w\\.-]{0,5}")
"""What may be left of a file where it breaks off in a word, a number or an escape."""
_SPACE = re.compile(r"[ \t\r\n]+")
_NAME_A_FILE = "name a file that --record wrote"


class BadRecording(ModelError):
    """The file holds no conversation that could be replayed."""

    def __init__(self, path: Path, why: str, remedy: str = _NAME_A_FILE) -> None:
        super().__init__(f"{path} is no recorded conversation ({why}): {remedy}.")
        self.why = why


class OtherVersion(BadRecording):
    """The file holds conversations in another form than this AdaCoder reads."""

    def __init__(self, path: Path, version: int) -> None:
        is_older = version < VERSION
        which = "an earlier" if is_older else "a later"
        remedy = "record it again with --record" if is_older else "update AdaCoder"
        why = f"{which} AdaCoder wrote it, in form {version}; this one reads form {VERSION}"
        super().__init__(path, why, remedy)


class ReplayMismatch(ModelError):
    """A request is another than the recorded one; what differs follows the first line."""

    def __init__(self, path: Path, number: int, recorded: Sequence[Message], asked: Sequence[Message]) -> None:
        super().__init__(
            f"Request number {number} is not the one recorded in {path}: record it again with --record.\n"
            + "\n".join(_difference(recorded, asked))
        )


class ReplayExhausted(ModelError):
    """The recorded conversation ended earlier."""

    def __init__(self, path: Path, number: int) -> None:
        super().__init__(
            f"The recorded conversation {path} has no reply number {number}:"
            " name it once for each model of the ladder that it was recorded with, or record it again with --record."
        )


class ReplayedError(ModelError):
    """An error that was recorded; its text is what was told then."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.message)
        self.kind = trouble.kind
        """The name of its class then."""


class ReplayModel:
    """A `ChatModel` that gives the replies of a recorded conversation, in order, to the very same requests.

    The window is the recorded one, so that the same prompts are packed whatever settings and experience there are
    here. Requests fit where only that differs which was taken out of the recorded ones; of what they ask for besides,
    such as the most tokens, nothing is compared: it was heeded when the reply was recorded, and cannot change it any
    more.

    Of several conversations in one file it follows the last that begins with its first request.
    """

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            BadRecording: it cannot be read, or holds something else.
        """
        self._path = path
        self._choice = read(path)
        self._answered = 0

    @property
    def name(self) -> str:
        """Its id: `replay:` and the path."""
        return f"replay:{self._path}"

    @property
    def lease_key(self) -> Hashable:
        """As `ChatModel.lease_key`: each conversation is had by itself."""
        return id(self)

    @property
    def speaker(self) -> str:
        """The id of the model that spoke when the conversation was recorded."""
        return self._choice[-1].model

    def reads(self, path: Path) -> bool:
        """Whether `path` is the file that is replayed."""
        try:
            return path.samefile(self._path)
        except (OSError, ValueError):  # there is none
            return False

    def follow(self, about: About) -> None:
        """Of the conversations in the file follow those about this request, if there are any."""
        of_target = tuple(one for one in self._choice if _is_about(one.about, about))
        of_rung = tuple(one for one in of_target if one.about.get("rung") == about.rung)
        self._choice = of_rung or of_target or self._choice

    async def close(self) -> None:
        """Nothing is held open."""

    async def window(self) -> Window:
        """As `ChatModel.window`: the recorded one.

        Raises:
            ReplayedError: there was none.
        """
        window = self._choice[-1].window
        if isinstance(window, Trouble):
            raise ReplayedError(window)
        return window

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        enough: Enough,
        max_tokens: int,
        stop: Sequence[str] = (),
        sampling: Sampling | None = None,
    ) -> Reply:
        """As `ChatModel.reply`. The reply is the recorded one, also where `enough` had its end earlier.

        Raises:
            ReplayMismatch: `messages` are not the recorded ones.
            ReplayExhausted: there is no reply left.
            ReplayedError: there was none when it was recorded.
        """
        recorded = self._next(messages)
        if isinstance(recorded, Trouble):
            raise ReplayedError(recorded)
        lines = recorded.text.splitlines(keepends=True)
        step = len(lines) // _PARTS + 1
        for end in range(step, len(lines) + step, step):
            await asyncio.sleep(0)
            enough("".join(lines[:end]))
        return recorded

    def _next(self, asked: Sequence[Message]) -> Reply | Trouble:
        number = self._answered + 1
        if number == 1:
            self._choice = (self._begun_with(asked),)
        (conversation,) = self._choice
        if number > len(conversation.exchanges):
            raise ReplayExhausted(self._path, number)
        exchange = conversation.exchanges[number - 1]
        if not _fit(exchange.messages, asked):
            raise ReplayMismatch(self._path, number, exchange.messages, asked)
        self._answered = number
        return exchange.reply

    def _begun_with(self, asked: Sequence[Message]) -> Conversation:
        """The last conversation that begins so, of those with the model and the window that were told already."""
        last = self._choice[-1]
        for one in reversed(self._choice):
            is_alike = (one.model, one.window) == (last.model, last.window)
            if is_alike and one.exchanges and _fit(one.exchanges[0].messages, asked):
                return one
        return last


def _is_about(recorded: Mapping[str, JSON], about: About) -> bool:
    match recorded.get("target"):
        case {"path": str(path), "qualname": qualname}:
            return qualname == about.target.qualname and fits(path, about.path)
    return False


def _fit(recorded: Sequence[Message], asked: Sequence[Message]) -> bool:
    return len(recorded) == len(asked) and all(map(fits, map(_shown, recorded), map(_shown, asked)))


def _shown(message: Message) -> str:
    return f"[{message.role}]\n{message.content}"


def read(path: Path) -> tuple[Conversation, ...]:
    """The conversations in a file, at least one.

    Raises:
        BadRecording: it cannot be read, or holds something else.
    """
    text = _text_of(path)
    if not text.strip():
        raise BadRecording(path, "it is empty")
    if not text.lstrip().startswith("{"):
        raise BadRecording(path, "it holds something else")
    values = _Values(text)
    try:
        return tuple(understood(values))
    except OtherVersionError as error:
        raise OtherVersion(path, error.version) from None
    except json.JSONDecodeError as error:
        is_cut = error.msg.startswith("Unterminated string") or _BEGUN.fullmatch(text[error.pos :].rstrip())
        why = f"it breaks off in line {error.lineno}" if is_cut else f"its line {error.lineno} is not JSON"
        raise BadRecording(path, why) from None
    except (LookupError, TypeError, ValueError, RecursionError):
        raise BadRecording(path, f"what begins in line {values.line} is not understood") from None


def _text_of(path: Path) -> str:
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            raise BadRecording(path, "it is no regular file")
        if state.st_size > _MOST_BYTES:
            raise BadRecording(path, f"it is larger than {_MOST_BYTES >> 20} MB")
        return path.read_text(encoding="utf-8-sig")  # some editors put a mark before it
    except OSError as error:
        raise BadRecording(path, error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise BadRecording(path, "it is not UTF-8") from None
    except ValueError:  # a character that no path has
        raise BadRecording(path, "there can be no such file") from None


class _Values:
    """The JSON values of a text, one after the other."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._begin = 0

    @property
    def line(self) -> int:
        """Where the last value begins: the number of its line, from 1."""
        return self._text.count("\n", 0, self._begin) + 1

    def __iter__(self) -> Iterator[JSON]:
        decoder = json.JSONDecoder()
        begin = self._after_space(0)
        while begin < len(self._text):
            self._begin = begin
            value, end = decoder.raw_decode(self._text, begin)
            yield value
            begin = self._after_space(end)

    def _after_space(self, position: int) -> int:
        space = _SPACE.match(self._text, position)
        return space.end() if space else position


def _difference(recorded: Sequence[Message], asked: Sequence[Message]) -> Iterator[str]:
    """The first message that differs, as the beginning of a unified diff."""
    if len(recorded) != len(asked):
        yield f"It has {len(asked)} messages; recorded are {len(recorded)}."
    pairs = starmap(_sides, zip_longest(recorded, asked))
    number, (before, after) = next((number, pair) for number, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    same = _common(before, after)
    alike = _common(before[:same:-1], after[:same:-1])
    begin, end = max(same - _CONTEXT, 0), max(alike - _CONTEXT, 0)
    # What is far behind the first difference would take its time, and not be shown anyway.
    before, after = (lines[begin : len(lines) - end][:_COMPARED_LINES] for lines in (before, after))
    yield from ("--- recorded", "+++ asked", f"@@ message {number}, line {max(same, 1)} @@")
    difference = islice(difflib.unified_diff(before, after, n=_CONTEXT, lineterm=""), 2, None)
    shown = [line for line in difference if not line.startswith("@@")]
    yield from shown[:_SHOWN_LINES]
    if len(shown) > _SHOWN_LINES:
        yield "[…]"


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _sides(recorded: Message | None, asked: Message | None) -> tuple[list[str], list[str]]:
    """The lines of both, those that are too long in parts. What fits is shown as it was recorded."""
    then, now = _lines(recorded), _lines(asked)
    now = _as_recorded(then, now)
    now = _as_recorded(then[::-1], now[::-1])[::-1]
    return [*_parts(then)], [*_parts(now)]


def _as_recorded(recorded: Sequence[str], asked: Sequence[str]) -> list[str]:
    pairs = zip(recorded, asked, strict=False)
    return [*(then if fits(then, now) else now for then, now in pairs), *asked[len(recorded) :]]


def _lines(message: Message | None) -> list[str]:
    return [] if message is None else _shown(message).split("\n")


def _parts(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield from (line[at : at + _LINE_LENGTH] for at in range(0, max(len(line), 1), _LINE_LENGTH))


def recorded(name: str) -> ReplayModel:
    """The conversation that `replay:NAME` names.

    Raises:
        ModelError: no file is named, or it holds none.
    """
    if not name:
        raise Nameless("replay", "FILE")
    path = Path(name)
    with suppress(RuntimeError):  # nobody knows the user after `~`
        path = path.expanduser()
    return ReplayModel(path)
