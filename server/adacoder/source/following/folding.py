"""What a pure operation gives for values that are known: of built-in types, within bounds, with no code of anybody's.

This is how the text of a function is followed without running it. Whatever is not listed here cannot be told, and
neither can what would take much time or memory.
"""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from adacoder.pytext import parsed

_LARGEST = 256
"""How many parts a value may have; sixteen characters of a string count as one."""
_DEEPEST = 20
"""Containers within one another."""
_MOST_BITS = 256
_LONGEST_OPTIONS = 80
_PLAIN_PERCENT = re.compile(r"(?:[^%]|%[dsr%])*")
_PLAIN_BRACES = re.compile(r"(?:[^{}]|\{\w*\})*")
"""Formats without a width, which can ask for any amount of memory."""
_SCALARS = (bool, float, complex, type(None), type(...))
_CONTAINERS = (list, tuple, dict, set, frozenset)
_ENCODINGS = frozenset({"ascii", "latin-1", "latin1", "utf-8", "utf8"})
"""Others may take long."""


class Untellable(Exception):
    """What an operation gives cannot be told."""


@dataclass(frozen=True, slots=True)
class Made:
    """What a call of something unknown with known arguments makes, such as `Decimal("1.5")`: equal if told alike."""

    name: str
    """Without the module it comes from."""
    arguments: str


def bounded(value: object) -> object:
    """`value`, if it is small.

    Raises:
        Untellable: it is not.
    """
    if isinstance(value, _SCALARS):
        return value
    if _size(value, _LARGEST) > _LARGEST:
        raise Untellable
    return value


def parts(values: Iterable[object]) -> int:
    """How many parts containers among `values`, and the containers in these, have: what it costs to look at them."""
    containers = [value for value in values if isinstance(value, _CONTAINERS)]
    inner = [value for container in containers for value in container if isinstance(value, _CONTAINERS)]
    return sum(map(len, containers)) + sum(map(len, inner))


def _size(value: object, most: int, depth: int = 0) -> int:
    """How many parts `value` has, or more than `most`, if there are more or they are too deep in one another."""
    match value:
        case str() | bytes():
            return 1 + len(value) // 16
        case int():
            return 1 if value.bit_length() <= _MOST_BITS else most + 1
        case dict():
            found: Iterable[object] = (part for item in value.items() for part in item)
        case list() | tuple() | set() | frozenset():
            found = value
        case range():
            return 1 + len(value) if max(abs(value.start), abs(value.stop)) <= _LARGEST**2 else most + 1
        case _:
            return 1
    size = 1 if depth < _DEEPEST else most + 1
    for part in found:
        size += _size(part, most - size, depth + 1)
        if size > most:
            break
    return size


def _power(base: object, exponent: object) -> object:
    if not isinstance(base, int | float) or not isinstance(exponent, int | float) or abs(exponent) > _MOST_BITS:
        raise Untellable
    return base**exponent


def _times(left: object, right: object) -> object:
    for times, value in ((left, right), (right, left)):
        if isinstance(times, int) and isinstance(value, str | bytes | list | tuple) and times * len(value) > _LARGEST:
            raise Untellable
    return operator.mul(left, right)


def _remainder(left: object, right: object) -> object:
    if isinstance(left, bytes) or (isinstance(left, str) and not _PLAIN_PERCENT.fullmatch(left)):
        raise Untellable
    return operator.mod(left, right)


def _formatted(text: str, arguments: Sequence[object], keywords: Mapping[str, object]) -> str:
    largest = max((len(str(each)) for each in (*arguments, *keywords.values())), default=0)
    if not _PLAIN_BRACES.fullmatch(text) or text.count("{") * largest > 16 * _LARGEST:
        raise Untellable
    return text.format(*arguments, **keywords)


_BINARY: Mapping[type[ast.operator], Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _times,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _remainder,
    ast.Pow: _power,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: Mapping[type[ast.unaryop], Callable[..., object]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_COMPARING: Mapping[type[ast.cmpop], Callable[..., object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.eq,  # of what is built in, equal values may be one object: rather too often than too seldom
    ast.IsNot: operator.ne,
    ast.In: lambda left, right: operator.contains(right, left),
    ast.NotIn: lambda left, right: not operator.contains(right, left),
}


def _zipped(*sequences: Iterable[object], strict: bool = False) -> list[object]:
    return list(zip(*sequences, strict=strict))


def _next(sequence: Iterable[object], *default: object) -> object:
    return next(iter(sequence), *default)


def _number(value: object, *base: object) -> object:
    if isinstance(value, str) and len(value) > _MOST_BITS:
        raise Untellable
    return int(value, *base)  # type: ignore[call-overload]  # what does not fit raises TypeError


def _text(value: object = "", *encoding: str) -> str:
    if not _ENCODINGS.issuperset(encoding):
        raise Untellable
    return str(value, *encoding)


def _dumped(value: object, **options: object) -> str:
    if not options.keys() <= {"sort_keys", "separators"} or len(repr(options)) > _LONGEST_OPTIONS:
        raise Untellable
    return json.dumps(value, **options)  # type: ignore[arg-type]  # what does not fit raises TypeError


def _literal(text: object) -> object:
    tree = parsed(text) if isinstance(text, str) and len(text) <= _LARGEST else None
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        raise Untellable
    return ast.literal_eval(tree.body[0].value)


def _loaded(text: object) -> object:
    return json.loads(text) if isinstance(text, str) and len(text) <= _LARGEST else _untellable()


def _untellable() -> object:
    raise Untellable


_FUNCTIONS: Mapping[str, Callable[..., object]] = {
    **{function.__name__: function for function in (abs, all, any, ascii, bool, chr, dict, divmod, float, frozenset)},
    **{function.__name__: function for function in (hash, len, list, max, min, ord, range, repr, set)},
    **{function.__name__: function for function in (sorted, sum, tuple)},
    "str": _text,
    "enumerate": lambda sequence, start=0: list(enumerate(sequence, start)),
    "eval": _literal,
    "int": _number,
    "int.from_bytes": int.from_bytes,
    "next": _next,
    "reversed": lambda sequence: list(reversed(sequence)),
    "zip": _zipped,
    "json.dumps": _dumped,
    "json.loads": _loaded,
    "ast.literal_eval": _literal,
    "asyncio.run": lambda value: value,
}
_TEXT = frozenset({
    "casefold", "capitalize", "count", "encode", "endswith", "find", "format", "index", "isalpha", "isdigit",
    "isnumeric", "isspace", "join", "lower", "lstrip", "removeprefix", "removesuffix", "rfind", "rindex", "rstrip",
    "split", "splitlines", "startswith", "strip", "swapcase", "title", "upper",
})  # fmt: skip
_METHODS: Mapping[type, frozenset[str]] = {
    str: _TEXT,
    bytes: frozenset({"decode", "hex"}),
    dict: frozenset({"copy", "get", "items", "keys", "values"}),
    list: frozenset({"copy", "count", "index"}),
    tuple: frozenset({"count", "index"}),
    **dict.fromkeys((set, frozenset), frozenset({"difference", "intersection", "issubset", "issuperset", "union"})),
    int: frozenset({"bit_length"}),
    float: frozenset({"is_integer"}),
}
_CHANGES: Mapping[type, frozenset[str]] = {
    list: frozenset({"append", "extend", "insert", "reverse", "sort"}),
    dict: frozenset({"update"}),
    set: frozenset({"add", "update"}),
}


def binary(kind: ast.operator, left: object, right: object) -> object:
    """What a binary operator gives. Raises Untellable, or what the operator raises."""
    operation = _BINARY.get(type(kind))
    return bounded(_untellable() if operation is None else operation(left, right))


def unary(kind: ast.unaryop, value: object) -> object:
    """What a unary operator gives. Raises Untellable, or what the operator raises."""
    if isinstance(kind, ast.Invert) and isinstance(value, bool):
        raise Untellable  # Python warns of it, and will do without
    return bounded(_UNARY[type(kind)](value))


def compare(kind: ast.cmpop, left: object, right: object) -> bool:
    """What a comparison gives. Raises what it raises."""
    return bool(_COMPARING[type(kind)](left, right))


def knows(name: str) -> bool:
    """Whether `call` can tell what the function of this name gives."""
    return name in _FUNCTIONS


def call(name: str, arguments: Sequence[object], keywords: Mapping[str, object]) -> object:
    """What a function of the standard library gives. Raises Untellable, or what the function raises."""
    function = _FUNCTIONS.get(name)
    if function is None:
        raise Untellable
    return bounded(_whole(function(*arguments, **keywords)))


def method(receiver: object, name: str, arguments: Sequence[object], keywords: Mapping[str, object]) -> object:
    """What a method of a built-in type gives. Raises Untellable, or what the method raises."""
    if name not in _METHODS.get(type(receiver), ()):
        raise Untellable
    if name == "join" and isinstance(receiver, str) and len(receiver) * _size(arguments, _LARGEST) > 16 * _LARGEST:
        raise Untellable
    if name in ("encode", "decode") and not _ENCODINGS.issuperset(map(str, (*arguments, *keywords.values()))):
        raise Untellable
    if name == "format":
        return bounded(_formatted(str(receiver), arguments, keywords))
    return bounded(_whole(getattr(receiver, name)(*arguments, **keywords)))


def changed(receiver: object, name: str, arguments: Sequence[object]) -> object:
    """A copy of a container, changed by one of its methods. Raises Untellable, or what the method raises."""
    if not isinstance(receiver, list | dict | set) or name not in _CHANGES[type(receiver)]:
        raise Untellable
    copy = receiver.copy()
    getattr(copy, name)(*arguments)
    return bounded(copy)


def with_item(container: object, index: object, value: object) -> object:
    """A copy of a container with one item set. Raises Untellable, or what setting it raises."""
    if not isinstance(container, list | dict):
        raise Untellable
    copy = container.copy()
    copy[index] = value  # type: ignore[call-overload]  # what is no index raises TypeError
    return bounded(copy)


def may_change(method: str) -> bool:
    """Whether a method of this name may change what it is called on."""
    return not any(method in pure for pure in _METHODS.values())


def _whole(value: object) -> object:
    """Views of a dict as the list of what they show."""
    return list(value) if isinstance(value, type({}.keys()) | type({}.values()) | type({}.items())) else value
