"""Sample test parameters: by default tests run on a sample, with `--all` on all values."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], sample: Collection[Any] | int) -> list[Any]:
    """Return `values` as parameters. Values outside the sample get the mark `rest`.

    `sample` has the values that are tried by default. A number n means every n-th value.
    """
    every = list(values)
    chosen = every[::sample] if isinstance(sample, int) else sample
    return [value if value in chosen else pytest.param(value, marks=pytest.mark.rest) for value in every]
