"""The examples in the docstring of a class that run one of its methods.

They come after those of the method's own docstring, with the statements before them, as far as the last one that runs
the method. An example that does not run it only prepares those that do. Candidates
for a method are found here by reading; `running` keeps those that were observed to run it.

From the first one on that uses what is still a stub, or what nothing defines, they are left out: the method is not to
blame for that. doctest would run the two docstrings apart; here they share their names, so all are left out if one
uses a name that the method's own examples leave behind.
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
from adacoder.source.names import Bindings, bindings, used_names
from adacoder.source.stubs import is_special, unwritten

_LONGEST = 20_000
"""Characters of a class's docstring that is read for the examples of its methods."""
_WORD = re.compile(r"[^\W\d]\w*")


def class_examples(target: Target, owner: Definition, lines: Lines) -> tuple[Example, ...]:
    """List the examples of the class `owner` that may run its method `target`, in order."""
    docstring = owner.docstring
    if docstring is None or docstring.end - docstring.start > _LONGEST:
        return ()
    return tuple(_working(_examples(docstring.of(owner.text), lines.line_at(docstring.start)), target, owner))


def running(target: Target, results: Sequence[ExampleResult]) -> tuple[Example, ...]:
    """Select the examples that belong to `target` by the `results` of running all those of its class."""
    last = max((at for at, result in enumerate(results, 1) if result.entered), default=0)
    if last == 0:
        return ()
    end = results[last - 1].example.line
    working = [example for example in target.of_class if example.line <= end]
    return () if _use_what_is_left(working, target) else tuple(working)


@lru_cache(maxsize=1)
def _examples(literal: str, first_line: int) -> tuple[Example, ...]:
    """Cache `examples` for the methods of one class."""
    try:
        return examples(literal, first_line) if ">>>" in literal else ()
    except UnreadableExample:
        return ()  # that is said of the class


def _working(found: Sequence[Example], target: Target, owner: Definition) -> Iterator[Example]:
    """Yield examples up to the first one that uses a stub or an undefined name."""
    stubs = unwritten(owner, target.name)
    # The class itself is the one name that most of them use: the module need not be read for it.
    bound = {*vars(builtins), *([] if owner.parents else [owner.name])}
    for example in found:
        uses = set() if example.skipped else used_names(example.source) - bound
        is_defined = not uses or _defines(target.text, target.module, uses)
        if not is_defined or not stubs.isdisjoint(_words(example)):
            return
        bound |= _bound(example, target.module)
        yield example


def _defines(text: str, module: Module, names: Iterable[str]) -> bool:
    """True if a module may define all of `names`, apart from those that Python gives to every module."""
    found = _bindings(text, module)
    return bool(found.stars) or all(name in found.origins or is_special(name) for name in names)


@lru_cache(maxsize=1)
def _bindings(text: str, module: Module) -> Bindings:
    """Cache `bindings` for the methods of one text."""
    return bindings(text, module)


def _words(example: Example) -> set[str]:
    """Names and attributes in an example."""
    tree = parsed(example.source)
    if tree is None:
        return set(_WORD.findall(example.source))
    nodes = list(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def _bound(example: Example, module: Module) -> set[str]:
    return set() if example.skipped else set(bindings(example.source, module).origins)


def _use_what_is_left(found: Sequence[Example], target: Target) -> bool:
    """True if an example uses a name that only the target's own docstring bound."""
    left = {name for example in target.examples for name in _bound(example, target.module)}
    for example in found:
        if not left.isdisjoint(used_names(example.source) - _bound(example, target.module)):
            return True
        left -= _bound(example, target.module)
    return False
