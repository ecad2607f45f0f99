"""Find stubs, which are functions whose bodies still have to be written."""

from __future__ import annotations

import re
from functools import lru_cache

from adacoder.pytext import Definition, definitions

_STUB_STATEMENT = re.compile(r"(?:pass|\.\.\.|raise[ \t]+NotImplementedError\b.*)[ \t]*(?:#.*)?", re.DOTALL)


def is_stub(definition: Definition) -> bool:
    """Return whether the body has only a docstring, `pass`, `...`, `raise NotImplementedError` or comments."""
    start = definition.header.end if definition.docstring is None else definition.docstring.end
    lines = [definition.header_line, *definition.body_lines]
    parts = [
        definition.text[max(start, line.start) : line.code_end].strip(" \t\f;")
        for line in lines
        if line.code_end > start
    ]
    return all(_STUB_STATEMENT.fullmatch(part) for part in parts if part)


def unwritten(owner: Definition, name: str) -> frozenset[str]:
    """Return the names by which examples of the class `owner` may use unwritten functions.

    The method `name` is left out. A special method is listed by the name of its class, because examples run it without
    naming it. The same holds for methods of other classes.
    """
    return frozenset(
        each.parents[-1].name
        if each.parents and (is_special(each.name) or each.parents[-1].qualname != owner.qualname)
        else each.name
        for each in _stubs(owner.text)
        if each.qualname != f"{owner.qualname}.{name}"
    )


def documented_stubs(text: str) -> list[Definition]:
    """Return the functions of `text` that are stubs and have a docstring."""
    return [each for each in _stubs(text) if each.docstring is not None]


@lru_cache(maxsize=1)
def _stubs(text: str) -> tuple[Definition, ...]:
    """Return all stubs.

    If several functions have the same name, only the last one counts, because the others are usually overloads.
    """
    last = {each.qualname: each for each in definitions(text) if not each.is_class and not each.in_function}
    return tuple(each for each in last.values() if is_stub(each))


def is_special(name: str) -> bool:
    """Return whether `name` is the name of a special method, such as `__init__`."""
    return name.startswith("__") and name.endswith("__")
