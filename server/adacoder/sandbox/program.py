"""The program that an evaluation runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from adacoder.domain import Module


@dataclass(frozen=True, slots=True)
class Program:
    """A module with a candidate in place."""

    module: Module
    text: str
    """Full current text of the module, with the candidate in place."""
    qualname: str
    """The target's qualified name, as in `Target.qualname`."""
    first_line: int
    """First line of the candidate's function in `text`, counted from 1. Decorators belong to the function."""
    last_line: int
    """Last line of the candidate's function."""
    suspects: tuple[str, ...] = ()
    """Names in the candidate that look undefined. Only the imported module shows whether they really are."""
    overlays: Mapping[Path, str] = field(default_factory=dict)
    """Texts that replace those of files, by path: the texts of open files, and the text of the module itself."""
    is_withheld: bool = False
    """True if wanted outputs are removed from `text`. The file must then be hidden, because it still has them."""
    by_line: bool = False
    """True if the lines and branches of the target that each example reaches are observed."""
    traced: bool = False
    """True if the last example is traced. In that case `by_line` is ignored."""
    all_count: bool = False
    """True if every example must match, as in doctest, even if it does not run the target. In that case, no statement
    is left out, so a syntax error anywhere in `text` fails the evaluation.
    """
