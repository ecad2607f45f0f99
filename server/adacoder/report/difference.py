"""Changes of a file as git and `diff -u` write them."""

from __future__ import annotations

import difflib
import io
from pathlib import Path


def unified_diff(before: str, after: str, shown: Path) -> str:
    """The change from `before` to `after` in a file that is called `shown`."""
    names = (f"{shown}", f"{shown}") if shown.is_absolute() else (f"a/{shown}", f"b/{shown}")
    lines = difflib.unified_diff(_lines(before), _lines(after), *names)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Cut as `diff` and `patch` do, so that a `\\r` is part of its line."""
    return io.StringIO(text, newline="\n").readlines()
