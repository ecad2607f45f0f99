"""Compile a module, leaving out statements with syntax errors.

This file runs confined in the user's interpreter, so it uses only the standard library of Python 3.8 and later.
"""

from __future__ import annotations

import builtins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

# Use a copy of the built-ins, because a candidate may change the real ones.
globals()["__builtins__"] = dict(vars(builtins))


class BrokenTextError(Exception):
    """A syntax error, as this interpreter reports it."""

    def __init__(self, line: int, message: str, in_candidate: bool = False) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.in_candidate = in_candidate


class UnparsedError(Exception):
    """A module does not compile, and the server has not sent the lines where statements start."""


def compile_around(
    text: str, path: str, first: int, last: int, starts: Sequence[int]
) -> tuple[CodeType, str, list[int]]:
    """Compile a module with a candidate in lines `first` to `last`.

    Other statements with syntax errors are left out. `starts` are the lines, counted from 1, where top-level statements
    start. Return the code, the module's text without the statements that were left out, and the lines of the syntax
    errors. Line numbers in the code stay the same.

    Raises:
        BrokenTextError: a syntax error is in the candidate, or in a part that cannot be left out.
        UnparsedError: the module does not compile, and `starts` is empty.
    """
    try:
        return _compile(text, path), text, []
    except BrokenTextError as broken:
        whole = broken
    lines = text.split("\n")
    if _syntax_error(_without_candidate(lines, first, last)) is None:
        raise BrokenTextError(min(max(whole.line, first), last), whole.message, in_candidate=True)
    if not starts:
        raise UnparsedError
    left_out = []
    for start, end in zip(starts, [*[start - 1 for start in starts[1:]], len(lines)]):  # noqa: B905  # `strict` came later
        alone = [""] * (start - 1) + lines[start - 1 : end]
        error = _syntax_error("\n".join(alone))
        if error is None:
            continue
        if start <= last and first <= end:
            error.in_candidate = _syntax_error(_without_candidate(alone, first, last)) is None
            raise error
        left_out.append(error.line)
        lines[start - 1 : end] = [""] * (end - start + 1)
    mended = "\n".join(lines)
    return _compile(mended, path), mended, left_out


def normalized(text: str) -> str:
    """Return a text with Unix line endings and without a byte order mark, as Python's parser does."""
    return text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")


def _compile(text: str, path: str) -> CodeType:
    try:
        return compile(text, path, "exec", 0, True)
    except SyntaxError as error:
        raise BrokenTextError(error.lineno or 1, f"{type(error).__name__}: {error.msg}") from None
    except (ValueError, OverflowError, MemoryError, RecursionError) as error:
        # Python raises such errors for a null character or for too many nested brackets.
        raise BrokenTextError(1, f"{type(error).__name__}: {error}") from None


def _syntax_error(text: str) -> BrokenTextError | None:
    try:
        _compile(text, "<module>")
    except BrokenTextError as error:
        return error
    return None


def _without_candidate(lines: list[str], first: int, last: int) -> str:
    head = lines[first - 1]
    indent = head[: len(head) - len(head.lstrip())]
    return "\n".join([*lines[: first - 1], indent + "pass", *[""] * (last - first), *lines[last:]])
