"""Whether code can use what another module of the project defines as it means to."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from adacoder.pytext import parsed

if TYPE_CHECKING:
    from adacoder.source.importing.usage import Call, Usage


def is_safe_to_import(text: str) -> bool:
    """Whether the module `text` only defines things, and is no script that calls them when it is imported."""
    tree = parsed(text)
    return tree is not None and not any(
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) for statement in tree.body
    )


def fits(text: str, name: str, usage: Usage | None) -> bool:
    """Whether what the module `text` defines as `name`, a class, a function or a constant, can be used so.

    A function fits only where the code shows how it calls it, a variable that is no constant never.
    """
    tree = parsed(text)
    for statement in tree.body if tree is not None else ():
        match statement:
            case ast.ClassDef(name=defined) if defined == name:
                return usage is None or not usage.is_computed_with
            case ast.FunctionDef(args=parameters) | ast.AsyncFunctionDef(args=parameters) if statement.name == name:
                return _fits_function(parameters, usage)
    return name.isupper() and (usage is None or not usage.calls)


def _fits_function(parameters: ast.arguments, usage: Usage | None) -> bool:
    if usage is None or usage.is_data or usage.paths or not usage.calls:
        return False
    return all(_takes(parameters, call) for call in usage.calls)


def _takes(parameters: ast.arguments, call: Call) -> bool:
    """Whether a function with such parameters can be called so."""
    positional = [*parameters.posonlyargs, *parameters.args]
    names = {parameter.arg for parameter in (*parameters.args, *parameters.kwonlyargs)}
    with_default = len(positional) - len(parameters.defaults)
    required = {parameter.arg for parameter in positional[call.positional : with_default]}
    only_by_name = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
    required |= {parameter.arg for parameter, default in only_by_name if default is None}
    return (
        (call.positional <= len(positional) or parameters.vararg is not None)
        and (call.keywords <= names or parameters.kwarg is not None)
        and (call.is_open or required <= call.keywords)
    )
