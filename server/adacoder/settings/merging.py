"""Merge settings from editors, options and projects. An invalid value is ignored with a notice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from adacoder.project import pyproject_file
from adacoder.settings.definition import SETTINGS, Settings, field_name
from adacoder.settings.pyproject import tables, words
from adacoder.settings.pytest_files import of_pytest
from adacoder.settings.values import variables

_OPTIONS_OF_PYTEST = ["ELLIPSIS"]
"""Options that pytest uses if its configuration names none."""
_MOST_KEYS = 100
"""Maximum number of keys in a project's table, so that notices about invalid keys cannot flood the user."""
_LONGEST_SHOWN = 80
"""Maximum number of characters of a key or a value in a notice."""


def merge(base: Settings, values: Mapping[str, object], notice: Callable[[str], object]) -> Settings:
    """Return `base` overridden by `values`. A value of None is ignored.

    Keys are spelled as in section `adacoder`, and may be nested, as in `ollama: {host: …}`. `notice` receives a message
    for each invalid value, which is ignored.
    """
    return _merge(base, _flatten(values), notice)


def _merge(base: Settings, values: Sequence[tuple[str, object]], notice: Callable[[str], object]) -> Settings:
    settings = base
    for key, value in values:
        name = field_name(key)
        if name is None:
            notice(f"adacoder.{_brief(key)} is not a setting of AdaCoder; it is ignored.")
            continue
        setting = SETTINGS[name]
        if value is None or (value == "" and setting.unset):
            continue
        try:
            read = setting.values.read(value)
            if setting.adds_up:
                new = tuple(dict.fromkeys(read))  # type: ignore[call-overload]  # a tuple of names
                read = (*(each for each in getattr(settings, name) if each not in new), *new)
            settings = replace(settings, **{name: read})  # type: ignore[arg-type]  # `read` returns the field's type
        except (TypeError, ValueError, RuntimeError) as error:
            notice(f"adacoder.{key} = {_shown(value)} is ignored: {error}.")
    return settings


def from_project(base: Settings, folder: Path, notice: Callable[[str], object], *, top: Path | None = None) -> Settings:
    """Return `base` overridden by `[tool.adacoder]` of the nearest pyproject.toml between `folder` and `top`.

    Call this only for a trusted workspace. Keys that a project may not set, such as the host, the interpreter and the
    isolation, are ignored, each with a notice.
    """
    path = pyproject_file(folder, top)
    if path is None:
        return base
    try:
        tools = tables(path)
    except OSError as error:
        notice(f"{path} cannot be read ({error.strerror or error}); its [tool.adacoder] is ignored.")
        return base
    except (ValueError, RecursionError) as error:
        notice(f"{path} cannot be read ({_brief(str(error))}); its [tool.adacoder] is ignored.")
        return base
    return from_tables(base, tools, path, notice)


def from_tables(
    base: Settings, tools: Mapping[str, object], path: Path, notice: Callable[[str], object] = str
) -> Settings:
    """Return `base` overridden by the `[tool.*]` tables of the pyproject.toml at `path`, as `from_project` does."""
    base = _with_options_of_pytest(base, tools)
    table = tools.get("adacoder", {})
    if not isinstance(table, dict):
        notice(f"[tool.adacoder] in {path} is not a table; it is ignored.")
        return base
    values = _flatten(table)
    if len(values) > _MOST_KEYS:
        notice(f"[tool.adacoder] in {path} has more than {_MOST_KEYS} keys; it is ignored.")
        return base
    allowed: list[tuple[str, object]] = []
    for key, value in values:
        name = field_name(key)
        if name is not None and not SETTINGS[name].is_for_project(value):
            notice(f"adacoder.{_brief(key)} in {path} is ignored: a project may not set it; set it in your editor.")
        else:
            allowed.append((key, value))
    return _merge(base, allowed, notice)


def _with_options_of_pytest(base: Settings, tools: Mapping[str, object]) -> Settings:
    """Return `base` with the doctest options and the import folders (`pythonpath`) from pytest's configuration.

    Unknown options are left out. Without a configuration, pytest's default options are used.
    """
    own = of_pytest(tools)
    if own is None:
        return base
    if folders := ":".join(words(own.get("pythonpath"))):
        with suppress(ValueError):  # the folders are invalid, for example too long
            base = replace(base, env=(*base.env, *variables(f"PYTHONPATH={folders}")))
    names = words(own.get("doctest_optionflags", _OPTIONS_OF_PYTEST))
    if not names:
        return base
    from adacoder.directives import is_for_all  # imports doctest, which takes time

    return replace(base, doctest_options=tuple(dict.fromkeys((*base.doctest_options, *filter(is_for_all, names)))))


def _shown(value: object) -> str:
    """Format a value for a notice.

    A table's values may be secret, so only its keys are shown. Very long integers are only described, because Python
    refuses to print them.
    """
    if isinstance(value, Mapping):
        return _brief(f"{{{', '.join(value)}}}")
    try:
        return _brief(repr(value))
    except ValueError:
        return "a number of thousands of digits"


def _brief(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def _flatten(values: Mapping[str, object]) -> list[tuple[str, object]]:
    """Return pairs of a key and a value. The keys of nested tables are joined with dots.

    If the value of a setting is a table, each item of the table becomes a pair with the key of the setting.
    """
    flat: list[tuple[str, object]] = []
    for key, value in values.items():
        name = field_name(key)
        if isinstance(value, Mapping) and name is not None and SETTINGS[name].values.type is dict:
            flat.extend((key, {inner: inner_value}) for inner, inner_value in value.items())
        elif isinstance(value, Mapping):
            flat.extend((f"{key}.{inner}", inner_value) for inner, inner_value in value.items())
        else:
            flat.append((key, value))
    return flat
