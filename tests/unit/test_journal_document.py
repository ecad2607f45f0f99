"""The journal as a Markdown document: searches as trees, and foreign text without markup."""

from __future__ import annotations

from pathlib import Path

import pytest

from adacoder import report
from adacoder.domain import Details, Failure, FailureKind, Outcome, Status, Step
from adacoder.journal import Asked, Evaluated, Noted, Repaired
from adacoder.report.journal_document import journal
from adacoder.source.locate import locate

FOLDER = Path("/w")
TARGET = locate('def f(x):\n    """Doc.\n\n    >>> f(1)\n    2\n    """\n', FOLDER / "m.py", FOLDER, qualname="f")
WRONG = Failure(FailureKind.WRONG_OUTPUT, "The example on line 4 gave 1 instead of 2.", TARGET.examples[0], "1\n")


def step(details: Details, *branch: str) -> Step:
    return Step("code_evaluator", "evaluate", 1, 0.1, details=details, doing="running the examples", branch=branch)


def document(*steps: Step) -> str:
    return journal(Outcome(Status.FAILED, TARGET, "See <b>[x](y)</b>.", steps=steps), FOLDER)


def test_a_search_is_a_tree() -> None:
    failed, passed = Evaluated("def f(x):\n    return 1", True, 0, 1, WRONG), Evaluated("", True, 1, 1, None)
    told = document(
        step(failed, "strategy 1"),
        step(failed, "strategy 1", "solution 1"),
        step(Noted("set aside"), "strategy 1", "solution 1"),
        step(passed, "strategy 2"),
    )
    tree = """## The search

* strategy 1 · ✗ 0/1 examples passed
  * solution 1 · ✗ 0/1 examples passed · set aside
* strategy 2 · ✓ 1/1 examples passed
"""
    assert tree in told
    assert "### strategy 1 › solution 1 › Code evaluator: running the examples" in told
    assert "## The search" not in document(step(failed))


def test_candidates_are_shown_by_what_they_change() -> None:
    first, mended = "def f(x):\n    a = x\n    return a", "def f(x):\n    a = x\n    return a + 1"
    told = document(step(Evaluated(first, True, 0, 1, WRONG)), step(Repaired(("off_by_one",), mended)))
    assert "```diff\n@@ -1,3 +1,3 @@\n def f(x):\n     a = x\n-    return a\n+    return a + 1\n```" in told
    assert "Fixed by rule: off by one." in told
    assert "Failed example:\n    f(1)\nExpected:\n    2\nGot:\n    1\n" in told


def test_nothing_in_it_is_obeyed() -> None:
    reply = "````\n# no heading\n[x](command:y)\n````"
    told = document(step(Asked("WRITE <script>", reply)))
    assert f"`````markdown\n{reply}\n`````" in told
    assert "See \\<b\\>\\[x\\] (y)\\</b\\>." in told


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a *b* _c_", "a \\*b\\* `_c_`"),
        ("see https://x.org or www.x.org", "see https:\\//x.org or www\\.x.org"),
        ("two\nlines", "two lines"),
    ],
)
def test_a_line_means_nothing_in_markdown(text: str, shown: str) -> None:
    assert report.inline(text) == shown
