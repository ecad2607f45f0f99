"""Metadata of settings, and the types of values that settings can have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_DURATION = re.compile(r"[+-]?(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+|[+-]?\d+(?:\.\d+)?")
_MOST_MODELS = 20
_MOST_PATTERNS = 500
_LONGEST_PATTERN = 255
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_TOO_LATE = ("PYTHON", "LD_", "DYLD_", "GLIBC_", "MALLOC_")
"""Prefixes of variables that a program reads when it starts.

Python has already started when the setting `env` is applied, so these variables would have no effect. `PYTHONPATH`
works, because the sandbox reads it.
"""
_OF_SANDBOX = frozenset({"HOME", "TMPDIR"})
"""Variables that the sandbox sets for each run."""
_MOST_VARIABLES = 100
_LONGEST_VALUE = 10_000
_NO_VALUE = re.compile(r"[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Values:
    """A type of value that a setting can have, such as a number in a range."""

    read: Callable[[object], object]
    """Converts a value from JSON, TOML or the command line to the field's type. If the value is invalid, it raises
    TypeError, ValueError or RuntimeError with a clause such as "it must be a string".
    """
    type: type[bool | int | float | str | dict[str, str]] = str
    """Type of the value, or of each item of a list, in JSON and TOML."""
    bounds: tuple[float, float] | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    """The allowed words, each with its meaning; empty if any text is allowed."""
    is_list: bool = False
    """True if several values are allowed. A single value may be given without a list."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Metadata of a setting, except the name and the default, which are those of the field of Settings."""

    values: Values
    about: str
    """The description, in Markdown."""
    unset: str
    """Description of a default that users cannot write, such as None. If there is a description, an empty value means
    the default.
    """
    key: str
    """Key in section `adacoder`; empty for the field's name in camel case."""
    option: str | None
    """Placeholder for the value in the command line's help, such as `N`; None if there is no option."""
    by_project: Callable[[object], bool] | bool
    """True if a project may set this setting, or a function that decides by the value.

    A project must not choose where code runs, which data leaves the machine, or which file is read.
    """
    is_offered: bool
    """False if editors do not offer the setting."""
    adds_up: bool
    """True if values from several sources are added up. False if a later value replaces earlier ones."""

    def is_for_project(self, value: object) -> bool:
        """Return True if a project may set this value."""
        return self.by_project(value) if callable(self.by_project) else self.by_project


def setting(
    default: T,
    values: Values,
    about: str,
    *,
    unset: str = "",
    key: str = "",
    option: str | None = None,
    by_project: Callable[[object], bool] | bool = True,
    is_offered: bool = True,
    adds_up: bool = False,
) -> T:
    """Return a dataclass field for Settings, with its Setting as metadata."""
    defined = Setting(values, about, unset, key, option, by_project, is_offered, adds_up)
    return field(default=default, metadata={"setting": defined})


def number(low: float, high: float, *, is_whole: bool = False) -> Values:
    """Accept numbers from `low` to `high`."""
    kinds, name = ((int,), "whole number") if is_whole else ((int, float), "number")

    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
            raise ValueError(f"it must be a {name} from {low} to {high}")
        return value

    return Values(read, kinds[-1], (low, high))


def one_of(words: type[StrEnum], *meanings: str) -> Values:
    """Accept one of `words`. `meanings` describes them in the same order."""

    def read(value: object) -> StrEnum:
        try:
            return words(_text(value))
        except ValueError:
            raise ValueError(f"it must be one of {', '.join(words)}") from None

    return Values(read, words=dict(zip(map(str, words), meanings, strict=True)))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("it must be a string")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("it must be true or false")
    return value


def _path(value: object) -> Path:
    return Path(_text(value)).expanduser()


def _duration(value: object) -> str:
    text = str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    if not _DURATION.fullmatch(text):
        raise ValueError("it must be a duration such as 10m, 1h30m or 90s, 0 or -1 (for ever)")
    return text if text[-1].isalpha() else f"{text}s"


def _models(value: object) -> tuple[str, ...]:
    names = _listed(value)
    if not all(isinstance(name, str) and name for name in names) or len(names) > _MOST_MODELS:
        raise TypeError("it must be the name of a model, or a list of names")
    return tuple(map(str, names))


def _patterns(value: object) -> tuple[str, ...]:
    patterns = _listed(value)
    if len(patterns) > _MOST_PATTERNS:
        raise ValueError(f"it must be at most {_MOST_PATTERNS} names")
    if not all(isinstance(each, str) and each.strip("/ ") and len(each) <= _LONGEST_PATTERN for each in patterns):
        raise TypeError("it must be a name, a path in the workspace, or a list of them; * matches any characters")
    return tuple(map(str, patterns))


def _options(value: object) -> tuple[str, ...]:
    if not all(isinstance(each, str) for each in _listed(value)):
        raise TypeError("it must be names of doctest's options, such as ELLIPSIS")
    from adacoder.directives import flags_of  # a slow import that other settings do not need

    names = [name for each in _listed(value) for name in str(each).replace(",", " ").split()]
    flags_of(names)
    return tuple(names)


def variables(value: object) -> tuple[str, ...]:
    """Convert a setting's value to items of the form NAME=VALUE.

    Raises:
        TypeError, ValueError: an item is invalid, or there are too many.
    """
    if isinstance(value, Mapping):
        if not all(isinstance(text, str) for text in value.values()):
            raise TypeError("the value of a variable must be a string")
        value = [f"{name}={text}" for name, text in value.items()]
    if len(given := _listed(value)) > _MOST_VARIABLES:
        raise ValueError(f"it must be at most {_MOST_VARIABLES} variables")
    return tuple(map(_variable, given))


def _variable(value: object) -> str:
    name, _, text = value.partition("=") if isinstance(value, str) and "=" in value else ("", "", "")
    if not _VARIABLE.fullmatch(name):
        raise ValueError("each must be a NAME=VALUE; a name has only letters, digits and underscores")
    if (name.startswith(_TOO_LATE) and name != "PYTHONPATH") or name in _OF_SANDBOX:
        why = "the sandbox sets it" if name in _OF_SANDBOX else "a program reads it only when it starts"
        raise ValueError(f"{name} would have no effect, because {why}; remove it")
    if len(text) > _LONGEST_VALUE or _NO_VALUE.search(text):
        raise ValueError(f"a value must be text of at most {_LONGEST_VALUE:,} characters")
    return f"{name}={text}"


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else [value]


TEXT = Values(_text)
LONG_TEXT = Values(_text)
FLAG = Values(_flag, bool)
PATH = Values(_path)
"""A path. `~` is the user's home."""
DURATION = Values(_duration)
"""A duration in Go's notation, such as `5m`, or a number of seconds."""
MODELS = Values(_models, is_list=True)
OPTIONS = Values(_options, is_list=True)
"""Names of doctest's options."""
VARIABLES = Values(variables, dict, is_list=True)
"""Environment variables: a table, or a list of `NAME=VALUE`."""
PATTERNS = Values(_patterns, is_list=True)
"""Names of files, or paths in the workspace if they contain a slash."""
