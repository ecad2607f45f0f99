"""The definitions that a function brings, told apart from what its new module calls by the same names."""

from __future__ import annotations

import ast
import copy
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from adacoder.pytext import normalize, parsed, statements, unmarked
from adacoder.source.body import find_function
from adacoder.source.importing.standard_names import BUILTINS
from adacoder.source.names import OWN
from adacoder.source.scopes import DEFINITIONS, bound, parameters
from adacoder.source.splicing.around import around
from adacoder.source.splicing.rename import with_globals
from adacoder.source.splicing.signature import only_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from adacoder.domain import Candidate, Target
    from adacoder.source.names import Bindings

_TRIES = 9


def with_own_names(target: Target, candidate: Candidate) -> Candidate:
    """`candidate` with new names for the definitions that the target's module, or the target itself as a parameter,
    has something else by the name of, and for those that would hide a builtin.

    What the module has is meant where it is the same, where it is a function with the same parameters or a class as
    the candidate's is (the module around it was shown to whoever wrote the candidate), where it is imported from
    outside the standard library, and where the candidate has but an empty shell.
    """
    if not candidate.definitions:
        return candidate
    module = around(target)
    taken = module.bound.origins.keys() | module.elsewhere | BUILTINS | _hidden(target, candidate)
    existing = _Existing(target, module.bound)
    clashing: set[str] = set()
    for node in (node for text in candidate.definitions for node in _nodes(text)):
        names = bound([node]) - {target.name}
        if any(not existing.means(name, node) for name in names & taken):
            clashing |= names
    for number in range(1, _TRIES) if clashing else ():
        variants = {name: _variant(name, number) for name in sorted(clashing)}
        renamed = _renamed(candidate, variants)
        if renamed is None:
            break
        if all(new not in taken or existing.has_copy(new, renamed.definitions) for new in variants.values()):
            return renamed
    return candidate


def _hidden(target: Target, candidate: Candidate) -> set[str]:
    """The names of the target's parameters that the candidate's function does not have as such."""
    function = find_function(candidate.function, target.name)
    return set() if function is None else only_in(normalize(target.signature), function.header.of(function.text))


def _variant(name: str, number: int) -> str:
    """Another name, private to the module; a second underscore would make it private to a class."""
    private = name if name.startswith("_") else f"_{name}"
    return private if number == 1 and private != name else f"{private}_{number + (private == name)}"


def _renamed(candidate: Candidate, names: Mapping[str, str]) -> Candidate | None:
    function = with_globals(candidate.function, names)
    definitions = [
        with_globals(text, names) if any(name in text for name in names) else text for text in candidate.definitions
    ]
    if function is None or None in definitions:
        return None
    return replace(candidate, function=function, definitions=tuple(text for text in definitions if text is not None))


def _nodes(text: str) -> list[ast.stmt]:
    tree = parsed(text)
    return [] if tree is None else tree.body


class _Existing:
    """What stands at the top level of a target's module, and is not the target."""

    def __init__(self, target: Target, bindings: Bindings) -> None:
        self._target = target
        self._bindings = bindings
        self._found: dict[str, list[ast.stmt]] | None = None

    def means(self, name: str, node: ast.stmt) -> bool:
        """Whether what the module has by `name` is what the definition `node` means."""
        if _is_shell(node):
            return True
        imported = self._bindings.origins.get(name, set()) - {OWN}
        if any(origin.partition(".")[0] not in sys.stdlib_module_names for origin in imported):
            return True
        return any(_is_same(there, node) for there in self._statements().get(name, ()))

    def has_copy(self, name: str, texts: Iterable[str]) -> bool:
        """Whether the module has by `name` what one of the definitions `texts` says, imports in functions apart."""
        nodes = [node for text in texts for node in _nodes(text) if name in bound([node])]
        return any(_bare(there) == _bare(node) for there in self._statements().get(name, ()) for node in nodes)

    def _statements(self) -> Mapping[str, list[ast.stmt]]:
        """The statements under the names that they define."""
        if self._found is None:
            self._found = {}
            text = unmarked(self._target.text)
            tree = parsed(text)
            nodes = [node for span in statements(text) for node in _nodes(span.of(text))] if tree is None else tree.body
            for node in nodes:
                for name in bound([node]):
                    self._found.setdefault(name, []).append(node)
        return self._found


def _bare(node: ast.stmt) -> str:
    """The syntax tree of a definition without the imports that stand in it."""

    class Importless(ast.NodeTransformer):
        def visit_Import(self, _: ast.Import) -> None: ...

        def visit_ImportFrom(self, _: ast.ImportFrom) -> None: ...

    left = Importless().visit(copy.deepcopy(node))
    return "" if left is None else ast.dump(left)


def _is_same(there: ast.stmt, node: ast.stmt) -> bool:
    if isinstance(there, DEFINITIONS) and isinstance(node, DEFINITIONS):
        return [arg.arg for arg in parameters(there.args)] == [arg.arg for arg in parameters(node.args)]
    if isinstance(there, ast.ClassDef) and isinstance(node, ast.ClassDef):
        return True
    if isinstance(there, ast.Assign | ast.AnnAssign) and isinstance(node, ast.Assign | ast.AnnAssign):
        return _value(there) == _value(node)
    return _bare(there) == _bare(node)


def _value(node: ast.Assign | ast.AnnAssign) -> str:
    return "" if node.value is None else ast.dump(node.value)


def _is_shell(node: ast.stmt) -> bool:
    """Whether a function or class has nothing in it but a docstring, `pass` or `...`."""
    if not isinstance(node, (*DEFINITIONS, ast.ClassDef)):
        return False
    return all(
        isinstance(each, ast.Pass) or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in node.body
    )
