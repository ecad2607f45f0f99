"""The repair rules of the AdaCoder paper as printed (Algorithm 3), for comparison with `repairs.py`.

Only the strategy `adacoder:paper-rules` uses these rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from adacoder.agents.repairs import DEEPEST, MOST_TRIED
from adacoder.pytext import parsed

_FUNCTION = re.compile(r"^[ \t]*(?:async[ \t]+)?def\b", re.MULTILINE)
_MAIN = re.compile(r"^[ \t]*if[ \t]+__name__\b", re.MULTILINE)
_USES = ("print", "input", "assert", "unittest")
_NAME_ERROR = re.compile(r"name '(.+?)' is not defined")
_COLUMNS = 4


def debugged(code: str, error: str | None, import_for: Callable[[str], str | None]) -> str:
    """Apply the three steps of Algorithm 3 to `code`.

    `error` is written as `Type: message`. `import_for` returns the import statement for a name. Line 4 of the algorithm
    is left out, because the third step needs the error that line 4 clears.
    """
    return _missing_import(_truncated(_filtered(code)), error, import_for)


def _filtered(code: str) -> str:
    """Step 1: indent with tabs, indent deeper after a colon, and remove lines that use the function."""
    lines = [_in_tabs(line) if line.strip() else line for line in code.split("\n")]
    for index in range(len(lines) - 1):
        if lines[index].endswith(":"):
            level = _tabs(lines[index])
            if _tabs(lines[index + 1]) <= level < DEEPEST:
                lines[index + 1] = "\t" * (level + 1) + lines[index + 1].lstrip("\t")
    text = "\n".join(lines)
    main = _MAIN.search(text)
    kept = text[: main.start()] if main else text
    return "\n".join(line for line in kept.split("\n") if not line.startswith(_USES))


def _in_tabs(line: str) -> str:
    content = line.lstrip(" ")
    return "\t" * ((len(line) - len(content)) // _COLUMNS) + content


def _tabs(line: str) -> int:
    return len(line) - len(line.lstrip("\t"))


def _truncated(code: str) -> str:
    """Step 2: while the code has several functions and does not compile, remove its last line."""
    room = MOST_TRIED
    while room > 0 and parsed(code) is None and len(_FUNCTION.findall(code)) > 1:
        room -= len(code)
        code = code.rpartition("\n")[0]
    return code


def _missing_import(code: str, error: str | None, import_for: Callable[[str], str | None]) -> str:
    """Step 3: add an import for the name in a NameError."""
    found = _NAME_ERROR.search(error or "") if (error or "").startswith("NameError") else None
    statement = import_for(found[1]) if found else None
    return code if statement is None else f"{statement}\n{code}"
