"""Designed tests in a reply: asserts, doctests, a table, or calls with their results in prose; read as Examples.

They are a model's opinion of what the docstring means: probes, which can send a candidate back or rank it.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from itertools import pairwise

from adacoder.domain import Example, Target
from adacoder.pytext import normalize, parsed
from adacoder.replies.filters import answer
from adacoder.source.calls import Calls
from adacoder.source.examples import suggested
from adacoder.source.informal import informal
from adacoder.source.literal import Literal

MOST_TESTS = 20
"""Tests of one reply that are kept."""
LONGEST_TEST = 1_000
"""Characters of a test and its output: AgentCoder's "large" inputs have to fit into a prompt that tells of them."""
_BLOCK = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n(.*?)(?:^[ \t]*(?:```|~~~)|\Z)", re.DOTALL | re.MULTILINE)
_ASSERT_LINE = re.compile(
    r"^[ \t]*(?:[-*+]|\d+[.)])?[ \t]*`?(?P<code>(?:assert|self\.assert\w+\()[^\n`]*)", re.MULTILINE
)
_ROW = re.compile(r"^[ \t]*\|(?P<cells>[^\n]+)\|[ \t]*$", re.MULTILINE)
_COMPARED = {"assertEqual": ast.Eq, "assertEquals": ast.Eq, "assertListEqual": ast.Eq, "assertIs": ast.Is}
_BUILTINS = frozenset(dir(builtins))


def designed_tests(text: str, target: Target) -> tuple[Example, ...]:
    """Read the tests of `target` in a reply, in any of these forms; none that needs more than a call."""
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
    """What an assert of Python or unittest claims to be true."""
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
    """Whether it needs only the target and what Python has built in."""
    bound = {node.id for node in ast.walk(claim) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(claim) if isinstance(node, ast.arg)}
    known = _BUILTINS | bound | {target.qualname.partition(".")[0]}
    names = {node.id for node in ast.walk(claim) if isinstance(node, ast.Name)}
    return names <= known and target.name in {*names, *_attributes(claim)}


def _attributes(claim: ast.expr) -> set[str]:
    return {node.attr for node in ast.walk(claim) if isinstance(node, ast.Attribute)}


def _example(claim: ast.expr) -> Example:
    """A claim as an Example: a call with its result where it compares with a literal, else that it is true."""
    if isinstance(claim, ast.Compare) and len(claim.ops) == 1 and isinstance(claim.ops[0], ast.Eq | ast.Is):
        try:
            want = repr(ast.literal_eval(claim.comparators[0]))
            return Example(f"{ast.unparse(claim.left)}\n", f"{want}\n", 0, informal=True)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            pass  # it is compared with what is no literal
    return Example(f"bool({ast.unparse(claim)})\n", "True\n", 0)


def _rows(text: str, target: Target) -> Iterator[Example]:
    """The tests in a table of calls, or of arguments, with their results."""
    for row in _ROW.finditer(text):
        cells = [cell.strip().strip("`") for cell in row["cells"].split("|")]
        for before, after in pairwise(cells):
            call = before if f"{target.name}(" in before else f"{target.qualname}({before})"
            tree = parsed(f"assert {call} == ({after})")
            if tree is not None and after and _is_on_its_own(tree.body[0].test, target):  # type: ignore[attr-defined]
                yield _example(tree.body[0].test)  # type: ignore[attr-defined]
                break
