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
    """First line of the candidate's function in `text`, 1-based, including decorators."""
    last_line: int
    """Last line of the candidate's function."""
    suspects: tuple[str, ...] = ()
    """Names in the candidate that look undefined. Only the imported module shows whether they are."""
    overlays: Mapping[Path, str] = field(default_factory=dict)
    """Texts to run instead of files, by path: the texts of open files, and the text of the module itself."""
    is_withheld: bool = False
    """True if wanted outputs are removed from `text`, so that the file must be hidden too."""
    by_line: bool = False
    """True to observe which lines and branches of the target each example reaches."""
    traced: bool = False
    """True to trace the last example. `by_line` is then ignored."""
    all_count: bool = False
    """True if every example must match, as in doctest, including examples that do not run the target. In that case, a
    syntax error anywhere in `text` fails the evaluation, because no statement is left out.
    """
