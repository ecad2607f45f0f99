"""Insert candidates with `splice`, and check properties that hold for every splice."""

from __future__ import annotations

from pathlib import Path

from adacoder.domain import Candidate, Edit, Target
from adacoder.source.locate import locate
from adacoder.source.placed import Splice
from adacoder.source.splice import splice
from adacoder.source.text import apply_edits

WORKSPACE = Path("/workspace")
STUB = 'def f(numbers, k=1):\n    """Doc."""\n'


def target_in(text: str, qualname: str = "f", file: str = "mod.py") -> Target:
    return locate(text, WORKSPACE / file, WORKSPACE, qualname=qualname)


def put(
    text: str,
    function: str,
    *,
    imports: tuple[str, ...] = (),
    definitions: tuple[str, ...] = (),
    qualname: str = "f",
    file: str = "mod.py",
) -> str:
    """Insert a candidate and check the splice. Return the text of the module."""
    target = target_in(text, qualname, file)
    candidate = Candidate(function, imports, definitions)
    placed = splice(target, candidate)
    check(target, candidate, placed, file)
    return placed.text


def body(function: str, text: str = STUB, qualname: str = "f") -> str:
    """Insert the candidate `function` into `text`. Return the function's new body."""
    result = put(text, function, qualname=qualname)
    target = target_in(result, qualname)
    return target.body.of(result).removeprefix("\n")


def check(target: Target, candidate: Candidate, placed: Splice, file: str = "mod.py") -> None:
    """Check properties of a splice.

    Its edits are small and in order, the function's header stays the same, and a second splice changes nothing.
    """
    assert apply_edits(target.text, placed.edits) == placed.text
    again = target_in(placed.text, target.qualname, file)
    assert again.definition == placed.function
    assert splice(again, candidate).edits == ()
    assert (again.signature, again.docstring_span.of(again.text)) == (
        target.signature,
        target.docstring_span.of(target.text),
    )
    for edit in placed.edits:
        assert edit.end <= target.definition.end
        assert edit.end <= target.definition.start or edit.start >= target.header.end
        assert_small(target.text, edit)
    for one, other in zip(placed.edits, placed.edits[1:], strict=False):
        assert one.end <= other.start


def assert_small(text: str, edit: Edit) -> None:
    """Check that an edit replaces neither its first nor its last line by an equal line."""
    old, new = text[edit.start : edit.end].splitlines(keepends=True), edit.text.splitlines(keepends=True)
    assert old != new
    if old and new:
        assert old[0] != new[0]
        assert old[-1] != new[-1]
