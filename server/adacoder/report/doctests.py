"""Format failed examples as doctest does."""

from __future__ import annotations

from collections.abc import Iterator

from adacoder.domain import Example


def as_doctest(example: Example, got: str, error: str | None = None) -> str:
    """Format a failed example with its expected and actual output, as doctest does."""
    return "\n".join([*failed_example(example), *what_came(example, got, error)])


def failed_example(example: Example) -> Iterator[str]:
    yield "Failed example:"
    yield from _indented(example.source)


def what_came(example: Example, got: str, error: str | None) -> Iterator[str]:
    """Yield the exception `error` if there is one, else the expected and the actual output."""
    if error is not None:
        yield "Exception raised:"
        yield from _indented(error)
        return
    for title, output in (("Expected", example.want), ("Got", got)):
        yield f"{title}:" if output else f"{title} nothing"
        yield from _indented(output)


def _indented(text: str) -> Iterator[str]:
    yield from (f"    {line}" for line in text.rstrip("\n").split("\n") if text)
