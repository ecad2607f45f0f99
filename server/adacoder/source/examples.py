"""The examples of a docstring, as `doctest` reads them, and which of them run the target."""

from __future__ import annotations

import ast
import builtins
import doctest
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from adacoder.domain import Example, TargetError
from adacoder.pytext import normalize, parsed
from adacoder.source.calls import Calls
from adacoder.source.literal import Literal, read_literal
from adacoder.source.names import used_names

_WORD = re.compile(r"[^\W\d]\w*")
_PROBLEM = re.compile(r"line (?P<line>\d+) of the (?:docstring|doctest) for \S+ (?P<problem>.*)", re.DOTALL)
"""How `DocTestParser` words what it cannot read; it counts the docstring's lines from 1."""
_LONGEST = 40_000
"""Characters of a docstring that is read for examples; the longest of common packages with such have half of it."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class UnreadableExample(TargetError):
    """An example that doctest cannot read."""

    def __init__(self, line: int, problem: str) -> None:
        """`line`: of the file, 0-based."""
        super().__init__(f"The example on line {line + 1} cannot be read, as it {problem}: write it as doctest asks.")
        self.line = line


def examples(
    literal: str, first_line: int, target_name: str, class_name: str | None = None, calls: Calls | None = None
) -> tuple[Example, ...]:
    """The examples in the string literal of a docstring, in order.

    Args:
        literal: the docstring's literal, quotes included.
        first_line: the 0-based line of the file where the literal begins.
        target_name: the function's own name.
        class_name: the name of the class it stands in, if it does.
        calls: how the function is called; then informal examples are read too, where no other can decide.

    Raises:
        UnreadableExample: doctest cannot read them.
    """
    if len(literal) > _LONGEST and ">>>" in literal:
        raise UnreadableExample(first_line, f"stands in a docstring of more than {_LONGEST:,} characters")
    docstring = read_literal(literal)
    found = tuple(_examples(docstring, first_line, Flow(target_name, class_name)))
    if calls is None or any(example.decides for example in found):
        return found
    from adacoder.source.informal import informal  # much to import, and seldom needed

    in_prose = informal(_prose(docstring), first_line, calls)
    return tuple(sorted([*found, *in_prose], key=lambda example: example.line))


def _prose(docstring: Literal) -> Literal:
    """A docstring with what doctest reads left blank, but for statements such as `>>> f(1) == 2`, without an output."""
    lines = docstring.value.split("\n")
    for example in _parsed(docstring, 0):
        shown = example.want.split("\n")[:-1]
        source = example.source.split("\n")[:-1]
        is_statement = not shown and not example.options.get(doctest.SKIP)
        kept = source if is_statement else [""] * (len(source) + len(shown))
        lines[example.lineno : example.lineno + len(source) + len(shown)] = kept
    return replace(docstring, value="\n".join(lines))


def suggested(reply: str, target_name: str, class_name: str | None = None) -> tuple[Example, ...]:
    """The examples in a text that mixes them with prose and code fences; what doctest cannot read is left out."""
    lines = [line for line in normalize(reply).split("\n") if not line.lstrip().startswith(("```", "~~~"))]
    found: list[Example] = []
    for paragraph in re.split(r"\n[ \t]*\n", "\n".join(lines)):
        text = Literal(paragraph, tuple(range(paragraph.count("\n") + 1)))
        with suppress(TargetError):
            found += _examples(text, 0, Flow(target_name, class_name))
    return tuple(found)


def _examples(docstring: Literal, first_line: int, flow: Flow) -> Iterator[Example]:
    for example in _parsed(docstring, first_line):
        flags = sum(flag for flag, on in example.options.items() if on)
        yield Example(
            source=example.source,
            want=example.want,
            line=first_line + docstring.lines[example.lineno],
            flags=flags,
            exception=example.exc_msg,
            # A skipped statement does not run, so nothing flows from it either.
            runs_target=not flags & doctest.SKIP and flow.runs_target(example.source),
        )


def _parsed(docstring: Literal, first_line: int) -> list[doctest.Example]:
    try:
        return doctest.DocTestParser().get_examples(docstring.value)
    except ValueError as error:
        found = _PROBLEM.fullmatch(str(error))
        line, problem = (int(found["line"]) - 1, found["problem"]) if found else (0, str(error))
        raise UnreadableExample(first_line + docstring.lines[line], problem) from None


class Flow:
    """Follows what the target gave, or may have changed, from one statement of a docstring to the next."""

    def __init__(self, target_name: str, class_name: str | None) -> None:
        self._names = {target_name}
        if class_name and target_name.startswith("__") and target_name.endswith("__"):
            self._names.add(class_name)  # nobody calls a special method by its name
        self._never = {class_name, *vars(builtins)}
        """What a call of the target does not change, though it is called on it or with it."""
        self._carriers: set[str] = set()
        """The names whose values come from the target, or which it may have changed."""

    def runs_target(self, source: str) -> bool:
        """Whether the statement that comes next runs the target, or uses what an earlier one got from it."""
        tree = parsed(source)
        if tree is None:
            words = _WORD.findall(unicodedata.normalize("NFKC", source))
            return not (self._names | self._carriers).isdisjoint(words)
        runs = self._mentions(tree) or not self._carriers.isdisjoint(used_names(source) | _augmented(tree))
        if runs:
            self._carriers |= (_bound(tree) | set(self._touched(tree))) - self._never
        else:
            self._carriers -= _replaced(tree)
        return runs

    def _mentions(self, tree: ast.AST) -> bool:
        attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        return not self._names.isdisjoint(_loaded(tree) | attributes)

    def _carries(self, tree: ast.AST) -> bool:
        return self._mentions(tree) or not self._carriers.isdisjoint(_loaded(tree))

    def _touched(self, tree: ast.AST) -> Iterator[str]:
        """The names whose values a statement that runs the target may change: `s` and `x` in `s.target(x)`, `d` in
        `d.update(target())`, in `d[key] = target()` and in `d.target = 1`."""
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=function, args=arguments, keywords=keywords):
                    given = [*arguments, *(keyword.value for keyword in keywords)]
                    called = self._carries(function)
                    if called:
                        yield from (name for argument in given for name in _loaded(argument))
                    if called or any(self._carries(argument) for argument in given):
                        yield from _base(function)
                case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                    yield from _base(node)


def _base(node: ast.expr) -> Iterator[str]:
    """The name that an attribute or item is taken from: `a` in `a.b[0].c`; none for a name alone."""
    inner = node
    while isinstance(inner, ast.Attribute | ast.Subscript):
        inner = inner.value
    if inner is not node and isinstance(inner, ast.Name):
        yield inner.id


def _loaded(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _augmented(tree: ast.AST) -> set[str]:
    """The names that `name += …` uses, though it only seems to bind them."""
    nodes = ast.walk(tree)
    return {node.target.id for node in nodes if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)}


def _bound(tree: ast.AST) -> set[str]:
    """The names that a statement binds in its own scope, imports excepted: these come from elsewhere."""
    bound: set[str] = set()
    for node in _own_scope(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.NamedExpr(target=ast.Name(id=name)):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
    return bound


def _own_scope(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes below `tree` without those that stand in a scope of their own; `:=` leaves a comprehension's."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if isinstance(node, _Comprehension):
            yield from (inner for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr))
        elif not isinstance(node, (*_SCOPES, ast.Lambda)):
            yield from _own_scope(node)


def _replaced(tree: ast.Module) -> set[str]:
    """The names that certainly mean something else after a statement."""
    replaced: set[str] = set()
    for node in tree.body:
        match node:
            case ast.Assign() | ast.AnnAssign(value=ast.expr()):
                replaced |= _bound(node)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                replaced.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                replaced |= {alias.asname or alias.name.partition(".")[0] for alias in aliases}
    return replaced
