"""How much may be done while a text is followed."""

from __future__ import annotations


class OutOfSteps(Exception):
    """The text is too long to be followed."""


class Steps:
    """How much may still be done; what costs more than a glance takes several steps."""

    def __init__(self, most: int, within: Steps | None = None) -> None:
        """`within`: what all that is done here counts for, too."""
        self.left = most
        self._within = within

    def take(self, count: int = 1) -> None:
        """Count what is done.

        Raises:
            OutOfSteps: it is too much.
        """
        self.left -= count
        if self._within is not None:
            self._within.take(count)
        if self.left < 0:
            raise OutOfSteps
