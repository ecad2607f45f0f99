"""Describe failures and traces in prompts, and shorten long texts."""

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
"""Maximum length of a trace, divided by the maximum length of a value in the trace."""
_MOST_BLOCKS = 10
"""Maximum number of blocks to show of a trace. LDB's released code shows the first five and the last five."""


def described(verdict: Verdict) -> Field:
    """Return a function that describes a candidate's failure in a prompt.

    Raises:
        ValueError: the candidate did not fail.
    """
    if verdict.failure is None:
        raise ValueError("a passed verdict leaves nothing to describe")
    return partial(describe, verdict.failure)


def reported(failure: Failure | None) -> Field | None:
    """Return a function that describes a failed test in a prompt; None if no test failed."""
    return None if failure is None else partial(describe, failure)


def describe(failure: Failure, most: int) -> str:
    """Describe a failure: the example, its expected output, and its actual output, without secrets.

    Each part is cut to `most` characters. The example comes first, because a server can cache a repeated beginning.
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
    """Describe a trace: each executed line, and a comment before the line with the values that changed.

    Each value is cut to `most` characters, and secrets are removed.
    """
    code = {line.number: without_secrets(line.text) for line in trace.code}
    shown = [line for each in trace.first for line in _executed(each, code, most)]
    shown += [f"[… {trace.left_out} steps …]"] if trace.left_out else []
    shown += [line for each in trace.last for line in _executed(each, code, most)]
    return shortened("\n".join(shown), _SHOWN * most)


def traced_in_blocks(trace: Trace, most: int) -> str:
    """Describe a trace block by block. If there are many blocks, the middle blocks are left out."""
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
    """Split executed lines into blocks. A block ends at a branch, at a jump back, or when another call runs."""
    block: list[Executed] = []
    for entry in entries:
        ends = bool(entry.gave or entry.raised)  # the end of a call, recorded at the line of the previous entry
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
    """Remove the middle of a text that is longer than `most` characters, and say how much was removed."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters …]\n{text[len(text) - half :]}"


def fitted(render: Callable[[int], str], most: int, room: int, window: Window) -> str:
    """Return `render(number)`, where `number` is the largest number up to `most` whose text fits into `room` tokens.

    If no number fits, return `render(0)`.
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
