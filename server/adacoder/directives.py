"""Read the directives of examples, such as `# doctest: +ELLIPSIS`.

A directive switches an option on or off for one example. Most options come from doctest, others from pytest,
doctestplus and xdoctest.
"""

from __future__ import annotations

import difflib
import doctest
import re
from collections.abc import Iterable
from dataclasses import dataclass

NUMBER = doctest.register_optionflag("NUMBER")
"""Compare numbers only to the precision of the expected output, as pytest does."""
FLOAT_CMP = doctest.register_optionflag("FLOAT_CMP")
"""Compare numbers with a relative tolerance of 1e-5, and ignore white space, as doctestplus does."""
ALLOW_UNICODE = doctest.register_optionflag("ALLOW_UNICODE")
"""Ignore a `u` before a string, as pytest does."""
ALLOW_BYTES = doctest.register_optionflag("ALLOW_BYTES")
"""Ignore a `b` before a string, as pytest does."""
IGNORE_OUTPUT = doctest.register_optionflag("IGNORE_OUTPUT")
"""Accept any output, as doctestplus does."""
_REMOTE_DATA = doctest.register_optionflag("REMOTE_DATA")
_IGNORE_WARNINGS = doctest.register_optionflag("IGNORE_WARNINGS")
_SAME = {_REMOTE_DATA: doctest.SKIP, _IGNORE_WARNINGS: 0}
"""Options of other tools, with the options that have the same effect here.

`REMOTE_DATA` skips an example, because examples have no network. `IGNORE_WARNINGS` has no effect, because outputs never
include warnings.
"""
_OF_XDOCTEST = {
    **{name: doctest.OPTIONFLAGS_BY_NAME[name] for name in ("SKIP", "ELLIPSIS", "NORMALIZE_WHITESPACE")},
    "IGNORE_EXCEPTION_DETAIL": doctest.IGNORE_EXCEPTION_DETAIL,
    "IGNORE_WHITESPACE": doctest.NORMALIZE_WHITESPACE,
    "IGNORE_OUTPUT": IGNORE_OUTPUT,
    "IGNORE_WANT": IGNORE_OUTPUT,
    "REQUIRES": doctest.SKIP,
    "ASYNC": 0,
}
_FOR_ALL = frozenset(
    {"ELLIPSIS", "NORMALIZE_WHITESPACE", "IGNORE_EXCEPTION_DETAIL", "DONT_ACCEPT_TRUE_FOR_1", "DONT_ACCEPT_BLANKLINE"}
    | {"NUMBER", "FLOAT_CMP", "ALLOW_UNICODE", "ALLOW_BYTES", "IGNORE_WARNINGS"}
)
"""Options that may be switched on for all examples. Other options could weaken all examples at once."""
_DIRECTIVE = re.compile(r"#\s*+doctest:\s*+([^\n'\"]*)$", re.MULTILINE)
_OPTION = re.compile(r"([+-]?)(\w+)(?:\((?:[^()\n]|\([^()\n]*\))*\))?")
"""Matches an option of xdoctest, with or without an argument in brackets."""
_NEED = re.compile(r"([+-]?)requires\(module:(\w[\w.]*)\)", re.IGNORECASE)
"""Matches an option that requires a package."""
_XDIRECTIVE = re.compile(
    rf"#\s*+xdoctest:[ \t]*+(?P<options>{_OPTION.pattern}(?:[, \t]+{_OPTION.pattern})*)[ \t]*$", re.MULTILINE
)
_SIMILAR = re.compile(r"#\s*+x?doc-?tests?\b(?P<rest>[^\n]*)", re.IGNORECASE)
"""Matches a comment that looks like a directive."""
_WORD = re.compile(r"[A-Za-z_]+")


@dataclass(frozen=True, slots=True)
class Directives:
    """The effect of an example's directives."""

    on: int = 0
    """Flags of the options to switch on, combined with `|`."""
    off: int = 0
    needs: frozenset[str] = frozenset()
    """Packages that the example needs, such as `numpy` or `numpy>=2.0`. If one is missing, the example is skipped."""
    freed: frozenset[str] = frozenset()
    """Packages that the example no longer needs."""
    problem: str = ""
    """Error in a directive, such as `has the unknown option '+X': remove it`. Empty without an error."""

    def then(self, later: Directives) -> Directives:
        """Combine these directives with `later` directives, which have priority."""
        on, off = self.on & ~later.off | later.on, self.off & ~later.on | later.off
        needs, freed = (self.needs - later.freed) | later.needs, (self.freed - later.needs) | later.freed
        return Directives(on, off, needs, freed, self.problem or later.problem)


def directives(source: str, code: str | None = None) -> Directives:
    """Read the directives in the source of an example.

    `code` is the source without its strings, because xdoctest ignores directives in strings. If it is None, `source` is
    read.
    """
    found = Directives()
    for match in _DIRECTIVE.finditer(source):
        for option in match[1].replace(",", " ").split():
            found = found.then(_option(option))
    return found.then(of_xdoctest(source if code is None else code))


def of_xdoctest(source: str) -> Directives:
    """Read the directives of xdoctest in the source of an example.

    An example that requires a missing package is skipped. With any other requirement, the example is always skipped.
    """
    found = Directives()
    for match in _XDIRECTIVE.finditer(source):
        for option in _OPTION.finditer(match["options"]):
            sign, name = option[1], option[2]
            flag = _OF_XDOCTEST.get(name.upper())
            if need := _NEED.fullmatch(option[0]):
                found = found.then(_on_need(need))
            elif flag is None:
                problem = f"has xdoctest's option '{sign}{name}', which AdaCoder does not know: remove it"
                return found.then(Directives(problem=problem))
            else:
                found = found.then(Directives(off=flag) if sign == "-" else Directives(on=flag))
    return found


def _option(option: str) -> Directives:
    """Read one option in a doctest directive, such as `+ELLIPSIS`."""
    if need := _NEED.fullmatch(option):
        return _on_need(need)
    if option.startswith("+REQUIRES("):
        return Directives(on=doctest.SKIP)
    flag = doctest.OPTIONFLAGS_BY_NAME.get(option[1:])
    if option[0] not in "+-" or flag is None:
        return Directives(problem=_problem(option))
    flag = _SAME.get(flag, flag)
    return Directives(on=flag) if option[0] == "+" else Directives(off=flag)


def _on_need(need: re.Match[str]) -> Directives:
    names = frozenset({need[2]})
    return Directives(freed=names) if need[1] == "-" else Directives(needs=names)


def is_for_all(name: str) -> bool:
    """Return whether the option `name` may be switched on for all examples."""
    return name in _FOR_ALL


def flags_of(names: Iterable[str]) -> int:
    """Return the flags of options for all examples, combined with `|`.

    Raises:
        ValueError: an option is unknown, or is not allowed for all examples.
    """
    flags = 0
    for name in names:
        flag = doctest.OPTIONFLAGS_BY_NAME.get(name)
        if flag is None:
            near = _near(name)
            raise ValueError(f"'{name}' is not an option of doctest" + (f", but '{near}' is one" if near else ""))
        if not is_for_all(name):
            raise ValueError(f"'{name}' cannot be on for all examples: write it at the examples that need it")
        flags |= _SAME.get(flag, flag)
    return flags


def lookalike(source: str) -> str:
    """Return the directive that a misspelled comment was meant to be, or an empty string."""
    found = _SIMILAR.search(_XDIRECTIVE.sub("", _DIRECTIVE.sub("", source)))
    words = (word.upper() for word in _WORD.findall(found["rest"])) if found else ()
    return next((f"# doctest: +{word}" for word in words if word in doctest.OPTIONFLAGS_BY_NAME), "")


def _problem(option: str) -> str:
    name = option.lstrip("+-")
    if name in doctest.OPTIONFLAGS_BY_NAME:
        return f"has the option '{option}' without a sign: write '+{name}'"
    near = _near(name)
    return f"has the unknown option '{option}': " + (f"write '+{near}'" if near else "remove it")


def _near(name: str) -> str:
    """Return the option with the most similar name, or an empty string."""
    return next(iter(difflib.get_close_matches(name.upper(), doctest.OPTIONFLAGS_BY_NAME, n=1)), "")
