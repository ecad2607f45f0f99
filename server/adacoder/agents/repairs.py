"""Repair rules of the Debug Specialist. Each rule fixes one superficial error.

The paper's rules also break correct programs (see `paper_rules`). Here, a rule runs only on broken code. Its result is
kept only if more code parses, the target is defined, or fewer names are undefined.

`fixtures/replies.toml` has a real reply for every rule. Of 3,283 failing recorded replies, the rule for imports changes
107, truncation changes 45, and indentation changes 1.

The rules parse code with AdaCoder's Python, which may differ from the user's Python.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from adacoder.pytext import Lines, error_line, indent_of, indent_width, parsed, string_interiors
from adacoder.replies.laziness import is_lazy
from adacoder.source.body import body_of, find_function
from adacoder.source.indentation import DEFAULT_UNIT, WHITE
from adacoder.source.scopes import DEFINITIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adacoder.domain import Candidate, Target

Rule = Callable[["Candidate", "Target"], "Candidate"]
"""Function that fixes one kind of error in a candidate, or returns the same candidate."""
ImportFor = Callable[[str, str], str | None]
"""Function that returns the import statement for an undefined name in some code, or None."""
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_TOKEN = re.compile(
    r"""(?P<string>'''(?:\\.|[^\\])*?'''|\"{3}(?:\\.|[^\\])*?\"{3}|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")"""
    r"""|(?P<comment>\#[^\n]*)|(?P<bracket>[()\[\]{}])|(?P<quote>'''|\"{3}|['"])""",
    re.DOTALL,
)
DEEPEST = 100
"""Maximum number of indentation levels in Python."""
MOST_TRIED = 300_000
"""Maximum number of characters that `truncated` parses in total."""
_MOST_NAMES = 40
"""Maximum number of undefined names to import. Code with more undefined names has another problem."""


@dataclass(frozen=True, slots=True, order=True)
class _StaticRank:
    """Rank of a candidate, computed without running the candidate. Greater is better."""

    parses: bool
    line: float
    """Line of the first syntax error."""
    defines: bool
    known: int
    """Number of undefined names, as a negative number."""
    whole: bool


def repaired_by_rules(
    candidate: Candidate,
    target: Target,
    undefined: Callable[[Candidate], tuple[str, ...]],
    import_for: ImportFor,
) -> tuple[Candidate, tuple[str, ...]]:
    """Repair `candidate`. Return it with the names of the rules that helped, or return the same object.

    `undefined` returns the undefined names of a candidate in its module. A reply that left code out (`# rest of code`)
    is not repaired.
    """
    function = find_function(candidate.function, target.name)
    if candidate.cut and function is not None and is_lazy(function, target):
        return candidate, ()

    def imports_added(changed: Candidate, _: Target) -> Candidate:
        return with_imports(changed, undefined(changed), import_for)

    best, reached = candidate, _standing(candidate, target, undefined)
    kept: list[str] = []
    for rule in (*RULES, imports_added):
        changed = rule(best, target)
        if changed is best:
            continue
        standing = _standing(changed, target, undefined)
        if standing > reached:
            best, reached = changed, standing
            kept.append(rule.__name__)
    return (best, tuple(kept)) if reached.parses else (candidate, ())


def _standing(candidate: Candidate, target: Target, undefined: Callable[[Candidate], tuple[str, ...]]) -> _StaticRank:
    line = error_line(candidate.function) or inf
    function = find_function(candidate.function, target.name)
    return _StaticRank(
        parses=line == inf,
        line=line,
        defines=function is not None and function.name == target.name and bool(body_of(function)),
        known=-len(undefined(candidate)) if line == inf else 0,
        whole=not candidate.cut,
    )


def realigned(candidate: Candidate, _: Target) -> Candidate:
    """Round indentation down to multiples of four columns, and indent lines after a colon one level deeper.

    This is the paper's rule (Algorithm 3, lines 6-25).
    """
    if _parses(candidate):
        return candidate
    lines = candidate.function.split("\n")
    inside = string_interiors(candidate.function)
    levels = [indent_width(indent_of(line)) // 4 for line in lines]
    for index in range(len(lines) - 1):
        if lines[index].endswith(":") and levels[index + 1] <= levels[index]:
            levels[index + 1] = levels[index] + 1
    if max(levels) > DEEPEST:
        return candidate
    repaired = [
        line if index in inside or not line.strip(WHITE) else DEFAULT_UNIT * level + line.lstrip(WHITE)
        for index, (line, level) in enumerate(zip(lines, levels, strict=True))
    ]
    return _with_function(candidate, "\n".join(repaired))


def truncated(candidate: Candidate, target: Target) -> Candidate:
    """Remove lines from the end, and close open brackets and strings, until the rest parses.

    The header and one statement are always kept. A complete reply may lose only its last statement.
    """
    function = find_function(candidate.function, target.name)
    if _parses(candidate) or function is None:
        return candidate
    lines = candidate.function.split("\n")
    least = 1 + Lines(candidate.function).line_at(function.header.end - 1)
    if not candidate.cut:
        least = max(least, Lines(candidate.function).line_at(function.lines[-1].start) - 1)
    end = len(lines)
    room = MOST_TRIED
    while end > least and room > 0:
        text = "\n".join(lines[:end]).rstrip()
        room -= len(text)
        closers = _closers(text)
        if _is_whole(text + closers):
            return replace(_with_function(candidate, text + closers), cut=False)
        # If no bracket is open, cut the text before the line with the error, because later cuts cannot help.
        end = end - 1 if closers else min(end, error_line(text) or end) - 1
    return candidate


def _is_whole(text: str) -> bool:
    """Return whether `text` ends in a function with at least one statement."""
    tree = parsed(text)
    if tree is None or not tree.body or not isinstance(tree.body[-1], DEFINITIONS):
        return False
    statements = tree.body[-1].body
    return len(statements) > (ast.get_docstring(tree.body[-1]) is not None)


def _closers(text: str) -> str:
    """Return the characters that close the open brackets and the open string in `text`."""
    brackets: list[str] = []
    for match in _TOKEN.finditer(text):
        if bracket := match["bracket"]:
            if bracket in _CLOSING:
                brackets.append(_CLOSING[bracket])
            elif brackets and brackets[-1] == bracket:
                brackets.pop()
        elif (quote := match["quote"]) and (len(quote) == 3 or text.find("\n", match.end()) < 0):
            return quote + "".join(reversed(brackets))
    return "".join(reversed(brackets))


def with_imports(candidate: Candidate, undefined: Sequence[str], import_for: ImportFor) -> Candidate:
    """Add the known imports for undefined names (LlmFix's Missing Import)."""
    code = candidate.text
    found = [statement for name in undefined[:_MOST_NAMES] if (statement := import_for(name, code)) is not None]
    return replace(candidate, imports=(*candidate.imports, *found)) if found else candidate


RULES: tuple[Rule, ...] = (realigned, truncated)
"""Rules in order. Indentation comes first, because truncation needs to know where the function ends."""


def _parses(candidate: Candidate) -> bool:
    return error_line(candidate.function) is None


def _with_function(candidate: Candidate, function: str) -> Candidate:
    function = function.rstrip()
    return candidate if function == candidate.function else replace(candidate, function=function)
