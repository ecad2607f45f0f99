"""Follows one input through statements, without running them.

Where the way cannot be told, what may be on it is looked at, too; loops over anything but constants are passed over.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum, auto

from adacoder.source.following import folding
from adacoder.source.following.expressions import DEEPEST, Expressions
from adacoder.source.following.folding import Untellable
from adacoder.source.following.frames import Closure, Frame, Library, Namespace, Oracle, Raised, Scope, told
from adacoder.source.following.provenance import (
    COMPUTED,
    NOTHING,
    UNKNOWN,
    Comparisons,
    Kind,
    Value,
    constant,
    together,
)
from adacoder.source.following.steps import OutOfSteps, Steps
from adacoder.source.following.text import Text, as_expression

_CALLS_DEEP = 5
_ROUNDS = 200
"""How often a loop over constants is gone through."""
_NODES_A_STEP = 16
"""How many nodes of the text are looked at in a step."""
_GIVEN_UP = (OutOfSteps, Raised, Untellable, RecursionError)
"""What ends the following of a function."""
_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Answer:
    """What a function may give for an input."""

    value: Value
    printed: tuple[Value, ...] = ()
    tested: bool = False
    """Whether more was tested on the way than whether the input is this or that constant."""


class _Flow(Enum):
    NEXT = auto()
    BREAK = auto()
    CONTINUE = auto()
    END = auto()


class Follower(Expressions):
    """Follows one input, and no second one."""

    def __init__(self, text: Text, steps: Steps, comparisons: Comparisons, oracle: Oracle | None = None) -> None:
        """`text`: what defines the function, with what belongs to it."""
        super().__init__(steps, comparisons, oracle)
        self._text = text
        self._answers: list[Answer] = []
        self._calls: list[ast.AST] = []
        self._module = Frame(Scope())
        for statement in text.statements:
            with suppress(*_GIVEN_UP):
                self.run_all([statement], self._module)

    def function(self, name: str) -> Closure | None:
        """The function of this name, as its decorators leave it where the text tells."""
        found = self._module.scope.names.get(name)
        return found.data if found is not None and isinstance(found.data, Closure) else None

    def answers(self, function: Closure, positional: Sequence[Value], keywords: Mapping[str, Value]) -> list[Answer]:
        """What `function` may give; nothing if it raises or takes too long to follow. The likeliest comes last."""
        self._answers = []
        frame = Frame(function.called_with(positional, keywords))
        with suppress(*_GIVEN_UP):
            self._run_body(function, frame)
        return self._answers

    def given(self, statement: ast.stmt, frame: Frame) -> Value:
        """What a statement gives, as a prompt shows it; what it prints is noted in `frame`.

        Raises:
            OutOfSteps: it takes too long to tell.
            Raised: it raises.
        """
        if isinstance(statement, ast.Expr) and not _prints(statement.value):
            return self.value(statement.value, frame)
        self.run_all([statement], frame)
        return NOTHING

    def called(self, function: Closure, positional: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """As `Expressions.called`."""
        if function.node in self._calls or len(self._calls) >= _CALLS_DEEP:
            return COMPUTED
        outer, self._answers = self._answers, []
        walked = self._text.walked(function.node)
        self.steps.take(walked.size // _NODES_A_STEP)
        try:
            self._run_body(function, Frame(function.called_with(positional, keywords)))
            return _only(self._answers)
        finally:
            self._answers = outer
            for name in walked.outer:
                if (holder := function.scope.holder(name)) is not None:
                    holder.names[name] = COMPUTED

    def bind(self, target: ast.expr, value: Value, frame: Frame) -> None:
        """As `Expressions.bind`."""
        self.steps.take()
        match target:
            case ast.Name(id=name):
                frame.scope.names[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                self._unpack(parts, value, frame)
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                self._set_item(name, self.value(index, frame), value, frame)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                holder = frame.scope.holder(name)
                owner = holder.names[name].data if holder else None
                if isinstance(owner, Namespace):
                    owner.scope.names[attribute] = value
            case _:
                self._forget([target], frame.scope)

    def _run_body(self, function: Closure, frame: Frame) -> None:
        self._calls.append(function.node)
        try:
            if isinstance(function.node, ast.Lambda):
                self._answer(self.value(function.node.body, frame), frame)
            elif self.run_all(function.node.body, frame) is not _Flow.END:
                self._answer(NOTHING, frame)
        finally:
            self._calls.pop()

    def _answer(self, value: Value, frame: Frame) -> None:
        if frame.yielded:
            known = all(each.known for each in frame.yielded)
            value = together(frame.yielded, [each.data for each in frame.yielded] if known else UNKNOWN)
        self._answers.append(Answer(value.chosen_by(frame.keys), frame.printed, frame.tested))

    def run_all(self, statements: Iterable[ast.stmt], frame: Frame) -> _Flow:
        """Statements, one after the other, up to the one that leaves them."""
        if self.depth >= DEEPEST:
            raise OutOfSteps
        self.depth += 1
        try:
            for statement in statements:
                self.steps.take()
                flow = self._run(statement, frame)
                if flow is not _Flow.NEXT:
                    return flow
        finally:
            self.depth -= 1
        return _Flow.NEXT

    def _run(self, node: ast.stmt, frame: Frame) -> _Flow:
        match node:
            case ast.Return(value=ast.IfExp(test=test, body=body, orelse=orelse)):
                ways = _Block([ast.Return(body)]), _Block([ast.Return(orelse)])
                return self._branch(self.value(test, frame), *ways, frame)
            case ast.Return(value=value):
                self._answer(self.value(value, frame), frame)
                return _Flow.END
            case ast.If():
                return self._if(node, frame)
            case ast.Match(subject=subject, cases=cases):
                return self.run_cases(self.value(subject, frame), cases, frame)
            case ast.For() | ast.AsyncFor():
                return self._for(node, frame)
            case ast.While():
                return self._while(node, frame)
            case ast.Try() | ast.TryStar():
                return self._try(node, frame)
            case ast.With(body=body) | ast.AsyncWith(body=body):
                return self.run_all(body, frame)
            case ast.Raise(exc=raised):
                raise Raised(_exception_name(raised))
            case ast.Break():
                return _Flow.BREAK
            case ast.Continue():
                return _Flow.CONTINUE
            case _:
                self._do(node, frame)
                return _Flow.NEXT

    def _do(self, node: ast.stmt, frame: Frame) -> None:
        """A statement after which the next one follows."""
        match node:
            case ast.Assign(targets=targets, value=assigned):
                value = self.value(assigned, frame)
                for target in targets:
                    self.bind(target, value, frame)
            case ast.AnnAssign(target=target, value=ast.expr() as assigned):
                self.bind(target, self.value(assigned, frame), frame)
            case ast.AugAssign(target=ast.Name() as target, op=operator, value=operand):
                read = ast.BinOp(ast.Name(target.id, ast.Load()), operator, operand)
                self.bind(target, self.value(read, frame), frame)
            case ast.Expr(value=expression):
                self._expression(expression, frame)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._define(node, frame)
            case ast.ClassDef():
                inner = Frame(Scope({}, frame.scope))
                self.run_all(node.body, inner)
                frame.scope.names[node.name] = Value(Kind.CONSTANT, Namespace(inner.scope))
            case ast.Import() | ast.ImportFrom():
                self._import(node, frame)
            case ast.Assert(test=test):
                if self.holds(self.value(test, frame), frame) is False:
                    raise Raised("AssertionError")
            case _:
                self._forget([node], frame.scope)

    def _import(self, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
        """The names are bound to what they name, by its dotted name."""
        for alias in node.names:
            name, _, rest = alias.name.partition(".")
            origin = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
            is_whole = rest and not alias.asname and isinstance(node, ast.Import)
            self.bind(
                ast.Name(alias.asname or name, ast.Store()),
                Value(Kind.CONSTANT, Library(name if is_whole else origin)),
                frame,
            )

    def _expression(self, node: ast.expr, frame: Frame) -> None:
        match node:
            case ast.Call(func=ast.Name(id="print"), args=arguments):
                values = tuple(self.value(argument, frame) for argument in arguments)
                known = all(value.known for value in values)
                text = " ".join(str(value.data) for value in values) + "\n" if known else UNKNOWN
                printed = together(values, constant(text).data if known else UNKNOWN)
                frame.printed = (*frame.printed, printed.chosen_by(frame.keys))
            case ast.Yield(value=value):
                frame.yielded = (*frame.yielded, self.value(value, frame))
            case ast.YieldFrom(value=value):
                try:
                    frame.yielded = (*frame.yielded, *self.elements(self.value(value, frame)))
                except Untellable:
                    frame.yielded = (*frame.yielded, COMPUTED)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
                self._change(node, name, method, frame)
            case _:
                self.value(node, frame)
                self._forget([node], frame.scope)

    def _change(self, node: ast.Call, name: str, method: str, frame: Frame) -> None:
        """A method is called for what it does: to a container that the text tells, or to something else."""
        holder = frame.scope.holder(name)
        container = holder.names[name] if holder else COMPUTED
        arguments = [self.value(argument, frame) for argument in node.args]
        data: object = UNKNOWN
        if container.constant and all(argument.constant for argument in arguments) and not node.keywords:
            with suppress(Untellable):
                data = self.tried(folding.changed, container.data, method, [each.data for each in arguments])
        if holder is not None and data is not UNKNOWN:
            holder.names[name] = together([container, *arguments], data)
        else:
            self.value(node, frame)
            self._forget([node], frame.scope)

    def _define(self, node: _FunctionNode, frame: Frame) -> None:
        function = Value(Kind.CONSTANT, self.closure(node, frame))
        frame.scope.names[node.name] = function
        for decorator in reversed(node.decorator_list):
            found = self.value(decorator, frame)
            if isinstance(found.data, Closure):
                made = self.called(found.data, [function], {})
                function = made if isinstance(made.data, Closure) else function
        frame.scope.names[node.name] = function

    def _if(self, node: ast.If, frame: Frame) -> _Flow:
        test = self.value(node.test, frame)
        while self.holds(test, frame) is False and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            node = node.orelse[0]
            test = self.value(node.test, frame)
        return self._branch(test, _Block(node.body), _Block(node.orelse), frame)

    def _branch(self, test: Value, body: _Part, orelse: _Part, frame: Frame) -> _Flow:
        holds = self.holds(test, frame)
        if holds is not None:
            return (body if holds else orelse).run(self, frame)
        maybe = frame.copy()
        maybe.keys |= test.keys
        try:
            flow = body.run(self, maybe)
        except Raised:
            flow = _Flow.END
        frame.tested |= not test.keys
        otherwise = orelse.run(self, frame)
        if otherwise is not _Flow.NEXT and flow is _Flow.NEXT:
            frame.scope.names, frame.keys, frame.tested = maybe.scope.names, maybe.keys, True
            return flow
        if flow is not _Flow.END:
            self._forget(body.statements, frame.scope)
        return otherwise

    def _matches(self, pattern: ast.pattern, subject: Value, frame: Frame) -> Value:
        """Whether `subject` matches a pattern of literals; of others that is not told."""
        self.steps.take(self._text.walked(pattern).size // _NODES_A_STEP)
        match pattern:
            case ast.MatchAs(pattern=None, name=name):
                if name is not None:
                    frame.scope.names[name] = subject
                return Value(Kind.CONSTANT, True)
            case ast.MatchOr(patterns=patterns):
                found = [self._matches(each, subject, frame) for each in patterns]
                return next((each for each in found if each.keys or (each.known and each.data)), found[-1])
        literal = as_expression(pattern, subject.data)
        if literal is not None:
            return self.compared(ast.Eq(), subject, self.value(literal, frame))
        self._forget([pattern], frame.scope)
        return COMPUTED

    def run_cases(self, subject: Value, cases: Sequence[ast.match_case], frame: Frame) -> _Flow:
        """The cases of a `match`, one after the other."""
        if not cases:
            return _Flow.NEXT
        case, *others = cases
        test = self._matches(case.pattern, subject, frame)
        if case.guard is not None:
            guard = self.value(case.guard, frame)
            told = test.known and guard.known
            data = bool(test.data) and bool(guard.data) if told else UNKNOWN
            test = Value(test.kind if test.keys else max(test.kind, guard.kind), data, test.keys | guard.keys)
        return self._branch(test, _Block(case.body), _Cases(subject, others), frame)

    def _for(self, node: ast.For | ast.AsyncFor, frame: Frame) -> _Flow:
        sequence = self.value(node.iter, frame)
        if sequence.kind is not Kind.CONSTANT or not told(sequence):
            return self._pass_over(node, frame)
        for element in self.elements(sequence)[:_ROUNDS]:
            self.bind(node.target, element, frame)
            flow = self.run_all(node.body, frame)
            if flow is _Flow.END:
                return flow
            if flow is _Flow.BREAK:
                return _Flow.NEXT
        return self.run_all(node.orelse, frame)

    def _while(self, node: ast.While, frame: Frame) -> _Flow:
        for _ in range(_ROUNDS):
            test = self.value(node.test, frame)
            if not test.constant:
                break
            if not self.holds(test, frame):
                return self.run_all(node.orelse, frame)
            flow = self.run_all(node.body, frame)
            if flow is _Flow.END:
                return flow
            if flow is _Flow.BREAK:
                return _Flow.NEXT
        return self._pass_over(node, frame)

    def _pass_over(self, node: ast.For | ast.AsyncFor | ast.While, frame: Frame) -> _Flow:
        """A loop that works with the input: what it changes is not known after it."""
        frame.tested = True
        self._forget([node], frame.scope)
        return self.run_all(node.orelse, frame)

    def _try(self, node: ast.Try | ast.TryStar, frame: Frame) -> _Flow:
        try:
            flow = self.run_all(node.body, frame)
            if flow is _Flow.NEXT:
                flow = self.run_all(node.orelse, frame)
        except Raised as raised:
            self.steps.take(sum(self._text.walked(each.type).size for each in node.handlers if each.type))
            handler = next((each for each in node.handlers if _catches(each, raised.name)), None)
            if handler is None:
                raise
            if handler.name is not None:
                frame.scope.names[handler.name] = COMPUTED
            flow = self.run_all(handler.body, frame)
        return self.run_all(node.finalbody, frame) if flow is _Flow.NEXT else flow

    def _forget(self, nodes: Iterable[ast.AST], scope: Scope) -> None:
        """What `nodes` bind or change is not known any more."""
        for walked in map(self._text.walked, nodes):
            self.steps.take(walked.size // _NODES_A_STEP)
            for name in walked.changed:
                (scope.holder(name) or scope).names[name] = COMPUTED

    def _unpack(self, targets: Sequence[ast.expr], value: Value, frame: Frame) -> None:
        parts: list[Value] = []
        if value.known and not any(isinstance(target, ast.Starred) for target in targets):
            with suppress(Untellable):
                parts = self.elements(value)
        if len(parts) != len(targets):
            parts = [value.part(UNKNOWN, 1.0, f"[{at}]") for at in range(len(targets))]
            parts = parts if value.kind is Kind.OWN else [COMPUTED] * len(targets)
        for target, part in zip(targets, parts, strict=True):
            self.bind(target, part, frame)

    def _set_item(self, name: str, index: Value, value: Value, frame: Frame) -> None:
        holder = frame.scope.holder(name)
        if holder is None:
            return
        parts = [holder.names[name], index, value]
        holder.names[name] = COMPUTED
        if all(part.constant for part in parts):
            with suppress(Untellable):
                data = self.tried(folding.with_item, *(part.data for part in parts))
                holder.names[name] = together(parts, data)


@dataclass(frozen=True, slots=True)
class _Block:
    """Statements that a branch runs."""

    statements: Sequence[ast.stmt]

    def run(self, follower: Follower, frame: Frame) -> _Flow:
        return follower.run_all(self.statements, frame)


@dataclass(frozen=True, slots=True)
class _Cases:
    """The cases of a `match` that are left."""

    subject: Value
    cases: Sequence[ast.match_case]

    @property
    def statements(self) -> Sequence[ast.AST]:
        return self.cases

    def run(self, follower: Follower, frame: Frame) -> _Flow:
        return follower.run_cases(self.subject, self.cases, frame)


_Part = _Block | _Cases


def _only(answers: Sequence[Answer]) -> Value:
    """What a function gives that may give nothing else."""
    if len(answers) != 1:
        return COMPUTED
    value, tested = answers[0].value, answers[0].tested
    return replace(value, kind=Kind.COMPUTED) if tested and not value.keys else value


def _catches(handler: ast.ExceptHandler, name: str) -> bool:
    if handler.type is None:
        return True
    raised = getattr(builtins, name, Exception)
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    caught = [getattr(builtins, kind.id, None) for kind in kinds if isinstance(kind, ast.Name)]
    return any(isinstance(kind, type) and isinstance(raised, type) and issubclass(raised, kind) for kind in caught)


def _prints(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"


def _exception_name(raised: ast.expr | None) -> str:
    called = raised.func if isinstance(raised, ast.Call) else raised
    return called.id if isinstance(called, ast.Name) else "Exception"
