"""What operations on values give, with where that comes from."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from adacoder.source.following import folding
from adacoder.source.following.folding import Made, Untellable
from adacoder.source.following.frames import NOT_BUILT_IN, Arguments, Frame, Raised, told
from adacoder.source.following.provenance import (
    COMPUTED,
    NOTHING,
    UNKNOWN,
    Comparisons,
    Kind,
    Value,
    brief,
    constant,
    together,
)
from adacoder.source.following.steps import Steps

PARTS_A_STEP = 8
"""How many parts of values are gone through in a step."""
_FORMS = frozenset({
    "ascii", "asyncio.run", "casefold", "copy", "decode", "dict", "encode", "enumerate", "float", "format",
    "frozenset", "hash", "int", "items", "join", "json.dumps", "json.loads", "keys", "list", "lower", "next", "repr",
    "reversed", "set", "sorted", "split", "str", "strip", "title", "tuple", "upper", "values", "zip",
})  # fmt: skip
"""What gives something that tells about as much as what it was made from."""
_MEASURES = frozenset({"abs", "len", "max", "min", "sum"})
"""What gives something that inputs of all sorts share."""
_SEARCHES = frozenset({"index", "find", "rindex", "rfind"})
_GETTERS = frozenset({"get", "pop", "setdefault"})
_EQUALITY = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
_ORDINARY = (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError)
"""What operations on values of built-in types raise."""
_KEEPING_OPERATORS = (ast.Add, ast.Sub, ast.Mult)


class Operations:
    """Tells what operations give."""

    def __init__(self, steps: Steps, comparisons: Comparisons) -> None:
        self.steps = steps
        self.comparisons = comparisons

    def holds(self, test: Value, frame: Frame) -> bool | None:
        """Whether a test holds; None if that cannot be told. Notes in `frame` what was tested."""
        if test.kind is not Kind.CONSTANT:
            frame.tested = True
        if not told(test):
            return None
        frame.keys |= test.keys
        return bool(test.data)

    def item(self, container: Value, index: Value) -> Value:
        """`container[index]`."""
        keys = container.keys | index.keys
        if container.constant and index.kind is Kind.OWN:
            found = self.comparisons.look_up(container, _counted(container, index))
            if found is None:
                raise Raised("KeyError" if isinstance(container.data, dict) else "IndexError")
            return found
        if container.kind is Kind.OWN and index.constant:
            return self._piece(container, index)
        if container.kind is not Kind.CONSTANT or not container.known or not index.known:
            return Value(Kind.COMPUTED, UNKNOWN, keys)
        data = self.tried(_get_item, container.data, index.data)
        return Value(max(container.kind, index.kind), folding.bounded(data), keys)

    def binary(self, operator: ast.operator, left: Value, right: Value) -> Value:
        """What a binary operator gives."""
        both = [left, right]
        data: object = UNKNOWN
        if Arguments(both).are_told:
            data = self.tried(folding.binary, operator, left.data, right.data)
        made = together(both, data, type(operator).__name__)
        if made.kind is not Kind.OWN:
            return made
        mixes = isinstance(data, int | float) and left.kind is right.kind
        is_format = isinstance(operator, ast.Mod) and isinstance(left.data, str)
        if not (isinstance(operator, _KEEPING_OPERATORS) or is_format):
            return Value(Kind.COMPUTED, data, made.keys)
        fixed = next((f" {value.data!r}" for value in both if value.constant), "")
        return replace(made, of=brief(made.of + fixed), is_part=made.is_part or mixes)

    def unary(self, operator: ast.unaryop, value: Value) -> Value:
        """What a unary operator gives; whether a number is none is a comparison with 0."""
        if isinstance(operator, ast.Not) and value.kind is Kind.OWN and isinstance(value.data, int | float):
            return self.compared(ast.Eq(), value, constant(0))
        data: object = UNKNOWN
        if Arguments([value]).are_told:
            data = self.tried(folding.unary, operator, value.data)
        if value.kind is Kind.OWN and not isinstance(operator, ast.USub):
            return Value(Kind.COMPUTED, data, value.keys)
        return together([value], data, "-")

    def compared(self, operator: ast.cmpop, left: Value, right: Value) -> Value:
        """What a comparison of two values gives.

        Raises:
            Raised: they cannot be compared so.
        """
        both = (left, right)
        if not all(_comparable(value, operator) for value in both):
            kind = Kind.CONSTANT if max(left.kind, right.kind) is Kind.CONSTANT else Kind.COMPUTED
            return Value(kind, UNKNOWN, left.keys | right.keys)
        try:
            return self.comparisons.compare(operator, left, right)
        except _ORDINARY as error:
            raise Raised(type(error).__name__) from None

    def _piece(self, container: Value, index: Value) -> Value:
        """A part of the input."""
        place = f"[{index.data!r}]"
        if not container.known or isinstance(container.data, NOT_BUILT_IN):
            return container.part(UNKNOWN, 1.0, place)
        data = self.tried(_get_item, container.data, index.data)
        whole = len(container.data) if isinstance(container.data, str | list | tuple | dict) else 1
        size = len(data) if isinstance(index.data, slice) and isinstance(data, str | list | tuple) else 1
        piece = container.part(data, size / whole if whole else 1.0, place)
        return replace(piece, is_part=container.is_part or size < whole)

    def elements(self, sequence: Value) -> list[Value]:
        """What iterating over a value gives.

        Raises:
            Untellable: it cannot be told.
            Raised: it cannot be iterated over.
        """
        if not sequence.known or isinstance(sequence.data, NOT_BUILT_IN):
            raise Untellable
        parts = list(self.tried(tuple, sequence.data))  # type: ignore[call-overload]  # a tuple, told as an object
        self.steps.take(len(parts) // PARTS_A_STEP)
        if sequence.kind is not Kind.OWN:
            return [replace(sequence, data=part) for part in parts]
        return [sequence.part(part, 1 / len(parts), f"[{at}]") for at, part in enumerate(parts)]

    def folded(self, name: str, arguments: Arguments) -> Value:
        """What a function of the standard library gives that is known for what it does."""
        data: object = UNKNOWN
        if arguments.are_told:
            data = self.tried(folding.call, name, arguments.data, arguments.keyword_data)
        return _formed(name, arguments.values, data)

    def method(self, owner: Value, name: str, arguments: Arguments) -> Value:
        """What a method of a built-in type gives."""
        first = arguments.positional[0] if arguments.positional else NOTHING
        if owner.constant and first.kind is Kind.OWN and name in _GETTERS | _SEARCHES:
            return self._sought(owner, name, arguments)
        if owner.kind is Kind.OWN and first.constant and name in ("startswith", "endswith"):
            return self.comparisons.starts(name, owner, first)
        data: object = UNKNOWN
        if arguments.are_told and told(owner):
            data = self.tried(folding.method, owner.data, name, arguments.data, arguments.keyword_data)
        elif owner.kind is Kind.CONSTANT:
            return COMPUTED
        return _formed(name, [owner, *arguments.values], data)

    def _sought(self, owner: Value, name: str, arguments: Arguments) -> Value:
        """What a constant gives for something that comes from the input."""
        wanted, *rest = arguments.positional
        if name in _SEARCHES:
            at = self.comparisons.index(owner, wanted)
            if at is not None:
                return at
            if "index" in name:
                raise Raised("ValueError")
            return constant(-1)
        if not isinstance(owner.data, dict):
            raise Untellable
        found = self.comparisons.look_up(owner, wanted)
        if found is not None:
            return found
        if name == "pop" and not rest:
            raise Raised("KeyError")
        return rest[0] if rest else NOTHING

    def tried(self, operation: Callable[..., object], *arguments: object) -> object:
        """What an operation on known values gives.

        Raises:
            Untellable: that cannot be told.
            Raised: it raises.
        """
        self.steps.take(folding.parts(arguments) // PARTS_A_STEP)
        try:
            return operation(*arguments)
        except _ORDINARY as error:
            raise Raised(type(error).__name__) from None


def _get_item(container: object, index: object) -> object:
    return container[index]  # type: ignore[index]  # what has no items raises TypeError


def _comparable(value: Value, operator: ast.cmpop) -> bool:
    """Whether what is known of a value is enough to compare it so."""
    if isinstance(value.data, Made):
        return isinstance(operator, _EQUALITY)
    return told(value) or (value.kind is Kind.OWN and not value.known)


def _counted(container: Value, index: Value) -> Value:
    """An index into a sequence, counted from its beginning."""
    if isinstance(container.data, list | tuple | str) and isinstance(index.data, int) and index.data < 0:
        return replace(index, data=index.data + len(container.data))
    return index


def _formed(name: str, values: Sequence[Value], data: object) -> Value:
    """What a function that is known for what it does makes of `values`."""
    short = name.rpartition(".")[2]
    made = together(values, data, name, is_part=short in _MEASURES)
    if made.kind is Kind.OWN and not {name, short} & (_FORMS | _MEASURES):
        return Value(Kind.COMPUTED, data, made.keys)
    return made
