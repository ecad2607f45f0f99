"""Compare the output of an example with the wanted output, by the rules and options of `doctest`.

An informal example, such as `f(2) == {"b", "a"}` or `f(2) -> 15`, is compared by its value. So the order of a set does
not matter, and 15 equals 15.0.
"""

from __future__ import annotations

import ast
import doctest
import math
import re
from functools import partial
from typing import TYPE_CHECKING

from adacoder.directives import ALLOW_BYTES, ALLOW_UNICODE, FLOAT_CMP, IGNORE_OUTPUT, NUMBER, lookalike
from adacoder.pytext import parsed
from adacoder.sandbox.literal_values import same_but_for_order, same_but_for_sets, same_value

if TYPE_CHECKING:
    from adacoder.domain import Example
    from adacoder.sandbox.wire import Answer

_CHECKER = doctest.OutputChecker()
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[ \t]*\n\Z", re.MULTILINE)
_LIKE_PROSE = re.compile(r"[ \t]*(?:[-*#:]|\.\.[ ]|.*[^\W\d_]{2}[^\w\n]+[^\W\d_]{2}|.*:[ \t]*$)")
_TOKEN = re.compile(
    r"(?P<ellipsis>\.\.\.)|(?P<number>[+-]?(?:\d+(?:\.(?!\.\.)(?P<fraction>\d*))?|\.(?P<bare>\d+))(?:[eE](?P<power>[+-]?\d+))?)"
    r"|(?P<word>\w+)|(?P<space>\s+)|."
)
"""Matches one part of an output: `...`, a number, a word, white space, or another character."""
_BLANK_LINE = re.compile(rf"(?m)^{re.escape(doctest.BLANKLINE_MARKER)}\s*?$")
_RELATIVE, _ABSOLUTE = 1e-5, 1e-8
"""Differences of numbers that FLOAT_CMP allows, as in doctestplus."""
_LONGEST = 20_000
"""Maximum length of an output in which numbers are compared."""
_MOST_STEPS = 100_000
"""Maximum number of steps for comparing the numbers of two outputs. If the wanted output has many `...`, the number of
steps can grow with the square of its length.
"""
_PREFIXES = {
    flag: re.compile(rf"(?i)(?<![\w'\"]){letter}(?=r?['\"])")
    for flag, letter in ((ALLOW_UNICODE, "u"), (ALLOW_BYTES, "b"))
}
_SCALAR = re.compile(r"\bnp\.\w+\(([^()]*)\)")
"""Matches a scalar as NumPy 2 shows it, such as `np.int64(3)`."""
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")


def matches(example: Example, got: str, answer: Answer, options: int = 0) -> bool:
    """Return whether an example gave the wanted result.

    `options` are doctest's flags that are on for all examples.
    """
    raised, flags = answer.raised, _flags(example, options)
    if raised is None and flags & IGNORE_OUTPUT:
        return True
    if raised is None and example.informal:
        # If the example's value is None, the example must not print anything.
        shows_more = bool(answer.printed) and answer.plain == "None"
        return example.exception is None and is_value(answer.plain, example.want) and not shows_more
    if raised is None:
        return _agree(flags, example.want, got) or _same_sets(example.want, got, flags)
    if example.exception is None:
        return False
    if _agree(flags, example.exception, raised.message):
        return True
    if not flags & doctest.IGNORE_EXCEPTION_DETAIL:
        return False
    return _agree(flags, _exception_name(example.exception), _exception_name(raised.message))


def hint(example: Example, got: str, answer: Answer, options: int = 0) -> str:
    """Return advice about an example that failed, or an empty text."""
    flags = _flags(example, options)
    want, came = (example.want, got) if answer.raised is None else (example.exception or "", answer.raised.message)
    if same_but_for_order(want, came):
        return "Only the order inside braces differs: show `sorted(...)`, or compare with `==`."
    if answer.raised is None and not example.informal and _may_take_text_for_output(example, got, flags):
        return "If the text right below the output is not output, leave a blank line above it."
    if wanted := lookalike(example.source):
        return f"Its comment looks like a directive: write `{wanted}`."
    return "" if example.informal else _option_hint(want, came, flags)


def _option_hint(want: str, got: str, flags: int) -> str:
    """Return advice about an option that would make the outputs match, or an empty text."""
    has_gap = "..." in want and not flags & doctest.ELLIPSIS
    if has_gap and _agree(flags | doctest.ELLIPSIS, want, got):
        return "Add `# doctest: +ELLIPSIS`: with it, `...` matches any text."
    if _agree(flags | doctest.NORMALIZE_WHITESPACE, want, got):
        return "Only white space differs, which `# doctest: +NORMALIZE_WHITESPACE` allows."
    if has_gap and _agree(flags | doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, want, got):
        return "Add `# doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE` for `...` and for the white space that differs."
    if "".join(want.split()) == "".join(got.split()) and _agree(flags | FLOAT_CMP, want, got):
        return "Only white space differs, which `# doctest: +FLOAT_CMP` allows."
    if _whole_numbers(want) == _whole_numbers(got) and _agree(flags | FLOAT_CMP, want, got):
        return "Only the last digits of numbers differ, which `# doctest: +FLOAT_CMP` allows."
    if _agree(flags, want, _SCALAR.sub(r"\1", got)):
        return "NumPy 2 shows the types of numbers: show the value in this form, or convert it with `float` or `int`."
    if _agree(flags, _ADDRESS.sub("0x", want), _ADDRESS.sub("0x", got)):
        return "Only an address differs, which changes at each run: write `...` for it, with `# doctest: +ELLIPSIS`."
    return ""


def takes_fence_for_output(example: Example, got: str, options: int = 0) -> bool:
    """Return whether an example fails only because a Markdown fence follows its output."""
    without_fence = _FENCE.sub("", example.want)
    return without_fence != example.want and _agree(_flags(example, options), without_fence, got)


def is_value(display: str, want: str) -> bool:
    return display.strip() == want.strip() or same_value(display, want)


def _flags(example: Example, options: int) -> int:
    return (options & ~example.off) | example.flags


def _agree(flags: int, want: str, got: str) -> bool:
    for flag, prefix in _PREFIXES.items():
        if flags & flag:
            want, got = prefix.sub("", want), prefix.sub("", got)
    if _CHECKER.check_output(want, got, flags):
        return True
    return bool(flags & (NUMBER | FLOAT_CMP)) and _same_numbers(want, got, flags)


def _same_numbers(want: str, got: str, flags: int) -> bool:
    """Return whether two outputs are equal, apart from small differences of numbers."""
    if max(len(want), len(got)) > _LONGEST:
        return False
    if not flags & doctest.DONT_ACCEPT_BLANKLINE:
        want = _BLANK_LINE.sub("", want)
    wanted, found = _parts(want, flags), _parts(got, flags)
    has_gaps = bool(flags & doctest.ELLIPSIS)
    here = there = 0
    gap, resumes = -1, 0
    # Like a wildcard, `...` matches any number of parts. After a mismatch, the last `...` matches one more part.
    for _ in range(_MOST_STEPS):
        if there == len(found):
            return all(has_gaps and each["ellipsis"] for each in wanted[here:])
        if here < len(wanted) and has_gaps and wanted[here]["ellipsis"]:
            gap, resumes = here, there
            here += 1
        elif here < len(wanted) and _same_part(wanted, here, found[there], flags):
            here, there = here + 1, there + 1
        elif gap >= 0:
            resumes += 1
            here, there = gap + 1, resumes
        else:
            return False
    return False


def _parts(output: str, flags: int) -> list[re.Match[str]]:
    """Return the parts of an output to compare. Depending on the flags, some white space is left out."""
    if flags & FLOAT_CMP:
        return [each for each in _TOKEN.finditer(output) if not each["space"]]
    if not flags & doctest.NORMALIZE_WHITESPACE:
        return [*_TOKEN.finditer(output)]
    found = [*_TOKEN.finditer(output.strip())]
    return [each for at, each in enumerate(found) if not (each["space"] and _is_padding(found[at - 1], found[at + 1]))]


def _is_padding(before: re.Match[str], after: re.Match[str]) -> bool:
    """Return whether white space between two parts only aligns the numbers of an array."""
    return before[0] == "[" or after[0] == "]" or (before["number"] is not None and after[0] == ",")


def _whole_numbers(output: str) -> list[str]:
    found = _TOKEN.finditer(output[:_LONGEST])
    return [each[0] for each in found if each["number"] and not (each["fraction"] or each["bare"] or each["power"])]


def _same_part(wanted: list[re.Match[str]], here: int, got: re.Match[str], flags: int) -> bool:
    want = wanted[here]
    if want[0] == got[0] or (want["space"] and got["space"] and flags & doctest.NORMALIZE_WHITESPACE):
        return True
    if want["number"] is None or got["number"] is None:
        return False
    following = wanted[here + 1] if here + 1 < len(wanted) and flags & doctest.ELLIPSIS else None
    is_cut = following is not None and following["ellipsis"] is not None and following.start() == want.end()
    if is_cut and got[0].startswith(want[0]):
        return True
    one, other = float(want[0]), float(got[0])
    if not (math.isfinite(one) and math.isfinite(other)):
        return False
    if flags & FLOAT_CMP and abs(one - other) <= _ABSOLUTE + _RELATIVE * abs(one):
        return True
    if not flags & NUMBER or (want["fraction"] is None and want["bare"] is None and want["power"] is None):
        return False
    digits = len(want["fraction"] or want["bare"] or "")
    try:
        return abs(one - other) <= math.pow(10.0, int(want["power"] or 0) - digits)
    except (OverflowError, ValueError):
        return False


def _same_sets(want: str, got: str, flags: int) -> bool:
    """Return whether two outputs are equal, apart from how sets are written, such as the order of elements."""
    if flags & doctest.ELLIPSIS and doctest.ELLIPSIS_MARKER in want:
        return False
    return same_but_for_sets(want, got, partial(_agree, flags))


def _may_take_text_for_output(example: Example, got: str, flags: int) -> bool:
    """Return whether a line of prose seems to follow the actual output in the wanted output.

    The author may then have forgotten a blank line after the output.
    """
    lines = example.want.splitlines(keepends=True)
    shown = got.count("\n")
    if shown >= len(lines) or not _LIKE_PROSE.match(lines[shown]):
        return False
    if shown:
        return _agree(flags, "".join(lines[:shown]), got)
    match parsed(example.source):
        case ast.Module(body=[ast.Expr()]) | None:
            return False  # The example should show a value, so a blank line would not help.
    return True


def _exception_name(message: str) -> str:
    """Return the name of an exception's class, the only part that counts with IGNORE_EXCEPTION_DETAIL."""
    return message.partition("\n")[0].partition(":")[0].rpartition(".")[2]
