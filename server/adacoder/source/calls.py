"""Check calls of a function, and their results, against the function's signature."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from adacoder.domain import Target
from adacoder.pytext import parsed

Arguments: TypeAlias = "tuple[tuple[str | None, ast.expr], ...]"
"""The arguments of a call: pairs of a keyword and a value. The keyword of a positional argument is None."""

_SEQUENCES = (list, tuple, str, bytes)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "bytes": (bytes,),
    "list": (list,),
    "tuple": (tuple,),
    "dict": (dict,),
    "set": (set,),
    "mapping": (dict,),
    "sequence": _SEQUENCES,
    "iterable": (*_SEQUENCES, dict, set),
    "collection": (*_SEQUENCES, dict, set),
    # A literal is never an iterator, a generator or an awaitable.
    **dict.fromkeys(("iterator", "generator", "asynciterator", "asyncgenerator", "coroutine", "awaitable"), ()),
}
"""For each lower-case name of an annotation, the types of literals that fit the annotation.

An annotation that is missing here fits any literal.
"""


@dataclass(frozen=True, slots=True)
class Calls:
    """The name and the parameters of a function, as callers see them."""

    name: str
    """The name that callers in the module use, such as `Class.method`."""
    signature: inspect.Signature | None
    """The function's parameters; None if unknown. Annotations are syntax trees."""

    @classmethod
    def of(cls, target: Target) -> Calls | None:
        """Return the name and parameters of `target`; None if a plain call does not give the function's result.

        For example, a method needs an instance, and a coroutine function needs `await`.
        """
        if not target.signature.startswith("def") or re.search(r"^[^#\n]*\byield\b", target.body.of(target.text), re.M):
            return None
        definition = _definition(target)
        decorators = [] if definition is None else [getattr(each, "id", "") for each in definition.decorator_list]
        if target.in_class and decorators not in (["staticmethod"], ["classmethod"]):
            return None
        if definition is None or (decorators and not target.in_class):
            return cls(target.qualname, None)  # A decorator may change the function's parameters.
        return cls(target.qualname, _signature(definition, is_bound=decorators == ["classmethod"]))

    def takes(self, arguments: Arguments) -> bool:
        """Return whether a call with these `arguments` may succeed."""
        if self.signature is None:
            return True
        by_position = [value for name, value in arguments if name is None]
        by_name = {name: value for name, value in arguments if name is not None}
        try:
            bound = self.signature.bind(*by_position, **by_name).arguments
        except TypeError:
            return False
        single = {name: value for name, value in bound.items() if isinstance(value, ast.expr)}
        return all(_allows(self.signature.parameters[name].annotation, value) for name, value in single.items())

    def gives(self, result: ast.expr) -> bool:
        """Return whether the function may return the literal `result`, according to its return annotation."""
        return self.signature is None or _allows(self.signature.return_annotation, result)

    @property
    def required(self) -> tuple[str, ...]:
        """The required parameters, in order; empty if unknown."""
        if self.signature is None:
            return ()
        variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        every = self.signature.parameters.values()
        return tuple(each.name for each in every if each.kind not in variable and each.default is each.empty)


def _definition(target: Target) -> ast.FunctionDef | None:
    before = target.text[target.definition.start : target.header.start]
    decorators = "".join(line.lstrip() for line in before.splitlines(keepends=True))
    tree = parsed(f"{decorators}{target.signature} pass\n")
    match tree:
        case ast.Module(body=[ast.FunctionDef() as definition]):
            return definition
        case _:
            return None


def _signature(definition: ast.FunctionDef, *, is_bound: bool) -> inspect.Signature | None:
    parameters = _parameters(definition.args)[is_bound:]
    returns = inspect.Signature.empty if definition.returns is None else definition.returns
    try:
        return inspect.Signature(parameters, return_annotation=returns)
    except ValueError:
        return None


def _parameters(arguments: ast.arguments) -> list[inspect.Parameter]:
    kinds = inspect.Parameter
    found = [
        *((each, kinds.POSITIONAL_ONLY) for each in arguments.posonlyargs),
        *((each, kinds.POSITIONAL_OR_KEYWORD) for each in arguments.args),
        *((each, kinds.VAR_POSITIONAL) for each in [arguments.vararg] if each),
        *((each, kinds.KEYWORD_ONLY) for each in arguments.kwonlyargs),
        *((each, kinds.VAR_KEYWORD) for each in [arguments.kwarg] if each),
    ]
    positional = [*arguments.posonlyargs, *arguments.args]
    optional = {each.arg for each in positional[len(positional) - len(arguments.defaults) :]} | {
        each.arg for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default
    }
    return [
        inspect.Parameter(
            each.arg,
            kind,
            default=... if each.arg in optional else kinds.empty,
            annotation=each.annotation or kinds.empty,
        )
        for each, kind in found
    ]


def _allows(annotation: object, literal: ast.expr) -> bool:
    inner = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    name = inner.attr if isinstance(inner, ast.Attribute) else inner.id if isinstance(inner, ast.Name) else ""
    types = _TYPES.get(name.lower())
    try:
        return types is None or isinstance(ast.literal_eval(literal), types)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return True
