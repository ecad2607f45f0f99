"""A function that goes into another's body whole, because it calls itself as the other cannot be called."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adacoder.source.body import body_of
from adacoder.source.splicing.rename import calls_itself

if TYPE_CHECKING:
    from adacoder.domain import Target
    from adacoder.pytext import Definition
    from adacoder.source.splicing.signature import Fit

_CACHING = re.compile(r"@[ \t]*(?:\w+\.)?(?:lru_cache|cache)\b")
_YIELDS = re.compile(r"\byield\b")


def inner_function(target: Target, function: Definition, fit: Fit) -> str | None:
    """A body for `target` that defines `function` and calls it; None where `function` can do without.

    It cannot if it calls itself with parameters that the target does not take, or as a plain function where the
    target is a coroutine, or if it remembers what it gave by a decorator that the target does not have: then it may
    call itself so often that it would never end without. Its other decorators are left out: the target has its own.
    """
    header = function.header.of(function.text)
    awaited = _is_async(header)
    if target.in_class or (awaited and not _is_async(target.signature)):
        return None
    own_decorators = target.text[target.definition.start : target.header.start]
    decorators = [] if _CACHING.search(own_decorators) else _caching_decorators(function)
    if fit.same_calls and not decorators and awaited == _is_async(target.signature):
        return None
    body = body_of(function)
    if not calls_itself(function.text, function.name) or (awaited and _YIELDS.search(body)):
        return None
    block = f"{header}\n{body}" if body[:1].isspace() else f"{header} {body}"
    call = f"return {'await ' if awaited else ''}{function.name}({fit.passed})"
    return "\n".join([*decorators, block, "", call])


def _is_async(signature: str) -> bool:
    return signature.startswith("async")


def _caching_decorators(function: Definition) -> list[str]:
    lines = [function.text[line.start : line.code_end] for line in function.lines[: function.header_index]]
    return [line for line in lines if _CACHING.match(line)]
