"""Find the examples in a class's docstring that run one of its methods.

`class_examples` reads the examples that may run the method. After a test run, `running` keeps the examples up to the
last one that ran the method, because later examples may depend on earlier ones.

An example that uses an undefined name or an unfinished function cannot pass yet. This example and all later ones are
left out.

doctest runs each docstring with its own variables, but AdaCoder runs the two together. If a class example uses a
variable of the method's examples, all class examples are left out.
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
    """Return the class examples up to the last one that ran `target`, given the `results` of all of them."""
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
        return ()  # the error is reported for the class itself


def _working(found: Sequence[Example], target: Target, owner: Definition) -> Iterator[Example]:
    """Yield the examples before the first one that uses a stub or an undefined name."""
    stubs = unwritten(owner, target.name)
    # Most examples use only the class, so the other names of the module are rarely needed.
    bound = {*vars(builtins), *([] if owner.parents else [owner.name])}
    for example in found:
        uses = set() if example.skipped else used_names(example.source) - bound
        is_defined = not uses or _defines(target.text, target.module, uses)
        if not is_defined or not stubs.isdisjoint(_words(example)):
            return
        bound |= _bound(example, target.module)
        yield example


def _defines(text: str, module: Module, names: Iterable[str]) -> bool:
    """Return whether a module may define all of `names`. Names such as `__name__` are ignored."""
    found = _bindings(text, module)
    return bool(found.stars) or all(name in found.origins or is_special(name) for name in names)


_bindings = lru_cache(maxsize=1)(bindings)
"""`bindings`, cached for all methods of a module."""


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
    """Return whether a class example uses a name that only the target's own docstring binds."""
    left = {name for example in target.examples for name in _bound(example, target.module)}
    for example in found:
        if not left.isdisjoint(used_names(example.source) - _bound(example, target.module)):
            return True
        left -= _bound(example, target.module)
    return False
