"""Read JSON from untrusted sources, within limits. Arena rows, tasks and recordings may come from other people."""

from __future__ import annotations

import json
import math
from typing import TypeVar

from adacoder.domain import JSON

T = TypeVar("T")

_MOST_VALUES = 4_000_000
"""Maximum number of opening brackets and commas in a text. Each may belong to a value, of about 100 bytes in memory."""


def read_json(text: str) -> JSON:
    """Read one JSON value.

    Raises:
        ValueError: the text is not JSON, has too many values, nests them too deeply, repeats a key in an object, or has
            a number that is not finite.
    """
    if sum(map(text.count, "[{,")) > _MOST_VALUES:
        raise ValueError(f"it has more than {_MOST_VALUES:,} values")
    try:
        value: JSON = json.loads(text, parse_constant=_finite, parse_float=_finite, object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
    return value


def _finite(written: str) -> float:
    if math.isfinite(number := float(written)):
        return number
    raise ValueError(f"{written[:20]} is not a finite number")


def _unique(pairs: list[tuple[str, T]]) -> dict[str, T]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice in an object")
    return found
