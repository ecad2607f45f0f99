"""Check numbers from servers: wrong numbers must not mislead users or break a reply."""

from __future__ import annotations

_MOST = 2**53
"""Largest integer that a float represents exactly."""


def count(value: object) -> int:
    """Return a count; 0 if `value` is not a count."""
    return value if type(value) is int and 0 <= value <= _MOST else 0


def seconds(value: object, unit: float) -> float:
    """Return `value` times `unit`; 0.0 if `value` is not a duration."""
    return value * unit if isinstance(value, int | float) and 0 <= value <= _MOST else 0.0
