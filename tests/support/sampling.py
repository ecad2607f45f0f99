"""Sample test parameters. The default run tries a sample, and `--all` tries every value."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], sample: Collection[Any] | int) -> list[Any]:
    """Mark the values outside the sample as `rest`.

    `sample`: the values to try by default, or n to try every n-th.
    """
    every = list(values)
    chosen = every[::sample] if isinstance(sample, int) else sample
    return [value if value in chosen else pytest.param(value, marks=pytest.mark.rest) for value in every]
