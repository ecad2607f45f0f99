"""Find the lines and branches of a function that neither the examples nor the project's tests reached.

Code under `if TYPE_CHECKING:` and helper functions of the candidate do not count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from adacoder.domain import Coverage, Reached, SourceLine, Verdict
from adacoder.pytext import Lines, dedent, logical_lines, normalize, parsed
from adacoder.source.placed import Splice


def coverage(placed: Splice, verdict: Verdict, above: int = 0) -> Coverage | None:
    """Return the coverage of the function in `placed` by the runs in `verdict`; None if no lines were observed.

    Line numbers do not count the first `above` lines of `placed.text`.
    """
    lines, function = Lines(placed.text), placed.function
    first = lines.line_at(function.start)
    tree = parsed(dedent(normalize(function.of(placed.text)))) or ast.Module([], [])
    nodes = list(ast.walk(ast.increment_lineno(tree, first)))
    there = verdict.reachable.lines - {line for node in nodes for line in _for_type_checkers(node)}
    if not there:
        return None
    reached = Reached(
        verdict.tests_reached.lines.union(*(result.reached.lines for result in verdict.results)),
        verdict.tests_reached.branches.union(*(result.reached.branches for result in verdict.results)),
    )
    tests = sorted((_Test(node) for node in nodes if isinstance(node, ast.If | ast.While)), key=lambda test: test.line)

    ends = {
        lines.line_at(each.start): each.code_end for each in logical_lines(placed.text, function.start, function.end)
    }

    def line_of(number: int) -> SourceLine:
        start = lines.starts[number - 1]
        code = placed.text[start : ends.get(number - 1, len(placed.text))]
        return SourceLine(number - above, code.expandtabs().partition("\n")[0].rstrip())

    return Coverage(
        tuple(number - above for number in sorted(there)),
        tuple(map(line_of, sorted(there - reached.lines))),
        tuple((line_of(test.line), never) for test in tests for never in test.never(verdict.reachable, reached)),
        bool(verdict.tests),
    )


@dataclass(frozen=True, slots=True)
class _Test:
    """The condition of an `if`, `elif` or `while`."""

    node: ast.If | ast.While

    @property
    def line(self) -> int:
        return self.node.lineno

    def never(self, there: Reached, reached: Reached) -> Iterator[bool]:
        """Yield True if the condition was never true, and False if the condition was never false.

        Yield nothing if the condition was not evaluated, or if an unreached line already shows the gap.
        """
        for outcome, ways in self._ways(there).items():
            destinations = {to for _, to in ways}
            was_asked = not reached.lines.isdisjoint(self._own)
            if (
                ways
                and was_asked
                and destinations <= reached.lines | {*self._own}
                and ways.isdisjoint(reached.branches)
            ):
                yield outcome

    @property
    def _own(self) -> range:
        return range(self.node.lineno, (self.node.test.end_lineno or self.node.lineno) + 1)

    def _ways(self, there: Reached) -> dict[bool, set[tuple[int, int]]]:
        """Return the branches that are taken if the condition is true, and if it is false.

        A branch is left out if its meaning is ambiguous.
        """
        ways = {way for way in there.branches if way[0] in self._own}
        body = self.node.body[0].lineno
        inside = {way for way in ways if way[1] in self._own}
        if any(isinstance(each, ast.BoolOp | ast.IfExp | ast.comprehension) for each in ast.walk(self.node.test)):
            ways, inside = ways - inside, set()
        true = inside if body in self._own else {way for way in ways if way[1] == body}
        return {True: true, False: ways - true}


def _for_type_checkers(node: ast.AST) -> range:
    """Return the lines in the body of `if TYPE_CHECKING:`, without its `else`."""
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"), body=[first, *_] as body):
            return range(first.lineno, (body[-1].end_lineno or first.lineno) + 1)
        case _:
            return range(0)
