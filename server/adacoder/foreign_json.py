"""Read untrusted JSON within limits of size and depth.

Rows, tasks and recordings of the arena may come from other people.
"""

from __future__ import annotations

import json
import math
from typing import TypeVar

from adacoder.domain import JSON

T = TypeVar("T")

_MOST_VALUES = 4_000_000
"""Maximum number of opening brackets and commas in a text. This limits the number of values.

A value needs about 100 bytes.
"""


def read_json(text: str) -> JSON:
    """Read one JSON value.

    Raises:
        ValueError: the text is not JSON, or has too many values, too many levels, a repeated key, or a number that is
            not finite.
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
