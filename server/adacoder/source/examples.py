"""Read the examples of a docstring as `doctest` does."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from adacoder.directives import Directives, directives, of_xdoctest
from adacoder.domain import Example, TargetError
from adacoder.pytext import normalize
from adacoder.source.calls import Calls
from adacoder.source.literal import Literal, read_literal

_PROBLEM = re.compile(r"line (?P<line>\d+) of the (?:docstring|doctest) for \S+ (?P<problem>.*)", re.DOTALL)
"""Error message of `DocTestParser`. It counts the lines of the docstring from 1."""
_FENCE = re.compile(r"[ \t]*(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)")
"""A line that opens or closes a Markdown fence. Nothing follows the marks of a closing line."""
_CONTINUES = re.compile(r"[ \t)\]}]|(?:else|elif|except|finally)\b")
"""Matches a line that cannot begin a statement."""
_LONGEST = 40_000
"""Maximum characters of a docstring with examples, twice as many as the longest docstring in common packages has."""


class UnreadableExample(TargetError):
    """An example that doctest cannot read."""

    def __init__(self, line: int, problem: str) -> None:
        """`line` is the 0-based line in the file."""
        super().__init__(f"The example on line {line + 1} cannot be read, as it {problem}: write it as doctest asks.")
        self.line = line


def examples(literal: str, first_line: int, calls: Calls | None = None) -> tuple[Example, ...]:
    """Return the examples in the string literal of a docstring, in order.

    Args:
        literal: the docstring's literal, quotes included.
        first_line: the 0-based line of the file where the literal begins.
        calls: the function's name and parameters. If they are given and no doctest example shows an output, examples
            in prose are read as well.

    Raises:
        UnreadableExample: doctest cannot read an example, or the docstring is too long.
    """
    if len(literal) > _LONGEST and ">>>" in literal:
        raise UnreadableExample(first_line, f"is in a docstring of more than {_LONGEST:,} characters")
    docstring = _without_closed_fences(read_literal(literal))
    found = tuple(_examples(docstring, first_line))
    if calls is None or any(example.has_want for example in found):
        return found
    from adacoder.source.informal import informal  # slow to import and rarely needed

    in_prose = informal(_prose(docstring), first_line, calls)
    return tuple(sorted([*found, *in_prose], key=lambda example: example.line))


def examples_of_page(text: str) -> tuple[Example, ...]:
    """Return the examples in the text of a page, in order.

    Raises:
        UnreadableExample: doctest cannot read an example.
    """
    lines = tuple(range(text.count("\n") + 1))
    return tuple(_examples(_without_closed_fences(Literal(text, lines)), 0))


def _without_closed_fences(docstring: Literal) -> Literal:
    """Blank out each closing line of a Markdown fence, so that the output above this line ends there.

    Only a line outside examples opens a fence. A similar line in an output is part of the output.
    """
    if "```" not in docstring.value and "~~~" not in docstring.value:
        return docstring
    lines = docstring.value.split("\n")
    fence, is_example = "", False
    for number, line in enumerate(lines):
        found = _FENCE.match(line)
        is_example = line.lstrip().startswith(">>>") or (is_example and bool(line.strip()))
        if fence and found and found["fence"].startswith(fence) and not found["info"].strip():
            fence, is_example, lines[number] = "", False, ""
        elif not fence and found and not is_example:
            fence = found["fence"]
    return replace(docstring, value="\n".join(lines))


def _prose(docstring: Literal) -> Literal:
    """Blank out the doctest examples in a docstring. Statements without an output, such as `>>> f(1) == 2`, stay."""
    lines = docstring.value.split("\n")
    for example in _parsed(docstring, 0):
        shown = example.want.split("\n")[:-1]
        source = example.source.split("\n")[:-1]
        is_statement = not shown and not directives(example.source).on & doctest.SKIP
        kept = source if is_statement else [""] * (len(source) + len(shown))
        lines[example.lineno : example.lineno + len(source) + len(shown)] = kept
    return replace(docstring, value="\n".join(lines))


def suggested(reply: str) -> tuple[Example, ...]:
    """Read the examples in a model's reply with prose and code fences. Unreadable examples are left out."""
    lines = [line for line in normalize(reply).split("\n") if not line.lstrip().startswith(("```", "~~~"))]
    found: list[Example] = []
    for paragraph in re.split(r"\n[ \t]*\n", "\n".join(lines)):
        text = Literal(paragraph, tuple(range(paragraph.count("\n") + 1)))
        with suppress(TargetError):
            found += _examples(text, 0)
    return tuple(found)


def _examples(docstring: Literal, first_line: int) -> Iterator[Example]:
    parser = _Parser()
    for lines in _joined(_parsed(docstring, first_line, parser)):
        example, last = lines[0], lines[-1]
        found = Directives()
        for line in lines:
            found = found.then(parser.found[line.lineno])
        yield Example(
            source="".join(line.source for line in lines),
            want=last.want,
            line=first_line + docstring.lines[example.lineno],
            flags=found.on,
            exception=last.exc_msg,
            off=found.off,
            needs=found.needs,
            problem=found.problem,
        )


class _Parser(doctest.DocTestParser):
    """Reads the directives of each example without an error, so that an unknown option concerns only its example."""

    def __init__(self) -> None:
        self.found: dict[int, Directives] = {}
        """The directives of the examples, by line."""
        self._block = Directives()
        """The options that xdoctest's directives on lines of their own switch, for all examples below."""

    def _find_options(self, source: str, name: str, lineno: int) -> dict[int, bool]:
        """Override a method of doctest, and return no options. `_examples` uses `found` instead."""
        if self._IS_BLANK_OR_COMMENT(source):  # type: ignore[attr-defined]  # typeshed leaves out private names
            lines, block = of_xdoctest(source), self._block
            self._block = block.then(lines)
            if directives(source) != lines:
                problem = f"has an option directive on a line with no example: {source.strip()!r}"
                raise ValueError(f"line {lineno + 1} of the doctest for {name} {problem}")
            return {}
        self.found[lineno] = self._block.then(directives(source))
        return {}


def _joined(found: Sequence[doctest.Example]) -> Iterator[list[doctest.Example]]:
    """Yield the lines of each statement. All of them may begin with `>>>`, as xdoctest allows.

    In doctest, the second line of such a statement is always a syntax error.
    """
    lines: list[doctest.Example] = []
    for each in found:
        goes_on = bool(lines) and not lines[-1].want and (_CONTINUES.match(each.source) or _is_decorator(lines[-1]))
        if lines and not goes_on:
            yield lines
            lines = []
        lines.append(each)
    if lines:
        yield lines


def _is_decorator(line: doctest.Example) -> bool:
    return line.source.startswith("@") and line.source.count("\n") == 1


def _parsed(docstring: Literal, first_line: int, parser: doctest.DocTestParser | None = None) -> list[doctest.Example]:
    try:
        return (parser or _Parser()).get_examples(docstring.value)
    except ValueError as error:
        found = _PROBLEM.fullmatch(str(error))
        line, problem = (int(found["line"]) - 1, found["problem"]) if found else (0, str(error))
        raise UnreadableExample(first_line + docstring.lines[line], problem) from None
