"""Describe the failures and traces of candidates for prompts, and shorten long text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from adacoder.domain import Failure, FailureKind, Verdict
from adacoder.privacy.contents import without_secrets
from adacoder.pytext import indent_of

if TYPE_CHECKING:
    from adacoder.agents.role import Field
    from adacoder.models.window import Window
    from adacoder.traces import Executed, Trace

_SHOWN = 20
"""The maximum length of a trace is this multiple of the maximum length of a value."""
_MOST_BLOCKS = 10
"""Maximum number of blocks that are shown: the first and the last, half each (LDB's released code)."""


def described(verdict: Verdict) -> Field:
    """Describe the failure of a candidate for a prompt.

    Raises:
        ValueError: the candidate did not fail.
    """
    if verdict.failure is None:
        raise ValueError("a passed verdict leaves nothing to describe")
    return partial(describe, verdict.failure)


def reported(failure: Failure | None) -> Field | None:
    """Describe for a prompt how a designed test failed; None if no test failed."""
    return None if failure is None else partial(describe, failure)


def describe(failure: Failure, most: int) -> str:
    """Describe an error for a planner: the example, its expected output, and its actual output.

    At most `most` characters of each part are shown. Keys and tokens are removed. Parts that are more likely to be the
    same in the next error come first.
    """
    example, test = failure.example, failure.test
    if test is not None:
        parts = [f"This test of the project fails ({test.name}):", test.source, "It reports:", test.explanation]
        parts = [part for part in parts if part]
    elif example is None:
        parts = [part for part in (failure.message, failure.error) if part]
    else:
        parts = [example.prompted]
        if example.want:
            parts += ["must give", example.want]
        if failure.kind is FailureKind.WRONG_OUTPUT:
            parts += ["but gave", (failure.got or "").rstrip("\n") or "nothing"]
        elif failure.error:
            parts += ["but raised", failure.error]
        else:
            parts += ["but this happened:", failure.message]
    return "\n".join(shortened(without_secrets(part).rstrip("\n"), most) for part in parts)


def traced(trace: Trace, most: int) -> str:
    """Describe a trace for a prompt: each executed line, after a comment with the new values.

    It shows `most` characters of each value. The whole text is also limited, and keys and tokens are removed.
    """
    code = {line.number: without_secrets(line.text) for line in trace.code}
    shown = [line for each in trace.first for line in _executed(each, code, most)]
    shown += [f"[… {trace.left_out} steps …]"] if trace.left_out else []
    shown += [line for each in trace.last for line in _executed(each, code, most)]
    return shortened("\n".join(shown), _SHOWN * most)


def traced_in_blocks(trace: Trace, most: int) -> str:
    """Describe a trace as `traced` does, but by blocks. Of many blocks, only the first and the last are shown."""
    code = {line.number: without_secrets(line.text) for line in trace.code}
    blocks = [*_blocks(trace.first, code), *_blocks(trace.last, code)]
    half = _MOST_BLOCKS // 2
    shown: list[str] = []
    for number, block in enumerate(blocks, 1):
        if number <= half or number > len(blocks) - half:
            shown += [f"Block {number}:", *(line for each in block for line in _executed(each, code, most))]
        elif number == half + 1:
            shown.append(f"[… {len(blocks) - 2 * half} blocks …]")
    return shortened("\n".join(shown), _SHOWN * most)


def _blocks(entries: Iterable[Executed], code: Mapping[int, str]) -> Iterator[list[Executed]]:
    """Split executed lines where they branch, jump back, or belong to another call."""
    block: list[Executed] = []
    for entry in entries:
        ends = bool(entry.gave or entry.raised)  # this entry is the end of a call, at the line of the previous entry
        if block and (
            entry.call != block[-1].call
            or entry.line < block[-1].line
            or (not ends and (entry.line == block[-1].line or code.get(block[-1].line, "").rstrip().endswith(":")))
        ):
            yield block
            block = []
        block.append(entry)
    if block:
        yield block


def _executed(entry: Executed, code: Mapping[int, str], most: int) -> Iterator[str]:
    line = code.get(entry.line, "")
    indent = indent_of(line)
    values = [f"{name} = {shortened(without_secrets(value), most)}" for name, value in entry.values]
    if values:
        yield f"{indent}# {', '.join(values)}"
    for what, value in (("returned", entry.gave), ("raised", entry.raised)):
        if value:
            yield f"{indent}# {what} {shortened(without_secrets(value), most)}"
    if not (entry.gave or entry.raised):
        yield line


def shortened(text: str, most: int) -> str:
    """Cut the middle out of `text` if it has more than `most` characters. A note says how much was cut."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters …]\n{text[len(text) - half :]}"


def fitted(render: Callable[[int], str], most: int, room: int, window: Window) -> str:
    """Return the text of `render(number)` for the greatest number that fits.

    The number is at most `most`, and the text has at most `room` tokens. If no number fits, return `render(0)`.
    """
    text = render(most)
    if window.measure(text) <= room:
        return text
    fits, too_much = 0, most
    while too_much - fits > 1:
        middle = (fits + too_much) // 2
        if window.measure(render(middle)) <= room:
            fits = middle
        else:
            too_much = middle
    return render(fits)
