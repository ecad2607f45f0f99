"""What servers count and measure, as far as it can be true: wrong numbers must mislead nobody, nor break a reply."""

from __future__ import annotations

_MOST = 2**53
"""Beyond this a float does not tell whole numbers apart; nothing that is counted here comes near."""


def count(value: object) -> int:
    """A count; 0 for what is none."""
    return value if type(value) is int and 0 <= value <= _MOST else 0


def seconds(value: object, unit: float) -> float:
    """A duration of `value` times `unit`, in seconds; 0.0 for what is none."""
    return value * unit if isinstance(value, int | float) and 0 <= value <= _MOST else 0.0
