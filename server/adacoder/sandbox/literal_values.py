"""Compare values by their text.

The text may come from hostile code, and must not overload Python's parser. So this module parses only literals without
arithmetic, of limited length and depth.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Callable, Hashable
from itertools import accumulate

from adacoder.pytext import parsed

_LONGEST = 20_000
"""Maximum length of a text that is parsed."""
_DEEPEST = 50
"""Maximum nesting of brackets in a text that is parsed."""
_RELATIVE, _ABSOLUTE, _DIGITS = 1e-9, 1e-12, 9
"""Maximum relative and absolute difference of floats that count as close. In sets and keys, floats are rounded to
`_DIGITS` digits.
"""
_STRING = re.compile(r"""b?(?:"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|'[^'\\\n]*(?:\\.[^'\\\n]*)*'?)""")
"""Matches a string literal, or the rest of the line after an unclosed quote. So a search takes linear time."""
_ARITHMETIC = re.compile(r"[\w.)\]}]\s*[-+]|[-+]\s*[-+]|[*/%@~^&|<>=!]")
"""Matches an arithmetic operator, in a text without strings and exponents."""
_PIECE = re.compile(rf"{_STRING.pattern}|[^,\[\]{{}}()'\"]+|.", re.DOTALL)
"""Matches one part of an output: a string, a comma, a bracket, or other text."""
_EXPONENT = re.compile(r"(?<=[\d.])[eE][-+]?(?=\d)")
_OPENS, _CLOSES = frozenset("([{"), frozenset(")]}")


def same_value(one: str, other: str) -> bool:
    """Return whether two texts are literals of the same value. Numbers are equal as in Python, so 15 equals 15.0.

    But no number equals True or False, and no list equals a tuple. Floats are not rounded, because an author who writes
    3.14 may mean exactly this number.
    """
    form = _form_of(one)
    return form is not None and form == _form_of(other)


def close_values(one: str, other: str) -> bool | None:
    """Return whether two texts are literals of nearly the same value. Only the last digits of floats may differ.

    `set()`, `frozenset(…)`, `inf` and `nan` count as literals. Return None if a text is not a literal.
    """
    try:
        return _are_close(_read(one), _read(other))
    except (ValueError, TypeError, RecursionError):
        return None


def _read(written: str) -> object:
    """Return the value of a literal. `set()`, `frozenset(…)`, `inf` and `nan` count as literals.

    Raises:
        ValueError: the text is not such a literal, or is too long.
        TypeError: an element of a set, or a key, cannot be hashed.
    """
    text = written.strip()
    if len(text) > _LONGEST or not _is_plain(text):
        raise ValueError("no plain literal")
    match parsed(text):
        case ast.Module(body=[ast.Expr(value=value)]):
            return _evaluated(value)
    raise ValueError("no literal")


def _evaluated(node: ast.expr) -> object:
    match node:
        case ast.Constant(value=bool() | int() | float() | complex() | str() | bytes() | None):
            return node.value
        case ast.Name(id="inf" | "nan" as name):
            return float(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = _evaluated(operand)
            if isinstance(value, int | float):
                return -value
        case ast.Set(elts=elements):
            return set(map(_evaluated, elements))
        case ast.List(elts=elements):
            return list(map(_evaluated, elements))
        case ast.Tuple(elts=elements):
            return tuple(map(_evaluated, elements))
        case ast.Dict(keys=keys, values=values):
            return dict(zip(map(_evaluated, _all(keys)), map(_evaluated, values), strict=True))
        case ast.Call(func=ast.Name(id="set"), args=[], keywords=[]):
            return set[object]()
        case ast.Call(func=ast.Name(id="frozenset"), args=[], keywords=[]):
            return frozenset[object]()
        case ast.Call(func=ast.Name(id="frozenset"), args=[ast.Set(elts=elements)], keywords=[]):
            return frozenset(map(_evaluated, elements))
    raise ValueError("no literal")


def _are_close(one: object, other: object) -> bool:
    if type(one) is not type(other):
        return False
    match one, other:
        case float(), float():
            are_near = math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
            return are_near or (math.isnan(one) and math.isnan(other))
        case (list() | tuple(), list() | tuple()):
            return len(one) == len(other) and all(map(_are_close, one, other))
        case dict(), dict():
            values, others = ({_rounded(key): value for key, value in each.items()} for each in (one, other))
            return values.keys() == others.keys() and all(_are_close(values[key], others[key]) for key in values)
        case _:
            return _rounded(one) == _rounded(other)


def _rounded(value: object) -> Hashable:
    """Return a hashable form of a value with rounded floats. Close values have equal forms."""
    match value:
        case float() if math.isfinite(value):
            return float, 0.0 if abs(value) < _ABSOLUTE else float(f"{value:.{_DIGITS}g}")
        case set() | frozenset():
            return type(value), frozenset(map(_rounded, value))
        case tuple():
            return tuple, tuple(map(_rounded, value))
        case complex():
            return complex, _rounded(value.real), _rounded(value.imag)
        case int() if not isinstance(value, bool):
            return int, value
        case _:
            return _form(value)


def same_but_for_sets(want: str, got: str, agree: Callable[[str, str], bool]) -> bool:
    """Return whether two outputs are equal, apart from how sets are written, such as the order of elements.

    Each output must be a literal, or have only literals as lines. `set()` and `frozenset(…)` count as literals.
    Elements of sets are compared by value and type, so {1} is neither {True} nor {1.0}. `agree` compares the text
    outside of sets.
    """

    def is_same(one: str, other: str) -> bool:
        form = _with_sorted_sets(one)
        other_form = None if form is None else _with_sorted_sets(other)
        return form is not None and other_form is not None and agree(form, other_form)

    if is_same(want, got):
        return True
    lines, others = want.split("\n"), got.split("\n")
    is_of_lines = 2 < len(lines) == len(others)  # Outputs end with a newline, so the last item is empty.
    return is_of_lines and all(map(lambda one, other: one == other or is_same(one, other), lines, others))


def same_but_for_order(want: str, got: str) -> bool:
    """Return whether two outputs differ only in the order of items in braces."""
    if "{" not in want or max(len(want), len(got)) > _LONGEST or _arranged(want, list) == _arranged(got, list):
        return False
    return _arranged(want, sorted) == _arranged(got, sorted)


def _with_sorted_sets(written: str) -> str | None:
    """Return a text with its outermost sets in canonical form. Return None if the text is not a literal with braces."""
    text = written.strip()
    if "{" not in text or "\r" in text or len(text) > _LONGEST or not _is_plain(text):
        return None
    match parsed(text):
        case ast.Module(body=[ast.Expr(value=value)]):
            sets: list[tuple[ast.Set, str]] = []
            try:
                _canonical(value, sets)
            except ValueError:
                return None
        case _:
            return None
    lines = [line.encode() for line in text.split("\n")]  # `ast` counts columns in bytes.
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    data = b"\n".join(lines)
    parts, done = list[bytes](), 0
    for node, form in sets:
        parts += [data[done : starts[node.lineno - 1] + node.col_offset], form.encode()]
        done = starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
    return b"".join([*parts, data[done:]]).decode()


def _canonical(node: ast.expr, sets: list[tuple[ast.Set, str]] | None = None) -> str:
    """Return the canonical form of a literal. Add each outermost set and its canonical form to `sets`.

    Raises:
        ValueError: `node` is not a literal.
    """
    match node:
        case ast.Constant(value=bool() | int() | float() | complex() | str() | bytes() | None):
            return repr(node.value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return f"-{_canonical(node.operand)}"
        case ast.Set(elts=elements):
            form = f"{{{', '.join(sorted({_canonical(each) for each in elements}))}}}"
            if sets is not None:
                sets.append((node, form))
            return form
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            forms = ", ".join([_canonical(each, sets) for each in elements])
            return f"{type(node).__name__}({forms})"
        case ast.Dict(keys=keys, values=values):
            pairs = [each for pair in zip(keys, values, strict=True) for each in pair]
            return f"Dict({', '.join([_canonical(each, sets) for each in _all(pairs)])})"
        case ast.Call(func=ast.Name(id="set" | "frozenset" as name), args=[] | [ast.Set()] as arguments, keywords=[]):
            return f"{name}({', '.join([_canonical(each, sets) for each in arguments])})"
    raise ValueError("no literal")


def _all(nodes: list[ast.expr | None]) -> list[ast.expr]:
    """Check that no node is None, and return the nodes.

    Raises:
        ValueError: a node is None, because a dictionary is unpacked (`**`).
    """
    found = [node for node in nodes if node is not None]
    if len(found) < len(nodes):
        raise ValueError("no literal")
    return found


def _arranged(written: str, arrange: Callable[[list[str]], list[str]]) -> str:
    """Return an output after `arrange` has reordered the items in each pair of braces. The output may be any text."""
    open_: list[tuple[str, list[list[str]]]] = [("", [[]])]
    for part in _PIECE.findall(written.strip()):
        opener, items = open_[-1]
        if part in _OPENS:
            open_.append((part, [[]]))
        elif part in _CLOSES and len(open_) > 1:
            open_.pop()
            texts = ["".join(item).strip() for item in items]
            inner = ", ".join(arrange(texts) if opener == "{" else texts)
            open_[-1][1][-1].append(f"{opener}{inner}{part}")
        elif part == ",":
            items.append([])
        else:
            items[-1].append(part)
    return "\0".join(", ".join("".join(item).strip() for item in items) for _, items in open_)


def _form_of(written: str) -> Hashable | None:
    """Return the hashable form of a literal (see `_form`), or None if the text is not a literal."""
    try:
        return _form(value_of(written))
    except (ValueError, TypeError):
        return None


def value_of(written: str) -> object:
    """Return the value of a literal.

    Raises:
        ValueError: the text is not a plain literal, or is too long.
    """
    text = written.strip()
    if len(text) > _LONGEST or not _is_plain(text):
        raise ValueError("no plain literal")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            value: object = ast.literal_eval(text)
    except (TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError("no literal") from error
    return value


def _is_plain(text: str) -> bool:
    """Return whether `text` has no arithmetic and no deep nesting. The text need not be a literal."""
    bare = _EXPONENT.sub("", _STRING.sub("''", text))
    if _ARITHMETIC.search(bare):
        return False
    depth = deepest = 0
    for character in bare:
        depth += (character in _OPENS) - (character in _CLOSES)
        deepest = max(deepest, depth)
    return deepest <= _DEEPEST


def _form(value: object) -> Hashable:
    """Return a hashable form of a value. The forms of two values are equal if the values count as equal."""
    match value:
        case float() if math.isnan(value):
            return "nan"
        case bool() | str() | bytes() | None:
            return type(value), value
        case int() | float():
            return "number", value
        case list() | tuple():
            return type(value), tuple(map(_form, value))
        case set():
            return set, frozenset(map(_form, value))
        case dict():
            return dict, frozenset((_form(key), _form(each)) for key, each in value.items())
        case _:
            raise ValueError(f"{type(value)} is not a literal's type")
