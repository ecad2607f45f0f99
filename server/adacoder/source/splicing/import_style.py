"""Read the order and layout of imports from the formatters' options in pyproject.toml, with PEP 8 as the default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from adacoder.settings import project_tools

if TYPE_CHECKING:
    from adacoder.domain import Module

_LONGEST_LINE = 320
"""Maximum line length to accept from the options."""
_Key = tuple[int, str, str]


@dataclass(frozen=True, slots=True)
class ImportStyle:
    """Options of ruff and isort for the order and layout of imports.

    The names are isort's, and the defaults follow PEP 8.
    """

    line_length: int = 79
    order_by_type: bool = True
    """If true, constants come first among the names in a statement, then classes, then other names."""
    case_sensitive: bool = False
    force_sort_within_sections: bool = False
    """If true, statements are sorted only by module. If false, all `import` statements come before `from` imports."""
    from_first: bool = False
    force_single_line: bool = False
    combine_as_imports: bool = False
    reverse_relative: bool = False
    no_sections: bool = False
    known_first_party: tuple[str, ...] = ()
    known_third_party: tuple[str, ...] = ()

    def name_key(self, name: str) -> _Key:
        """Return the sort key of a name in an import statement."""
        kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
        return (kind if self.order_by_type else 0, *self._letters(name))

    def statement_key(self, module: str, name: str | None) -> tuple[bool, bool, int, str, str, bool, _Key]:
        """Return the sort key of a statement among the statements of its section.

        `name` is the first imported name of a `from` import, and None for a plain `import`.
        """
        is_from = name is not None
        rest = module.lstrip(".")
        level = len(module) - len(rest)
        apart = not self.force_sort_within_sections and is_from != self.from_first
        nearest = level if self.reverse_relative else -level
        return (apart, level > 0, nearest, *self._letters(rest), is_from, self.name_key(name or ""))

    def _letters(self, name: str) -> tuple[str, str]:
        return (name if self.case_sensitive else name.lower(), name)


_DEFAULT = ImportStyle()
_PROFILES: Mapping[str, ImportStyle] = {
    "black": ImportStyle(line_length=88),
    "django": ImportStyle(combine_as_imports=True),
    "google": ImportStyle(force_single_line=True, force_sort_within_sections=True, order_by_type=False),
    "open_stack": ImportStyle(force_single_line=True, force_sort_within_sections=True, order_by_type=False),
    "pycharm": ImportStyle(line_length=120),
    "wemake": ImportStyle(line_length=80),
}
"""The isort profiles that change an option of `ImportStyle`."""


def import_style(module: Module) -> ImportStyle:
    """Return the import style of a module's project: ruff's options, else isort's, else black's line length."""
    tools = project_tools(module.path.parent, module.top)
    ruff, isort, black = (tools.get(name) for name in ("ruff", "isort", "black"))
    if isinstance(ruff, Mapping):
        lint = ruff.get("lint")
        style = _with(replace(_DEFAULT, line_length=88), [ruff, ruff.get("isort")])
        return _with(style, [lint.get("isort")] if isinstance(lint, Mapping) else [])
    if isinstance(isort, Mapping):
        profile = isort.get("profile")
        return _with(_PROFILES.get(profile, _DEFAULT) if isinstance(profile, str) else _DEFAULT, [isort])
    return _with(replace(_DEFAULT, line_length=88), [black]) if isinstance(black, Mapping) else _DEFAULT


def _with(style: ImportStyle, tables: Iterable[object]) -> ImportStyle:
    """Return `style` with the valid options in `tables`. Later tables override earlier tables."""
    for table in tables:
        options = {key.replace("-", "_"): value for key, value in table.items()} if isinstance(table, Mapping) else {}
        if options.get("relative_imports_order") == "closest-to-furthest":
            options["reverse_relative"] = True
        for field in fields(style):
            value = _read(options.get(field.name), getattr(style, field.name))
            style = replace(style, **{field.name: value})
    return style


def _read(value: object, default: object) -> Any:
    """Return `value` if it is a valid value for an option with this `default`; otherwise return `default`."""
    match default:
        case bool():
            return value if isinstance(value, bool) else default
        case int():
            is_length = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LONGEST_LINE
            return value if is_length else default
    names = value if isinstance(value, list) else []
    return tuple(name for name in names if isinstance(name, str)) or default
