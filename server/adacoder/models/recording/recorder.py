"""`Recorder` writes down what is said with a model (`--record`); `form` says how."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.domain import JSON, Message, Outcome, Reply
from adacoder.models.base import ChatModel, Enough, Sampling
from adacoder.models.errors import ModelError
from adacoder.models.recording.form import Exchange, Trouble, ended, exchanged, header, written
from adacoder.models.replay import BadRecording, ReplayedError, ReplayModel, read
from adacoder.privacy.access import leads_out

if TYPE_CHECKING:
    from adacoder.models.recording.about import About
    from adacoder.models.recording.redaction import Redaction
    from adacoder.models.window import Window

_CANCELLED = Trouble("Cancelled", "The request was cancelled before the reply was whole.")


class CannotRecord(ModelError):
    """The file cannot be written."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"The conversation cannot be recorded in {path} ({why}): name another file with --record.")


class Recorder:
    """A `ChatModel` that passes everything on to another and writes down what was said.

    A file that holds conversations already is continued. All that is said of a request is redacted, and nothing of it
    depends on time or chance: the same request gives the same bytes.
    """

    def __init__(self, model: ChatModel, path: Path, redaction: Redaction, about: About | None = None) -> None:
        """Make sure that the file can be written, before anything is spent on what goes into it.

        Raises:
            CannotRecord: it cannot be written, or holds something else.
        """
        if isinstance(model, ReplayModel) and model.reads(path):
            raise CannotRecord(path, "it is the conversation that is replayed")
        if about is not None and leads_out(path, about.workspace):
            raise CannotRecord(path, "it leads out of the workspace")
        self._model = model
        self._redaction = redaction
        self._about = {} if about is None else about.json()
        self._file = _File(path)
        self._has_begun = False

    @property
    def name(self) -> str:
        """The id of the model that speaks."""
        return self._model.name

    @property
    def lease_key(self) -> Hashable:
        """As the model that speaks."""
        return self._model.lease_key

    async def close(self) -> None:
        """As the model that speaks."""
        await self._model.close()

    async def window(self) -> Window:
        """As the model that speaks."""
        try:
            window = await self._model.window()
        except ModelError as error:
            self._begin(_trouble(error))
            raise
        self._begin(window)
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
        """As the model that speaks.

        Raises:
            CannotRecord: the reply came, but the file cannot be written.
        """
        await self.window()

        def write(said: Reply | Trouble) -> None:
            self._write(exchanged(Exchange(tuple(messages), said, max_tokens, tuple(stop))))

        try:
            reply = await self._model.reply(
                messages, enough=enough, max_tokens=max_tokens, stop=stop, sampling=sampling
            )
        except (ModelError, asyncio.CancelledError) as error:
            with suppress(CannotRecord):  # what came first is what is told
                write(_trouble(error))
            raise
        write(reply)
        return reply

    def end(self, outcome: Outcome) -> None:
        """Write down what came of the request.

        Raises:
            CannotRecord: the file cannot be written.
        """
        if self._has_begun:
            self._write(ended(outcome))

    def _begin(self, window: Window | Trouble) -> None:
        if not self._has_begun:
            speaker = self._model.speaker if isinstance(self._model, ReplayModel) else self._model.name
            self._write(header(speaker, window, self._about))
            self._has_begun = True

    def _write(self, value: JSON) -> None:
        self._file.append(written(value, self._redaction))


class _File:
    """A recording on disk. What was written stays as it is: each value is added at the end, whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            if path.exists() and not path.is_file():
                raise CannotRecord(path, "it is no regular file")
            with path.open("ab") as file:
                self._size = file.tell()
            if self._size:
                read(path)
        except OSError as error:
            raise CannotRecord(path, error.strerror or str(error)) from error
        except ValueError as error:  # a character that no path has
            raise CannotRecord(path, "there can be no such file") from error
        except BadRecording as error:
            raise CannotRecord(path, error.why) from error

    def append(self, data: bytes) -> None:
        """Write `data` after what is there.

        Raises:
            CannotRecord: it cannot be written; then the file is as it was.
        """
        try:
            # Not "a", which would make a file anew that somebody has taken away.
            with self._path.open("r+b", buffering=0) as file:
                if file.seek(0, 2) != self._size:
                    raise CannotRecord(self._path, "another program has written to it meanwhile")
                try:
                    rest = memoryview(data)
                    while rest:
                        rest = rest[file.write(rest) :]
                except OSError:
                    file.truncate(self._size)
                    raise
        except OSError as error:
            raise CannotRecord(self._path, error.strerror or str(error)) from error
        self._size += len(data)


def _trouble(error: ModelError | asyncio.CancelledError) -> Trouble:
    if isinstance(error, asyncio.CancelledError):
        return _CANCELLED
    return Trouble(error.kind if isinstance(error, ReplayedError) else type(error).__name__, str(error))
