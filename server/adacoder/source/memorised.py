"""Detection of hard-coded answers to the docstring's examples.

For most Examples the return that was taken gives back a literal of the `want`, chosen by comparing with, or looking up,
a literal of that Example's input. Which lines were reached was observed; what chooses a literal is read from the text.

Small inputs, tables that go well beyond the Examples, and rules that the docstring states, are answered in good faith.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from adacoder.domain import Example, ExampleResult, Target
from adacoder.pytext import Lines, dedent, normalize, parsed
from adacoder.source.placed import Splice

_LONGEST, _MOST, _DEEPEST = 10_000, 500, 30  # characters, literals, and levels around one that are read
_TRUTHS = {("true",), ("false",)}
_BASE = frozenset({"true", "false", "none", "", "0", "1", "2"})  # what functions treat on its own in good faith
_ORDERS, _NONE, _END = (ast.Lt, ast.LtE, ast.Gt, ast.GtE), frozenset[str](), ast.Module([], [])


def memorised(target: Target, placed: Splice, results: Sequence[ExampleResult]) -> str | None:
    """Explain why passing these Examples proves nothing, or return None; without observed lines any may be reached."""
    wants = {_words(result.example.want) for result in results}
    try:
        trees = _trees(placed)
        if wants.isdisjoint(_TRUTHS) and wants.isdisjoint(_answers(trees.values())):
            return None  # as nearly always, and to find the ways takes long
        count = _from_memory(target, [*islice(_Code(placed, trees).ways(), _MOST)], results)
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


class _Way(NamedTuple):
    """A path of a literal to a return; `keys`: words that select it, by comparison or by lookup."""

    answer: tuple[str, ...] = ()
    keys: frozenset[str] = _NONE
    lines: tuple[range, ...] = ()


def _trees(placed: Splice) -> dict[int, ast.AST]:
    """Syntax trees of a candidate's parts, by their offset."""
    spans = [span for span in (*placed.added, placed.function) if span.end - span.start <= _LONGEST]
    found = {span.start: parsed(dedent(normalize(span.of(placed.text)))) for span in spans}
    return {start: tree for start, tree in found.items() if tree}


def _answers(trees: Iterable[ast.AST]) -> set[tuple[str, ...]]:
    """Values of the expressions without names: all that may be given back, besides truths."""
    found, named = set[tuple[str, ...]](), set[ast.AST]()
    for tree in trees:
        for node in reversed([*ast.walk(tree)]):  # what is within a node comes before it
            within = [*ast.iter_child_nodes(node)]
            if not named.isdisjoint(within) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)):
                named.add(node)
            if isinstance(node, ast.expr) and named.isdisjoint(node.args if isinstance(node, ast.Call) else [node]):
                found.add(_words(ast.unparse(node)))
    return found


class _Code:
    """A candidate's text: which literals it may give back, and how."""

    def __init__(self, placed: Splice, trees: Mapping[int, ast.AST]) -> None:
        lines, function = Lines(placed.text), placed.function
        self._own = range(lines.line_at(function.start) + 1, lines.line_at(function.end) + 2)
        self._above: dict[ast.AST, ast.AST] = {}
        self._values: dict[str, list[ast.AST]] = defaultdict(list)
        self._places: dict[str, list[ast.AST]] = defaultdict(list)
        self._uses: dict[str, list[_Way]] = {}
        self._tests: dict[ast.AST, frozenset[str]] = {}
        for start, tree in trees.items():
            for node in ast.walk(ast.increment_lineno(tree, lines.line_at(start))):
                self._above.update(dict.fromkeys(ast.iter_child_nodes(node), node))
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    self._places[node.id].append(node)
                elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                    for name in _names(node, ast.Store):
                        self._values[name].append(node.value if isinstance(node, ast.Assign) else node)
        self._said = {name: _constants(values) for name, values in self._values.items()}
        self._computed = {name for name, values in self._values.items() if _has_sum(values)}
        self._equated = {name for node in self._above if self._is_equation(node) for name in _names(node)}

    def ways(self) -> Iterator[_Way]:
        """Paths by which it returns literals and the truth of comparisons."""
        for node in [*self._above]:
            parts = node.args if isinstance(node, ast.Call) else [node]
            if isinstance(node, ast.Compare):
                truth = str(isinstance(node.ops[0], ast.Eq | ast.In)).lower()
                yield from self._ways(node, (truth,), self._compared(node))
            elif isinstance(node, ast.expr) and not any(map(_names, parts)):
                yield from self._ways(node, _words(ast.unparse(node)))

    def _ways(self, node: ast.AST, answer: tuple[str, ...] = (), keys: frozenset[str] = _NONE) -> Iterator[_Way]:
        """Paths from `node`, unchanged, to a return; names bound to it are followed."""
        lines, names, is_given = list[range](), set[str](), False
        for _ in range(_DEEPEST):
            child, node = node, self._above.get(node, _END)
            match node:
                case ast.Dict(keys=asked, values=values):
                    entries = zip(asked[:_MOST], values[:_MOST], strict=True)
                    keys |= _constants(key for key, value in entries if key and value is child)
                case ast.List(elts=row) | ast.Tuple(elts=row) | ast.Set(elts=row):
                    if isinstance(self._above[node], ast.List | ast.Tuple | ast.Set):
                        keys |= _constants(each for each in row[:_DEEPEST] if each is not child)
                case ast.Subscript(slice=asked) | ast.Call(func=ast.Attribute(attr="get"), args=[asked, *_]):
                    if child is asked or self._is_computed(asked):
                        break
                case ast.If(test=test) | ast.IfExp(test=test):
                    keys |= self._compared(test)
                case ast.match_case(pattern=pattern):
                    keys |= _constants([pattern])
                case ast.For(target=target, iter=table) | ast.comprehension(target=target, iter=table):
                    if child is table and _names(target, ast.Store) & self._equated:
                        names = _names(target, ast.Store)
                case ast.NamedExpr(target=target) | ast.Assign(targets=[target]) | ast.AnnAssign(target=target) if (
                    len(getattr(target, "elts", ())) <= _DEEPEST
                ):
                    names |= _names(target, ast.Store)
                case ast.Return() | ast.Yield() | ast.YieldFrom() | ast.Call(func=ast.Name(id="print")):
                    is_given = True
                case ast.Call(func=called) if child is not called and _names(called) != {"next"}:
                    break
                case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.JoinedStr():
                    break
            if isinstance(node, ast.stmt) and not hasattr(node, "body") and node.lineno in self._own:
                lines.append(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        for use in chain([_Way()] if is_given else [], *map(self._uses_of, names)):
            yield _Way(answer, keys | use.keys, (*lines, *use.lines))

    def _uses_of(self, name: str) -> list[_Way]:
        if name not in self._uses:
            self._uses[name] = []  # for what leads back to it
            self._uses[name] += islice((way for node in self._places[name] for way in self._ways(node)), _MOST)
        return self._uses[name]

    def _compared(self, test: ast.AST) -> frozenset[str]:
        """Constants that a test compares for equality."""
        if test not in self._tests:
            equations = [node for node in ast.walk(test) if self._is_equation(node)]
            named = [self._said.get(name, _NONE) for node in equations for name in _names(node)]
            self._tests[test] = _constants(equations).union(*named)
        return self._tests[test]

    def _is_equation(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Compare) and not isinstance(node.ops[0], _ORDERS) and not self._is_computed(node)

    def _is_computed(self, node: ast.AST) -> bool:
        """True if it holds arithmetic: a remainder is not the input itself."""
        return not self._computed.isdisjoint(_names(node)) or _has_sum([node])


def _from_memory(target: Target, ways: Sequence[_Way], results: Sequence[ExampleResult]) -> int:
    """Count the Examples answered from memory if they are the majority; else 0."""
    inputs, found, by_default = _inputs(target), list[tuple[frozenset[str], _Way, frozenset[str]]](), 0
    prose = re.sub(rf">>>.*(?:\n.+)*|.*\b{target.name}\(.*", "", target.docstring)
    rules = [{*_words(line)} for line in prose.split("\n")]
    for result in results:
        want, given, lines = _words(result.example.want), inputs.get(result.example, _NONE), result.reached.lines
        taken = [way for way in ways if way.answer == want and not (lines and any(map(lines.isdisjoint, way.lines)))]
        enough = len(given) / (1 if want in _TRUTHS else 2)
        told = [(given, way, met) for way in taken if (met := given & way.keys) and len(met) >= enough]
        found += told[:1] if told and not any(told[0][2].union(want) <= rule for rule in rules) else []
        by_default += bool(taken) and not told and want not in _TRUTHS
    asked = Counter((way, met) for _, way, met in {*found})
    recalled = [met for _, way, met in found if asked[way, met] == 1]  # one answer for several inputs is a rule
    telling = [met for met in recalled if not met <= _BASE] or recalled * (len(recalled) == len(results))
    others = int(by_default == 1)  # reached only because every test failed
    is_most = 2 * (len(telling) + others) > len(results) - (len(recalled) - len(telling))
    shown = _NONE.union(*inputs.values(), *(_words(example.want) for example in target.examples))
    beyond = _NONE.union(*(way.keys for way in ways)) - shown - _BASE
    goes_beyond = 2 * len(beyond) >= len(_NONE.union(*telling))
    return len(recalled) + others if is_most and not goes_beyond else 0


def _inputs(target: Target) -> dict[Example, frozenset[str]]:
    """For each Example the words of what the target is given, or else of all literals in it; names stand for theirs."""
    found, bound = dict[Example, frozenset[str]](), dict[str, frozenset[str]]()
    for example in target.examples:
        tree = parsed(example.source[:_LONGEST]) or _END
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        own = [each for each in calls if target.name in (getattr(each.func, "id", ""), getattr(each.func, "attr", ""))]
        whole, given = (
            _constants(nodes).union(*(bound.get(name, ()) for node in nodes for name in _names(node)))
            for nodes in ([tree], [part for call in own for part in (*call.args, *call.keywords)])
        )
        found[example] = given or whole
        bound |= dict.fromkeys(_names(tree, ast.Store), whole)
    return found


def _has_sum(nodes: Iterable[ast.AST]) -> bool:
    return any(isinstance(each, ast.BinOp | ast.AugAssign) for node in nodes for each in ast.walk(node))


def _names(node: ast.AST, context: type[ast.expr_context] = ast.Load) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, context)}


def _constants(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The words of all constants in some code."""
    inner = chain.from_iterable(map(ast.walk, nodes))
    return frozenset(word for each in inner if isinstance(each, ast.Constant) for word in _words(str(each.value)))


def _words(text: str) -> tuple[str, ...]:
    """Words of a literal without its type: `[1, "a"]`, `(1, "a")` and `"1,a"` are the same."""
    return tuple(re.findall(r"\w[\w.]*", text.lower())) or (text.strip(" \n'\""),)
