"""Separate failures of model servers from failures of models. A server's failure must not count against a model."""

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
    """The side that is responsible for an error."""

    PASSING = auto()
    """The server is responsible, and may recover soon."""
    LASTING = auto()
    """The server or the user is responsible. The next try would fail in the same way."""
    MODEL = auto()
    """The model is responsible, and the failure counts."""


def blame(error: AdaCoderError) -> Blame:
    """Decide which side is responsible for an error."""
    if isinstance(error, _OF_MODEL):
        return Blame.MODEL
    is_passing = isinstance(error, _PASSING) and not isinstance(error, errors.OtherServer)
    return Blame.PASSING if is_passing else Blame.LASTING
