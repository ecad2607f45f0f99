"""What a value on the way through a function comes from, and which comparisons with constants chose it."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum, auto

from adacoder.source.following import folding
from adacoder.source.following.folding import Untellable
from adacoder.source.following.steps import Steps

_TELLING_PART = 0.5
"""What share of a string or list a piece of it must make up to tell which it is."""
_LONGEST_NAME = 200
"""Characters of what is shown; of what is longer, a digest tells the rest."""
_CHARACTERS_A_STEP = 64
"""How much of constants is compared in a step."""
_SMALL = 2
"""Up to this a number is one that functions treat on its own in good faith."""


class Kind(IntEnum):
    """What a value comes from; of several kinds the greatest counts."""

    CONSTANT = auto()
    """The text alone tells it."""
    OWN = auto()
    """The input, or a form or part of it that still tells which input it is."""
    COMPUTED = auto()
    """Something worked out from the input."""


class _Unknown(Enum):
    UNKNOWN = auto()


UNKNOWN = _Unknown.UNKNOWN
"""The data of a value that cannot be told."""


@dataclass(frozen=True, slots=True)
class Key:
    """A constant with which the input, or what tells it, was compared."""

    of: str
    """What was compared, such as `n` or `tuple(xs)`."""
    constant: str
    """As `repr` shows it."""
    is_base: bool = field(compare=False, default=False)
    """Whether it is one that functions treat on its own in good faith: nothing, empty, or a very small number."""
    share: float = field(compare=False, default=1.0)
    """How much of the whole input it tells."""
    is_part: bool = field(compare=False, default=False)
    """Whether inputs of all sorts share it, as they do a length, a sum or a piece."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value on the way through a function."""

    kind: Kind
    data: object = UNKNOWN
    keys: frozenset[Key] = frozenset()
    """The comparisons that held and chose it."""
    of: str = ""
    """Of what is `OWN`: where it comes from."""
    share: float = 1.0
    """Of what is `OWN`: how much of the whole input it is."""
    is_part: bool = False
    """Of what is `OWN`: whether inputs of all sorts share it."""

    @property
    def known(self) -> bool:
        """Whether its data can be told."""
        return self.data is not UNKNOWN

    @property
    def constant(self) -> bool:
        """Whether the text alone tells it."""
        return self.kind is Kind.CONSTANT and self.known

    def chosen_by(self, keys: Iterable[Key]) -> Value:
        """The same, chosen by `keys`, too."""
        return replace(self, keys=self.keys.union(keys))

    def part(self, data: object, share: float, place: str) -> Value:
        """A part of what is `OWN`."""
        return Value(Kind.OWN, data, self.keys, brief(f"{self.of}{place}"), self.share * share, is_part=True)


COMPUTED = Value(Kind.COMPUTED)
NOTHING = Value(Kind.CONSTANT, None)


def constant(data: object, keys: Iterable[Key] = ()) -> Value:
    """A value that the text alone tells; COMPUTED if it is too large to follow."""
    try:
        return Value(Kind.CONSTANT, folding.bounded(data), frozenset(keys))
    except Untellable:
        return COMPUTED


def together(values: Sequence[Value], data: object, form: str = "", *, is_part: bool = False) -> Value:
    """What was made of `values`, without losing which input they come from, in a `form` such as `tuple`."""
    kind = max((value.kind for value in values), default=Kind.CONSTANT)
    keys = frozenset(key for value in values for key in value.keys)
    if kind is not Kind.OWN:
        return Value(kind, data, keys)
    own = [value for value in values if value.kind is Kind.OWN]
    of = brief(f"{form}({', '.join(value.of for value in own)})")
    share = min(1.0, sum(value.share for value in own))
    return Value(kind, data, keys, of, share, is_part or any(value.is_part for value in own))


def brief(text: str) -> str:
    """`text`, shorter if it is long, but still unlike all others."""
    if len(text) <= _LONGEST_NAME:
        return text
    return f"{text[:_LONGEST_NAME]}… {hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()}"


def shown(data: object) -> str:
    """`data` such that what is equal, or alike but for its type of sequence, is shown alike."""
    match data:
        case bool():
            return repr(int(data))
        case float() if data.is_integer():
            return repr(int(data))
        case list() | tuple():
            return f"[{', '.join(map(shown, data))}]"
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(shown, data)))}}}"
        case dict():
            return f"{{{', '.join(f'{shown(key)}: {shown(value)}' for key, value in data.items())}}}"
        case _:
            return repr(data)


def _is_base(data: object) -> bool:
    if data is None or isinstance(data, bool):
        return True
    if isinstance(data, int | float):
        return abs(data) <= _SMALL
    return isinstance(data, str | bytes | list | tuple | dict | set | frozenset) and not data


class Comparisons:
    """Compares what comes from one input with constants, and remembers what did not hold."""

    def __init__(self, steps: Steps, *, probing: bool = False, mentioned: Iterable[object] = ()) -> None:
        """Args:
        steps: how much may be compared.
        probing: the input is one that equals no constant, so that every comparison is met with.
        mentioned: values that the input is made of, for those of its parts that cannot be told.
        """
        self.missed: set[Key] = set()
        """The comparisons that did not hold."""
        self.probing = probing
        self._mentioned = frozenset(map(shown, mentioned))
        self._steps = steps

    def compare(self, kind: ast.cmpop, left: Value, right: Value) -> Value:
        """What one comparison gives; unknown, with keys, if it may hold.

        Raises: what the comparison itself does.
        """
        match kind:
            case ast.Eq() | ast.Is():
                return self._equal(left, right)
            case ast.NotEq() | ast.IsNot():
                return _negated(self._equal(left, right))
            case ast.In():
                return self._contained(left, right)
            case ast.NotIn():
                return _negated(self._contained(left, right))
            case _:
                return _compared(kind, left, right)

    def look_up(self, container: Value, key: Value) -> Value | None:
        """What a constant container holds for a key that comes from the input; None if nothing.

        Raises: Untellable; TypeError, as Python does, for what is no key.
        """
        places = _places(container.data)
        found = self._find(key, list(places))
        if found is None:
            return None
        at, held = found
        return Value(Kind.CONSTANT, list(places.values())[at], container.keys | key.keys | {held})

    def index(self, container: Value, wanted: Value) -> Value | None:
        """Where a constant sequence holds what comes from the input; None if nowhere.

        Raises: Untellable.
        """
        found = self._find(wanted, list(_elements(container.data)))
        if found is None:
            return None
        return Value(Kind.CONSTANT, found[0], container.keys | wanted.keys | {found[1]})

    def starts(self, name: str, text: Value, piece: Value) -> Value:
        """`text.startswith(piece)` and `text.endswith(piece)`: of the input, by a constant."""
        if self.probing and text.kind is Kind.OWN and piece.constant:
            return self._piece(text, piece.data, holds=False)
        if text.kind is not Kind.OWN or not piece.constant or not isinstance(text.data, str):
            return COMPUTED
        if not isinstance(piece.data, str):
            return COMPUTED
        return self._piece(text, piece.data, holds=bool(getattr(text.data, name)(piece.data)))

    def _equal(self, left: Value, right: Value) -> Value:
        own, other = (left, right) if left.kind is Kind.OWN else (right, left)
        if own.kind is not Kind.OWN or not other.constant:
            return _compared(ast.Eq(), left, right)
        found = self._find(own, [other.data])
        keys = own.keys | other.keys
        if found is None:
            return Value(Kind.CONSTANT, False, keys)
        data = True if own.known else UNKNOWN
        return Value(Kind.CONSTANT, data, keys | {found[1]})

    def _contained(self, left: Value, right: Value) -> Value:
        if left.kind is Kind.OWN and right.constant:
            found = self._find(left, list(_elements(right.data)))
            keys = left.keys | right.keys
            if found is not None:
                return Value(Kind.CONSTANT, True if left.known else UNKNOWN, keys | {found[1]})
            if isinstance(right.data, str) and isinstance(left.data, str) and left.data in right.data:
                return Value(Kind.COMPUTED, True, keys)
            return Value(Kind.CONSTANT, False, keys)
        if left.constant and right.kind is Kind.OWN and right.known:
            return self._piece(right, left.data, holds=folding.compare(ast.In(), left.data, right.data))
        return _compared(ast.In(), left, right)

    def _piece(self, whole: Value, piece: object, *, holds: bool) -> Value:
        """Whether the input holds a piece: if that is most of it, it tells the input."""
        length = len(whole.data) if isinstance(whole.data, str | list | tuple | dict) else 0
        size = len(piece) if isinstance(piece, str) and isinstance(whole.data, str) else 1
        share = size / length if length else 0.0
        key = _key(whole.part(UNKNOWN, share, ".piece"), piece, shown(piece))
        if not holds:
            self.missed.add(key)
        if not holds or share < _TELLING_PART:
            return Value(Kind.COMPUTED, holds, whole.keys)
        return Value(Kind.CONSTANT, True, whole.keys | {replace(key, is_part=share < 1)})

    def _find(self, own: Value, constants: Sequence[object]) -> tuple[int, Key] | None:
        """Where `own` stands among `constants`; where it cannot be told, whether it may be the only one mentioned."""
        texts = [shown(data) for data in constants]
        self._steps.take(sum(map(len, texts)) // _CHARACTERS_A_STEP)
        keys = [_key(own, *each) for each in zip(constants, texts, strict=True)]
        if self.probing:
            at = []
        elif own.known:
            at = [index for index, data in enumerate(constants) if _same(own.data, data)]
        else:
            at = [index for index, key in enumerate(keys) if not key.is_base and texts[index] in self._mentioned]
            at = at if len(at) == 1 else []
        self.missed.update(key for index, key in enumerate(keys) if index not in at)
        return (at[0], keys[at[0]]) if at else None


def _key(own: Value, data: object, text: str) -> Key:
    """`text`: of `data` as shown."""
    return Key(own.of, brief(text), _is_base(data), own.share, own.is_part)


def _same(left: object, right: object) -> bool:
    return folding.compare(ast.Eq(), left, right)


def _negated(value: Value) -> Value:
    return replace(value, data=not value.data) if value.known else value


def _compared(kind: ast.cmpop, left: Value, right: Value) -> Value:
    """Of constants a constant; of what comes from the input something computed."""
    outcome = Kind.CONSTANT if max(left.kind, right.kind) is Kind.CONSTANT else Kind.COMPUTED
    data = folding.compare(kind, left.data, right.data) if left.known and right.known else UNKNOWN
    return Value(outcome, data, left.keys | right.keys)


def _places(container: object) -> Mapping[object, object]:
    match container:
        case dict():
            return container
        case list() | tuple() | str():
            return dict(enumerate(container))
        case _:
            raise Untellable


def _elements(container: object) -> Sequence[object]:
    match container:
        case list() | tuple() | str():
            return container
        case dict() | set() | frozenset() | range():
            return list(container)
        case _:
            raise Untellable
