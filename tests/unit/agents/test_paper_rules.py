"""The paper's Algorithm 3 as printed, step by step, and its use by the Debug Specialist."""

from __future__ import annotations

from pathlib import Path

import pytest

from adacoder.agents.debug_specialist import DebugSpecialist
from adacoder.agents.paper_rules import debugged
from adacoder.domain import Candidate, Failure, FailureKind, Target, Verdict
from adacoder.journal import Journal
from adacoder.source.imports import ImportIndex
from adacoder.source.locate import locate

NO_SQRT = "NameError: name 'sqrt' is not defined"
NAMES = {"sqrt": "from cmath import sqrt", "np": "import numpy as np"}


def after(code: str, error: str | None = None) -> str:
    return debugged(code, error, NAMES.get)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        # lines 7-14: round indentation down to multiples of four columns, written as tabs
        ("def f():\n    return 1", "def f():\n\treturn 1"),
        ("def f():\n     if x:\n           return 1", "def f():\n\tif x:\n\t\treturn 1"),
        ("   x = 1", "x = 1"),
        ("    def f():\n        return 1", "\tdef f():\n\t\treturn 1"),
        ("def f():\n\treturn 1", "def f():\n\treturn 1"),
        ("x = [\n        1,\n]", "x = [\n\t\t1,\n]"),
        ("x = 1\n  \ny = 2", "x = 1\n  \ny = 2"),
        # lines 15-23: indent at least one level more after a colon
        ("def f():\n  return 1", "def f():\n\treturn 1"),
        ("def f():\nreturn 1", "def f():\n\treturn 1"),
        ("def f():\n  if x:\n    return 1", "def f():\n\tif x:\n\t\treturn 1"),
        ("def f():\n        return 1", "def f():\n\t\treturn 1"),
        ("def f():  # why\nreturn 1", "def f():  # why\nreturn 1"),
        ("x = 1\nif x:", "x = 1\nif x:"),
        # line 26: remove lines that are not part of the program
        (
            "def f():\n    print(1)\n\nprint(f())\nassert f()\ninput()\nunittest.main()\nx = 2",
            "def f():\n\tprint(1)\n\nx = 2",
        ),
        ("def f():\n    return 1\nif __name__ == '__main__':\n    f()", "def f():\n\treturn 1\n"),
    ],
)
def test_step_one_filters_the_code(code: str, expected: str) -> None:
    assert after(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        # lines 28-30: remove the last function while the program does not compile
        ("def f():\n\treturn 1\ndef g(\n\tx", "def f():\n\treturn 1"),
        ("def f():\n\treturn 1\n\ndef g():\n\treturn (\n", "def f():\n\treturn 1\n"),
        ("def f():\n\treturn 1 +", "def f():\n\treturn 1 +"),
        ("def f():\n\treturn 1\ndef g():\n\treturn 2", "def f():\n\treturn 1\ndef g():\n\treturn 2"),
        ("def f():\n\treturn (\ndef g():\n\treturn 2", "def f():\n\treturn ("),
    ],
)
def test_step_two_truncates_the_code(code: str, expected: str) -> None:
    assert after(code) == expected


@pytest.mark.parametrize(
    ("error", "statement"),
    [
        (NO_SQRT, "from cmath import sqrt"),
        ("NameError: name 'np' is not defined. Did you mean: 'nx'?", "import numpy as np"),
        ("NameError: name 'unknown' is not defined", None),
        ("TypeError: name 'sqrt' is not defined", None),
        (None, None),
    ],
)
def test_step_three_puts_the_missing_import_first(error: str | None, statement: str | None) -> None:
    code = "def f(x):\n\treturn sqrt(x) + np.pi"
    assert after(code, error) == (f"{statement}\n{code}" if statement else code)


def test_the_three_steps_follow_each_other() -> None:
    code = "def f(x):\n  return sqrt(x)\n\nprint(f(1))\n\ndef g(x"
    assert after(code, NO_SQRT) == "from cmath import sqrt\ndef f(x):\n\treturn sqrt(x)\n\n"


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return locate(
        'def f(x):\n    """Doc.\n\n    >>> f(1)\n    1.0\n    """\n', tmp_path / "m.py", tmp_path, qualname="f"
    )


async def repaired(target: Target, candidate: Candidate, error: str, *, as_printed: bool) -> Candidate:
    specialist = DebugSpecialist(ImportIndex(target, target.module.root), Journal())
    verdict = Verdict(Failure(FailureKind.EXCEPTION, "It failed.", error=error))
    return await specialist.repair(target, candidate, verdict, as_printed=as_printed)


async def test_the_specialist_goes_by_the_rules_it_is_given(target: Target) -> None:
    candidate = Candidate("def f(x):\n  y = sqrt(x)\n  return y", ("import os",), ("A = 1",))
    by_the_paper = await repaired(target, candidate, NO_SQRT, as_printed=True)
    assert by_the_paper == Candidate(
        "def f(x):\n\ty = sqrt(x)\nreturn y", ("import os", "from math import sqrt"), ("A = 1",)
    )
    ordered = await repaired(target, candidate, NO_SQRT, as_printed=False)
    assert ordered == Candidate(candidate.function, ("import os", "from math import sqrt"), ("A = 1",))


async def test_what_the_paper_leaves_is_the_very_candidate(target: Target) -> None:
    candidate = Candidate("def f(x):\n\treturn x")
    assert await repaired(target, candidate, "ValueError: no", as_printed=True) is candidate
