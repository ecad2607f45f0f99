"""What the names of a target's module mean without the target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from adacoder.source.importing.exports import may_come_from, surely_exported
from adacoder.source.importing.standard_names import BUILTINS
from adacoder.source.names import bindings, used_names, without

if TYPE_CHECKING:
    from adacoder.domain import Target
    from adacoder.source.names import Bindings


@dataclass(frozen=True, slots=True)
class Around:
    """What the names of a target's module mean without the target."""

    bound: Bindings
    elsewhere: frozenset[str]
    """Names used outside the target that the module does not bind: builtins, or what `import *` gives."""

    def takes(self, name: str) -> bool:
        """Whether a new binding of `name` in the module would change what it means there."""
        return name in self.bound.origins or name in self.elsewhere

    def has_from_star(self, origin: str) -> bool:
        """Whether the module has the name of this dotted path from its only `import *`, as far as is known."""
        module, _, name = origin.rpartition(".")
        if self.bound.stars != {module} or name in self.bound.origins:
            return False
        return name in (surely_exported(module) or ())

    def may_hide(self, name: str, module: str) -> bool:
        """Whether an `import *` from another module than `module` may give `name` another meaning."""
        return may_come_from(name, self.bound.stars - {module})


@lru_cache(maxsize=8)
def around(target: Target) -> Around:
    """What the module of `target` is without it."""
    bound = bindings(target.text, target.module)
    used = used_names(without(target.text, target.definition, target.indent)) - bound.origins.keys()
    return Around(bound, used if bound.stars else used & BUILTINS)
