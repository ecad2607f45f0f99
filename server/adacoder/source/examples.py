"""Read the examples of a docstring as `doctest` does."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from adacoder.directives import Directives, directives, of_xdoctest
from adacoder.domain import Example, TargetError
from adacoder.pytext import normalize, string_literals
from adacoder.source.calls import Calls
from adacoder.source.directive_blocks import DirectiveBlock, after, blocks, blocks_of_docstring, outputs
from adacoder.source.literal import Literal, read_literal

_PROBLEM = re.compile(r"line (?P<line>\d+) of the (?:docstring|doctest) for \S+ (?P<problem>.*)", re.DOTALL)
"""Matches an error message of `DocTestParser`. Line numbers in the message start at 1."""
_FENCE = re.compile(r"[ \t]*(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)")
"""Matches a line that opens or closes a Markdown fence. For a closing line, `info` is blank."""
_CONTINUES = re.compile(r"[ \t)\]}]|(?:else|elif|except|finally)\b")
"""Matches a line that continues the statement above, such as `else:`."""
PROSE = re.compile(r"[(=]|\binputs?[ \t]*:", re.IGNORECASE)
"""Matches something that every example in prose contains: a bracket, an equals sign, or the label of an input."""
_DEFAULT = ("default",)
"""The Sphinx groups of an example without a directive."""
_LONGEST = 40_000
"""Maximum characters of a docstring with examples. The longest docstring in common packages has half as many."""


class UnreadableExample(TargetError):
    """An example that doctest cannot read."""

    def __init__(self, line: int, problem: str) -> None:
        """Describe the example on the 0-based `line` of the file."""
        super().__init__(f"The example on line {line + 1} cannot be read, as it {problem}: write it as doctest asks.")
        self.line = line


def examples(literal: str, first_line: int, calls: Calls | None = None) -> tuple[Example, ...]:
    """Return the examples in a docstring, in their order.

    Args:
        literal: the docstring's literal, quotes included.
        first_line: the 0-based line of the file where the literal begins.
        calls: the function's name and parameters. They are needed to read examples in prose, which are read only if no
            doctest example shows an output.

    Raises:
        UnreadableExample: doctest cannot read an example, or the docstring is too long.
    """
    if len(literal) > _LONGEST and ">>>" in literal:
        raise UnreadableExample(first_line, f"is in a docstring of more than {_LONGEST:,} characters")
    docstring = _without_closed_fences(read_literal(literal))
    found_blocks = blocks_of_docstring(docstring.value)
    found = tuple(_examples(docstring, first_line, found_blocks))
    if calls is None or any(example.has_want for example in found) or not PROSE.search(docstring.value):
        return found
    from adacoder.source.informal import informal  # This import is slow and rarely needed.

    in_prose = informal(_prose(docstring, found_blocks), first_line, calls)
    return tuple(sorted([*found, *in_prose], key=lambda example: example.line))


def examples_of_page(text: str, *, is_markdown: bool) -> tuple[Example, ...]:
    """Return the examples in the text of a page, in the order in which they run.

    Raises:
        UnreadableExample: doctest cannot read an example.
    """
    lines = tuple(range(text.count("\n") + 1))
    found = blocks(text, is_markdown=is_markdown)
    return tuple(_examples(_without_closed_fences(Literal(text, lines)), 0, found))


def _without_code(docstring: Literal, found: Sequence[DirectiveBlock]) -> Literal:
    """Blank out the blocks without prompts, because a `>>>` in such a block does not begin an example."""
    bare = [block for block in found if not block.is_prompted]
    if not bare:
        return docstring
    lines = docstring.value.split("\n")
    for block in bare:
        lines[block.first : block.end] = [""] * (block.end - block.first)
    return replace(docstring, value="\n".join(lines))


def _without_closed_fences(docstring: Literal) -> Literal:
    """Blank out the closing lines of Markdown fences. doctest would read them as part of an output.

    A fence that opens inside an example stays, because it may be part of an output.
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


def _prose(docstring: Literal, found: Sequence[DirectiveBlock]) -> Literal:
    """Blank out the doctest examples, but keep the source of those without an output, such as `>>> f(1) == 2`."""
    docstring, parser = _without_code(docstring, found), _Parser(found)
    lines = docstring.value.split("\n")
    for example in _parsed(docstring, 0, parser):
        shown = example.want.split("\n")[:-1]
        source = example.source.split("\n")[:-1]
        effect = parser.effect(example)
        is_statement = not (shown or effect.on & doctest.SKIP or effect.needs)
        kept = source if is_statement else [""] * (len(source) + len(shown))
        lines[example.lineno : example.lineno + len(source) + len(shown)] = kept
    return replace(docstring, value="\n".join(lines))


def suggested(reply: str) -> tuple[Example, ...]:
    """Return the examples in a model's reply that doctest can read."""
    lines = [line for line in normalize(reply).split("\n") if not line.lstrip().startswith(("```", "~~~"))]
    found: list[Example] = []
    for paragraph in re.split(r"\n[ \t]*\n", "\n".join(lines)):
        text = Literal(paragraph, tuple(range(paragraph.count("\n") + 1)))
        with suppress(TargetError):
            found += _examples(text, 0)
    return tuple(found)


def _examples(docstring: Literal, first_line: int, found: Sequence[DirectiveBlock] = ()) -> list[Example]:
    """Return the examples in the order in which they run.

    As in Sphinx, the examples of a group run together, and an example in several groups runs once in each group.
    """
    prompted = [*_prompted(_without_code(docstring, found), first_line, found)]
    if not found:
        return [example for _, example in prompted]
    groups = dict.fromkeys([group for block in found for group in block.groups])
    groups |= dict.fromkeys([group for names, _ in prompted for group in names])
    groups.pop("*", None)
    examples: list[Example] = []
    for group in groups or ["default"]:
        own = [block for block in found if not {group, "*"}.isdisjoint(block.groups)]
        phased = [*_coded(docstring, first_line, own)]
        phased += [(0, example) for names, example in prompted if not {group, "*"}.isdisjoint(names)]
        # A docstring with only setup code is meant to be included in a page with examples.
        if any(phase == 0 for phase, _ in phased):
            ordered = sorted(phased, key=lambda one: (one[0], one[1].line))
            examples += [replace(example, group=group) for _, example in ordered]
    return examples


def _coded(docstring: Literal, first_line: int, found: Sequence[DirectiveBlock]) -> Iterator[tuple[int, Example]]:
    """Yield an example for each block of code in a group, together with its `DirectiveBlock.phase`.

    `found` are all blocks of the group. Blocks with prompts are left out.
    """
    joined = outputs(found)
    outputs_of_code = set(joined.values())
    for block in found:
        if block.is_prompted or not block.code or block in outputs_of_code:
            continue
        source, want, effect = block.code, "", block.directives
        if block.kind == "testoutput":
            # The output is not code, so a comment takes the place of the source.
            source, want = "# testcode\n", block.code
            problem = Directives(problem="is an output without a `testcode` above it: add one")
            effect = Directives(on=doctest.SKIP) if block.is_skipped else problem
        elif output := joined.get(block):
            want = output.code
            effect = effect.then(output.directives).then(Directives(on=doctest.DONT_ACCEPT_BLANKLINE))
        line = first_line + docstring.lines[block.first]
        yield block.phase, replace(_example(source, want, line, _Parser().raised(want), effect), is_block=True)


def _example(source: str, want: str, line: int, exception: str | None, effect: Directives) -> Example:
    return Example(source, want, line, effect.on, exception, False, effect.off, effect.needs, effect.problem)


def _prompted(
    docstring: Literal, first_line: int, found: Sequence[DirectiveBlock]
) -> Iterator[tuple[Sequence[str], Example]]:
    """Yield each example with prompts, together with its Sphinx groups."""
    parser = _Parser(found)
    groups = {line: block.groups for block in found for line in range(block.first, block.end)}
    for lines in _joined(_parsed(docstring, first_line, parser)):
        example, last = lines[0], lines[-1]
        effect = Directives()
        for each in lines:
            effect = effect.then(parser.effect(each))
        source, line = "".join(each.source for each in lines), first_line + docstring.lines[example.lineno]
        yield groups.get(example.lineno, _DEFAULT), _example(source, last.want, line, last.exc_msg, effect)


class _Parser(doctest.DocTestParser):
    """A doctest parser that accepts unknown options. An unknown option must not hide the other examples."""

    def __init__(self, found: Sequence[DirectiveBlock] = ()) -> None:
        self._found: dict[int, Directives] = {}
        """For each line of an example, the directives inside the example."""
        self._around: dict[int, Directives] = {}
        """For each line of an example, the directives of Sphinx and doctestplus around the example."""
        self._blocks = found
        self._block = Directives()
        """The xdoctest directives that stood alone on a line. They apply to all examples below."""

    def effect(self, example: doctest.Example) -> Directives:
        """Return the combined directives in an example and around the example."""
        return self._around[example.lineno].then(self._found[example.lineno])

    def raised(self, output: str) -> str | None:
        """Return the type and message of the exception in an output; None if the output is not a traceback."""
        found = self._EXCEPTION_RE.match(output)  # type: ignore[attr-defined]  # typeshed leaves out private names
        return found["msg"] if found else None

    def parse(self, string: str, name: str = "<string>") -> list[str | doctest.Example]:
        """Parse a text as doctest does, and read the directives around its examples."""
        parts = super().parse(string, name)
        above = lasting = Directives()
        effects = {line: block.directives for block in self._blocks for line in range(block.first, block.end)}
        for part in parts:
            if isinstance(part, doctest.Example):
                self._around[part.lineno] = effects.get(part.lineno, Directives()).then(above)
            elif part:
                above, lasting = after(part, lasting)
        return parts

    def _find_options(self, source: str, name: str, lineno: int) -> dict[int, bool]:
        """Record the options for `effect`.

        Return no options to doctest, because doctest raises an error for unknown options.
        """
        if self._IS_BLANK_OR_COMMENT(source):  # type: ignore[attr-defined]  # typeshed leaves out private names
            lines, block = of_xdoctest(source), self._block
            self._block = block.then(lines)
            if directives(source) != lines:
                problem = f"has an option directive on a line with no example: {source.strip()!r}"
                raise ValueError(f"line {lineno + 1} of the doctest for {name} {problem}")
            return {}
        code = _without_strings(source) if "xdoctest" in source else source
        self._found[lineno] = self._block.then(directives(source, code))
        return {}


def _without_strings(source: str) -> str:
    kept, position = [], 0
    for string in string_literals(source, 0, len(source)):
        kept.append(source[position : string.start])
        position = string.end
    return "''".join([*kept, source[position:]])


def _joined(found: Sequence[doctest.Example]) -> Iterator[list[doctest.Example]]:
    """Group the lines of each statement.

    In xdoctest, every line of a statement may begin with `>>>`. For doctest, such lines are a syntax error.
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


def _parsed(docstring: Literal, first_line: int, parser: _Parser) -> list[doctest.Example]:
    try:
        return parser.get_examples(docstring.value)
    except ValueError as error:
        found = _PROBLEM.fullmatch(str(error))
        line, problem = (int(found["line"]) - 1, found["problem"]) if found else (0, str(error))
        raise UnreadableExample(first_line + docstring.lines[line], problem) from None
