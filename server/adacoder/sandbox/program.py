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
    """A module with a candidate in place, and the way to evaluate it."""

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
    """Texts to use instead of the texts on disk, by path: the texts of open files, and of the module itself."""
    is_withheld: bool = False
    """True if `text` is without the wanted outputs. The file must then be hidden, because it still has them."""
    by_line: bool = False
    """True to observe which lines and branches of the target each example reaches."""
    options: int = 0
    """Flags of doctest's options that are on for all examples, combined with `|`."""
    setup: tuple[str, ...] = ()
    """Statements that run before the examples, in their names."""
    observed: bool = False
    """True if the outputs are only observed, so code may read the examples that follow: they are sent all at once."""
    traced: bool = False
    """True to trace the last example. In that case `by_line` is ignored."""
    tests: tuple[str, ...] = ()
    """Tests of the project to run after the examples, or files with tests. They have the names that pytest gives them.
    """
    by_function: bool = False
    """True to observe which functions of the project each test runs, instead of only the target."""
    explained: bool = False
    """True to let pytest explain failed assertions. It must then rewrite the test files first, which takes time."""
    document: Path | None = None
    """The file of the examples if fixtures of pytest add names to them; else None."""
    all_count: bool = False
    """True if every example must match, as in doctest, even if it does not run the target.

    In that case, statements with syntax errors are not left out, so such an error anywhere in `text` fails the
    evaluation.
    """
