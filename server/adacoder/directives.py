"""The options of examples: the options of doctest, and options that pytest, doctestplus and xdoctest have added.

A comment such as `# doctest: +ELLIPSIS` is a directive. It switches options on or off for one example.
"""

from __future__ import annotations

import difflib
import doctest
import re
from collections.abc import Iterable
from dataclasses import dataclass

NUMBER = doctest.register_optionflag("NUMBER")
"""Numbers match to the precision with which the example writes them, as in pytest."""
FLOAT_CMP = doctest.register_optionflag("FLOAT_CMP")
"""Numbers match to a relative precision of 1e-5, and white space does not matter, as in doctestplus."""
ALLOW_UNICODE = doctest.register_optionflag("ALLOW_UNICODE")
"""`u` before a string does not matter, as in pytest."""
ALLOW_BYTES = doctest.register_optionflag("ALLOW_BYTES")
"""`b` before a string does not matter, as in pytest."""
IGNORE_OUTPUT = doctest.register_optionflag("IGNORE_OUTPUT")
"""Every output matches, as in doctestplus."""
_REMOTE_DATA = doctest.register_optionflag("REMOTE_DATA")
_IGNORE_WARNINGS = doctest.register_optionflag("IGNORE_WARNINGS")
_SAME = {_REMOTE_DATA: doctest.SKIP, _IGNORE_WARNINGS: 0}
"""Options that mean the same as others here. An example has no network, and no output includes warnings."""
_OF_XDOCTEST = {
    **{name: doctest.OPTIONFLAGS_BY_NAME[name] for name in ("SKIP", "ELLIPSIS", "NORMALIZE_WHITESPACE")},
    "IGNORE_EXCEPTION_DETAIL": doctest.IGNORE_EXCEPTION_DETAIL,
    "IGNORE_WHITESPACE": doctest.NORMALIZE_WHITESPACE,
    "IGNORE_OUTPUT": IGNORE_OUTPUT,
    "IGNORE_WANT": IGNORE_OUTPUT,
    "REQUIRES": doctest.SKIP,
    "ASYNC": 0,
}
_DIRECTIVE = re.compile(r"#\s*doctest:\s*([^\n'\"]*)$", re.MULTILINE)
_OPTION = re.compile(r"([+-]?)(\w+)(?:\((?:[^()\n]|\([^()\n]*\))*\))?")
"""Matches an option of xdoctest, which may have an argument in brackets."""
_NEED = re.compile(r"\+?requires\(module:(\w[\w.]*)\)", re.IGNORECASE)
"""Matches an option that requires one package."""
_XDIRECTIVE = re.compile(
    rf"#\s*xdoctest:[ \t]*(?P<options>{_OPTION.pattern}(?:[, \t]+{_OPTION.pattern})*)[ \t]*$", re.MULTILINE
)
_SIMILAR = re.compile(r"#\s*x?doc-?tests?\b[^\n]*?(?P<name>[A-Z]+_?[A-Z]+)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Directives:
    """The options that the directives of an example switch."""

    on: int = 0
    """Flags of the options that are switched on, combined with `|`."""
    off: int = 0
    needs: frozenset[str] = frozenset()
    """Packages without which the example is skipped."""
    problem: str = ""
    """The reason why a directive cannot be followed, as the rest of a sentence about the example; else empty."""

    def then(self, later: Directives) -> Directives:
        """Return the effect of these directives, followed by `later` ones."""
        on, off = self.on & ~later.off | later.on, self.off & ~later.on | later.off
        return Directives(on, off, self.needs | later.needs, later.problem or self.problem)


def directives(source: str) -> Directives:
    """Read the directives in the source of an example."""
    on = off = 0
    needs: set[str] = set()
    for match in _DIRECTIVE.finditer(source):
        for option in match[1].replace(",", " ").split():
            if need := _NEED.fullmatch(option):
                needs.add(need[1])
                continue
            flag = doctest.OPTIONFLAGS_BY_NAME.get(option[1:])
            if option[0] not in "+-" or flag is None:
                return Directives(problem=_problem(option))
            flag = _SAME.get(flag, flag)
            on, off = (on | flag, off & ~flag) if option[0] == "+" else (on & ~flag, off | flag)
    found = of_xdoctest(source)
    return Directives(on | found.on, off | found.off, found.needs | needs, found.problem)


def of_xdoctest(source: str) -> Directives:
    """Read xdoctest's directives.

    An example that requires a package is skipped without it. Other requirements always skip their examples.
    """
    on = off = 0
    needs: set[str] = set()
    for match in _XDIRECTIVE.finditer(source):
        for option in _OPTION.finditer(match["options"]):
            sign, name = option[1], option[2]
            if need := _NEED.fullmatch(option[0]):
                needs.add(need[1])
                continue
            flag = _OF_XDOCTEST.get(name.upper())
            if flag is None:
                return Directives(
                    problem=f"has xdoctest's option '{sign}{name}', which AdaCoder does not know: remove it"
                )
            on, off = (on & ~flag, off | flag) if sign == "-" else (on | flag, off & ~flag)
    return Directives(on, off, frozenset(needs))


def is_option(name: str) -> bool:
    """Return whether an option is known."""
    return name in doctest.OPTIONFLAGS_BY_NAME


def flags_of(names: Iterable[str]) -> int:
    """Return the flags of options, combined with `|`.

    Raises:
        ValueError: an option is unknown. The message is a clause.
    """
    flags = 0
    for name in names:
        flag = doctest.OPTIONFLAGS_BY_NAME.get(name)
        if flag is None:
            near = _near(name)
            raise ValueError(f"'{name}' is not an option of doctest" + (f", but '{near}' is one" if near else ""))
        flags |= _SAME.get(flag, flag)
    return flags


def lookalike(source: str) -> str:
    """Return a directive to write instead of a comment that only looks like one; empty if there is none."""
    found = _SIMILAR.search(_XDIRECTIVE.sub("", _DIRECTIVE.sub("", source)))
    name = found["name"].upper() if found else ""
    return f"# doctest: +{name}" if name in doctest.OPTIONFLAGS_BY_NAME else ""


def _problem(option: str) -> str:
    name = option.lstrip("+-")
    if name in doctest.OPTIONFLAGS_BY_NAME:
        return f"has the option '{option}' without a sign: write '+{name}'"
    near = _near(name)
    return f"has the unknown option '{option}': " + (f"write '+{near}'" if near else "remove it")


def _near(name: str) -> str:
    """Return the known option whose name is most similar; empty if none is similar."""
    return next(iter(difflib.get_close_matches(name.upper(), doctest.OPTIONFLAGS_BY_NAME, n=1)), "")
