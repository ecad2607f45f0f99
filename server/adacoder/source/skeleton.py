"""Insert a first version of a docstring: a summary and a `>>>` example without an output.

The summary is the function's name, and the example is a call with sample values. `...` marks values that only the
author knows.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from adacoder.domain import Edit
from adacoder.pytext import dedent, line_ending, normalize, parsed
from adacoder.source.indentation import unit_of

if TYPE_CHECKING:
    from adacoder.pytext import Definition

_VALUES = {"int": "1", "float": "1.5", "str": '"text"', "bytes": 'b"bytes"', "bool": "True", "list": "[]", "dict": "{}"}
"""A sample value for each type."""
_OWNERS = frozenset({"self", "cls"})


def skeleton(definition: Definition) -> Edit:
    """Return the edit that inserts a first version of a docstring into a function that has none."""
    text = definition.text
    header = definition.header_line
    indent = _indent(definition)
    words = definition.name.strip("_").replace("_", " ") or definition.name
    lines = [f'"""{words[:1].upper()}{words[1:]}.', "", f">>> {_call(definition)}", '"""']
    ending = line_ending(text)
    written = "".join(f"{ending}{indent}{line}" if line else ending for line in lines)
    beside = text[definition.header.end : header.code_end].strip(" \t\f")
    if not beside:
        return Edit(header.end, header.end, written)
    start = text.index(beside, definition.header.end)
    return Edit(definition.header.end, start, f"{written}{ending}{indent}")


def _indent(definition: Definition) -> str:
    body = definition.body_lines
    return body[0].indent if body else definition.header_line.indent + unit_of(definition.text)


def _call(definition: Definition) -> str:
    """Return the call for the example. A method is called on a new instance of its class."""
    node = _parsed(definition)
    decorators = {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list} if node else set()
    name, arguments = definition.name, "..." if node is None else ", ".join(_arguments(node.args))
    if not definition.parents:
        call = f"{name}({arguments})"
    else:
        owner = definition.parents[-1].qualname
        if name in ("__init__", "__new__"):
            return f"{owner}({arguments})"
        instance = owner if decorators & {"staticmethod", "classmethod"} else f"{owner}()"
        if decorators & {"property", "cached_property"}:
            return f"{instance}.{name}"
        if "setter" in decorators:
            return f"{instance}.{name} = ..."
        call = f"{instance}.{name}({arguments})"
    return f"asyncio.run({call})" if isinstance(node, ast.AsyncFunctionDef) else call


def _parsed(definition: Definition) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    head = dedent(normalize(definition.text[definition.span.start : definition.header.end]))
    match parsed(f"{head} pass\n"):
        case ast.Module(body=[ast.FunctionDef() | ast.AsyncFunctionDef() as node]):
            return node
        case _:
            return None


def _arguments(parameters: ast.arguments) -> list[str]:
    """Return a sample value for each required parameter."""
    positional = [*parameters.posonlyargs, *parameters.args]
    required = positional[: len(positional) - len(parameters.defaults)]
    if required and required[0].arg in _OWNERS:
        required = required[1:]
    named = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
    return [*map(_value, required), *(f"{each.arg}={_value(each)}" for each, default in named if default is None)]


def _value(parameter: ast.arg) -> str:
    annotation = re.match(r"\w+", ast.unparse(parameter.annotation)) if parameter.annotation else None
    return _VALUES.get(annotation[0], "...") if annotation else "..."
