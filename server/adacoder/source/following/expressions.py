"""Follows one input through expressions, without running them."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from adacoder.source.following import folding
from adacoder.source.following.folding import Made, Untellable
from adacoder.source.following.frames import (
    Arguments,
    Closure,
    Frame,
    FunctionNode,
    Library,
    Namespace,
    Oracle,
    Scope,
    told,
)
from adacoder.source.following.operations import PARTS_A_STEP, Operations
from adacoder.source.following.provenance import (
    COMPUTED,
    NOTHING,
    UNKNOWN,
    Comparisons,
    Key,
    Kind,
    Value,
    brief,
    constant,
    together,
)
from adacoder.source.following.steps import Steps

DEEPEST = 60
"""Expressions and blocks within one another."""
_MOST_ELEMENTS = 30
"""Inputs with more elements are not gone through."""
_EQUALITIES = frozenset({"math.isclose", "operator.eq"})
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


class Expressions(Operations, ABC):
    """Tells what expressions give."""

    def __init__(self, steps: Steps, comparisons: Comparisons, oracle: Oracle | None = None) -> None:
        super().__init__(steps, comparisons)
        self.oracle = oracle
        self.depth = 0

    @abstractmethod
    def called(self, function: Closure, positional: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """What a function of the text gives."""

    @abstractmethod
    def bind(self, target: ast.expr, value: Value, frame: Frame) -> None:
        """Bind what an assignment names."""

    def value(self, node: ast.expr | None, frame: Frame) -> Value:
        """What an expression gives.

        Raises:
            OutOfSteps: it takes too long to tell.
            Raised: it raises.
        """
        if node is None:
            return NOTHING
        self.steps.take()
        if self.depth >= DEEPEST:
            return COMPUTED
        self.depth += 1
        try:
            return self._value(node, frame)
        except (Untellable, RecursionError):
            return COMPUTED
        finally:
            self.depth -= 1

    def _value(self, node: ast.expr, frame: Frame) -> Value:
        match node:
            case ast.Constant(value=data):
                return constant(data)
            case ast.Name(id=name):
                return self._named(name, frame)
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return self._display(node, parts, frame)
            case ast.Dict():
                return self._dict(node, frame)
            case ast.BinOp(left=left, op=operator, right=right):
                return self.binary(operator, self.value(left, frame), self.value(right, frame))
            case ast.UnaryOp(op=operator, operand=operand):
                return self.unary(operator, self.value(operand, frame))
            case ast.BoolOp():
                return self._junction(node, frame)
            case ast.Compare():
                return self._comparison(node, frame)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._choice(test, body, orelse, frame)
            case ast.NamedExpr(target=target, value=value):
                found = self.value(value, frame)
                self.bind(target, found, frame)
                return found
            case ast.Subscript(value=container, slice=index):
                return self.item(self.value(container, frame), self._index(index, frame))
            case ast.Attribute():
                return self._attribute(node, frame)
            case ast.Call():
                return self._call(node, frame)
            case ast.JoinedStr(values=parts):
                return self._joined(parts, frame)
            case ast.FormattedValue(value=value, format_spec=None, conversion=conversion):
                shown = self.value(value, frame)
                return self.folded("repr" if conversion in (ord("r"), ord("a")) else "str", Arguments([shown]))
            case ast.Lambda():
                return Value(Kind.CONSTANT, self.closure(node, frame))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node, frame)
            case ast.Await(value=value):
                return self.value(value, frame)
            case _:
                return COMPUTED

    def closure(self, node: FunctionNode, frame: Frame) -> Closure:
        """A function where it is defined, with the defaults of its parameters."""
        parameters = [*node.args.posonlyargs, *node.args.args]
        self.steps.take((len(parameters) + len(node.args.kwonlyargs)) // PARTS_A_STEP)
        late = zip(reversed(parameters), reversed(node.args.defaults), strict=False)
        named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        defaults = {name.arg: default for name, default in (*late, *named) if default is not None}
        return Closure(node, frame.scope, {name: self.value(default, frame) for name, default in defaults.items()})

    def _named(self, name: str, frame: Frame) -> Value:
        holder = frame.scope.holder(name)
        return holder.names[name] if holder else Value(Kind.CONSTANT, Library(name))

    def _display(self, node: ast.expr, parts: Sequence[ast.expr], frame: Frame) -> Value:
        values: list[Value] = []
        for part in parts:
            if isinstance(part, ast.Starred):
                values += self.elements(self.value(part.value, frame))
            else:
                values.append(self.value(part, frame))
        if not all(value.known for value in values):
            return together(values, UNKNOWN)
        data = [value.data for value in values]
        if isinstance(node, ast.Set):
            return together(values, folding.bounded(self.tried(set, data)), "set")
        return together(values, folding.bounded(data if isinstance(node, ast.List) else tuple(data)))

    def _dict(self, node: ast.Dict, frame: Frame) -> Value:
        pairs: list[tuple[Value, Value]] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                other = self.value(value, frame)
                if not isinstance(other.data, dict):
                    return COMPUTED
                self.steps.take(folding.parts([other.data]) // PARTS_A_STEP)
                pairs += [(replace(other, data=each), replace(other, data=held)) for each, held in other.data.items()]
            else:
                pairs.append((self.value(key, frame), self.value(value, frame)))
        values = [value for pair in pairs for value in pair]
        if not all(value.known for value in values):
            return together(values, UNKNOWN)
        data = self.tried(dict, [(key.data, value.data) for key, value in pairs])
        return together(values, folding.bounded(data), "dict")

    def _junction(self, node: ast.BoolOp, frame: Frame) -> Value:
        """`and` and `or`. Constants that the input was found equal to decide whatever else is tested beside them."""
        seen: list[Value] = []
        kind = Kind.CONSTANT
        for part in node.values:
            found = self.value(part, frame)
            kind = max(kind, found.kind)
            if told(found) and bool(found.data) is isinstance(node.op, ast.Or):
                return found if found.keys else replace(found, kind=kind)
            seen.append(found)
        keys = frozenset(key for value in seen for key in value.keys)
        if not all(map(told, seen)):
            return Value(Kind.CONSTANT if keys else Kind.COMPUTED, UNKNOWN, keys)
        return replace(found, kind=found.kind if keys else kind, keys=keys)

    def _comparison(self, node: ast.Compare, frame: Frame) -> Value:
        left = self.value(node.left, frame)
        keys: frozenset[Key] = frozenset()
        kind = Kind.CONSTANT
        for operator, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator, frame)
            found = self.compared(operator, left, right)
            keys |= found.keys
            kind = max(kind, found.kind)
            if not found.known:
                return Value(kind, UNKNOWN, keys)
            if not found.data:
                return Value(kind, False, found.keys)
            left = right
        return Value(kind, True, keys)

    def _choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr, frame: Frame) -> Value:
        tested = self.value(test, frame)
        holds = self.holds(tested, frame)
        if holds is None:
            maybe = self.value(body, frame).chosen_by(tested.keys)
            otherwise = self.value(orelse, frame)
            return maybe if maybe.constant and maybe.keys else replace(otherwise, kind=Kind.COMPUTED, data=UNKNOWN)
        return self.value(body if holds else orelse, frame).chosen_by(tested.keys)

    def _index(self, node: ast.expr, frame: Frame) -> Value:
        if not isinstance(node, ast.Slice):
            return self.value(node, frame)
        ends = [self.value(end, frame) for end in (node.lower, node.upper, node.step)]
        known = all(end.known for end in ends)
        return together(ends, slice(*(end.data for end in ends)) if known else UNKNOWN, "slice")

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Value:
        if self.oracle and self.oracle.method == node.attr:
            return self.oracle.answer([], {})
        owner = self.value(node.value, frame)
        match owner.data:
            case Library(name=name):
                return Value(Kind.CONSTANT, Library(f"{name}.{node.attr}"), owner.keys)
            case Namespace(scope=scope):
                return scope.names.get(node.attr, COMPUTED)
        if owner.kind is Kind.OWN:
            return replace(owner, data=UNKNOWN, of=brief(f"{owner.of}.{node.attr}"))
        return COMPUTED

    def _arguments(self, node: ast.Call, frame: Frame) -> Arguments:
        found = Arguments()
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                found.positional += self.elements(self.value(argument.value, frame))
            else:
                found.positional.append(self.value(argument, frame))
        for keyword in node.keywords:
            value = self.value(keyword.value, frame)
            if keyword.arg is not None:
                found.keywords[keyword.arg] = value
            elif isinstance(value.data, dict):
                self.steps.take(folding.parts([value.data]) // PARTS_A_STEP)
                found.keywords |= {str(name): replace(value, data=data) for name, data in value.data.items()}
            else:
                raise Untellable
        return found

    def _call(self, node: ast.Call, frame: Frame) -> Value:
        if isinstance(node.func, ast.Attribute):
            if self.oracle and self.oracle.method == node.func.attr:
                return self._asked(self.oracle, self._arguments(node, frame))
            owner = self.value(node.func.value, frame)
            arguments = self._arguments(node, frame)
            if isinstance(owner.data, Namespace):
                method = owner.data.scope.names.get(node.func.attr, COMPUTED)
                return self._apply(method, _bound(method, owner, arguments))
            if not isinstance(owner.data, Library):
                return self.method(owner, node.func.attr, arguments)
            return self._library(f"{owner.data.name}.{node.func.attr}", arguments)
        function = self.value(node.func, frame)
        return self._apply(function, self._arguments(node, frame))

    def _apply(self, function: Value, arguments: Arguments) -> Value:
        match function.data:
            case Closure() as closure:
                found = self.called(closure, arguments.positional, arguments.keywords)
                return found.chosen_by(function.keys)
            case Library(name=name):
                return self._library(name, arguments).chosen_by(function.keys)
            case Oracle() as oracle:
                return self._asked(oracle, arguments)
            case Namespace():
                return function
            case _:
                return COMPUTED

    def _asked(self, oracle: Oracle, arguments: Arguments) -> Value:
        return oracle.answer(arguments.positional, arguments.keywords)

    def _library(self, name: str, arguments: Arguments) -> Value:
        name = name.removeprefix("builtins.")
        short = name.rpartition(".")[2]
        if name in _EQUALITIES and len(arguments.positional) > 1:
            return self.compared(ast.Eq(), *arguments.positional[:2])
        if name == "map" and len(arguments.positional) == 2:
            function, sequence = arguments.positional
            return self._mapped(sequence, lambda element: self._apply(function, Arguments([element])))
        if folding.knows(name):
            return self.folded(name, arguments)
        if short[:1].isupper() and arguments.are_told:
            shown = [*map(repr, arguments.data), *(f"{key}={data!r}" for key, data in arguments.keyword_data.items())]
            return together(arguments.values, Made(short, ", ".join(shown)), short)
        return COMPUTED

    def _mapped(self, sequence: Value, give: Callable[[Value], Value]) -> Value:
        """What `give` makes of each element: of the elements of the input something that still tells it."""
        of = brief(f"map({sequence.of})")
        if not sequence.known:
            return replace(sequence, of=of) if sequence.kind is Kind.OWN else COMPUTED
        elements = self.elements(sequence)
        if len(elements) > _MOST_ELEMENTS:
            raise Untellable
        found = [give(element) for element in elements]
        data = [each.data for each in found]
        made = together(found, data if all(each.known for each in found) else UNKNOWN, "map")
        return replace(made, of=of, is_part=sequence.is_part) if made.kind is Kind.OWN else made

    def _joined(self, parts: Sequence[ast.expr], frame: Frame) -> Value:
        values = [self.value(part, frame) for part in parts]
        known = all(isinstance(value.data, str) for value in values)
        return together(values, "".join(str(value.data) for value in values) if known else UNKNOWN, "f")

    def _comprehension(self, node: _Comprehension, frame: Frame) -> Value:
        inner = replace(frame, scope=Scope({}, frame.scope))
        first, *others = node.generators
        if isinstance(node, ast.ListComp | ast.GeneratorExp) and not (first.ifs or others):
            sequence = self.value(first.iter, frame)
            if sequence.kind is Kind.OWN:
                return self._gone_through(sequence, node, inner)
        found: list[Value] = []
        for chosen in self._rounds(node.generators, inner):
            if isinstance(node, ast.DictComp):
                pair = [self.value(node.key, inner), self.value(node.value, inner)]
                data: object = (pair[0].data, pair[1].data) if pair[0].known and pair[1].known else UNKNOWN
                found.append(together(pair, data).chosen_by(chosen))
            else:
                found.append(self.value(node.elt, inner).chosen_by(chosen))
        if not all(value.known for value in found):
            return together(found, UNKNOWN)
        parts = [value.data for value in found]
        make = dict if isinstance(node, ast.DictComp) else set if isinstance(node, ast.SetComp) else list
        return together(found, folding.bounded(self.tried(make, parts)), make.__name__)

    def _gone_through(self, sequence: Value, node: ast.ListComp | ast.GeneratorExp, frame: Frame) -> Value:
        """A comprehension over the input that takes all of its elements."""

        def give(element: Value) -> Value:
            self.bind(node.generators[0].target, element, frame)
            return self.value(node.elt, frame)

        return self._mapped(sequence, give)

    def _rounds(self, generators: Sequence[ast.comprehension], frame: Frame) -> Iterator[frozenset[Key]]:
        """The rounds of a comprehension over constants, each with the comparisons that let it through."""
        if not generators:
            yield frozenset()
            return
        generator, *others = generators
        sequence = self.value(generator.iter, frame)
        if sequence.kind is not Kind.CONSTANT:
            raise Untellable
        for element in self.elements(sequence):
            self.bind(generator.target, element, frame)
            tests = [self.value(test, frame) for test in generator.ifs]
            if any(test.kind is not Kind.CONSTANT or not told(test) for test in tests):
                raise Untellable
            if all(test.data for test in tests):
                keys = frozenset(key for test in tests for key in test.keys)
                yield from (keys | chosen for chosen in self._rounds(others, frame))


def _bound(method: Value, owner: Value, arguments: Arguments) -> Arguments:
    """The arguments of a method, with what it is called on where it asks for that."""
    if not isinstance(method.data, Closure):
        return arguments
    parameters = method.data.node.args
    names = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
    if names[:1] in (["self"], ["cls"]):
        return Arguments([owner, *arguments.positional], arguments.keywords)
    return arguments
