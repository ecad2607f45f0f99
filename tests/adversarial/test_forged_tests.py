"""No candidate can make a project's test pass that should fail.

A test compares values in the candidate's own process, so a candidate could change the result. If its code could do
this, the tests prove nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from textwrap import indent
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from adacoder.agents.code_evaluator import CodeEvaluator
from adacoder.agents.project_tests import ProjectTests, TestsOfRequest
from adacoder.conclusion import conclude
from adacoder.domain import Attempt, Candidate, Outcome, ProjectTestStatus, Status
from adacoder.journal import Journal
from adacoder.privacy.access import Access
from adacoder.source.locate import locate
from support.evaluating import Workspace, workspace

if TYPE_CHECKING:
    pass

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="module")]

STUB = 'import math\n\n\ndef double(x):\n    """Double a number."""\n    raise NotImplementedError\n'
TEST = """
import math
from two import double

WANTED = 4


def test_two():
    assert double(2) == WANTED
    assert math.isclose(double(2), 4)
"""
UNTRUSTED: dict[str, str | tuple[str, str]] = {
    "pytest's class": "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\nreturn 1",
    "pytest's class at the import": ("import _pytest.python", "_pytest.python.Function.runtest = lambda self: None"),
    "a fake exception": "import builtins\nbuiltins.AssertionError = type(None)\nreturn 1",
    "an object that equals everything": "class Yes:\n    def __eq__(self, other):\n        return True\nreturn Yes()",
    "a number that equals everything": "class Yes(int):\n    __eq__ = lambda self, other: True\nreturn Yes()",
    "a type that equals everything": "return type('Yes', (int,), {'__eq__': lambda self, other: True})()",
    "mock.ANY": "from unittest.mock import ANY\nreturn ANY",
    "the test's globals": "import sys\nsys._getframe(1).f_globals['WANTED'] = 1\nreturn 1",
    "the test's globals by another way": "try:\n    raise ValueError\nexcept ValueError as error:\n"
    "    error.__traceback__.tb_frame.f_back.f_globals['WANTED'] = 1\nreturn 1",
    "the test's module": "import test_two\ntest_two.WANTED = 1\nreturn 1",
    "the library that the test uses": "math.isclose = lambda *_: True\nreturn 4 if x > 5 else 1",
    "code in a text": "exec('import sys; sys._getframe(2).f_globals[\"WANTED\"] = 1')\nreturn 1",
    "an import in a text": "__import__('sys')._getframe(1).f_globals['WANTED'] = 1\nreturn 1",
}
"""Wrong bodies that could make the test pass."""
REFUSED = {
    "a wrong value": "return x + 1",
    "sys.exit": "raise SystemExit(0)",
    "os._exit": "import os\nos._exit(0)",
    "pytest.exit": "import pytest\npytest.exit('done', 0)",
    "an interrupt": "raise KeyboardInterrupt",
    "a skipped test": "import unittest\nraise unittest.SkipTest('no')",
    "a skipped test of pytest": "import pytest\npytest.skip('no')",
    "an expected failure": "import pytest\npytest.xfail('no')",
    "a signal": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "words on the line to the evaluator": "import os\nos.write(3, b'\\x05\\0\\0\\0\\x01\\0\\0\\0x')\nreturn 1",
    "a closed line to the evaluator": "import os\nos.close(3)\nreturn 1",
    "no end": "while True:\n    pass",
}
"""Wrong bodies that the test must refuse."""


class TwoProject:
    """A project with an unwritten function and a test for it."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        ws.write({"two.py": STUB, "tests/test_two.py": TEST, "pyproject.toml": ""})
        self.tests = ProjectTests(ws.host(), ws.folder)

    async def outcome(self, candidate: Candidate) -> Outcome:
        path = self.ws.folder / "two.py"
        target = locate(path.read_text("utf-8"), path, self.ws.folder, qualname="double")
        tests = TestsOfRequest(self.tests, {}, Access((self.ws.folder,)), 2)
        evaluator = CodeEvaluator(self.ws.host(), Journal(), overlays={}, timeout=10, tests=tests)
        return conclude(target, Attempt(candidate, await evaluator.evaluate(target, candidate)), 1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def project(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[TwoProject]:
    async with workspace(tmp_path_factory.mktemp("project")) as ws:
        yield TwoProject(ws)


def body(text: str) -> str:
    return f"def double(x):\n{indent(text, '    ')}"


async def test_an_honest_candidate_is_verified(project: TwoProject) -> None:
    outcome = await project.outcome(Candidate(body("return 2 * x")))
    assert (outcome.status, outcome.tests) == (Status.VERIFIED, (1, 1))


@pytest.mark.parametrize("name", UNTRUSTED)
async def test_a_test_that_a_candidate_could_have_changed_proves_nothing(name: str, project: TwoProject) -> None:
    trick = UNTRUSTED[name]
    if isinstance(trick, tuple):
        candidate = Candidate(body("return 1"), imports=trick[:1], definitions=trick[1:])
    else:
        candidate = Candidate(body(trick))
    outcome = await project.outcome(candidate)
    assert outcome.verdict is not None
    (test,) = outcome.verdict.tests
    if test.status is ProjectTestStatus.UNTRUSTED:
        assert outcome.status is Status.UNVERIFIED
        assert any("so passing tests prove nothing" in note for note in outcome.verdict.notes)
    else:
        assert outcome.status is Status.FAILED


@pytest.mark.parametrize("name", REFUSED)
async def test_a_candidate_that_ends_or_evades_its_test_is_refused(name: str, project: TwoProject) -> None:
    outcome = await project.outcome(Candidate(body(REFUSED[name])))
    assert outcome.status is Status.FAILED
    assert not outcome.edits
    assert (await project.outcome(Candidate(body("return 2 * x")))).status is Status.VERIFIED
