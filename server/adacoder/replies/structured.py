"""Find code in JSON strings, for example in a tool call that was not executed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, cast

from adacoder.pytext import normalize

if TYPE_CHECKING:
    from adacoder.domain import JSON

_IS_CODE = re.compile(
    r"^[ \t]*[+-]?[ \t]*(?:(?:async[ \t]+)?def[ \t]+\w+|return\b|yield\b)|^(?:\*{3} Begin Patch|@@|<{5,})", re.MULTILINE
)
"""Matches a line that probably belongs to code or to a patch."""
_VALUE_BEGINS = re.compile(r"^[ \t]*(?=[{\[])", re.MULTILINE)
_ATTEMPTS = 32
"""Maximum number of JSON values to read in one reply."""
_DECODER = json.JSONDecoder(strict=False)


def texts_in_json(text: str) -> Iterator[str]:
    """Yield the code in the JSON values of `text`, in order. Only values that begin a line are read."""
    position = 0
    for begin in islice(_VALUE_BEGINS.finditer(text), _ATTEMPTS):
        if begin.end() >= position:
            try:
                value, position = cast("tuple[JSON, int]", _DECODER.raw_decode(text, begin.end()))
            except (ValueError, RecursionError):
                continue
            yield from _codes(value)


def _codes(value: JSON) -> Iterator[str]:
    """Yield the strings in a JSON value that contain code.

    A list of lines counts as one string. A string may contain JSON, as the `arguments` of a tool call often do.
    """
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += reversed(value.values())
        elif isinstance(value, list):
            lines = [each.removesuffix("\n") for each in value if isinstance(each, str)]
            is_text = len(lines) == len(value) > 1 and not any("\n" in line for line in lines)
            waiting += ["\n".join(lines)] if is_text else reversed(value)
        elif isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            with suppress(ValueError, RecursionError):
                waiting.append(cast("JSON", _DECODER.decode(value)))
        elif isinstance(value, str) and _IS_CODE.search(normalize(value)):
            yield normalize(value)
