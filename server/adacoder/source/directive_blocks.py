"""Find the directives of Sphinx and doctestplus that affect examples.

A block is the content of a directive such as `.. testcode::`, or of a MyST fence such as ```` ```{testcode} ````.
"""

from __future__ import annotations

import doctest
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adacoder.directives import Directives, directives

_KINDS = "doctest|test(?:setup|cleanup|code|output)"
_BLOCK = re.compile(rf"\.\. +(?P<kind>{_KINDS})::(?: +(?P<groups>.*))?$")
_FENCE = re.compile(r" *(?P<marks>`{3,}|~{3,})(?: ?\{(?P<kind>[\w-]+)\})?(?P<groups>[^`~]*)$")
_LITERAL = re.compile(
    r"(?:\.\. +(?:code|code-block|sourcecode|parsed-literal|raw|prompt)::.*"
    r"|\.\.(?: +(?![ \[_|]|[\w:.+-]+::).*)?"
    r"|(?!\.\. ).*::)$"
)
"""Matches the line above a code block, a comment or a literal block (`::`). Directives in these blocks are ignored."""
_OPTION = re.compile(r" *:(?P<name>[\w-]+):(?: +(?P<value>.*))?$")
_PLUS = re.compile(
    r"\.\. +doctest-(?:skip-all|(?P<kind>skip|requires|remote-data)(?P<lasts>-all)?\s*::\s*(?P<names>.*))"
)
_MAY_HAVE_BLOCK = re.compile(rf"\.\. +(?:{_KINDS})::|\{{(?:{_KINDS}|eval-rst)\}}")
_OF_SPHINX = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.DONT_ACCEPT_TRUE_FOR_1
"""The doctest options that Sphinx sets by default."""
_VERSION = re.compile(
    r" *(?:(?:[<>]=?|[!=]=|~=(?=.*\.)) *[0-9]+(?:\.[0-9]+)*(?:(?:a|b|rc)[0-9]+)?|[!=]= *[0-9]+(?:\.[0-9]+)*\.\*) *"
)
"""Matches a condition on Python's version that `packaging` can read."""
_WITHOUT_EFFECT = frozenset({"hide", "trim-doctest-flags", "no-trim-doctest-flags"})


@dataclass(frozen=True, slots=True)
class DirectiveBlock:
    """The content of a Sphinx directive."""

    kind: str
    """The name of the directive, such as `testcode`."""
    first: int
    """The 0-based line on which the content begins."""
    end: int
    """The line after the content."""
    code: str
    """The content without common indentation. It ends with a newline unless it is empty."""
    directives: Directives
    """The effect of the directive's options, for example that the block is skipped."""
    groups: tuple[str, ...] = ("default",)
    """The Sphinx groups of the content, or `*` for all groups. Only examples in the same group share variables."""

    @property
    def phase(self) -> int:
        """The order of execution: -1 for setup code, 1 for cleanup code, and 0 for everything between."""
        return {"testsetup": -1, "testcleanup": 1}.get(self.kind, 0)

    @property
    def is_prompted(self) -> bool:
        """True if the examples in the content have `>>>` prompts."""
        return self.kind == "doctest" or (self.kind != "testoutput" and self.code.startswith(">>>"))

    @property
    def is_skipped(self) -> bool:
        """True if the directive's options skip the content."""
        return bool(self.directives.on & doctest.SKIP)


def may_have_blocks(text: str) -> bool:
    """Return whether a text may have directives of Sphinx. This check is quick."""
    return _MAY_HAVE_BLOCK.search(text) is not None


def outputs(found: Sequence[DirectiveBlock]) -> dict[DirectiveBlock, DirectiveBlock]:
    """Map each block of code to the block with its output. All blocks are in the same group.

    As in Sphinx, an output belongs to the last code above it. Skipped code gets an output only if all other code has
    one.
    """
    codes: list[DirectiveBlock] = []
    joined: dict[DirectiveBlock, DirectiveBlock] = {}
    for block in found:
        if block.kind == "testoutput" and block.code and codes:
            code = codes[-1] if block.is_skipped else codes.pop(0)
            if code not in joined or joined[code].is_skipped:
                joined[code] = block
        elif block.kind in ("doctest", "testcode"):
            if not block.is_skipped:
                codes.clear()
            if block.code and not block.is_prompted:
                codes.append(block)
    return joined


def blocks(text: str, *, is_markdown: bool = False) -> list[DirectiveBlock]:
    """Return the blocks in a page, in order. In Markdown, only fences can be blocks."""
    if not may_have_blocks(text):
        return []
    lines = text.expandtabs().split("\n")
    return list(_fenced(lines) if is_markdown else _directed(lines, 0, len(lines)))


def blocks_of_docstring(docstring: str) -> list[DirectiveBlock]:
    """Return the blocks in a docstring. Its first line may be indented less than the other lines."""
    if not may_have_blocks(docstring):
        return []
    first, *rest = docstring.expandtabs().split("\n")
    margin = min((_indent(line) for line in rest if line.strip()), default=0)
    return blocks("\n".join([" " * margin + first.lstrip(), *rest]))


def after(text: str, lasting: Directives) -> tuple[Directives, Directives]:
    """Read doctestplus's directives in the text above some examples.

    Return the effect on these examples, and the effect on all later examples. `lasting` is the effect of earlier text.
    """
    here, lines = Directives(), text.strip().split("\n")
    for number, line in enumerate(lines, 1):
        if found := _PLUS.match(line.strip()):
            effect = _effect(found["kind"], found["names"] or "")
            if found["lasts"] or not found["kind"]:
                lasting = lasting.then(effect)
            elif number >= len(lines) - 1:  # One line, such as `.. code-block:: python`, may follow the directive.
                here = effect
    return lasting.then(here), lasting


def _effect(kind: str | None, names: str) -> Directives:
    if kind == "requires":
        return Directives(needs=frozenset(filter(None, re.split(r"[,\s]+", names))))
    # For example, `.. doctest-skip:: win32` skips only on Windows.
    is_for_another_system = kind == "skip" and bool(names)
    return Directives() if is_for_another_system else Directives(on=doctest.SKIP)


def _directed(lines: Sequence[str], number: int, last: int) -> Iterator[DirectiveBlock]:
    """Yield the blocks between two lines of a reStructuredText page."""
    while number < last:
        line, number = lines[number], number + 1
        if line.lstrip().startswith(">>>"):
            begin, number = number - 1, _end_of_example(lines, number, last)
            yield DirectiveBlock("doctest", begin, number, "\n".join([*lines[begin:number], ""]), Directives())
            continue
        found = _BLOCK.match(line.strip())
        is_empty = line.strip() == ".." and not "".join(lines[number : number + 1]).strip()
        if found or (_LITERAL.match(line.strip()) and not is_empty):
            begin, number = number, _end(lines, number, last, _indent(line))
            if found:
                yield _block(found["kind"], found["groups"], lines, begin, number)


def _fenced(lines: Sequence[str]) -> Iterator[DirectiveBlock]:
    number = 0
    while number < len(lines):
        if lines[number].lstrip().startswith(">>>"):
            number = _end_of_example(lines, number, len(lines))
            continue
        found, number = _FENCE.match(lines[number]), number + 1
        if found is None:
            continue
        closing = re.compile(rf" *{found['marks']}{found['marks'][0]}* *$")
        begin, kind = number, found["kind"] or ""
        number = next((at for at in range(begin, len(lines)) if closing.match(lines[at])), len(lines))
        if kind == "eval-rst":
            yield from _directed(lines, begin, number)
        elif re.fullmatch(_KINDS, kind):
            yield _block(kind, found["groups"], lines, begin, number)
        number += 1


def _end_of_example(lines: Sequence[str], begin: int, last: int) -> int:
    return next((number for number in range(begin, last) if not lines[number].strip()), last)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _end(lines: Sequence[str], begin: int, last: int, indent: int) -> int:
    """Return the end of the indented text that starts at line `begin`."""
    for number in range(begin, last):
        if lines[number].strip() and _indent(lines[number]) <= indent:
            return number
    return last


def _block(kind: str, groups: str | None, lines: Sequence[str], begin: int, end: int) -> DirectiveBlock:
    effect = Directives(on=_OF_SPHINX if kind in ("doctest", "testoutput") else 0)
    options, begin = _options(lines, begin, end)
    for line in options:
        effect = effect.then(_of_option(kind, line))
    while begin < end and not lines[begin].strip():
        begin += 1
    while begin < end and not lines[end - 1].strip():
        end -= 1
    code = textwrap.dedent("\n".join(lines[begin:end]))
    named = tuple(group.strip() for group in (groups or "").split(",") if group.strip())
    return DirectiveBlock(kind, begin, end, f"{code}\n" if code else "", effect, named or ("default",))


def _options(lines: Sequence[str], begin: int, end: int) -> tuple[Sequence[str], int]:
    """Return the lines with a block's options, and the number of the next line.

    In MyST, the options may be enclosed in `---` lines.
    """
    if begin == end or lines[begin].strip() != "---":
        last = next((number for number in range(begin, end) if not _OPTION.match(lines[number])), end)
        return lines[begin:last], last
    last = next((number for number in range(begin + 1, end) if lines[number].strip() == "---"), end)
    given = [line.strip() for line in lines[begin + 1 : last]]
    return [f":{line}" for line in given if line and not line.startswith("#")], min(last + 1, end)


def _of_option(kind: str, line: str) -> Directives:
    """Return the effect of one option of a directive.

    A block with `:skipif:` is always skipped, because AdaCoder does not run the condition.
    """
    option = _OPTION.match(line)
    if option is None:
        return Directives(problem="has an option that cannot be read: write each option on one line, as 'name: value'")
    # In MyST, the condition needs quotes, as in `pyversion: ">= 3.9"`.
    name, value = option["name"], (option["value"] or "").strip(" '\"")
    if name == "skipif":
        return Directives(on=doctest.SKIP)
    if name == "pyversion" and kind == "doctest":
        if not all(map(_VERSION.fullmatch, value.split(","))):
            return Directives(problem="has a ':pyversion:' that cannot be read: write a condition such as '>= 3.9'")
        return Directives(needs=frozenset({f"python{value}"}))
    if name == "options":
        return directives(f"# doctest: {value}")
    if name in _WITHOUT_EFFECT or name == "pyversion":  # In Sphinx, `:pyversion:` works only for `doctest`.
        return Directives()
    return Directives(problem=f"has the option ':{name}:', which AdaCoder does not know: remove it")
