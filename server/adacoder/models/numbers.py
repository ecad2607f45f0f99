"""Check numbers from servers. Wrong numbers could mislead users or break a reply."""

from __future__ import annotations

_MOST = 2**53
"""Largest integer that a float represents exactly."""


def count(value: object) -> int:
    """Return `value` if it is a plausible count, else 0."""
    return value if type(value) is int and 0 <= value <= _MOST else 0


def seconds(value: object, unit: float) -> float:
    """Return `value` times `unit` if `value` is a plausible duration, else 0.0."""
    return value * unit if isinstance(value, int | float) and 0 <= value <= _MOST else 0.0
