"""Find functions and docstrings by position or name, even if the rest of the file does not parse."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adacoder.domain import PAGE, Module, Span, Target, TargetError
from adacoder.messages import Remedy
from adacoder.project import is_page, module_of
from adacoder.pytext import (
    Definition,
    Lines,
    LogicalLine,
    definitions,
    docstring_at,
    functions_around,
    indent_width,
    line_number,
    line_start,
    logical_lines,
    parsed,
)
from adacoder.source.calls import Calls
from adacoder.source.class_examples import class_examples
from adacoder.source.dunder_test import NAME as DUNDER_TEST
from adacoder.source.dunder_test import dunder_test
from adacoder.source.examples import PROSE, UnreadableExample, examples
from adacoder.source.literal import read_literal
from adacoder.source.notebook import start_of
from adacoder.source.skips import skips
from adacoder.source.stubs import is_stub

_OVERLOAD = re.compile(r"@[ \t]*(?:\w+\.)*overload\b")
_FIXTURE = re.compile(r"@[ \t]*(?:\w+\.)*fixture\b")
_CONTENT = re.compile(r"[^\r\n]*")
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_PROMPT = re.compile(r"(?m)^[ \t]*>>> \S")
_MOST_NEAR = 3
_ACCESSOR = re.compile(r"@[ \t]*\w+\.(?:setter|deleter)\b")


def locate(
    text: str,
    path: Path,
    workspace: Path,
    *,
    line: int | None = None,
    qualname: str | None = None,
    bare: bool = False,
) -> Target:
    """Find the function named `qualname`, or the innermost function around the 0-based `line`.

    Functions inside functions cannot be found, because examples cannot reach them. If several functions have the name,
    the last one with a docstring is chosen. For a property, the getter is chosen.

    With `bare`, the function may lack a docstring.

    Raises:
        TargetError: the function does not exist or cannot be a target. For example, it has no docstring, is inside
            another function, only declares an overload, has unreadable examples, or is in a file that never runs.
    """
    must_run(path)
    if qualname is not None:
        chosen = _named(definitions(text), qualname, path)
    elif line is not None:
        chosen = _around(text, line, path)
    else:
        raise ValueError("a line or a name is needed")
    return _target(chosen, Lines(text), module_of(path, text, workspace), bare=bare)


def must_run(path: Path) -> None:
    """Raise an error if the code of the file never runs.

    Raises:
        TargetError: `path` is a page, or a stub file, which only declares types.
    """
    if is_page(path):
        raise TargetError(f"{path.name} is a page, and only its examples run: go to a function in a .py file.")
    if path.suffix == ".pyi":
        raise TargetError(f"{path.name} only declares types, and its code never runs: go to {path.stem}.py.")


def undocumented(text: str, path: Path, *, line: int | None = None, qualname: str | None = None) -> Definition | None:
    """Return the function at a line or with a name if its only problem is a missing docstring; otherwise None."""
    try:
        must_run(path)
        chosen = _around(text, line or 0, path) if qualname is None else _named(definitions(text), qualname, path)
    except TargetError:
        return None
    return chosen if chosen.docstring is None and _can_be_found(chosen) else None


def test_at(text: str, line: int) -> str | None:
    """Return the pytest name, such as `TestA::test_b`, of the test around the 0-based `line`; None if there is none."""
    around = [each for each in _functions_at(text, line) if not each.in_function]
    if not around or not around[-1].name.startswith("test") or around[-1].has_decorator(_FIXTURE):
        return None
    classes = [each.header.of(text) for each in around[-1].parents]
    return around[-1].qualname.replace(".", "::") if all("Test" in header for header in classes) else None


def locate_again(target: Target, text: str, workspace: Path) -> Target | None:
    """Find an unchanged `target` in a later text of its file; None if the function has changed.

    If the function occurs several times, the occurrence nearest to the old position is chosen.
    """
    same = starts(text, target.qualname, target.source)
    if not same:
        return None
    nearest = min(same, key=lambda start: abs(start - target.definition.start))
    line = line_number(text, nearest)
    return locate(text, target.module.path, workspace, line=line, bare=not target.is_documented)


def starts(text: str, qualname: str, source: str) -> list[int]:
    """Return the offsets in `text` of the functions with this name and this source."""
    return [each.span.start for each in definitions(text) if (each.qualname, each.span.of(text)) == (qualname, source)]


def number_above(target: Target) -> int:
    """Return the number of functions above `target` in its document that have the same qualified name."""
    before = target.text[start_of(target) : target.definition.start]
    return sum(each.qualname == target.qualname for each in definitions(before))


def counterpart(target: Target, text: str, workspace: Path) -> Target | None:
    """Return the version of `target` in another text of its file; None if there is none.

    If several functions have the same name, the first ones in both texts are paired, then the second ones.

    Raises:
        TargetError: the two texts have different numbers of functions with this name, or the examples in `text` are
            unreadable.
    """
    path = target.module.path
    mine, theirs = (
        [one for one in functions(each, path, workspace) if one.target.qualname == target.qualname]
        for each in (target.text, text)
    )
    if not theirs:
        return None
    number = [one.target.definition.start for one in mine].index(target.definition.start)
    if len(theirs) != len(mine):
        raise TargetError(
            f"'{target.qualname}' has {len(mine)} definitions in {path}, and {len(theirs)} in the other version, "
            "so they cannot be paired: choose a version with as many."
        )
    if (unreadable := theirs[number].unreadable) is not None:
        raise unreadable
    return theirs[number].target


@dataclass(frozen=True, slots=True)
class Documented:
    """A docstring whose examples can be run."""

    target: Target
    """The function, class, module or string in `__test__` to which the docstring belongs.

    A module gets the name `__doc__`, and a string in `__test__` gets the name `__test__.KEY`.
    """
    unreadable: UnreadableExample | None = None
    """The error if doctest cannot read the examples. The target then has no examples."""


def functions(text: str, path: Path, workspace: Path) -> tuple[Documented, ...]:
    """Return all functions in the file that can be targets, in order.

    Raises:
        TargetError: the code in the file never runs.
    """
    must_run(path)
    module = module_of(path, text, workspace)
    lines = Lines(text)
    return tuple(
        _read(Documented(_without_examples(each, each.docstring, module)), lines, _class_around(each))
        for each in definitions(text)
        if not each.is_class and each.docstring is not None and _can_be_found(each)
    )


def documented(text: str, path: Path, workspace: Path) -> Iterator[Documented]:
    """Yield the docstrings that doctest would read.

    The module's docstring comes first, then classes and functions in order, then strings in `__test__`.
    """
    must_run(path)
    module = module_of(path, text, workspace)
    lines = Lines(text)
    whole = _module_docstring(text)
    found = [] if whole is None else [_string_target(text, module, PAGE, whole)]
    found += [
        _without_examples(each, each.docstring, module)
        for each in definitions(text)
        if each.docstring is not None and _can_be_found(each)
    ]
    found += [_string_target(text, module, f"{DUNDER_TEST}.{key}", place) for key, place in dunder_test(text).strings]
    for target in found:
        yield _read(Documented(target), lines)


def documented_at(text: str, path: Path, workspace: Path, line: int | None, qualname: str | None) -> Documented:
    """Return the docstring at the 0-based `line`, or of the function, class or module `qualname`.

    Raises:
        TargetError: no docstring was found.
    """
    others = documented(text, path, workspace)
    try:
        return Documented(locate(text, path, workspace, line=line, qualname=qualname))
    except UnreadableExample as error:
        found = next((one for one in others if one.unreadable and one.unreadable.line == error.line), None)
        if found is None:
            raise
    except TargetError:
        found = next((one for one in others if _is_at(one.target, line, qualname)), None)
        if found is None:
            raise
    return found


def _is_at(target: Target, line: int | None, qualname: str | None) -> bool:
    if target.is_function or line is None:
        return not target.is_function and target.qualname == qualname
    lines = Lines(target.text)
    return lines.line_at(target.docstring_span.start) <= line <= lines.line_at(target.docstring_span.end)


def names_near(text: str, name: str) -> list[str]:
    """Return at most three names of functions that are similar to `name`."""
    return _near(definitions(text), name)[:_MOST_NEAR]


def _near(found: Sequence[Definition], name: str) -> list[str]:
    """Return the names of functions that are similar to `name`. Methods with exactly this name come first."""
    known = [each.qualname for each in found if not each.is_class and not each.in_function]
    methods = [qualname for qualname in known if qualname.endswith(f".{name}")]
    return [*methods, *(each for each in difflib.get_close_matches(name, known) if each not in methods)]


def out_of_reach(text: str) -> Iterator[tuple[str, str, Span, str]]:
    """Yield the name, kind and span of each docstring that examples cannot reach, and the reason."""
    for each in definitions(text):
        obstacle = _obstacle(each)
        if each.docstring is not None and obstacle is not None:
            yield each.qualname, "class" if each.is_class else "function", each.span, obstacle
    for place in dunder_test(text).unread:
        line = line_number(text, place.start) + 1
        reason = f"Line {line} puts something into `{DUNDER_TEST}` that is not read: write it as a string literal."
        yield DUNDER_TEST, "module", place, reason


def loose_texts(text: str) -> list[int]:
    """Return the 1-based lines of strings that contain examples but are no docstrings.

    Strings in `__test__` are left out. Code may assign such a string to `__doc__`.
    """
    docstrings = filter(None, [_module_docstring(text), *(each.docstring for each in definitions(text))])
    if text.count(">>>") == sum(text.count(">>>", place.start, place.end) for place in docstrings):
        return []  # Parsing is slow, and most files have no such strings.
    tree = parsed(text)
    if tree is None:
        return []
    read = {line_number(text, place.start) + 1 for _, place in dunder_test(text).strings}
    found: set[int] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant | ast.JoinedStr):
            found |= {node.lineno} if any(map(_PROMPT.search, _strings(node))) else set()
            continue
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False):
            children.remove(node.body[0])
        waiting += children
    return sorted(found - read)


def _strings(node: ast.Constant | ast.JoinedStr) -> list[str]:
    """Return the text of a string literal, or the fixed parts of an f-string."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def may_have_examples(text: str) -> bool:
    """Return whether a text may contain examples. This check is cheaper than reading the examples."""
    if ">>>" in text or DUNDER_TEST in text:
        return True
    tree = parsed(text)
    if tree is None:
        return True
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _DOCUMENTED):
            docstring = ast.get_docstring(node, clean=False)
            if docstring is not None and PROSE.search(docstring):
                return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.expr):
            waiting += ast.iter_child_nodes(node)
    return False


def _read(one: Documented, lines: Lines, owner: Definition | None = None) -> Documented:
    try:
        return replace(one, target=_with_examples(one.target, lines, owner))
    except UnreadableExample as unreadable:
        return replace(one, unreadable=unreadable)


def _named(found: Sequence[Definition], qualname: str, path: Path) -> Definition:
    wanted = unicodedata.normalize("NFKC", qualname).replace(".<locals>", "")
    matches = [each for each in found if each.qualname == wanted and not each.is_class]
    if not matches:
        raise TargetError(f"There is no function '{qualname}' in {path}: {_hint(found, wanted)}")
    defined = [each for each in matches if not each.has_decorator(_OVERLOAD)]
    documented = [each for each in defined if each.docstring is not None]
    getters = [each for each in documented if not each.has_decorator(_ACCESSOR)]
    return (getters or documented or defined or matches)[-1]


def _hint(found: Sequence[Definition], wanted: str) -> str:
    """Return advice about a missing function, with a similar name if there is one."""
    if any(each.qualname == wanted for each in found):
        return "it is a class, so name one of its methods."
    close = _near(found, wanted)
    return f"did you mean '{close[0]}'?" if close else "check its name."


def _around(text: str, line: int, path: Path) -> Definition:
    around = _functions_at(text, line)
    reachable = [each for each in around if not each.in_function]
    if not reachable:
        raise TargetError(f"There is no function at line {line + 1} of {path}: put the cursor on one.")
    if reachable[-1].docstring is None:
        return around[-1]
    return reachable[-1]


def _functions_at(text: str, line: int) -> list[Definition]:
    """Return the functions around `line`, innermost last.

    A blank line belongs to a function if it is directly below, or indented deeper than the `def`.
    """
    start = line_start(text, line)
    content = _CONTENT.match(text, start) if start is not None else None
    if start is None or content is None:
        return []
    if content.group().strip():
        return functions_around(text, start)
    above = text[:start].rstrip()
    ended = functions_around(text, len(above) - 1) if above else []
    if inside := [each for each in ended if each.span.end >= start]:
        return inside
    is_right_below = line_number(text[len(above) : start], start) == 1
    width = indent_width(content.group())
    return [each for each in ended if is_right_below or each.header_line.width < width]


def _can_be_found(definition: Definition) -> bool:
    return _obstacle(definition) is None


def _obstacle(definition: Definition) -> str | None:
    """Return the reason why no example can run a function or class; None if examples can run it."""
    name = definition.name
    if definition.in_function:
        return f"'{definition.qualname}' is inside a function, where no example can reach it: move it out."
    if definition.header_line.colon is None:
        return f"The signature of '{name}' does not end with a colon yet: complete it."
    if definition.has_decorator(_OVERLOAD):
        return f"'{name}' is only declared here, as an overload: choose the function after the overloads."
    return None


def _target(definition: Definition, lines: Lines, module: Module, *, bare: bool) -> Target:
    name, docstring = definition.name, definition.docstring
    obstacle = _obstacle(definition)
    if obstacle is not None:
        raise TargetError(obstacle)
    if docstring is None and bare:
        docstring = Span(definition.header.end, definition.header.end)
    if docstring is None:
        write = Remedy("writeDocstring", "write one")
        raise TargetError(f"'{name}' has no docstring: ", write, ", best with >>> examples.")
    return _with_examples(_without_examples(definition, docstring, module), lines, _class_around(definition))


def _without_examples(definition: Definition, docstring: Span, module: Module) -> Target:
    text = definition.text
    line = _docstring_line(definition, docstring)
    shares_line = bool(text[docstring.end : line.code_end].strip())
    return Target(
        module=module,
        text=text,
        qualname=definition.qualname,
        definition=definition.span,
        header=definition.header,
        docstring_span=docstring,
        docstring=inspect.cleandoc(read_literal(docstring.of(text)).value) if docstring.of(text) else "",
        body=Span(docstring.end if shares_line else line.end, definition.span.end),
        indent=definition.header_line.indent,
        examples=(),
        is_stub=is_stub(definition),
        in_class=bool(definition.parents),
        is_function=not definition.is_class,
    )


def _module_docstring(text: str) -> Span | None:
    first = next(logical_lines(text), None)
    return None if first is None else docstring_at(text, first.start, first.code_end)


def _string_target(text: str, module: Module, name: str, docstring: Span) -> Target:
    return Target(
        module=module,
        text=text,
        qualname=name,
        definition=docstring,
        header=Span(docstring.start, docstring.start),
        docstring_span=docstring,
        docstring=inspect.cleandoc(read_literal(docstring.of(text)).value),
        body=Span(docstring.end, docstring.end),
        indent="",
        examples=(),
        is_stub=False,
        is_function=False,
    )


def _class_around(definition: Definition) -> Definition | None:
    return definition.parents[-1] if definition.parents else None


def _with_examples(target: Target, lines: Lines, owner: Definition | None = None) -> Target:
    """Return the target with the examples of its docstring and of the class `owner`."""
    docstring = target.docstring_span
    literal, first_line = docstring.of(target.text), lines.line_at(docstring.start)
    if target.is_documented:
        target = skips(target.text).on(replace(target, examples=examples(literal, first_line, Calls.of(target))))
    return target if owner is None else replace(target, of_class=class_examples(target, owner, lines))


def _docstring_line(definition: Definition, docstring: Span) -> LogicalLine:
    """Return the logical line of the docstring, which may be the `def` line."""
    header = definition.header_line
    return header if docstring.start < header.end else definition.lines[definition.header_index + 1]
