"""The examples of a docstring, as `doctest` reads them, and which of them run the target."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from adacoder.domain import Example, TargetError

_WORD = re.compile(r"[^\W\d]\w*")
_NEW_LINES = re.compile(r"\r\n|\r|\n")


def examples(literal: str, first_line: int, target_name: str, class_name: str | None = None) -> tuple[Example, ...]:
    """The examples in the string literal of a docstring, in order.

    Args:
        literal: the docstring's literal, quotes included.
        first_line: the 0-based line of the file where the literal begins.
        target_name: the function's own name.
        class_name: the name of the class it stands in, if it does.

    Raises:
        TargetError: doctest cannot read them.
    """
    value = _value(literal)
    found = _parsed(value, first_line)
    names = {target_name}
    if class_name and target_name.startswith("__") and target_name.endswith("__"):
        names.add(class_name)  # nobody calls a special method by its name
    return tuple(_with_use(found, names))


def suggested(reply: str, target_name: str, class_name: str | None = None) -> tuple[Example, ...]:
    """The examples in a text that mixes them with prose and code fences; what doctest cannot read is left out."""
    lines = [line for line in _NEW_LINES.split(reply) if not line.lstrip().startswith(("```", "~~~"))]
    found: list[Example] = []
    for paragraph in re.split(r"\n[ \t]*\n", "\n".join(lines)):
        with suppress(TargetError):
            found += examples(repr(paragraph), 0, target_name, class_name)
    return tuple(found)


def _value(literal: str) -> str:
    """The value of a string literal whose lines end as they may."""
    value = ast.literal_eval(_NEW_LINES.sub("\n", literal))
    return value if isinstance(value, str) else ""


def _parsed(value: str, first_line: int) -> list[Example]:
    try:
        found = doctest.DocTestParser().get_examples(value)
    except ValueError as error:
        place = re.match(r"line (\d+) of the docstring for \S+ (.*)", str(error), re.DOTALL)
        line, problem = (int(place[1]), place[2]) if place else (1, str(error))
        problem = problem.splitlines()[0]
        raise TargetError(f"The example on line {first_line + line} cannot be read: {problem}.") from None
    return [
        Example(
            source=example.source,
            want=example.want,
            line=first_line + example.lineno,
            flags=sum(flag for flag, on in example.options.items() if on),
            exception=example.exc_msg,
        )
        for example in found
    ]


def _with_use(found: Sequence[Example], names: set[str]) -> Iterator[Example]:
    """The examples with `runs_target` set, by following what each statement takes from those before it."""
    carriers: set[str] = set()
    for example in found:
        if example.flags & doctest.SKIP:
            yield example
            continue
        try:
            tree = ast.parse(example.source)
        except (SyntaxError, ValueError):
            yield replace(example, runs_target=bool(names & set(_WORD.findall(example.source))))
            continue
        uses = _mentions(tree, names) or bool(carriers & _loaded(tree))
        if uses:
            carriers |= _stored(tree) | _changed(tree, names)
        else:
            carriers -= _stored(tree)
        yield replace(example, runs_target=uses)


def _mentions(tree: ast.AST, names: set[str]) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id in names) or (isinstance(node, ast.Attribute) and node.attr in names)
        for node in ast.walk(tree)
    )


def _loaded(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _stored(tree: ast.AST) -> set[str]:
    """The names a statement binds, imports excepted: these come from elsewhere."""
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }


def _changed(tree: ast.AST, names: set[str]) -> set[str]:
    """The names whose values a call of the target may have changed: its receiver and its arguments."""
    changed: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _mentions(node.func, names):
            for part in (node.func, *node.args, *(keyword.value for keyword in node.keywords)):
                changed |= _loaded(part) - names
    return changed
