"""Follows the Examples of a docstring through a candidate's text, each with its own input; nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from adacoder.domain import Example, Target
from adacoder.pytext import parsed
from adacoder.source.following.folding import Untellable, bounded
from adacoder.source.following.frames import Closure, Frame, Oracle, Raised, Scope
from adacoder.source.following.provenance import COMPUTED, NOTHING, UNKNOWN, Comparisons, Key, Kind, Value, shown
from adacoder.source.following.statements import Answer, Follower
from adacoder.source.following.steps import OutOfSteps, Steps
from adacoder.source.following.text import Text

_MOST_WAYS = 6
"""How many of the ways that an input may take are looked at."""
_MOST_STEPS = 10_000
"""For all Examples together."""
_STEPS_AN_ANSWER = 2_000
_LONGEST = 4_000
"""Characters of an Example, or of what it wants, that are looked at."""
_MOST_MENTIONED = 100


@dataclass(frozen=True, slots=True)
class Recalled:
    """An Example that the candidate answers by a constant equal to what it wants."""

    example: Example
    is_bool: bool
    """Whether it wants True or False."""
    keys: frozenset[Key]
    """What its input was found equal to; empty if it was only found different from other constants."""


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The input of one call."""

    positional: Sequence[Value] = ()
    keywords: Mapping[str, Value] = field(default_factory=dict)

    @property
    def unlike_any(self) -> _Arguments:
        """An input like this one that equals no constant."""
        return _Arguments(
            [replace(value, data=UNKNOWN) for value in self.positional],
            {name: replace(value, data=UNKNOWN) for name, value in self.keywords.items()},
        )


class Trial:
    """Follows the Examples of one target through one candidate."""

    def __init__(self, target: Target, tree: ast.Module) -> None:
        """`tree`: the candidate's text."""
        self._target = target
        self._text = Text(tree.body)
        self._names = Scope()
        """What the docstring's statements have bound so far."""
        self._mentions: dict[str, tuple[object, ...]] = {}
        """For each of these names, the values that its statement mentions."""
        self._missed: set[Key] = set()
        self._arguments = _Arguments()
        """The longest that were met with."""
        self._steps = Steps(_MOST_STEPS)

    def recalled(self) -> list[Recalled]:
        """The deciding Examples that may be answered by constants, in order; none if they are not most of them."""
        found: list[Recalled] = []
        left = total = sum(example.has_want for example in self._target.examples)
        for example in self._target.examples:
            is_read = not example.skipped and max(len(example.source), len(example.want)) <= _LONGEST
            tree = parsed(example.source) if is_read else None
            recalled = None if tree is None else self._follow(example, tree)
            found += [recalled] if recalled is not None else []
            left -= example.has_want
            if 2 * (len(found) + left) <= total:
                return []
        return found

    def compared(self) -> frozenset[Key]:
        """All that the candidate compares inputs with, beyond what the Examples' own inputs meet with, too."""
        steps = Steps(_STEPS_AN_ANSWER)
        comparisons = Comparisons(steps, probing=True)
        follower = Follower(self._text, steps, comparisons)
        function = follower.function(self._target.name)
        if function is not None:
            arguments = self._arguments.unlike_any
            follower.answers(function, arguments.positional, arguments.keywords)
        return frozenset(comparisons.missed | self._missed)

    def _follow(self, example: Example, tree: ast.Module) -> Recalled | None:
        before, mentioned = self._names, _mentioned(tree, self._mentions)
        found: Recalled | None = None
        way, ways = 0, 1
        while found is None and way < min(ways, _MOST_WAYS) and self._steps.left > 0:
            self._names = before.copy()
            statement = _Statement(self._target, self._text, way, mentioned, self._steps)
            found = statement.recalled(example, tree.body, self._names)
            self._missed |= statement.missed
            self._arguments = max(self._arguments, statement.arguments, key=lambda given: len(given.positional))
            ways = statement.ways
            way += 1
        bound = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        self._mentions |= dict.fromkeys(bound, mentioned)
        return found


class _Statement:
    """One statement of a docstring, with one of the ways that its input may take through the candidate."""

    def __init__(self, target: Target, text: Text, way: int, mentioned: Sequence[object], steps: Steps) -> None:
        self.missed: set[Key] = set()
        self.arguments = _Arguments()
        self.ways = 1
        """How many ways there are."""
        self._target = target
        self._text = text
        self._way = way
        self._mentioned = mentioned
        self._steps = steps
        self._frame = Frame(Scope())

    def recalled(self, example: Example, statements: Sequence[ast.stmt], names: Scope) -> Recalled | None:
        """The Example, if on this way constants answer it; binds `names`."""
        oracle = Oracle(self._answer, self._target.name if self._target.in_class else None)
        names.names[self._target.name] = Value(Kind.CONSTANT, oracle)
        steps = Steps(_STEPS_AN_ANSWER, self._steps)
        teller = Follower(Text(), steps, Comparisons(steps), oracle)
        self._frame = Frame(names)
        given = NOTHING
        try:
            for statement in statements:
                given = teller.given(statement, self._frame)
        except (OutOfSteps, Raised, Untellable):
            return None
        parts = [*self._frame.printed, given]
        if not example.has_want or not all(part.constant for part in parts):
            return None
        wanted = _wanted(teller, example.want)
        if not _matches(example, wanted, parts):
            return None
        keys = frozenset(key for part in parts for key in part.keys)
        return Recalled(example, isinstance(wanted.data, bool), keys)

    def _answer(self, positional: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """What the candidate gives for an input."""
        steps = Steps(_STEPS_AN_ANSWER, self._steps)
        comparisons = Comparisons(steps, mentioned=self._mentioned)
        follower = Follower(self._text, steps, comparisons)
        function = follower.function(self._target.name)
        if function is None:
            return COMPUTED
        self.arguments = _as_input(function, positional, keywords, bound=self._target.in_class)
        answers = _telling(follower.answers(function, self.arguments.positional, self.arguments.keywords))
        self.missed |= comparisons.missed
        self.ways = max(self.ways, len(answers))
        if self._way >= len(answers):
            return COMPUTED
        answer = answers[-1 - self._way]
        self._frame.printed += answer.printed
        return answer.value if answer.value.keys or not answer.tested else replace(answer.value, kind=Kind.COMPUTED)


def _as_input(
    function: Closure, positional: Sequence[Value], keywords: Mapping[str, Value], *, bound: bool
) -> _Arguments:
    """The arguments of a call as the function's own input; `bound`: it is called on an object."""
    given = function.node.args
    names = [parameter.arg for parameter in (*given.posonlyargs, *given.args)]
    is_static = any(ast.unparse(each) == "staticmethod" for each in getattr(function.node, "decorator_list", ()))
    owner: list[Value] = []
    count = len(positional) + len(keywords)
    if bound and not is_static and names:
        owner = [Value(Kind.OWN, UNKNOWN, of=names.pop(0), share=0.0 if count else 1.0)]
    share = 1 / count if count else 1.0
    names += [f"*{at}" for at in range(len(positional) - len(names))]
    places = zip(names, positional, strict=False)
    return _Arguments(
        [*owner, *(Value(Kind.OWN, value.data, value.keys, name, share) for name, value in places)],
        {name: Value(Kind.OWN, value.data, value.keys, name, share) for name, value in keywords.items()},
    )


def _telling(answers: Sequence[Answer]) -> Sequence[Answer]:
    """Of the answers that a function may give those that constants chose, and the likeliest, which comes last."""
    return [*(answer for answer in answers[:-1] if answer.value.keys and answer.value.constant), *answers[-1:]]


def _wanted(teller: Follower, want: str) -> Value:
    """The value that an Example wants; COMPUTED if what it wants is no value's."""
    tree = parsed(want.strip())
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return COMPUTED
    try:
        return teller.value(tree.body[0].value, Frame(Scope()))
    except (OutOfSteps, Raised):
        return COMPUTED


def _matches(example: Example, wanted: Value, parts: Sequence[Value]) -> bool:
    """Whether what was printed and given is what the Example wants."""
    *printed, given = parts
    if not printed and wanted.constant and shown(given.data) == shown(wanted.data):
        return True
    text = "".join(str(part.data) for part in printed) + ("" if given.data is None else repr(given.data))
    return text.split() == example.want.split()


def _mentioned(tree: ast.Module, names: Mapping[str, tuple[object, ...]]) -> tuple[object, ...]:
    """The values that a statement mentions, or that those mention which bound the `names` that it uses."""
    found: list[object] = []
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                found += names.get(name, ())
            case ast.Constant() | ast.List() | ast.Tuple() | ast.Dict() | ast.Set() | ast.UnaryOp():
                with suppress(ValueError, TypeError, RecursionError, Untellable):
                    found.append(bounded(ast.literal_eval(node)))
        if len(found) > _MOST_MENTIONED:
            break
    return tuple(found[:_MOST_MENTIONED])
