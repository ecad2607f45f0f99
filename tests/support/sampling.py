"""Sample test parameters. A run of the tests tries a sample by default, and every value with `--all`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], sample: Collection[Any] | int) -> list[Any]:
    """Return `values` as test parameters, with the mark `rest` on those that are only tried with `--all`.

    `sample` has the values to try by default, or is a number n to try every n-th value.
    """
    every = list(values)
    chosen = every[::sample] if isinstance(sample, int) else sample
    return [value if value in chosen else pytest.param(value, marks=pytest.mark.rest) for value in every]
