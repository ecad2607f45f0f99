"""Write settings into a pyproject.toml without changing anything else. This needs the optional dependency tomlkit."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

from adacoder.domain import AdaCoderError


class EditError(AdaCoderError):
    """The settings cannot be written."""


def with_settings(text: str, values: Mapping[str, str]) -> str:
    """Return the text of a pyproject.toml with `values` set in `[tool.adacoder]`.

    Raises:
        EditError: tomlkit is not installed, or the text cannot be edited without other changes.
    """
    try:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError
    except ImportError:
        raise EditError("Writing settings needs tomlkit: pip install 'adacoder[arena]'.") from None
    try:
        expected = tomllib.loads(text)
        expected.setdefault("tool", {}).setdefault("adacoder", {}).update(values)
        document = tomlkit.parse(text)
        tool = document.setdefault("tool", tomlkit.table(is_super_table=True))
        table = tool.setdefault("adacoder", tomlkit.table())
        for key, value in values.items():
            table[key] = value
        edited = document.as_string()
        after = tomllib.loads(edited)
    except (ValueError, TypeError, AttributeError, TOMLKitError, RecursionError) as error:
        raise EditError(f"[tool.adacoder] cannot be written ({error}); the file was left as it is.") from None
    if after != expected:
        raise EditError("[tool.adacoder] cannot be written here without changing something else: add it by hand.")
    return edited
