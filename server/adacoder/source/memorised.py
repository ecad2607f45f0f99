"""Detect candidates that store the answers of the docstring's examples instead of computing them.

An example counts as memorised if its input and its output are constants on lines that the example ran. A candidate is
rejected if most examples are memorised.

Some constants are legitimate: small numbers, long tables, rules from the docstring, thresholds and arithmetic. For
example, `if score >= 90` does not test for the single input 90.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from adacoder.domain import Example, ExampleResult, Target
from adacoder.pytext import Lines, dedent, normalize, parsed
from adacoder.source.placed import Splice

_LONGEST = 10_000
"""Maximum characters of a function or an example to read."""
_TRUTHS = {("true",), ("false",)}
_BASE = frozenset({"true", "false", "none", "", "0", "1", "2"})
"""Inputs that often need a special case in legitimate code."""
_ORDERS, _NONE = (ast.Lt, ast.LtE, ast.Gt, ast.GtE), frozenset[str]()
_CHOOSING = (ast.Compare, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.match_case, ast.Attribute)
"""Syntax nodes whose constants may choose an answer or be an answer.

`ast.Attribute` is listed for methods of strings.
"""
_GIVING = (ast.Return, ast.Yield, ast.YieldFrom, ast.IfExp)


def memorised(target: Target, placed: Splice, results: Sequence[ExampleResult]) -> str | None:
    """Return the reason why a candidate counts as memorised; None if it does not.

    If the run did not record lines, all lines count as run.
    """
    try:
        if not _has_constants(placed, results):
            return None
        count = _from_memory(target, _Code(placed), results)
    except RecursionError:
        return None
    if not count:
        return None
    if len(results) == 1:
        how, so = "The only example is answered by a constant under a test on its own input", "it, so it proves"
    else:
        how = f"{count} of {len(results)} examples are answered by constants under a test on their own input"
        so = "them, so they prove"
    return f"{how}: nothing is computed for {so} nothing about other inputs."


def _has_constants(placed: Splice, results: Sequence[ExampleResult]) -> bool:
    """Return whether enough answers may be constants of the code. This check is quick."""
    found = set[str]()
    for span in (*placed.added, placed.function):
        tree = parsed(dedent(normalize(span.of(placed.text)))) if span.end - span.start <= _LONGEST else None
        for node in ast.walk(tree) if tree is not None else ():
            for child in ast.iter_child_nodes(node) if not isinstance(node, ast.Expr) else ():
                if isinstance(child, ast.Constant):
                    text = str(child.value).lower()
                    found.update(_words(text), text)  # A string may serve as a table of characters.
    answers = [_answer(result.example.want) for result in results]
    return 3 * sum(answer in _TRUTHS or found.issuperset(answer) for answer in answers) > len(results)


class _AnswerConstant(NamedTuple):
    """A constant in a candidate that may be a memorised answer, or may select a memorised answer."""

    words: tuple[str, ...]
    chooses: bool
    """True if the constant is in a comparison or a table."""
    lines: range | None
    """The 1-based lines of the constant's statement; None if runs do not record these lines."""


class _Code:
    """The constants of a candidate. Constants in arithmetic, thresholds and errors are left out."""

    def __init__(self, placed: Splice) -> None:
        self.constants: list[_AnswerConstant] = []
        self.tables: list[list[tuple[str, ...]]] = []
        """For each list, tuple or string in the code, the words of each entry."""
        lines = Lines(placed.text)
        for span in (*placed.added, placed.function):
            tree = parsed(dedent(normalize(span.of(placed.text)))) if span.end - span.start <= _LONGEST else None
            if tree is not None:
                ast.increment_lineno(tree, lines.line_at(span.start))
                self._compared = _holders(tree, lambda node: isinstance(node, ast.Compare))
                self._computed = _computed(tree)
                self._asked = _asked(tree, self._computed)
                self._read(tree, None, is_own=span == placed.function)

    def _read(self, node: ast.AST, lines: range | None, *, is_own: bool, chooses: bool = False) -> None:
        left_out: Sequence[ast.AST | None] = ()
        if is_own and isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            lines = range(node.lineno, max(end, node.lineno) + 1)
        match node:
            case ast.Constant(value=value):
                self.constants.append(_AnswerConstant(_words(str(value)), chooses, lines))
                if isinstance(value, str):
                    self.tables += [[(each,) for each in _words(value)], [(each,) for each in value.lower()]]
            case ast.Raise() | ast.JoinedStr() | ast.Expr(value=ast.Constant()) | ast.Slice():
                return
            case ast.Compare(ops=[order, *_]) if isinstance(order, _ORDERS) or node in self._computed:
                return
            case ast.BinOp() if node not in self._compared:
                left_out = _plain(node.left, node.right)
            case ast.AugAssign(value=value) | ast.Subscript(slice=value):
                left_out = _plain(value)
            case ast.Dict() if node in self._asked:
                left_out = node.keys
            case ast.arg():
                left_out = [node.annotation]
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                left_out, lines = [node.returns], None
            case ast.List() | ast.Tuple() if node not in self._asked:
                self.tables.append([tuple(_words_in([each])) for each in node.elts])
        chooses = isinstance(node, _CHOOSING) or (chooses and not isinstance(node, ast.stmt))
        for child in ast.iter_child_nodes(node):
            if child not in left_out:
                is_answer = isinstance(node, _GIVING) and isinstance(child, ast.List | ast.Tuple | ast.Set)
                for each in ast.iter_child_nodes(child) if is_answer else [child]:
                    self._read(each, lines, is_own=is_own, chooses=chooses and not is_answer)


def _plain(*nodes: ast.expr) -> list[ast.expr]:
    return [node for node in nodes if isinstance(node, ast.Constant | ast.UnaryOp)]


def _holders(tree: ast.AST, is_meant: Callable[[ast.AST], bool]) -> frozenset[ast.AST]:
    """Return the nodes for which `is_meant` is true, and all nodes around them."""
    found = set[ast.AST]()
    for node in reversed([*ast.walk(tree)]):  # In this order, children come before their parents.
        if is_meant(node) or not found.isdisjoint(ast.iter_child_nodes(node)):
            found.add(node)
    return frozenset(found)


def _computed(tree: ast.AST) -> frozenset[ast.AST]:
    """Return the nodes that use arithmetic, or a variable that was set by arithmetic.

    A comparison that uses arithmetic does not test for one particular input.
    """
    sums = _holders(tree, lambda node: isinstance(node, ast.BinOp | ast.AugAssign))
    bound = [node for node in sums if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr)]
    names = set[str]().union(*(_names(node, ast.Store) for node in bound))
    return _holders(tree, lambda node: node in sums or (isinstance(node, ast.Name) and node.id in names))


def _asked(tree: ast.AST, computed: frozenset[ast.AST]) -> frozenset[ast.AST]:
    """Return the tables in which the code looks up a computed value. Such a table is legitimate."""
    found, names = set[ast.AST](), set[str]()
    for node in ast.walk(tree):
        match node:
            case (
                ast.Subscript(value=table, slice=asked)
                | ast.Call(func=ast.Attribute(value=table, attr="get"), args=[asked, *_])
            ) if asked in computed:
                found.add(table)
                names |= {table.id} if isinstance(table, ast.Name) else set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and names & _names(node, ast.Store):
            found.add(node.value)
    return frozenset(found)


def _from_memory(target: Target, code: _Code, results: Sequence[ExampleResult]) -> int:
    """Return the number of memorised examples; 0 if they are not the majority."""
    inputs, found, by_default = _inputs(target), list[tuple[frozenset[str], tuple[str, ...]]](), 0
    rules = [Counter(_words(line)) for line in _prose(target).split("\n")]
    seen = {lines: _reached(code, lines) for lines in {result.reached.lines for result in results}}
    answers = [(result, _answer(result.example.want)) for result in results]
    left = Counter(word for each in code.constants for word in each.words)
    left.subtract(
        chain.from_iterable({want for result, want in answers if _joined(want) in seen[result.reached.lines].text})
    )
    if any(left[word] < 0 for word in left.keys() - _BASE):
        return 0  # More answers than constants in the code are right, so the code computes them.
    small = [table for table in code.tables if sum(not _BASE.issuperset(entry) for entry in table) <= len(results)]
    placed = {(str(place), entry) for table in small for place, entry in enumerate(table)}
    keys = frozenset(+left)
    for result, want in answers:
        given, derived = inputs[result.example]
        reached, answer = seen[result.reached.lines], _joined(want)
        is_placed = len(given) == 1 and (min(given), want) in placed
        if want not in _TRUTHS and not is_placed and answer not in reached.text:
            continue
        words = reached.choosing.union(*(each.words for each in reached.longer if answer in _joined(each.words)))
        words = keys & (reached.choosing if want in _TRUTHS else words | reached.others)
        met = given & words
        # A condition on part of a string, such as its beginning, is legitimate. So most words of the input must match.
        most = len(given) if want in _TRUTHS else (len(given) + 1 + (not all(map(str.isdecimal, met)))) // 2
        met = given if is_placed else met if met and len(met) >= most else derived & words
        if met and not any(Counter([*met, *want]) <= rule for rule in rules):
            found.append((met, want))
        by_default += not met and want not in _TRUTHS
    asked = Counter(found)
    # If several examples have the same pair, the code follows a rule.
    recalled = [met for met, want in found if asked[met, want] == 1]
    telling = [met for met in recalled if not met <= _BASE] or recalled * (len(recalled) == len(results))
    others = int(by_default == 1)  # The code may return one answer by default, after all tests.
    is_most = 2 * (len(telling) + others) > len(results) - (len(recalled) - len(telling))
    known = _NONE.union(*telling, *(given for given, _ in inputs.values()), *(want for _, want in answers))
    beyond = _NONE.union(*(each.words for each in code.constants if each.chooses)) - known - _BASE
    goes_beyond = 2 * len(beyond) >= len(_NONE.union(*telling))
    return len(recalled) + others if is_most and not goes_beyond else 0


class _LineConstants(NamedTuple):
    """The constants on some lines."""

    text: str
    """The words of all constants, in order."""
    choosing: frozenset[str]
    others: frozenset[str]
    """Constants of one word outside comparisons and tables, such as arguments of calls."""
    longer: list[_AnswerConstant]
    """Strings of several words outside comparisons and tables."""


def _reached(code: _Code, lines: frozenset[int]) -> _LineConstants:
    """Return the constants on `lines`; if `lines` is empty, return all constants."""
    reached = [each for each in code.constants if not (lines and each.lines and lines.isdisjoint(each.lines))]
    others = [each for each in reached if not each.chooses]
    return _LineConstants(
        _joined(word for each in reached for word in each.words),
        _NONE.union(*(each.words for each in reached if each.chooses)),
        _NONE.union(*(each.words for each in others if len(each.words) == 1)) - _BASE,
        [each for each in others if len(each.words) > 1],
    )


def _prose(target: Target) -> str:
    lines, read = Lines(target.text), set[str]()
    for each in target.examples:
        if each.informal and each.line >= lines.line_at(target.docstring_span.start):
            is_whole = each.want.strip() in lines[each.line]  # The result may also be on the next line.
            read.update(lines[line].strip() for line in (each.line, each.line + (not is_whole)))
    prose = re.sub(rf"(?m)^[ \t]*>>>.*(?:\n.+)*|.*\b{target.name}\(.*", "", target.docstring)
    return "\n".join(line for line in prose.split("\n") if line.strip() not in read)


def _inputs(target: Target) -> dict[Example, tuple[frozenset[str], frozenset[str]]]:
    """For each example, return the words in its input, and words that code could compute from the input.

    The input is the arguments of calls of the target; without such calls, the whole example. A variable counts as the
    words that were assigned to it.
    """
    found, bound = dict[Example, tuple[frozenset[str], frozenset[str]]](), dict[str, frozenset[str]]()
    for example in target.examples:
        tree = parsed(example.source[:_LONGEST]) or ast.Module([], [])
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        own = [each for each in calls if target.name in (getattr(each.func, "id", ""), getattr(each.func, "attr", ""))]
        parts = [part for call in own for part in (*call.args, *call.keywords)]
        whole, given = (
            _NONE.union(_words_in(nodes), *(bound.get(name, ()) for node in nodes for name in _names(node)))
            for nodes in ([tree], parts)
        )
        lengths = [len(each.elts) for each in parts if isinstance(each, ast.List | ast.Tuple | ast.Set)]
        lengths += [len(each.value) for each in parts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        derived = {"".join(_words_in(parts)), *map(str, lengths)}
        found[example] = given or whole, frozenset(derived) - _BASE
        bound |= dict.fromkeys(_names(tree, ast.Store), whole)
    return found


def _names(node: ast.AST, context: type[ast.expr_context] = ast.Load) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, context)}


def _words_in(nodes: Iterable[ast.AST]) -> list[str]:
    inner = chain.from_iterable(map(ast.walk, nodes))
    return [word for each in inner if isinstance(each, ast.Constant) for word in _words(str(each.value))]


def _answer(want: str) -> tuple[str, ...]:
    """Return the words of the constants in an output. Without constants, return all words."""
    tree = parsed(want[:_LONGEST])
    return tuple(_words_in([tree])) if tree is not None and len(tree.body) == 1 and _words_in([tree]) else _words(want)


def _joined(words: Iterable[str]) -> str:
    return "\n" + "".join(f"{word}\n" for word in words)


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a text. For example, `[1, "a"]` and `(1, "a")` have the same words."""
    return tuple(re.findall(r"\w[\w.]*", text.lower())) or (text.strip(" \n'\""),)
