"""Repair rules of the Debug Specialist. Each rule fixes one superficial error and leaves the rest unchanged.

The paper's Algorithm 3 has three rules (indentation, truncation, imports) and applies them blindly, which breaks
correct programs. Here a rule is tried only on broken code. Its result is kept only if it gets further, judged without
running anything: more of it parses, it defines the target, or fewer names are undefined. Every rule has a real reply
that needs it, in `fixtures/replies.toml`.

Code is parsed with our own Python, which may differ from the user's. So rules only propose: they run after a failure,
and the Code Evaluator, which runs the user's Python, compares the results.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from adacoder.domain import Edit
from adacoder.pytext import (
    Lines,
    dedent,
    definitions,
    error_line,
    indent_width,
    indented,
    logical_lines,
    parsed,
    string_interiors,
)
from adacoder.replies.laziness import is_lazy
from adacoder.replies.names import parameters
from adacoder.source.body import body_of, find_function
from adacoder.source.indentation import DEFAULT_UNIT, WHITE, realign
from adacoder.source.names import used_names
from adacoder.source.scopes import DEFINITIONS
from adacoder.source.text import apply_edits, offset_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adacoder.domain import Candidate, Target

Rule = Callable[["Candidate", "Target"], "Candidate"]
"""Returns the same object if it has nothing to fix."""
ImportFor = Callable[[str, str], str | None]
"""Finds the statement that imports a name as some code uses it; None if unknown."""
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_TOKEN = re.compile(
    r"""(?P<string>'''(?:\\.|[^\\])*?'''|\"{3}(?:\\.|[^\\])*?\"{3}|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")"""
    r"""|(?P<comment>\#[^\n]*)|(?P<bracket>[()\[\]{}])|(?P<quote>'''|\"{3}|['"])""",
    re.DOTALL,
)
DEEPEST = 100
"""Maximum number of indentation levels that Python reads."""
MOST_TRIED = 300_000
"""Maximum number of characters parsed in total while a text is shortened line by line."""
_MOST_NAMES = 40
"""Maximum number of undefined names that are imported; with more, imports are not the problem."""
_PASSES = 3
"""Number of passes over the rules: an error may hide another one, which an earlier rule fixes."""


@dataclass(frozen=True, slots=True, order=True)
class _StaticRank:
    """Static rank of a candidate; the greater, the further it gets."""

    parses: bool
    line: float
    """The line of the function's first syntax error."""
    sound: int
    """Negated number of imports and definitions that do not parse."""
    defines: bool
    known: int
    """Negated number of undefined names."""
    whole: bool


def repaired_by_rules(
    candidate: Candidate,
    target: Target,
    undefined: Callable[[Candidate], tuple[str, ...]],
    import_for: ImportFor,
) -> tuple[Candidate, tuple[str, ...]]:
    """Repair `candidate`, and name the rules that were kept; return the same object if none helps.

    `undefined` returns the names that are undefined once a candidate is in place. No rule can restore code that a lazy
    reply left out (`# rest of code`).
    """
    function = find_function(candidate.function, target.name)
    if candidate.cut and function is not None and is_lazy(function, target):
        return candidate, ()

    def imports_added(changed: Candidate, _: Target) -> Candidate:
        return with_imports(changed, undefined(changed), import_for)

    best, reached = candidate, _standing(candidate, target, undefined)
    kept: list[str] = []
    for _ in range(_PASSES):
        before = best
        # A line may have two errors: a result that got no further may do so together with a later rule.
        waiting: list[tuple[Candidate, list[str]]] = []
        for rule in (*RULES, imports_added):
            for base, names in [(best, []), *waiting]:
                changed = rule(base, target)
                if changed is base:
                    continue
                standing = _standing(changed, target, undefined)
                if standing > reached:
                    best, reached, waiting = changed, standing, []
                    kept += [*names, rule.__name__]
                    break
                if standing == reached and not standing.parses:
                    waiting = [(changed, [*names, rule.__name__])]
        if best is before:
            break
    return (best, tuple(kept)) if reached.parses else (candidate, ())


def _standing(candidate: Candidate, target: Target, undefined: Callable[[Candidate], tuple[str, ...]]) -> _StaticRank:
    line = error_line(candidate.function) or inf
    broken = sum(parsed(part) is None for part in (*candidate.imports, *candidate.definitions))
    function = find_function(candidate.function, target.name)
    judged = line == inf and not broken
    return _StaticRank(
        parses=line == inf,
        line=line,
        sound=-broken,
        defines=function is not None and function.name == target.name and bool(body_of(function)),
        known=-len(undefined(candidate)) if judged else 0,
        whole=not candidate.cut,
    )


def realigned(candidate: Candidate, _: Target) -> Candidate:
    """Realign lines at a column that no block has: a reply indented as a whole, a first line that lost its indentation,
    a dedent between two levels (LlmFix's Inconsistent Indentation)."""
    if _parses(candidate):
        return candidate
    text = dedent(candidate.function)
    return _with_function(candidate, text if parsed(text) else realign(text, list(_levels(text))))


def _levels(text: str) -> Iterator[int]:
    """Guess the level of each logical line by its column and by blocks that open before it."""
    open_levels: list[tuple[int, int]] = []
    opens = True
    level = -1
    for line in logical_lines(text):
        closed = [each for each in open_levels if each[0] > line.width]
        open_levels = open_levels[: len(open_levels) - len(closed)]
        fits = bool(open_levels) and open_levels[-1][0] == line.width
        if not closed and not fits:
            # Deeper than the line before it. A line that opens nothing has the level of what follows it.
            level += opens
            open_levels.append((line.width, level))
        elif not fits and (not open_levels or closed[0][0] - line.width <= line.width - open_levels[-1][0]):
            level = closed[0][1]
            open_levels.append((line.width, level))
        else:
            level = open_levels[-1][1]
        yield level
        opens = text[line.code_end - 1] == ":"


def body_indented(candidate: Candidate, target: Target) -> Candidate:
    """Indent a body, or the rest of a body, that is at the column of its `def`."""
    function = find_function(candidate.function, target.name)
    if _parses(candidate) or function is None:
        return candidate
    text, end = candidate.function, function.span.end
    if body_of(function) and not re.search(r"^return\b", text[end:], re.MULTILINE):
        return candidate
    indent = function.body_lines[0].indent if function.body_lines else DEFAULT_UNIT
    lines = Lines(text)
    rest = text[lines.end_with_terminator(lines.line_at(end)) :]
    return _with_function(candidate, f"{text[:end]}\n{indented(rest, indent)}")


def paper_indentation(candidate: Candidate, _: Target) -> Candidate:
    """Apply the paper's own rule (Algorithm 3, lines 6-25).

    It rounds indentation down to whole levels of four columns. If a line after a colon is not deeper, it goes one level
    deeper.
    """
    if _parses(candidate):
        return candidate
    lines = candidate.function.split("\n")
    inside = string_interiors(candidate.function)
    levels = [indent_width(line[: len(line) - len(line.lstrip(WHITE))]) // 4 for line in lines]
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


def without_broken_parts(candidate: Candidate, _: Target) -> Candidate:
    """Remove imports and definitions around the function that do not parse. If the reply broke off in a removed part,
    the function is whole."""
    imports = tuple(text for text in candidate.imports if parsed(dedent(text)))
    kept = tuple(text for text in candidate.definitions if parsed(dedent(text)))
    if (imports, kept) == (candidate.imports, candidate.definitions):
        return candidate
    return replace(candidate, imports=imports, definitions=kept, cut=candidate.cut and not _parses(candidate))


def brackets_closed(candidate: Candidate, _: Target) -> Candidate:
    """Close brackets and strings at the end of the statement that leaves them open.

    If the reply broke off inside brackets or a string, their content is unknown, and `truncated` removes it.
    """
    if candidate.cut or _parses(candidate):
        return candidate
    text = candidate.function
    for line in reversed(list(logical_lines(text))):
        if not line.closed:
            end = line.code_end
            text = text[:end] + _closers(text[line.start : end]) + text[end:]
    return _with_function(candidate, text)


def truncated(candidate: Candidate, target: Target) -> Candidate:
    """Remove an incomplete end line by line, and close open brackets, until the rest parses.

    The header and one statement stay. If the reply did not break off, only its last statement may go.
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
        # If nothing is left open, no shorter text is right as long as it holds the line of the error.
        end = end - 1 if closers else min(end, error_line(text) or end) - 1
    return candidate


def _is_whole(text: str) -> bool:
    """True if `text` is a function with a statement."""
    tree = parsed(text)
    if tree is None or not tree.body or not isinstance(tree.body[-1], DEFINITIONS):
        return False
    statements = tree.body[-1].body
    return len(statements) > (ast.get_docstring(tree.body[-1]) is not None)


def _closers(text: str) -> str:
    """Return the text that closes the brackets and the string left open in `text`."""
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


def self_restored(candidate: Candidate, target: Target) -> Candidate:
    """Add the missing `self` to a method's calls of methods of its own class."""
    function = find_function(candidate.function, target.name)
    ours = parameters(target.signature)
    is_static = "@staticmethod" in target.text[target.definition.start : target.header.start]
    if not target.in_class or is_static or not ours or function is None:
        return candidate
    theirs = parameters(function.header.of(candidate.function))
    owner = theirs[0] if theirs is not None and len(theirs) == len(ours) else ours[0]
    text = _with_owner(candidate.function, owner, used_names(candidate.function) & _methods(target))
    return _with_function(candidate, text)


def _methods(target: Target) -> frozenset[str]:
    """The functions that the target's class defines (including the target) and the module does not."""
    owner = target.qualname.rpartition(".")[0]
    found = definitions(target.text)
    methods = {each.name for each in found if not each.is_class and each.qualname.rpartition(".")[0] == owner}
    return frozenset(methods - {each.name for each in found if not each.parents})


def _with_owner(text: str, owner: str, names: frozenset[str]) -> str:
    """Return `text` with the calls of `names` made on `owner`, if our own Python can parse it."""
    tree = parsed(text)
    if tree is None:
        return text
    nodes = list(ast.walk(tree))
    inner = {node.name for node in nodes if isinstance(node, DEFINITIONS) and node not in tree.body}
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    meant, lines = names - inner, Lines(text)
    places = {_offset(lines, node) for node in called if isinstance(node, ast.Name) and node.id in meant}
    edits = [Edit(place, place, f"{owner}.") for place in places if place is not None]
    return apply_edits(text, edits)


def _offset(lines: Lines, name: ast.Name) -> int | None:
    """Offset of `name` in a text; None inside an f-string, where older Pythons report a wrong offset."""
    place = offset_at(lines, name.lineno - 1, name.col_offset, "utf-8")
    return place if lines.text.startswith(name.id, place) else None


def with_imports(candidate: Candidate, undefined: Sequence[str], import_for: ImportFor) -> Candidate:
    """Add imports for all undefined names with a known import (LlmFix's Missing Import)."""
    code = candidate.text
    found = [statement for name in undefined[:_MOST_NAMES] if (statement := import_for(name, code)) is not None]
    return replace(candidate, imports=(*candidate.imports, *found)) if found else candidate


RULES: tuple[Rule, ...] = (
    without_broken_parts,
    realigned,
    body_indented,
    brackets_closed,
    paper_indentation,
    truncated,
    self_restored,
)
"""Rules in the order in which they are tried: columns first, because they show where the function ends."""


def _parses(candidate: Candidate) -> bool:
    return error_line(candidate.function) is None


def _with_function(candidate: Candidate, function: str) -> Candidate:
    function = function.rstrip()
    return candidate if function == candidate.function else replace(candidate, function=function)
