"""What went wrong with a candidate, in the words of a prompt; and how what is long is shortened there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from adacoder.domain import Failure, FailureKind, Verdict
from adacoder.privacy.contents import concealed

if TYPE_CHECKING:
    from adacoder.agents.role import Field
    from adacoder.models.window import Window


def described(verdict: Verdict) -> Field:
    """What went wrong with a candidate, for a prompt.

    Raises:
        ValueError: nothing did.
    """
    if verdict.failure is None:
        raise ValueError("a passed verdict leaves nothing to describe")
    return partial(describe, verdict.failure)


def describe(failure: Failure, most: int) -> str:
    """The error as a planner can use it: which example, what it must give, and what it gave.

    Of each of these at most about `most` characters are shown, and keys and tokens that code has got hold of are taken
    out. What is more likely to be the same in the next error stands first.
    """
    example = failure.example
    if example is None:
        return "\n".join(shortened(concealed(part), most) for part in (failure.message, failure.error) if part)
    shown = [shortened(prompted(example.source), most)]
    if example.want:
        shown += ["must give", shortened(example.want.rstrip("\n"), most)]
    if failure.kind is FailureKind.WRONG_OUTPUT:
        shown += ["but gave", shortened(concealed(failure.got or "").rstrip("\n") or "nothing", most)]
    elif failure.error:
        shown += ["but raised", shortened(concealed(failure.error), most)]
    else:
        shown += ["but this happened:", shortened(concealed(failure.message), most)]
    return "\n".join(shown)


def prompted(source: str) -> str:
    """A statement as it stands in a docstring."""
    first, *rest = source.rstrip("\n").split("\n")
    return "\n".join([f">>> {first}", *(f"... {line}".rstrip() for line in rest)])


def shortened(text: str, most: int) -> str:
    """`text` with at most `most` of its characters: the ends, which say the most, and how many lie between them."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters …]\n{text[len(text) - half :]}"


def fitted(render: Callable[[int], str], most: int, room: int, window: Window) -> str:
    """What `render` makes of the greatest number up to `most` with which it takes at most `room` tokens; else of 0."""
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
