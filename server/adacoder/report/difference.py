"""Show the changes of a file as a unified diff, as git and `diff -u` print it."""

from __future__ import annotations

import difflib
import io
from pathlib import Path


def unified_diff(before: str, after: str, shown: Path) -> str:
    """Return the diff from the text `before` to the text `after`. `shown` is the path in the diff's header."""
    names = (f"{shown}", f"{shown}") if shown.is_absolute() else (f"a/{shown}", f"b/{shown}")
    lines = difflib.unified_diff(_lines(before), _lines(after), *names)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    return io.StringIO(text, newline="\n").readlines()
