"""Make rows of the arena for tests, without running the arena."""

from __future__ import annotations

from dataclasses import replace

from adacoder.arena.rows import DesignedTests, Row, RowAttempt
from adacoder.domain import Tokens

_ROW = Row(
    task="T/0",
    dataset="humaneval",
    checksum="sha256:0",
    model="ollama:small",
    strategy="direct",
    sample=0,
    settings="s",
    seed=1,
    status="verified",
    right=True,
    candidate="def f(): ...",
    rounds=1,
    calls=1,
    tokens=Tokens(100, 50, cached=10),
    seconds=2.0,
    programs=1,
)


def row(task: int = 0, *, right: bool | None = True, **changed: object) -> Row:
    """Return a row for task number `task`. Its status is `verified` if `right` is true, else `failed`."""
    status = "verified" if right else "failed"
    return replace(_ROW, **{"task": f"T/{task}", "right": right, "status": status, **changed})  # type: ignore[arg-type]


def column(strategy: str, words: str, **changed: object) -> list[Row]:
    """Return a row for each character of `words`: `+` right, `-` failed, `!` verified but wrong, `?` a server
    failed.
    """
    meanings: dict[str, dict[str, object]] = {
        "+": {},
        "-": {"right": False},
        "!": {"right": False, "status": "verified"},
        "?": {"right": None, "status": "error", "failure_of": "server", "candidate": None},
    }
    return [
        row(task, **{"strategy": strategy, **meanings[word], **changed})  # type: ignore[arg-type]
        for task, word in enumerate(words)
    ]


def attempt(
    number: int, *, right: bool | None = False, failure: str | None = "wrong_output", **more: object
) -> RowAttempt:
    """Return the attempt of round `number`. By default, it fails the docstring's examples."""
    examples = (2, 2) if failure is None else (0, 2)
    made = RowAttempt(number, number, "programming_assistant", failure, examples, right)
    return replace(made, **more)  # type: ignore[arg-type]


def designed(count: int, right: int, covered: float, by_first: float | None = None) -> DesignedTests:
    """Return the results of `count` designed tests. The canonical solution passes `right` of them."""
    return DesignedTests(count, right, covered, by_first)
