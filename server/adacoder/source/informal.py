"""Read examples in prose, without doctest's prompt.

An example is a call of the function with its result, in sentences, lists or Markdown code:

    f(1, 2) == 3        f(1, 2) -> 3        f(1, 2) => 3        f(1, 2) ➞ 3        f(1, 2) = 1 + 2 = 3
    f(1, 2) returns 3   f(1, 2) should be 3         assert f(1, 2) == 3         f(0)  # raises ValueError
    For x = 1, y = 2 the output should be 3.        Input: x = 1, y = 2
                                                    Output: 3

Examples that could be misread are left out:

* arguments or results that are not literals (unquoted words, variables, ellipses)
* a condition, an alternative or more arithmetic around the call or result
* arguments that the signature does not accept, or a result that the annotation excludes
* `("one")`, which may be meant as a tuple
* `=` if the docstring defines the function by recurrence, as in `f(n) = f(n - 1) + 1`
* a signature, such as `f() -> None`
* calls that appear with two different results

Prose is only read if no `>>>` example shows an output. Only 1 in 37,000 functions of the standard library and of common
packages has both kinds of example.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice

from adacoder.domain import Example
from adacoder.source.calls import Arguments, Calls
from adacoder.source.constants import Constant, call_at, constant_at
from adacoder.source.literal import Literal

_LONGEST = 20_000
"""Maximum characters of a docstring. The rest is not read."""
_LONGEST_LINE = 1_000
"""Maximum characters of a line. Longer lines are skipped."""
_MOST = 200
"""Maximum number of matches of each pattern that are read in a docstring."""
_MOST_ARGUMENTS = 20
"""Maximum number of arguments in an example without a call, such as `for x = 1, …`."""

_ARROW = r"(?:={1,3}>|-{1,3}>|[→⇒⟶⟹➔➙➜➝➞➡⇨↦⟼])"
_GAP = r"[ \t]*+(?:\n[ \t]*+|(?!\n))"
_WILL = rf"(?:(?:should|must|will|would)(?=\s){_GAP})?"
_IS = (
    r"(?:returns?|equals?|is|be|gives?|outputs?|produces?|evaluates?[ \t]+to|results?[ \t]+in)\b"
    r"(?:[ \t]+equal[ \t]+to\b)?"
)
_THE_VALUE = (
    r"(?:[ \t]+(?:(?:the|an?)[ \t]+)?"
    r"(?:value|string|list|tuple|dict|dictionary|set|number|integer|int|float|boolean)\b)?"
)
_RELATION = re.compile(
    rf"`{{0,2}}{_GAP}(?:\#[ \t]*+)?"
    rf"(?:(?P<sign>={{1,3}}(?![=>]))|(?P<arrow>{_ARROW})(?:[ \t]*{_WILL}{_IS})?|{_WILL}{_IS}{_THE_VALUE})"
    rf":?{_GAP}`{{0,2}}",
    re.IGNORECASE,
)
"""Text between a call and its result."""
_RAISES = re.compile(
    rf"`{{0,2}}{_GAP}(?:\#[ \t]*+)?(?:{_ARROW}[ \t]*+)?{_WILL}(?:raises?|throws?)[ \t]+(?:(?:the|an?)[ \t]+)?"
    r"`{0,2}(?P<name>[A-Z]\w*)\b"
)
_SAME = re.compile(rf"{_GAP}(?:={{1,3}}(?![=>])|{_ARROW})[ \t]*")
"""Text between two equal results, such as the last `=` in `f(1, 2) = 1 + 2 = 3`."""

_BULLETS = re.compile(r"[ \t]*(?:(?:[-*+•‣·#]|\(?(?:\d{1,2}|[a-z])[.)])[ \t]+)*", re.IGNORECASE)
_LEADING_WORD = re.compile(
    r"(?:for|examples?|e\.?g|i\.?e|ex|instance|samples?|tests?|case|assert|and|but|whereas|so|thus|hence|then|the|a|call"
    r"|calling|here|like|note|that|also|similarly|likewise|again|finally|as|in|such)?",
    re.IGNORECASE,
)
"""Words allowed before a call on its line. After other words, the call is not an example."""
_FACTOR = re.compile(r"\d[ \t]*\*+[ \t]*\Z|\d\(\Z")
"""Matches a factor before a call, as in `2 * f(1)`. The result in the text is then not the result of the call."""
_LEAVES_OPEN = re.compile(
    r"(?:\b(?:if|when|unless|until|while|whether|not|never|and|or|than|nor|\w+n't)|(?<![-=])[-+*/%=<>(]"
    r"|^[ \t]*(?:if|when|unless|with|after|once|under|assuming|suppose|given|otherwise)\b[^\n]*[,:]"
    r"|\b(?:not|never|wrong\w*|incorrect\w*|bad|bugs?|fail\w*|counter-?example\w*|instead|previously|formerly|before|old"
    r"|unlike|avoid)\b[^\n]*(?::|\n[ \t]*[-=~^]{3,})"
    r"|^[ \t]*\.\.[ \t]+(?:deprecated|version\w+|warning|todo)::[^\n]*)\s*\Z",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches text above a call that makes the example invalid, such as a condition or a warning."""
_CONDITION = r"\b(?:if|when|where|unless|until|provided|assuming|depending|only[ \t]+(?:for|in|with|on))\b"
_DOUBT = (
    r"\b(?:or|except|otherwise|else|not|etc|mod|modulo|approx\w*|about|roughly|around|nearly|almost)\b|[~≈]"
    rf"|{_CONDITION}"
)
_WHERE = r"in|on|at|with|under|for(?![ \t]+\w+[ \t]*=)|before|until|after|only"
_GOES_ON = r"(?-i:or|if|when|unless|except|otherwise|plus|minus)\b|[+/%]|[-*](?=[\d(])"
"""Beginning of a line that continues the result on the line above."""
_ENDS = re.compile(
    rf"""`{{0,2}}(?:
      [ \t]*+(?:[.;,]|(?<!\d)!)?[ \t]*+(?:\#(?![^\n]*?(?:{_DOUBT}))[^\n]*+)?(?=\n|\Z)(?!\n[ \t]*+(?:{_GOES_ON}))
    | [ \t]*+(?:[.;]|(?<!\d)!)(?=\s)
    | [ \t]+\((?![^()\n]*?(?:{_DOUBT}))(?=[^()\n]*?[a-z])
    | (?!(?:[^.;\n]*+\n)?[^.;\n]*?{_CONDITION})(?:
          [ \t]*,[ \t]+(?=[^\W\d]|`)(?!(?:{_DOUBT})|(?:True|False|None|{_WHERE})\b|\w?['"])
        | [ \t]+(?:because|since|as|--|[—–])(?=\s)(?!\s+(?:long|soon|far|an?)\b)
        | [ \t]+(?:and|but|whereas)[ \t]+(?=`{{0,2}}[\w.]+\()
      )
    )""",
    re.VERBOSE | re.IGNORECASE,
)
"""Matches text that may follow a result, such as the end of a sentence. A condition may not follow."""
_MESSAGE = re.compile(r"[ \t]*,[ \t]*[rf]?['\"]")
"""Matches a message after the result in an `assert` statement."""

_FOR = re.compile(
    r"(?<![\w.])(?<!not )(?<!except )(?:for|given|(?P<named>with|when|if))[ \t]+(?=`?[^\W\d]\w*`?[ \t]*=[^=])",
    re.IGNORECASE,
)
"""Words such as "for", before the arguments of an example without a call.

After "with", "when" or "if", the arguments must have the names of parameters.
"""
_INPUT = re.compile(r"^[ \t]*+(?:[-*+•][ \t]++)?(?:sample[ \t]++)?inputs?[ \t]*+[:=]\s*+", re.IGNORECASE | re.MULTILINE)
_OUTPUT = re.compile(
    rf"[ \t]*+[,;.]?\s*+(?:{_ARROW}|[-*+•])?[ \t]*+(?:(?:sample|expected)[ \t]++)?outputs?[ \t]*+[:=]{_GAP}",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"`?(?!(?:inputs?|outputs?|results?|returns?|explanation)\b)(?P<name>[^\W\d]\w*)`?[ \t]*[:=][ \t]*(?![:=])",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"[ \t]*(?:[,;&]|\band\b)?[ \t]*(?:\n[ \t]*)?(?:and\b[ \t]*)?")
"""Text between two arguments."""
_OUTCOME = re.compile(
    rf"(?:\b(?:output|result|answer|return(?:ed)?[ \t]+value|function|it)[ \t]+{_WILL}{_IS}"
    rf"|\b{_WILL}returns?\b|{_ARROW}):?{_GAP}",
    re.IGNORECASE,
)
"""Text before the result in an example without a call."""
_NO_ASIDE = re.compile(rf"[-+*/%^=<>]|[.;!?]\s|\b(?:to|through|plus|minus|times)\b|{_DOUBT}", re.IGNORECASE)
"""Matches text between arguments and a result that makes their relation unclear."""
_DISTANCE = 200
"""Maximum number of characters between arguments and their result. The text above a call is searched as far."""


class _StatementKind(Enum):
    RESULT = auto()
    EQUATION = auto()
    """The text gives the result after `=`."""
    EXCEPTION = auto()


@dataclass(frozen=True, slots=True)
class _CallResult:
    kind: _StatementKind
    text: str
    """The result as `repr` shows it, or the name of the exception."""
    end: int
    """The offset just past the result."""


@dataclass(frozen=True, slots=True)
class _ProseExample:
    offset: int
    call: str
    outcome: _CallResult


def informal(docstring: Literal, first_line: int, calls: Calls) -> tuple[Example, ...]:
    """Return the examples in the prose of a docstring, in order.

    Args:
        docstring: the value of the docstring, with doctest examples blanked.
        first_line: the 0-based line of the file where the docstring's literal begins.
        calls: the function's name and parameters.
    """
    lines = docstring.value[:_LONGEST].split("\n")
    text = "\n".join(line if len(line) <= _LONGEST_LINE else "" for line in lines)
    stated = sorted([*_called(text, calls), *_described(text, calls)], key=lambda each: each.offset)
    outcomes: dict[str, list[_ProseExample]] = {}
    for each in stated:
        outcomes.setdefault(each.call, []).append(each)
    return tuple(
        _example(first, first_line + docstring.lines[text.count("\n", 0, first.offset)])
        for first, *others in outcomes.values()
        if all(other.outcome.text == first.outcome.text for other in others)
    )


def _example(stated: _ProseExample, line: int) -> Example:
    call, outcome = f"{stated.call}\n", f"{stated.outcome.text}\n"
    if stated.outcome.kind is not _StatementKind.EXCEPTION:
        return Example(call, outcome, line, informal=True)
    return Example(
        call,
        f"Traceback (most recent call last):\n{outcome}",
        line,
        flags=doctest.IGNORE_EXCEPTION_DETAIL,
        exception=outcome,
        informal=True,
    )


def _called(text: str, calls: Calls) -> list[_ProseExample]:
    """Return the examples that are written as a call and its result."""
    stated: list[_ProseExample] = []
    end = 0
    if calls.name not in text:  # This check avoids compiling the pattern in most cases.
        return stated
    for match in islice(re.finditer(rf"(?<![\w.]){re.escape(calls.name)} ?\(", text), _MOST):
        if match.start() < end:
            continue
        found = call_at(text, match.start())
        line_start = text.rfind("\n", 0, match.start()) + 1
        before = text[max(end, line_start) : match.start()]
        if found is None or not _stands_alone(text[:line_start], before):
            continue
        call, after = found
        outcome = _raised(text, after) or _result(text, after, calls, is_code=_is_assert(before))
        if outcome is None or not _is_whole(text, outcome.end, before) or not calls.takes(_arguments(call)):
            continue
        if call.args or outcome.text != "None" or not _is_signature(text, after):
            stated.append(_ProseExample(match.start(), ast.unparse(call), outcome))
        end = outcome.end
    certain = [each for each in stated if each.outcome.kind is not _StatementKind.EQUATION]
    return certain if len(certain) < len(stated) and _is_recurrence(text, calls.name) else stated


def _arguments(call: ast.Call) -> Arguments:
    return (*((None, each) for each in call.args), *((each.arg, each.value) for each in call.keywords))


def _stands_alone(above: str, before: str) -> bool:
    """Return whether a call is an example of its own, and not part of another expression or a condition.

    `before` is the text before the call on its line, and `above` is the text above this line.
    """
    bullets = _BULLETS.match(before)
    rest = before[bullets.end() :] if bullets else before
    if _FACTOR.search(before):
        return False
    words = (word.strip("`(*:;,.!0123456789") for word in rest.split())
    if not all(map(_LEADING_WORD.fullmatch, words)):
        return False
    return bool(before.strip()) or not _LEAVES_OPEN.search(above[-_DISTANCE:])


def _is_whole(text: str, end: int, before: str) -> bool:
    """Return whether the result ends at `end`, and no condition follows."""
    if "(" in before and text.startswith(")", end):
        end += 1
    return bool(_ENDS.match(text, end) or (_is_assert(before) and _MESSAGE.match(text, end)))


def _is_assert(before: str) -> bool:
    return before.split()[-1:] == ["assert"]


def _is_signature(text: str, end_of_call: int) -> bool:
    """Return whether an arrow follows the call, as in the signature `f() -> None`."""
    relation = _RELATION.match(text, end_of_call)
    return relation is not None and relation["arrow"] is not None


def _is_recurrence(text: str, name: str) -> bool:
    """Return whether the docstring defines the function by an equation such as `f(n) = f(n - 1) + 1`."""
    call = rf"(?<![\w.]){re.escape(name)}\("
    variable = r"(?<!\w)(?!(?:True|False|None)\b|\w+=)[^\W\d]"
    of_variables = rf"{call}(?=[^()'\"\n]*+\))[^()'\"\n]*?{variable}[^()'\"\n]*+\)"
    return (
        re.search(rf"{of_variables}[ \t]*+=(?![=>])|{call}[^()\n]*+\)[ \t]*+=(?![=>])[^=\n]*?{call}", text) is not None
    )


def _raised(text: str, start: int) -> _CallResult | None:
    match = _RAISES.match(text, start)
    kind = getattr(builtins, match["name"], None) if match else None
    if match is None or not isinstance(kind, type) or not issubclass(kind, Exception):
        return None
    return _CallResult(_StatementKind.EXCEPTION, match["name"], match.end())


def _result(text: str, start: int, calls: Calls, *, is_code: bool) -> _CallResult | None:
    """Return the result after the relation at `start`, such as `==`; None if the result is uncertain."""
    relation = _RELATION.match(text, start)
    result = constant_at(text, relation.end(), is_code=is_code) if relation else None
    last = None if result is None or not calls.gives(result.node) else _last_of_chain(text, result)
    if relation is None or last is None:
        return None
    return _CallResult(
        _StatementKind.EQUATION if relation["sign"] == "=" else _StatementKind.RESULT, last.text, last.end
    )


def _last_of_chain(text: str, result: Constant) -> Constant | None:
    """Return the last result in a chain such as `1 + 2 = 3`; None if the results differ."""
    while same := _SAME.match(text, result.end):
        following = constant_at(text, same.end())
        if following is None or following.value != result.value:
            return None
        result = following
    return result


def _described(text: str, calls: Calls) -> Iterator[_ProseExample]:
    """Yield the examples that give arguments and a result, but no call."""
    for pattern, finds_result in ((_FOR, _result_of_sentence), (_INPUT, _result_of_output)):
        for match in islice(pattern.finditer(text), _MOST):
            arguments, end = _given(text, match.end())
            call = _call(arguments, calls, by_name="named" in match.groupdict() and match["named"] is not None)
            result = finds_result(text, end) if call is not None else None
            if call is None or result is None or not calls.gives(result.node) or not _is_whole(text, result.end, ""):
                continue
            yield _ProseExample(match.start(), call, _CallResult(_StatementKind.RESULT, result.text, result.end))


def _given(text: str, start: int) -> tuple[Arguments, int]:
    """Return the arguments in text such as `x = 1, y = 2`, and the offset of their end."""
    given: list[tuple[str | None, ast.expr]] = []
    position = end = start
    while len(given) < _MOST_ARGUMENTS:
        named = _NAMED.match(text, position)
        constant = constant_at(text, named.end() if named else position)
        if constant is None:
            break
        given.append((named["name"] if named else None, constant.node))
        end = constant.end
        between = _BETWEEN.match(text, end)
        position = between.end() if between else end
    return tuple(given), end


def _call(given: Arguments, calls: Calls, *, by_name: bool) -> str | None:
    """Return a call with the `given` arguments; None if a name fits no parameter.

    A function with one parameter accepts any name, unless `by_name` is true.
    """
    if calls.signature is None:
        return None
    parameters = list(calls.signature.parameters)
    names = [name for name, _ in given]
    is_only_one = len(given) == len(parameters) == 1 and not by_name
    if is_only_one or (None in names and names == [None] * len(calls.required)):
        arguments: Arguments = tuple((None, value) for _, value in given)
    elif names and len(set(names)) == len(names) and set(names) <= set(parameters):
        arguments = _by_position(tuple(sorted(given, key=lambda each: parameters.index(str(each[0])))), parameters)
    else:
        return None
    if not calls.takes(arguments):
        return None
    return f"{calls.name}({', '.join(_written(name, value) for name, value in arguments)})"


def _by_position(named: Arguments, parameters: list[str]) -> Arguments:
    """Remove the names of arguments that can be passed by position."""
    return tuple(
        (None if name == parameter else name, value)
        for (name, value), parameter in zip(named, parameters, strict=False)
    )


def _written(name: str | None, value: ast.expr) -> str:
    return ast.unparse(value) if name is None else f"{name}={ast.unparse(value)}"


def _result_of_sentence(text: str, start: int) -> Constant | None:
    """Return the result in the rest of a sentence; None if there is none or more than one.

    The sentence continues at `start`, and the result may be on the next line.
    """
    rest = text[start : start + _DISTANCE]
    following = _FOR.search(rest)
    line, *others = (rest[: following.start()] if following else rest).split("\n")
    told = list(_OUTCOME.finditer(line)) or list(_OUTCOME.finditer("\n".join([line, *others[:1]])))
    if len(told) != 1 or _NO_ASIDE.search(rest, 0, told[0].start()):
        return None
    return constant_at(text, start + told[0].end())


def _result_of_output(text: str, start: int) -> Constant | None:
    label = _OUTPUT.match(text, start)
    return constant_at(text, label.end()) if label else None
