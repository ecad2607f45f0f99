"""A guard against candidates that have the docstring's examples by heart (DESIGN, Words: `verified`).

Each Example's own input is followed through the candidate's text; nothing of it is run. Where a constant equal to what
the Example wants comes back, chosen by comparing that very input with constants, the Example shows nothing about any
other input. An input that equals no constant is followed, too, to learn what else the candidate has answers for.

In good faith a function may treat a few small inputs on their own, look things up in a table that goes well beyond the
Examples, and follow rules that the docstring states.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from adacoder.domain import Candidate, Target
from adacoder.pytext import Lines, parsed
from adacoder.source.following.provenance import Key
from adacoder.source.following.recalling import Recalled, Trial

_LONGEST = 20_000
"""Characters of a candidate that are followed."""
_ENOUGH = 0.5
"""How much of an input must be compared for the input to be told; where the answer is True or False, all of it."""
_READERS = frozenset({"find", "getdoc", "getsource", "getsourcelines", "run_docstring_examples"})
"""Functions that give a function's docstring, or what stands in it."""
_READING = re.compile("__doc__|__file__|co_consts|doctest|inspect")
"""Without one of these nothing reads its own text."""


def memorised(target: Target, candidate: Candidate) -> str | None:
    """Why it proves nothing that `candidate` passed the Examples, in one sentence; None where it proves something.

    To be asked of what has passed them.
    """
    total = sum(example.has_want for example in target.examples)
    tree = parsed(candidate.text) if total and len(candidate.text) <= _LONGEST else None
    if tree is None:
        return None
    if _READING.search(candidate.text) and _reads_itself(tree, target.name):
        return f"'{target.name}' reads its own docstring, where the answers stand, so that the examples prove nothing."
    recalled = _from_memory(target, Trial(target, tree))
    if not _are_most(recalled, total):
        return None
    if total == 1:
        return (
            "The only example is answered by a constant under a test on its own input: nothing is computed for it, so"
            " it proves nothing about other inputs."
        )
    return (
        f"{len(recalled)} of {total} examples are answered by constants under a test on their own input: nothing is"
        " computed for them, so they prove nothing about other inputs."
    )


def _from_memory(target: Target, trial: Trial) -> list[Recalled]:
    found = trial.recalled()
    told = _without_rules([each for each in found if _is_told(each)])
    prose = _prose(target) if told else []
    told = [each for each in told if not _is_stated(each, prose)]
    if not told:
        return []
    held = frozenset(key for each in told for key in each.keys)
    beyond = _answered_beyond(held, trial.compared())
    chosen = [each for each in told if not any(key.of in beyond for key in each.keys)]
    return [*chosen, *_by_default(found)] if chosen else []


def _by_default(recalled: Sequence[Recalled]) -> list[Recalled]:
    """The one Example whose input was found equal to nothing. What so answers more, or true or false, is a rule."""
    others = [each for each in recalled if not each.keys]
    return others if len(others) == 1 and not others[0].is_bool else []


def _are_most(recalled: Sequence[Recalled], total: int) -> bool:
    """Whether most Examples are recalled; and of those, too, that are not about what is treated on its own."""
    base = sum(_is_base(each) for each in recalled)
    return 2 * len(recalled) > total and (base == total or 2 * (len(recalled) - base) > total - base)


def _is_base(recalled: Recalled) -> bool:
    """Whether it is about an input that functions treat on its own in good faith."""
    return bool(recalled.keys) and all(key.is_base for key in recalled.keys)


def _is_told(recalled: Recalled) -> bool:
    """Whether what the input was found equal to tells which input it is.

    Functions that check their input pass many such tests before they answer True: of those, parts tell nothing.
    """
    if recalled.is_bool:
        return sum(key.share for key in recalled.keys if not key.is_part) >= 1
    return sum(key.share for key in recalled.keys) >= _ENOUGH


def _without_rules(recalled: Sequence[Recalled]) -> list[Recalled]:
    """Without what is chosen by lengths, sums or pieces, where that answers several inputs, or there is one answer."""
    by_part = [each for each in recalled if all(key.is_part for key in each.keys)]
    inputs: dict[frozenset[Key], set[str]] = defaultdict(set)
    for each in by_part:
        inputs[each.keys].add(each.example.source)
    has_one_answer = len({each.example.want for each in recalled}) == 1
    rules = {keys for keys, sources in inputs.items() if len(sources) > 1 or (has_one_answer and len(keys) == 1)}
    return [each for each in recalled if each.keys not in rules]


def _answered_beyond(held: Iterable[Key], compared: Iterable[Key]) -> frozenset[str]:
    """Of what inputs are compared with far more constants than the Examples' own inputs."""
    covered: dict[str, set[Key]] = defaultdict(set)
    for key in held:
        covered[key.of].add(key)
    others: dict[str, set[Key]] = defaultdict(set)
    for key in compared:
        if key.of in covered and key not in covered[key.of]:
            others[key.of].add(key)
    return frozenset(of for of, keys in covered.items() if 2 * _weight(others[of], keys) >= len(keys))


def _weight(others: Iterable[Key], held: Iterable[Key]) -> int:
    """How many of the `others` are no mere base cases; unless all that is held are such."""
    only_base = all(key.is_base for key in held)
    return sum(only_base or not key.is_base for key in others)


def _prose(target: Target) -> list[str]:
    """The lines of the docstring that are neither of an example nor show a call."""
    lines = Lines(target.text)
    shown: set[int] = set()
    for example in target.examples:
        count = 1 if example.informal else example.source.count("\n") + example.want.count("\n")
        shown.update(range(example.line, example.line + count))
    span = target.docstring_span
    docstring = range(lines.line_at(span.start), lines.line_at(span.end) + 1) if span.end > span.start else range(0)
    call = re.compile(rf"\b{re.escape(target.name)}\s*\(|>>>")
    return [lines[at] for at in docstring if at not in shown and not call.search(lines[at])]


def _is_stated(recalled: Recalled, prose: Sequence[str]) -> bool:
    """Whether the docstring itself states, in one line, what the input is equal to and what it gives."""
    words = [*(key.constant for key in recalled.keys), recalled.example.want.strip()]
    patterns = [_word(word) for word in words]
    return bool(recalled.keys) and any(all(pattern.search(line) for pattern in patterns) for line in prose)


def _word(literal: str) -> re.Pattern[str]:
    """What finds a value in prose; a string also without its quotes."""
    text = literal[1:-1] if literal[:1] in "'\"" else literal
    before = r"(?<![\w.])" if text[:1].isalnum() else ""
    after = r"(?!\w)" if text[-1:].isalnum() else ""
    return re.compile(before + re.escape(text) + after, re.IGNORECASE)


def _reads_itself(tree: ast.Module, name: str) -> bool:
    """Whether the candidate looks at its own docstring or source, and not at somebody else's."""
    return any(_reads(node, name) for node in ast.walk(tree))


def _reads(node: ast.AST, own: str) -> bool:
    match node:
        case ast.Attribute(attr="__doc__", value=owner):
            return _is_named(owner, own)
        case ast.Attribute(attr="co_consts", value=ast.Attribute(value=owner)):
            return _is_named(owner, own) or isinstance(owner, ast.Call)
        case ast.Attribute(attr="read_text" | "read_bytes" | "open", value=ast.Call(args=[ast.Name(id="__file__")])):
            return True
        case ast.Call(func=ast.Name(id="open"), args=[ast.Name(id="__file__"), *_]):
            return True
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=attribute), *_]):
            return attribute == "__doc__" and _is_named(owner, own)
        case ast.Call(func=ast.Name(id=reader) | ast.Attribute(attr=reader), args=arguments) if reader in _READERS:
            return any(_is_named(argument, own) for argument in arguments)
        case _:
            return False


def _is_named(node: ast.expr, name: str) -> bool:
    """Whether an expression such as `f`, `self.f` or `globals()["f"]` gives what is called `name`."""
    match node:
        case ast.Name(id=found) | ast.Attribute(attr=found) | ast.Subscript(slice=ast.Constant(value=found)):
            return bool(found == name)
        case _:
            return False
