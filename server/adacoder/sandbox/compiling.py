"""Runs in the *user's* interpreter, confined: compiles a module, parts of which may be broken.

Standard library only, Python 3.8 and later; `worker.py` and `standing.py` use it.
"""

from __future__ import annotations

import builtins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

# Ours alone: what a candidate does to the real ones does not reach this file.
globals()["__builtins__"] = dict(vars(builtins))


class BrokenTextError(Exception):
    """A syntax error, as this interpreter sees it."""

    def __init__(self, line: int, message: str, in_candidate: bool = False) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.in_candidate = in_candidate


class UnparsedError(Exception):
    """A text does not compile, and the starts of its statements are unknown."""


def compile_around(
    text: str, path: str, first: int, last: int, starts: Sequence[int]
) -> tuple[CodeType, str, list[int]]:
    """Compile a module; leave out top-level statements beside lines `first` to `last` that are syntax errors.

    `starts`: the 1-based lines where its top-level statements begin.
    Returns the code, the text as it was compiled (line numbers kept), and the lines of the errors left out.

    Raises:
        BrokenTextError: the candidate, or what cannot be left out, is a syntax error.
        UnparsedError: it does not compile, and `starts` is empty.
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
    """Normalize a text as Python's parser does."""
    return text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")


def _compile(text: str, path: str) -> CodeType:
    try:
        return compile(text, path, "exec", 0, True)
    except SyntaxError as error:
        raise BrokenTextError(error.lineno or 1, f"{type(error).__name__}: {error.msg}") from None
    except (ValueError, OverflowError, MemoryError, RecursionError) as error:
        # A null character, a number too large, an expression nested too deeply.
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
