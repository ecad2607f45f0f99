"""The Debug Specialist's rules: each mends one superficial error, and leaves alone what does not have it.

The paper's Algorithm 3 knows three (indentation, truncation, imports) and applies them blindly, which breaks
programs that were fine. Here a rule is tried only on what is broken, and its result is kept only if it gets
further, judged without running anything: more of it parses, it defines the target, fewer names are undefined.

Whether it parses is asked of our own Python, which may be wrong about what the user's can read. So rules only propose:
they are asked after a failure, and the Code Evaluator, which asks the user's Python, compares what comes of them.
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
    logical_lines,
    parsed,
    string_interiors,
)
from adacoder.replies.laziness import is_lazy
from adacoder.source.body import body_of, find_function
from adacoder.source.indentation import DEFAULT_UNIT, WHITE, realign
from adacoder.source.names import used_names
from adacoder.source.scopes import DEFINITIONS
from adacoder.source.signature import arguments
from adacoder.source.text import apply_edits, offset_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adacoder.domain import Candidate, Target

Rule = Callable[["Candidate", "Target"], "Candidate"]
"""Gives back the very candidate where it has nothing to mend."""
ImportFor = Callable[[str, str], str | None]
"""The statement that imports a name as some code uses it; None where nobody knows one."""
_TAB_SIZES = (4, 8)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_TOKEN = re.compile(
    r"""(?P<string>'''(?:\\.|[^\\])*?'''|\"{3}(?:\\.|[^\\])*?\"{3}|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")"""
    r"""|(?P<comment>\#[^\n]*)|(?P<bracket>[()\[\]{}])|(?P<quote>'''|\"{3}|['"])""",
    re.DOTALL,
)
DEEPEST = 100
"""Levels of indentation that Python reads at most."""
MOST_TRIED = 300_000
"""Characters that are parsed, in all, while one line after the other is taken off a text."""
_MOST_NAMES = 40
"""So many undefined names are imported at most; where there are more, imports are not what is missing."""
_PASSES = 3
"""An error may hide another, which an earlier rule mends."""


@dataclass(frozen=True, slots=True, order=True)
class _Standing:
    """How far a candidate gets without being run; the greater, the further."""

    parses: bool
    line: float
    """The line of the function's first syntax error."""
    sound: int
    """The imports and definitions that do not parse, negative."""
    defines: bool
    known: int
    """The undefined names, negative."""
    whole: bool


def mend(
    candidate: Candidate,
    target: Target,
    undefined: Callable[[Candidate], tuple[str, ...]],
    import_for: ImportFor,
) -> tuple[Candidate, tuple[str, ...]]:
    """What the rules make of `candidate`, and which were kept; the very candidate where they get it no
    further.

    `undefined` gives the names that nothing defines once a candidate is in place. What a lazy reply left out
    (`# rest of code`) no rule can bring back.
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
        # Two errors may stand in one line: what got no further may yet do so together with a later rule.
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


def _standing(candidate: Candidate, target: Target, undefined: Callable[[Candidate], tuple[str, ...]]) -> _Standing:
    line = error_line(candidate.function) or inf
    broken = sum(parsed(part) is None for part in (*candidate.imports, *candidate.definitions))
    function = find_function(candidate.function, target.name)
    judged = line == inf and not broken
    return _Standing(
        parses=line == inf,
        line=line,
        sound=-broken,
        defines=function is not None and function.name == target.name and bool(body_of(function)),
        known=-len(undefined(candidate)) if judged else 0,
        whole=not candidate.cut,
    )


def realigned(candidate: Candidate, _: Target) -> Candidate:
    """Lines at a column that no block has: a reply indented as a whole, a first line that lost its
    indentation, a dedent between two levels (LlmFix's Inconsistent Indentation)."""
    if _parses(candidate):
        return candidate
    text = dedent(candidate.function)
    return _with_function(candidate, text if parsed(text) else realign(text, list(_levels(text))))


def _levels(text: str) -> Iterator[int]:
    """The level each logical line is meant to have, by its column and by whether a block opens before it."""
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


def tabs_expanded(candidate: Candidate, _: Target) -> Candidate:
    """Tabs and spaces that do not go together; a tab may have meant four columns or eight."""
    text = candidate.function
    if _parses(candidate) or "\t" not in text:
        return candidate
    inside = string_interiors(text)
    lines = Lines(text)
    for size in _TAB_SIZES:
        expanded = "".join(
            lines[index] if index in inside else _expanded(lines[index], size) for index in range(len(lines))
        )
        if parsed(expanded):
            return _with_function(candidate, expanded)
    return candidate


def _expanded(line: str, size: int) -> str:
    content = line.lstrip(WHITE)
    return line[: len(line) - len(content)].expandtabs(size) + content


def body_indented(candidate: Candidate, target: Target) -> Candidate:
    """A body, or the rest of one, that stands at the column of its `def`."""
    function = find_function(candidate.function, target.name)
    if _parses(candidate) or function is None:
        return candidate
    text, end = candidate.function, function.span.end
    if body_of(function) and not re.search(r"^return\b", text[end:], re.MULTILINE):
        return candidate
    indent = function.body_lines[0].indent if function.body_lines else DEFAULT_UNIT
    inside = string_interiors(text)
    lines = Lines(text)
    rest = (
        lines[index] if index in inside or not lines[index].strip() else indent + lines[index]
        for index in range(lines.line_at(end) + 1, len(lines))
    )
    return _with_function(candidate, "".join([text[:end], "\n", *rest]))


def paper_indentation(candidate: Candidate, _: Target) -> Candidate:
    """The paper's own rule (Algorithm 3, lines 6-25): whole levels of four columns, rounded down; a line
    after a colon that is not deeper goes one level deeper."""
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
    mended = [
        line if index in inside or not line.strip(WHITE) else DEFAULT_UNIT * level + line.lstrip(WHITE)
        for index, (line, level) in enumerate(zip(lines, levels, strict=True))
    ]
    return _with_function(candidate, "\n".join(mended))


def last_definition(candidate: Candidate, target: Target) -> Candidate:
    """Several definitions of the target: the last that is complete."""
    texts = [candidate.function, *candidate.definitions]
    found = [
        each.span.of(text)
        for text in texts
        for each in definitions(text)
        if each.name == target.name and not each.parents and not each.is_class
    ]
    complete = [text for text in found if parsed(text)]
    if _parses(candidate) or not complete:
        return candidate
    others = tuple(text for text in candidate.definitions if text not in found)
    return replace(_with_function(candidate, complete[-1]), definitions=others, cut=False)


def without_usage(candidate: Candidate, target: Target) -> Candidate:
    """What follows the function: calls, prints, asserts, `if __name__ == "__main__":`, prose, the beginning
    of something else (LlmFix's Function Overflow)."""
    function = find_function(candidate.function, target.name)
    if function is None or not body_of(function):
        return candidate
    rest = candidate.function[function.span.end :]
    if not rest.strip():
        return candidate
    text = candidate.function[: function.span.end]
    # What was cut off came after the function, so the function is whole.
    return replace(_with_function(candidate, text), cut=candidate.cut and parsed(text) is None)


def without_broken_parts(candidate: Candidate, _: Target) -> Candidate:
    """Imports and definitions around the function that do not parse; where the reply broke off in one of
    them, the function is whole."""
    imports = tuple(text for text in candidate.imports if parsed(dedent(text)))
    kept = tuple(text for text in candidate.definitions if parsed(dedent(text)))
    if (imports, kept) == (candidate.imports, candidate.definitions):
        return candidate
    return replace(candidate, imports=imports, definitions=kept, cut=candidate.cut and not _parses(candidate))


def brackets_closed(candidate: Candidate, _: Target) -> Candidate:
    """Brackets and strings that a statement leaves open: closed at its end. Where the reply broke off in one, nobody
    knows what it was to hold; `truncated` takes it away."""
    if candidate.cut or _parses(candidate):
        return candidate
    text = candidate.function
    for line in reversed(list(logical_lines(text))):
        if not line.closed:
            end = line.code_end
            text = text[:end] + _closers(text[line.start : end]) + text[end:]
    return _with_function(candidate, text)


def truncated(candidate: Candidate, target: Target) -> Candidate:
    """An incomplete end: taken off line by line, what is open then closed, until the rest parses.

    The header and one statement stay. Of a reply that did not break off only the last statement may go.
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
        # Where nothing is left open, no shorter text is right as long as it holds the line of the error.
        end = end - 1 if closers else min(end, error_line(text) or end) - 1
    return candidate


def _is_whole(text: str) -> bool:
    """Whether `text` is a function that does something."""
    tree = parsed(text)
    if tree is None or not tree.body or not isinstance(tree.body[-1], DEFINITIONS):
        return False
    statements = tree.body[-1].body
    return len(statements) > (ast.get_docstring(tree.body[-1]) is not None)


def _closers(text: str) -> str:
    """What closes the brackets and the string that `text` leaves open."""
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
    """A method that was written without its `self`, or that calls its class's methods without it."""
    ours = _positional(target.signature)
    is_static = "@staticmethod" in target.text[target.definition.start : target.header.start]
    function = find_function(candidate.function, target.name)
    if not target.in_class or is_static or not ours or function is None:
        return candidate
    signature = function.header.of(candidate.function)
    theirs = _positional(signature)
    if theirs is None:
        return candidate
    text, owner = candidate.function, ours[0]
    if len(theirs) == len(ours):
        owner = theirs[0]
    elif len(theirs) == len(ours) - 1:
        at = function.header.start + signature.index("(") + 1
        text = f"{text[:at]}{owner}{', ' if text[at:].lstrip()[:1] != ')' else ''}{text[at:]}"
    text = _with_owner(text, owner, used_names(text) & _methods(target))
    return _with_function(candidate, text)


def _positional(signature: str) -> list[str] | None:
    """The names of the positional parameters; None where our own Python cannot tell."""
    found = arguments(signature)
    return None if found is None else [arg.arg for arg in (*found.posonlyargs, *found.args)]


def _methods(target: Target) -> frozenset[str]:
    """The functions that the target's class defines, the target among them, and the module does not."""
    owner = target.qualname.rpartition(".")[0]
    found = definitions(target.text)
    methods = {each.name for each in found if not each.is_class and each.qualname.rpartition(".")[0] == owner}
    return frozenset(methods - {each.name for each in found if not each.parents})


def _with_owner(text: str, owner: str, names: frozenset[str]) -> str:
    """`text` with the calls of `names` made on `owner`, where our own Python can tell which are calls."""
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
    """Where `name` stands in a text; None inside an f-string, of which older Pythons tell it wrong."""
    place = offset_at(lines, name.lineno - 1, name.col_offset, "utf-8")
    return place if lines.text.startswith(name.id, place) else None


def with_imports(candidate: Candidate, undefined: Sequence[str], import_for: ImportFor) -> Candidate:
    """All names that are undefined and that somebody knows how to import (LlmFix's Missing Import)."""
    code = candidate.text
    found = [statement for name in undefined[:_MOST_NAMES] if (statement := import_for(name, code)) is not None]
    return replace(candidate, imports=(*candidate.imports, *found)) if found else candidate


RULES: tuple[Rule, ...] = (
    without_broken_parts,
    tabs_expanded,
    realigned,
    body_indented,
    without_usage,
    last_definition,
    brackets_closed,
    paper_indentation,
    truncated,
    self_restored,
)
"""In the order they are tried: columns first, since they tell where the function ends."""


def _parses(candidate: Candidate) -> bool:
    return error_line(candidate.function) is None


def _with_function(candidate: Candidate, function: str) -> Candidate:
    function = function.rstrip()
    return candidate if function == candidate.function else replace(candidate, function=function)
