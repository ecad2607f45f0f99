"""The examples in the docstring of a class that run one of its methods.

They come after those of the method's own docstring, with the statements before them, as far as the last one that runs
the method on an object of the class. An example that does not run the method only prepares those that do.

From the first one on that uses what is still a stub, or what nothing defines, they are left out: the method is not to
blame for that. doctest would run the two docstrings apart; here they share their names, so all are left out if one
uses a name that the method's own examples leave behind. Of special methods only constructors are known to run: where
the class is called.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from adacoder.domain import Example, Module, Target
from adacoder.pytext import Definition, Lines, parsed
from adacoder.source.examples import Flow, UnreadableExample, examples
from adacoder.source.names import Bindings, bindings, used_names
from adacoder.source.stubs import is_special, unwritten

_LONGEST = 20_000
"""Characters of a class's docstring that is read for the examples of its methods."""
_CONSTRUCTORS = frozenset({"__new__", "__init__", "__post_init__"})
_WORD = re.compile(r"[^\W\d]\w*")


def class_examples(target: Target, owner: Definition, lines: Lines) -> tuple[Example, ...]:
    """The examples of the class `owner` for its method `target`, which has those of its own docstring; in order."""
    docstring = owner.docstring
    is_constructor = target.name in _CONSTRUCTORS
    named = owner.name if is_constructor else target.name
    if (
        docstring is None
        or docstring.end - docstring.start > _LONGEST
        or not _is_shown(named, docstring.of(owner.text))
    ):
        return ()
    caller = owner.name if is_constructor or not is_special(target.name) else None
    try:
        found = examples(docstring.of(owner.text), lines.line_at(docstring.start), target.name, caller)
    except UnreadableExample:
        return ()  # that is said of the class
    working = list(_working(_on_objects(found, owner), target, owner))
    while working and not working[-1].runs_target:
        working.pop()
    return () if _use_what_is_left(working, target) else tuple(working)


def _is_shown(name: str, literal: str) -> bool:
    """Whether a name stands behind a prompt of a docstring."""
    prompt = literal.find(">>>")
    return prompt >= 0 and re.compile(rf"\b{re.escape(name)}\b").search(literal, prompt) is not None


def _on_objects(found: Sequence[Example], owner: Definition) -> Iterator[Example]:
    """`found`, where none runs the method that has nothing to do with the class: `{}.get(1)` runs no `Cache.get`."""
    flow = Flow(owner.name, None)
    for example in found:
        is_on_object = not example.skipped and flow.runs_target(example.source)
        yield replace(example, runs_target=example.runs_target and is_on_object)


def _working(found: Iterator[Example], target: Target, owner: Definition) -> Iterator[Example]:
    """`found`, up to the first one that uses what is still a stub, or what nothing defines."""
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
    """Whether a module may define all of `names`, those apart that Python gives to every module."""
    found = _bindings(text, module)
    return bool(found.stars) or all(name in found.origins or is_special(name) for name in names)


@lru_cache(maxsize=1)
def _bindings(text: str, module: Module) -> Bindings:
    """As `bindings`, which is asked for method after method of the same text."""
    return bindings(text, module)


def _words(example: Example) -> set[str]:
    """The names in an example, those of attributes too."""
    tree = parsed(example.source)
    if tree is None:
        return set(_WORD.findall(example.source))
    nodes = list(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def _bound(example: Example, module: Module) -> set[str]:
    return set() if example.skipped else set(bindings(example.source, module).origins)


def _use_what_is_left(found: Sequence[Example], target: Target) -> bool:
    """Whether one of the examples `found` uses a name that those of the target's own docstring bound, and it alone."""
    left = {name for example in target.examples for name in _bound(example, target.module)}
    for example in found:
        if not left.isdisjoint(used_names(example.source) - _bound(example, target.module)):
            return True
        left -= _bound(example, target.module)
    return False
