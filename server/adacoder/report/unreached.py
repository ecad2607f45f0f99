"""Describe the lines and branches that no example reached."""

from __future__ import annotations

from collections.abc import Sequence

from adacoder.domain import Coverage, Outcome, SourceLine
from adacoder.messages import counted

_QUOTED, _LISTED = 60, 3
"""Maximum characters to quote from a line, and maximum number of places to list."""


def unreached(outcome: Outcome) -> str:
    """Describe unreached lines and branches, as in "no example reaches line 14: `except KeyError`"; empty if none."""
    coverage = None if outcome.verdict is None else outcome.verdict.coverage
    if coverage is None:
        return ""
    places = [_place(block) for block in _blocks(coverage)]
    what = "no example or test" if coverage.by_tests else "no example"
    lines = [f"{what} reaches {_listed(places, 'place')}"] if places else []
    tests = [f"line {line.number} was never {str(never).lower()}: {_quoted(line)}" for line, never in coverage.branches]
    return "; ".join([*lines, *([_listed(tests, "test")] if tests else [])])


def _blocks(coverage: Coverage) -> list[list[SourceLine]]:
    """Group consecutive unreached lines into blocks.

    Lines that are indented more deeply than the first line of their block are left out.
    """
    at = {number: place for place, number in enumerate(coverage.lines)}
    blocks: list[list[SourceLine]] = []
    end = 0
    for line in coverage.unreached:
        follows = blocks and at[line.number] == end + 1
        deeper = _depth(line) - _depth(blocks[-1][0]) if follows else -1
        if deeper < 0:
            blocks.append([line])
        elif deeper == 0:
            blocks[-1].append(line)
        end = at[line.number]
    return blocks


def _depth(line: SourceLine) -> int:
    return len(line.text) - len(line.text.lstrip())


def _place(block: Sequence[SourceLine]) -> str:
    first, last = block[0], block[-1]
    lines = f"line {first.number}" if first is last else f"lines {first.number} to {last.number}"
    return f"{lines}: {_quoted(first)}"


def _quoted(line: SourceLine) -> str:
    text = line.text.strip().removesuffix(":")
    return f"`{text if len(text) <= _QUOTED else text[: _QUOTED - 1] + '…'}`"


def _listed(things: Sequence[str], noun: str) -> str:
    """Join the first few of `things`, and say how many more there are."""
    shown = ", ".join(things[:_LISTED])
    return shown if len(things) <= _LISTED else f"{shown}, and {counted(len(things) - _LISTED, f'more {noun}')}"
