"""Record the conversation with a model to a file (`--record`)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

from adacoder.domain import JSON, Outcome, Reply
from adacoder.models.base import Ask, ChatModel
from adacoder.models.errors import ModelError
from adacoder.models.recording.about import About
from adacoder.models.recording.format import encoded, exchange_json, header_json, outcome_json
from adacoder.models.recording.redaction import Redaction
from adacoder.models.replay import ReplayModel
from adacoder.models.window import Window
from adacoder.privacy.access import leads_out

_CANCELLED = "The request was cancelled before the reply was whole."


class CannotRecord(ModelError):
    """The file cannot be written."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"The conversation cannot be recorded in {path} ({why}): name another file with --record.")


class Recorder:
    """Passes all calls to another model and records the conversation.

    The file is valid after every reply. Equal conversations give equal files, because times are left out.
    """

    def __init__(self, model: ChatModel, path: Path, redaction: Redaction, about: About | None = None) -> None:
        """Create the file. If `path` exists, another name is used: `NAME-2`, `NAME-3` and so on.

        Raises:
            CannotRecord: the file cannot be written.
        """
        self._model = model
        self._redaction = redaction
        self._about = {} if about is None else about.json()
        self._has_begun = False
        if about is not None and leads_out(path, about.workspace):
            raise CannotRecord(path, "it leads out of the workspace")
        try:
            if path.exists() and not path.is_file():
                raise CannotRecord(path, "it is not a regular file")
            self._path = _created(path)
            self._is_renamed = self._path != Path(os.path.realpath(path))
        except OSError as error:
            raise CannotRecord(path, error.strerror or str(error)) from error

    @property
    def name(self) -> str:
        """Id of the recorded model."""
        return self._model.name

    @property
    def lease_key(self) -> Hashable:
        """Key for `Leases.lease`, as in the recorded model."""
        return self._model.lease_key

    async def close(self) -> None:
        """Close the recorded model."""
        await self._model.close()

    async def window(self) -> Window:
        """Return the window of the recorded model. The first call also writes the header."""
        try:
            window = await self._model.window()
        except ModelError as error:
            self._begin(str(error))
            raise
        self._begin(window)
        return window

    async def reply(self, ask: Ask) -> Reply:
        """Return the reply of the recorded model and write it to the file.

        Raises:
            CannotRecord: the file cannot be written, although the reply came.
        """
        await self.window()
        try:
            reply = await self._model.reply(ask)
        except (ModelError, asyncio.CancelledError) as error:
            with suppress(CannotRecord):  # the user needs the first error more
                self._append(exchange_json(ask.messages, str(error) if isinstance(error, ModelError) else _CANCELLED))
            raise
        self._append(exchange_json(ask.messages, reply))
        return reply

    def end(self, outcome: Outcome) -> Outcome:
        """Record `outcome`. Return it, with a note if the file got another name than the user gave.

        Raises:
            CannotRecord: the file cannot be written.
        """
        if self._has_begun:
            self._append(outcome_json(outcome))
        if not self._is_renamed:
            return outcome
        return replace(outcome, notes=(*outcome.notes, f"The conversation is in the new file {self._path}."))

    def _begin(self, window: Window | str) -> None:
        if not self._has_begun:
            speaker = self._model.speaker if isinstance(self._model, ReplayModel) else self._model.name
            self._append(header_json(speaker, window, self._about))
            self._has_begun = True

    def _append(self, value: JSON) -> None:
        """Append `value` to the file. After an error, remove the partial text."""
        data = encoded(value, self._redaction)
        try:
            size = self._path.stat().st_size
            try:
                with self._path.open("ab") as file:
                    file.write(data)
            except OSError:
                os.truncate(self._path, size)
                raise
        except OSError as error:
            raise CannotRecord(self._path, error.strerror or str(error)) from error


def _created(named: Path) -> Path:
    """Create a file and return its path: `named`, or `NAME-2`, `NAME-3` and so on if `named` exists."""
    place = path = Path(os.path.realpath(named))
    numbers = count(2)
    while True:
        try:
            place.open("xb").close()
        except FileExistsError:
            place = path.with_stem(f"{path.stem}-{next(numbers)}")
        else:
            return place
