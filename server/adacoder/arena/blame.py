"""Distinguish failures of model servers from failures of models. Only a model's failures count against the model."""

from __future__ import annotations

from enum import Enum, auto

from adacoder.domain import AdaCoderError
from adacoder.models import errors

_PASSING = (
    *(errors.NotRunning, errors.NoTls, errors.CannotConnect, errors.Busy, errors.Loading, errors.Stalled),
    *(errors.BadReply, errors.OutOfMemory),
)
_OF_MODEL = (errors.OnlyThought, errors.ContextOverflow, errors.TooSlow)


class Blame(Enum):
    """Cause of an error in a request: the server or the model."""

    PASSING = auto()
    """The server failed, and may recover soon."""
    LASTING = auto()
    """The server or its setup is wrong, so a retry would fail, too."""
    MODEL = auto()
    """The model failed, so the result counts."""


def blame(error: AdaCoderError) -> Blame:
    """Return the cause of an error in a request."""
    if isinstance(error, _OF_MODEL):
        return Blame.MODEL
    is_passing = isinstance(error, _PASSING) and not isinstance(error, errors.OtherServer)
    return Blame.PASSING if is_passing else Blame.LASTING
