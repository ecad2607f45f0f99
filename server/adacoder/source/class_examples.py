"""Find the examples in a class's docstring that run one of its methods.

`class_examples` reads the examples that may run the method. After a test run, `running` drops the examples after the
last one that ran the method.

An example that uses an undefined name or an unfinished function cannot pass yet. So this example and all later examples
are left out.

AdaCoder runs the examples of the class and of the method together. If a class example uses a variable that is set in
the method's docstring, all class examples are left out.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from adacoder.domain import Example, ExampleResult, Module, Target
from adacoder.pytext import Definition, Lines, parsed
from adacoder.source.examples import UnreadableExample, examples
from adacoder.source.names import bindings, used_names
from adacoder.source.stubs import is_special, unwritten

_LONGEST = 20_000
"""Maximum characters of a class docstring that is searched for examples of its methods."""
_WORD = re.compile(r"[^\W\d]\w*")


def class_examples(target: Target, owner: Definition, lines: Lines) -> tuple[Example, ...]:
    """Return the examples of the class `owner` that may run its method `target`, in order."""
    docstring = owner.docstring
    if docstring is None or docstring.end - docstring.start > _LONGEST:
        return ()
    return tuple(_working(_examples(docstring.of(owner.text), lines.line_at(docstring.start)), target, owner))


def running(target: Target, results: Sequence[ExampleResult]) -> tuple[Example, ...]:
    """Return the class examples up to the last example that ran `target`.

    `results` are the results of all class examples.
    """
    last = max((at for at, result in enumerate(results, 1) if result.entered), default=0)
    if last == 0:
        return ()
    end = results[last - 1].example.line
    working = [example for example in target.of_class if example.line <= end]
    return () if _use_what_is_left(working, target) else tuple(working)


@lru_cache(maxsize=1)
def _examples(literal: str, first_line: int) -> tuple[Example, ...]:
    try:
        return examples(literal, first_line) if ">>>" in literal else ()
    except UnreadableExample:
        return ()  # The check of the class reports this error.


def _working(found: Sequence[Example], target: Target, owner: Definition) -> Iterator[Example]:
    """Yield the examples before the first one that uses a stub or an undefined name."""
    stubs = unwritten(owner, target.name)
    # Most examples use only the class and builtins.
    bound = {*vars(builtins), *([] if owner.parents else [owner.name])}
    for example in found:
        uses = set() if example.skipped else used_names(example.source) - bound
        is_defined = not uses or _defines(target.text, target.module, uses)
        if not is_defined or not stubs.isdisjoint(_words(example)):
            return
        bound |= _bound(example, target.module)
        yield example


def _defines(text: str, module: Module, names: Iterable[str]) -> bool:
    """Return whether the module may define all of `names`. Special names such as `__name__` count as defined."""
    found = _bindings(text, module)
    return bool(found.stars) or all(name in found.origins or is_special(name) for name in names)


_bindings = lru_cache(maxsize=1)(bindings)
"""A cached `bindings`, because all methods of a module need the same result."""


def _words(example: Example) -> set[str]:
    tree = parsed(example.source)
    if tree is None:
        return set(_WORD.findall(example.source))
    nodes = list(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def _bound(example: Example, module: Module) -> set[str]:
    return set() if example.skipped else set(bindings(example.source, module).origins)


def _use_what_is_left(found: Sequence[Example], target: Target) -> bool:
    """Return whether a class example uses a variable that is set only in the docstring of `target`."""
    left = {name for example in target.examples for name in _bound(example, target.module)}
    for example in found:
        if not left.isdisjoint(used_names(example.source) - _bound(example, target.module)):
            return True
        left -= _bound(example, target.module)
    return False
