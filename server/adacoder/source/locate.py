"""The function at a position or of a name, found by line structure, so that the rest of the file may be broken."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from pathlib import Path

from adacoder.domain import Module, Span, Target, TargetError
from adacoder.pytext import Definition, Lines, definitions, statements
from adacoder.source.examples import examples

_RELATIVE_IMPORT = re.compile(r"from[ \t]+(?P<dots>\.+)")
_STUB_STATEMENT = re.compile(r"(?:pass|\.\.\.|raise[ \t]+NotImplementedError\b.*)[ \t]*(?:#.*)?", re.DOTALL)


def locate(
    text: str,
    path: Path,
    workspace: Path,
    *,
    line: int | None = None,
    qualname: str | None = None,
) -> Target:
    """The function named `qualname`, or the innermost one around the 0-based `line`.

    Raises:
        TargetError: there is none, or it cannot be a target: no docstring, or out of reach inside a function.
    """
    found = [each for each in definitions(text) if not each.is_class]
    if qualname is not None:
        chosen = _named(found, qualname, path)
    elif line is not None:
        chosen = _around(found, text, line, path)
    else:
        raise ValueError("a line or a name is needed")
    return _target(chosen, text, path, workspace)


def functions(text: str, path: Path, workspace: Path) -> tuple[Target, ...]:
    """All functions that can be targets, in the order of the file."""
    module = module_of(path, text, workspace)
    return tuple(
        _target(each, text, path, workspace, module)
        for each in definitions(text)
        if not each.is_class and not each.in_function and each.docstring is not None
    )


def _named(found: list[Definition], qualname: str, path: Path) -> Definition:
    matches = [each for each in found if each.qualname == qualname]
    if not matches:
        close = difflib.get_close_matches(qualname, [each.qualname for each in found], n=1)
        hint = f"did you mean '{close[0]}'?" if close else "check its name."
        raise TargetError(f"There is no function '{qualname}' in {path}: {hint}")
    return next((each for each in reversed(matches) if each.docstring is not None), matches[-1])


def _around(found: list[Definition], text: str, line: int, path: Path) -> Definition:
    lines = Lines(text)
    around = [each for each in found if lines.line_at(each.span.start) <= line <= lines.line_at(each.span.end)]
    reachable = [each for each in around if not each.in_function]
    if reachable:
        return reachable[-1]
    raise TargetError(f"There is no function at line {line + 1} of {path}: put the cursor on one.")


def _target(definition: Definition, text: str, path: Path, workspace: Path, module: Module | None = None) -> Target:
    name = definition.name
    if definition.in_function:
        raise TargetError(
            f"'{definition.qualname}' stands inside a function, where no example can reach it: move it out."
        )
    docstring = definition.docstring
    if docstring is None:
        raise TargetError(f"'{name}' has no docstring: write down what it must do, best with >>> examples.")
    lines = Lines(text)
    literal = docstring.of(text)
    first_line = lines.line_at(docstring.start)
    owner = definition.parents[-1] if definition.parents else None
    body = Span(_after_docstring(definition, docstring), definition.span.end)
    return Target(
        module=module or module_of(path, text, workspace),
        text=text,
        qualname=definition.qualname,
        definition=definition.span,
        header=definition.header,
        docstring_span=docstring,
        docstring=_cleaned(literal, name),
        body=body,
        indent=definition.header_line.indent,
        examples=examples(literal, first_line, name, owner.name if owner else None),
        is_stub=_is_stub(definition, docstring),
        in_class=owner is not None,
    )


def _after_docstring(definition: Definition, docstring: Span) -> int:
    """Where the body begins: after the docstring's logical line, or after the docstring where more follows on it."""
    line = next(each for each in definition.lines if each.start <= docstring.start < each.end)
    rest = definition.text[docstring.end : line.code_end].strip()
    return docstring.end if rest else line.end


def _cleaned(literal: str, name: str) -> str:
    try:
        value = ast.literal_eval(re.sub(r"\r\n|\r", "\n", literal))
    except (ValueError, SyntaxError):
        raise TargetError(f"The docstring of '{name}' cannot be read: check its escapes.") from None
    return inspect.cleandoc(value)


def _is_stub(definition: Definition, docstring: Span) -> bool:
    line = next(each for each in definition.lines if each.start <= docstring.start < each.end)
    rest = definition.text[docstring.end : line.code_end].strip(" \t\f;")
    after = [each for each in definition.lines if each.start > docstring.start]
    parts = ([rest] if rest else []) + [definition.text[each.start : each.code_end] for each in after]
    return all(_STUB_STATEMENT.fullmatch(part) for part in parts)


def module_of(path: Path, text: str, workspace: Path) -> Module:
    """Under which name, and from which directory, the file at `path` is imported.

    Directories with an `__init__.py` are packages. Where the text imports relatively without one, as many
    directories are as its dots need, up to the workspace.
    """
    imports = (_RELATIVE_IMPORT.match(text, span.start) for span in statements(text))
    levels = max((len(match["dots"]) for match in imports if match), default=0)
    parts = [] if path.stem == "__init__" else [_identifier(path.stem)]
    root = path.parent
    depth = 0
    while (root / "__init__.py").is_file() or (depth < levels and root != workspace and root != root.parent):
        parts.insert(0, _identifier(root.name))
        root = root.parent
        depth += 1
    return Module(path, ".".join(parts) or _identifier(path.parent.name), root)


def _identifier(stem: str) -> str:
    """`stem` as a name that can be imported; a stand-in where it is none, such as for `my-script.py`."""
    name = re.sub(r"\W", "_", stem)
    return name if name.isidentifier() else f"_{name}"
