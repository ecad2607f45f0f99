"""Troubles of model servers, told from failures of models: no cell is to count what its server did."""

from __future__ import annotations

from enum import Enum, auto

from adacoder.domain import AdaCoderError
from adacoder.models import errors

_PASSING = (
    *(errors.NotRunning, errors.CannotConnect, errors.Busy, errors.Loading, errors.Stalled),
    *(errors.BadReply, errors.OutOfMemory),
)
_OF_MODEL = (errors.OnlyThought, errors.ContextOverflow, errors.TooSlow)


class Blame(Enum):
    """Whose failure an error is."""

    PASSING = auto()
    """The server's, which may be well again soon."""
    LASTING = auto()
    """The server's or the user's; it will be the same the next time."""
    MODEL = auto()
    """The model's: it counts."""


def blame(error: AdaCoderError) -> Blame:
    """Whose failure an error is."""
    if isinstance(error, _OF_MODEL):
        return Blame.MODEL
    is_passing = isinstance(error, _PASSING) and not isinstance(error, errors.OtherServer)
    return Blame.PASSING if is_passing else Blame.LASTING
