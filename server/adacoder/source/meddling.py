"""Detect code of a candidate that could make a failing test pass.

A test compares values in the process in which the candidate runs. So a candidate could make every test pass, for
example by an object that equals everything.

The list of names is short, because a false alarm discards valid evidence. Of 7,037 recorded replies, 30 use a listed
name, and 25 of these use `eval`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from adacoder.domain import Candidate
from adacoder.pytext import parsed

_MODULES = frozenset(
    {
        *("_pytest", "builtins", "ctypes", "doctest", "gc", "hypothesis", "importlib", "inspect", "linecache", "mock"),
        *("pluggy", "pytest", "sys", "traceback", "unittest"),
    }
)
"""Modules with which code can change the interpreter or the tests."""
_BUILTINS = frozenset(
    {"__import__", "__builtins__", "compile", "delattr", "eval", "exec", "globals", "locals", "setattr", "vars"}
)
_ATTRIBUTES = frozenset(
    {
        *("__builtins__", "__code__", "__closure__", "__dict__", "__globals__", "__loader__", "__subclasses__"),
        *("__traceback__", "cr_frame", "f_back", "f_globals", "f_locals", "gi_frame", "tb_frame"),
    }
)
_HARMLESS = frozenset(
    {
        *("__init__", "__new__", "__repr__", "__str__", "__iter__", "__next__", "__aiter__", "__anext__", "__call__"),
        *("__enter__", "__exit__", "__aenter__", "__aexit__", "__await__", "__name__", "__doc__", "__main__"),
    }
)
"""Special names that are allowed. Other special methods could fake a comparison."""
_SPECIAL = re.compile(r"__\w+__")


def meddling(candidate: Candidate) -> str | None:
    """Return the first listed name in a candidate; None if there is none."""
    tree = parsed(candidate.text)
    return "its syntax" if tree is None else next(_names(tree), None)


def _names(tree: ast.Module) -> Iterator[str]:
    imported: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name.partition(".")[0] in _MODULES)
                imported |= {(each.asname or each.name).partition(".")[0] for each in names}
            case ast.ImportFrom(module=str(module), names=names):
                if module.partition(".")[0] in _MODULES:
                    yield module
                imported |= {each.asname or each.name for each in names}
            case ast.Name(id=name, ctx=ctx):
                if name in _BUILTINS or name in _MODULES or (isinstance(ctx, ast.Store) and _is_special(name)):
                    yield name
            case ast.Attribute(attr=name) if name in _ATTRIBUTES or name in _MODULES:
                yield name
            case ast.Constant(value=str(name)) if name in _ATTRIBUTES or name in _MODULES or _is_special(name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if _is_special(name) and node not in tree.body:
                    yield name
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()) if name in imported:
                yield f"{name}.{node.attr}"


def _is_special(name: str) -> bool:
    return name not in _HARMLESS and _SPECIAL.fullmatch(name) is not None
