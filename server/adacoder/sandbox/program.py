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
    """A module with a candidate in place, and the settings of its evaluation."""

    module: Module
    text: str
    """The module's text, with the candidate in place."""
    qualname: str
    """The target's qualified name, as in `Target.qualname`."""
    first_line: int
    """First line of the candidate's function in `text`, including decorators, counted from 1."""
    last_line: int
    """Last line of the candidate's function."""
    suspects: tuple[str, ...] = ()
    """Names in the candidate that look undefined. Only the imported module shows which names are really undefined."""
    overlays: Mapping[Path, str] = field(default_factory=dict)
    """Texts of open files and of the module, by path. These texts replace the files on disk."""
    is_withheld: bool = False
    """True if the wanted outputs are removed from `text`. The module's file is then hidden, because it contains the
    outputs.
    """
    by_line: bool = False
    """True to observe which lines and branches of the target each example reaches."""
    options: int = 0
    """Doctest's flags that are on for all examples, combined with `|`."""
    setup: tuple[str, ...] = ()
    """Statements that run before the examples."""
    observed: bool = False
    """True if outputs are only recorded, not judged. All examples are then sent at once, so code can read later
    examples.
    """
    traced: bool = False
    """True to trace the last example. `by_line` is then ignored."""
    tests: tuple[str, ...] = ()
    """Tests or test files of the project that run after the examples, named as in pytest."""
    by_function: bool = False
    """True to observe which functions of the project each test runs. Otherwise, only the target is observed."""
    explained: bool = False
    """True to let pytest explain failed assertions. This takes longer, because pytest rewrites the test files."""
    document: Path | None = None
    """The file that contains the examples, if pytest's fixtures add names to the examples. Otherwise None."""
    all_count: bool = False
    """True if every example must match, as in doctest. Otherwise, examples that do not run the target do not count.

    If True, no statements are left out, so a syntax error anywhere in `text` fails the evaluation.
    """
    is_unchanged: bool = False
    """True if `text` contains no candidate. An example that does not run the target may then replace `sys.displayhook`
    for later examples.
    """
