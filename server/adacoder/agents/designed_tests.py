"""Read a model's tests from its reply.

Tests can be asserts, doctests, table rows, or calls with results in prose. A model may misread the docstring, so its
tests can only rank or reject a candidate.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from adacoder.domain import Example, Target
from adacoder.pytext import normalize, parsed
from adacoder.replies.filters import answer
from adacoder.source.calls import Calls
from adacoder.source.examples import suggested
from adacoder.source.informal import informal
from adacoder.source.literal import Literal

MOST_TESTS = 20
"""Maximum number of tests to keep from one reply."""
LONGEST_TEST = 1_000
"""Maximum length of a test and its expected output, in characters. Tests must fit into later prompts."""
_MOST_COLUMNS = 8
"""Maximum number of columns to read from a table."""
_BLOCK = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n(.*?)(?:^[ \t]*(?:```|~~~)|\Z)", re.DOTALL | re.MULTILINE)
_ASSERT_LINE = re.compile(
    r"^[ \t]*(?:[-*+]|\d+[.)])?[ \t]*`?(?P<code>(?:assert|self\.assert\w+\()[^\n`]*)", re.MULTILINE
)
_ROW = re.compile(r"^[ \t]*\|(?P<cells>[^\n]+)\|[ \t]*$", re.MULTILINE)
_COMPARED = {"assertEqual": ast.Eq, "assertEquals": ast.Eq, "assertListEqual": ast.Eq, "assertIs": ast.Is}
_BUILTINS = frozenset(dir(builtins))


def designed_tests(text: str, target: Target) -> tuple[Example, ...]:
    """Return the tests of `target` in a reply. Tests that need more than one call are skipped."""
    text = normalize(answer(text))
    asserts = [*_asserts(text, target)]
    found = [*suggested(text), *asserts, *_rows(text, target)]
    if not found and (calls := Calls.of(target)) is not None:
        found = [*informal(Literal(text, tuple(range(text.count("\n") + 1))), 0, calls)]
    kept: dict[str, Example] = {}
    for test in found:
        if test.has_want and target.name in test.source and len(test.source) + len(test.want) <= LONGEST_TEST:
            kept.setdefault(test.source, test)
    return tuple(kept.values())[:MOST_TESTS]


def _asserts(text: str, target: Target) -> Iterator[Example]:
    trees = [parsed(block) for block in _BLOCK.findall(text)] or [parsed(text)]
    if None in trees or not any(tree is not None and tree.body for tree in trees):
        trees = [parsed(line["code"].rstrip(" ,.;")) for line in _ASSERT_LINE.finditer(text)]
    for tree in filter(None, trees):
        for node in ast.walk(tree):
            claim = _claim(node)
            if claim is not None and _is_on_its_own(claim, target):
                yield _example(claim)


def _claim(node: ast.AST) -> ast.expr | None:
    """Return the condition that an assert statement or a unittest assertion checks, or None for other nodes."""
    if isinstance(node, ast.Assert):
        return node.test
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
        return None
    first, *others = node.args
    if node.func.attr == "assertTrue":
        return first
    if node.func.attr == "assertFalse":
        return ast.UnaryOp(ast.Not(), first)
    comparison = _COMPARED.get(node.func.attr)
    return ast.Compare(first, [comparison()], [others[0]]) if comparison and others else None


def _is_on_its_own(claim: ast.expr, target: Target) -> bool:
    """Return whether the condition uses the target, and otherwise only built-in names."""
    bound = {node.id for node in ast.walk(claim) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(claim) if isinstance(node, ast.arg)}
    known = _BUILTINS | bound | {target.qualname.partition(".")[0]}
    names = {node.id for node in ast.walk(claim) if isinstance(node, ast.Name)}
    return names <= known and target.name in {*names, *_attributes(claim)}


def _attributes(claim: ast.expr) -> set[str]:
    return {node.attr for node in ast.walk(claim) if isinstance(node, ast.Attribute)}


def _example(claim: ast.expr) -> Example:
    """Turn a condition into an example.

    `f(2) == 4` becomes a call with the output 4. Any other condition becomes `bool(condition)` with the output True.
    """
    if isinstance(claim, ast.Compare) and len(claim.ops) == 1 and isinstance(claim.ops[0], ast.Eq | ast.Is):
        left, right = claim.left, claim.comparators[0]
        if _is_literal(left):
            left, right = right, left
        if _is_literal(right):
            return Example(f"{ast.unparse(left)}\n", f"{ast.literal_eval(right)!r}\n", 0, informal=True)
    return Example(f"bool({ast.unparse(claim)})\n", "True\n", 0)


def _rows(text: str, target: Target) -> Iterator[Example]:
    """Yield tests from the rows of Markdown tables.

    A row has a call and its result, or arguments and a result. Other columns, such as row numbers, are skipped.
    """
    calls = Calls.of(target)
    for row in _ROW.finditer(text):
        cells = [cell.strip().strip("`") for cell in row["cells"].split("|")][:_MOST_COLUMNS]
        ends = [(start, end) for end in range(len(cells) - 1, 0, -1) for start in range(end - 1, -1, -1)]
        found = (_row(cells[start:end], cells[end], target, calls) for start, end in ends)
        test = next(filter(None, found), None)
        if test is not None:
            yield test


def _row(before: list[str], want: str, target: Target, calls: Calls | None) -> Example | None:
    """Return the test in a table row, or None. `before` has the cells of the call, or the cells of the arguments."""
    is_call = f"{target.name}(" in before[0] and len(before) == 1
    call = before[0] if is_call else f"{target.qualname}({', '.join(before)})"
    tree = parsed(f"assert {call} == ({want})")
    match tree:
        case ast.Module(body=[ast.Assert(test=ast.Compare(left=called, comparators=[result]) as claim)]):
            if not _is_literal(result) or not _is_on_its_own(claim, target):
                return None
            return _example(claim) if is_call or _is_taken(called, calls) else None
        case _:
            return None


def _is_taken(call: ast.expr, calls: Calls | None) -> bool:
    """Return whether all arguments are literals and match the function's signature."""
    if calls is None or not isinstance(call, ast.Call):
        return False
    arguments = tuple([(None, each) for each in call.args] + [(each.arg, each.value) for each in call.keywords])
    return all(_is_literal(value) for _, value in arguments) and calls.takes(arguments)


def _is_literal(tree: ast.expr) -> bool:
    try:
        ast.literal_eval(tree)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
