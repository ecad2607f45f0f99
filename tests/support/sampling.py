"""Sample test parameters. The default run tries a sample, and `--all` tries every value."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], sample: Collection[Any] | int) -> list[Any]:
    """Return the values, as parameters of a test. Values outside the sample are marked as `rest`.

    `sample` has the values to try by default, or is a number n to try every n-th value.
    """
    every = list(values)
    chosen = every[::sample] if isinstance(sample, int) else sample
    return [value if value in chosen else pytest.param(value, marks=pytest.mark.rest) for value in every]
