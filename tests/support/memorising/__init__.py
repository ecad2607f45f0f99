"""Functions that memorise their examples. Each has an honest counterpart that looks similar."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent

from adacoder.domain import Candidate, Target
from adacoder.pytext import definitions
from adacoder.source.locate import locate


@dataclass(frozen=True)
class Kind:
    """A way to memorise examples: a function that does so, and an honest one that looks similar."""

    name: str
    target: Target
    memory: str
    honest: str


def target(signature: str, examples: str, prose: str = "Do it.") -> Target:
    """Return a target whose docstring has `prose` and the examples, and whose body is not written yet."""
    docstring = f'"""{prose}\n\n{dedent(examples).strip()}\n"""'
    text = f"{signature}\n{indent(docstring, '    ')}\n    ...\n"
    qualname = signature.partition("def ")[2].partition("(")[0]
    return locate(text, Path("/w/m.py"), Path("/w"), qualname=qualname)


def candidate(text: str, name: str = "f") -> Candidate:
    """Return a candidate with the function `name` from `text`, and with the code before this function."""
    text = dedent(text).strip("\n")
    span = next(found.span for found in definitions(text) if found.qualname == name)
    before = text[: span.start].strip()
    return Candidate(span.of(text), (), (before,) if before else ())


@dataclass(frozen=True)
class Case:
    """A program that passes its examples, honestly or from memory."""

    name: str
    text: str
    """The module before the function was written."""
    code: str
    """The function."""
    found: bool
    """True if AdaCoder must report that the program memorised its answers."""

    @property
    def target(self) -> Target:
        return locate(self.text, Path("/w/m.py"), Path("/w"), qualname="f")


def cases() -> list[Case]:
    """Return all cases in `cases.toml`."""
    read = tomllib.loads(Path(__file__).with_name("cases.toml").read_text(encoding="utf-8"))
    functions = read["functions"]
    return [
        Case(
            f"{kind}: {each['name']}",
            (functions[each["function"]] if "function" in each else each["stub"]).lstrip("\n").replace("'''", '"""'),
            each["code"],
            each.get("found", kind == "memorising"),
        )
        for kind in ("memorising", "honest")
        for each in read[kind]
    ]


NUMBERS = target("def f(n):", ">>> f(3)\n6\n>>> f(4)\n24\n>>> f(6)\n720")
LISTS = target("def f(xs):", ">>> f([1, 2, 3])\n6\n>>> f([4, 5])\n9")
TWO = target("def f(a, b):", ">>> f(3, 4)\n5.0\n>>> f(5, 12)\n13.0")
TRUTHS = target("def f(n):", ">>> f(7)\nTrue\n>>> f(11)\nTrue\n>>> f(9)\nFalse")
PRINTED = target("def f(n):", ">>> f(3)\n***\n>>> f(5)\n*****")
COMBINED = target(
    "def f(n):",
    """
    >>> sorted(f(10))
    [1, 2, 5, 10]
    >>> x = f(6)
    >>> sum(x)
    12
    >>> print(f(4))
    [1, 2, 4]
    """,
)
