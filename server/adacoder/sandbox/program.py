"""What is to be run."""

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
    """The whole current text of the module, with the candidate in place."""
    qualname: str
    """The target, as `Target.qualname`."""
    first_line: int
    """1-based line of `text` where the candidate's function begins, decorators included."""
    last_line: int
    """1-based line where it ends, inclusive."""
    suspects: tuple[str, ...] = ()
    """Names the candidate uses that look undefined; only the imported module shows which of them are."""
    overlays: Mapping[Path, str] = field(default_factory=dict)
    """Whole texts of other files of the project that are open and not saved, by path."""
    is_withheld: bool = False
    """Whether `text` lacks what its file may show of the wanted outputs, so that the file must not be seen either."""
    by_line: bool = False
    """Whether it is to be told which lines and branches of the target each example reaches."""
    traced: bool = False
    """Whether it is to be told what the last example executes of the target; `by_line` has no say then."""
    all_count: bool = False
    """Whether every example must match, as in doctest, and not only those that run the target."""
