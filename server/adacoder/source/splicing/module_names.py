"""The names that a module uses and binds outside the target."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from adacoder.pytext import parsed, statements, unmarked
from adacoder.source.importing.exports import may_come_from, surely_exported
from adacoder.source.importing.standard_names import BUILTINS
from adacoder.source.names import OWN, bindings, used_names, without
from adacoder.source.scopes import DEFINITIONS, bound, parameters

if TYPE_CHECKING:
    from adacoder.domain import Target
    from adacoder.source.names import Bindings


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """The names that a module uses and binds outside the target."""

    text: str
    bound: Bindings
    elsewhere: frozenset[str]
    """Names that the module uses outside the target and does not define: builtins, or names from `import *`."""
    _statements: dict[str, list[ast.stmt]] = field(default_factory=dict)

    def takes(self, name: str) -> bool:
        """Return whether the module already binds or uses `name`, so that a new definition would mask another."""
        return name in self.bound.origins or name in self.elsewhere

    def has_same(self, name: str, node: ast.stmt) -> bool:
        """Return whether the module's own `name` can be used instead of the candidate's definition `node`.

        The model saw the module, so it probably repeated the definition. Classes need the same name for this, and
        functions also need the same parameters. If `node` has an empty body, the module's own name is used.
        """
        if name not in bound([node]):
            return False
        imported = self.bound.origins.get(name, set()) - {OWN}
        if _is_shell(node) or any(each.partition(".")[0] not in sys.stdlib_module_names for each in imported):
            return True
        try:
            return any(_is_same(there, node) for there in self._definitions().get(name, ()))
        except RecursionError:  # `ast.dump` may recurse deeper than the parser.
            return False

    def _definitions(self) -> dict[str, list[ast.stmt]]:
        if not self._statements:
            for span in statements(self.text):
                tree = parsed(span.of(self.text))
                for node in () if tree is None else tree.body:
                    for name in bound([node]):
                        self._statements.setdefault(name, []).append(node)
        return self._statements

    def has_from_star(self, origin: str) -> bool:
        """Return whether the module's `import *` provides the object with the dotted path `origin`.

        The result is False if there are several `import *`, because any of them could rebind the name.
        """
        module, _, name = origin.rpartition(".")
        if self.bound.stars != {module} or name in self.bound.origins:
            return False
        return name in (surely_exported(module) or ())

    def may_hide(self, name: str, module: str) -> bool:
        """Return whether an `import *` may rebind `name`. An `import *` from `module` is ignored."""
        return may_come_from(name, self.bound.stars - {module})


@lru_cache(maxsize=8)
def module_names(target: Target) -> ModuleNames:
    """Return the names that the module of `target` uses and binds."""
    found = bindings(target.text, target.module)
    used = used_names(without(target.text, target.definition, target.indent)) - found.origins.keys()
    return ModuleNames(unmarked(target.text), found, used if found.stars else used & BUILTINS)


def _is_same(there: ast.stmt, node: ast.stmt) -> bool:
    match there, node:
        case (ast.FunctionDef() | ast.AsyncFunctionDef(), ast.FunctionDef() | ast.AsyncFunctionDef()):
            return [arg.arg for arg in parameters(there.args)] == [arg.arg for arg in parameters(node.args)]
        case (ast.Assign() | ast.AnnAssign(), ast.Assign() | ast.AnnAssign()) if there.value and node.value:
            return ast.dump(there.value) == ast.dump(node.value)
        case ast.ClassDef(), ast.ClassDef():
            return True
    return ast.dump(there) == ast.dump(node)


def _is_shell(node: ast.stmt) -> bool:
    """Return whether the body of a function or class is only a docstring, `pass` or `...`."""
    return isinstance(node, (*DEFINITIONS, ast.ClassDef)) and all(
        isinstance(each, ast.Pass) or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in node.body
    )
