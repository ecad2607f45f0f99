"""The project's tests that run a function are found by observation, and judge candidates for the function."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from adacoder.agents.code_evaluator import CodeEvaluator
from adacoder.agents.failures import describe
from adacoder.agents.project_tests import ProjectTests, TestsOfRequest
from adacoder.conclusion import conclude
from adacoder.domain import Attempt, Candidate, FailureKind, Outcome, ProjectTestStatus, Status, Target
from adacoder.journal import Journal
from adacoder.privacy.access import Access
from adacoder.sandbox.host import Host
from adacoder.settings.pytest_files import files_with_tests
from adacoder.source.locate import locate
from support.evaluating import Workspace, workspace

pytestmark = pytest.mark.isolation

PASSED, FAILED = ProjectTestStatus.PASSED, ProjectTestStatus.FAILED
TOTAL = '''
import asyncio


def total(prices, refunds=()):
    """Return the sum of the prices, without the refunds.

    >>> total([1, 2])
    3
    """
    return _sum(prices) - _sum(refunds)


def _sum(values):
    """Add values."""
    return sum(values)


class Cart:
    """A cart."""

    def __init__(self):
        self.prices = []

    @property
    def total(self):
        """The total of the cart."""
        return total(self.prices)


async def later(prices):
    """Return the total later."""
    await asyncio.sleep(0)
    return total(prices)


def other():
    """Do nothing."""
'''
WRONG = Candidate('def total(prices, refunds=()):\n    """It ignores refunds."""\n    return sum(prices)')
RIGHT = Candidate('def total(prices, refunds=()):\n    """It is right."""\n    return sum(prices) - sum(refunds)')


class Shop:
    """A project with tests."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self.tests = ProjectTests(ws.host(), ws.folder, most_seconds=600)
        self.access = Access((ws.folder,))
        self.write({"pyproject.toml": "", "shop.py": TOTAL})

    @property
    def host(self) -> Host:
        return self._ws.host()

    def write(self, files: Mapping[str, str]) -> None:
        self._ws.write(files)

    def target(self, name: str = "total", file: str = "shop.py") -> Target:
        path = self._ws.folder / file
        return locate(path.read_text("utf-8"), path, self._ws.folder, qualname=name)

    def path(self, name: str) -> Path:
        return self._ws.folder / name

    async def reached(self, target: Target | None = None) -> set[str]:
        """Return the tests that run the target. Their paths are relative."""
        found, _ = await self.tests.of(target or self.target(), {}, self.access)
        return {test.name.rpartition("/")[2] for test in found}

    async def fixed(self, candidate: Candidate, target: Target | None = None, seconds: float = 10) -> Outcome:
        target = target or self.target()
        tests = TestsOfRequest(self.tests, {}, self.access, seconds)
        evaluator = CodeEvaluator(self._ws.host(), Journal(), overlays={}, timeout=10, tests=tests)
        try:
            return conclude(target, Attempt(candidate, await evaluator.evaluate(target, candidate)), 1)
        finally:
            await evaluator.close()


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    async with workspace(tmp_path) as ws:
        yield Shop(ws)


SHAPES = Path(__file__).parents[3] / "fixtures/shop_tests"
"""Tests of many forms. The first line of each file lists its tests that run `total`."""


async def test_which_tests_run_a_function_is_observed_for_each_shape(shop: Shop) -> None:
    shapes = {f"test_{path.stem}": path.read_text("utf-8") for path in SHAPES.glob("*.py")}
    assert len(shapes) > 40
    shop.write({f"tests/{name}.py": text for name, text in shapes.items()})
    wanted = {name: text.partition("\n")[0].rpartition(" is run by ")[2] for name, text in shapes.items()}
    found: dict[str, list[str]] = {name: [] for name in shapes}
    for test in sorted(await shop.reached()):
        file, _, name = test.partition(".py::")
        found[file].append(name)
    assert {name: ", ".join(tests) or "no test" for name, tests in found.items()} == wanted


@pytest.mark.parametrize(
    ("files", "reached"),
    [
        ({"tests/conftest.py": "import pytest, shop\n@pytest.fixture\ndef sum_():\n    return shop.total([1])",
          "tests/test_a.py": "# shop\ndef test_a(sum_):\n    assert sum_ == 1"}, {"test_a.py::test_a"}),
        ({"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-m \"not slow\"'\nmarkers = ['slow']",
          "tests/test_a.py": "import pytest\nfrom shop import total\n@pytest.mark.slow\ndef test_a():\n    total([])\n"
          "def test_b():\n    total([])"}, {"test_a.py::test_b"}),
        ({"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-n 2 --dist load'",
          "tests/test_a.py": "from shop import total\ndef test_a():\n    total([])"}, {"test_a.py::test_a"}),
        ({"pyproject.toml": "[tool.pytest.ini_options]\npython_files = ['*.py']",
          "test_a.py": "from shop import total\ndef test_a():\n    total([])",
          "checks.py": "from shop import total\ndef test_b():\n    total([])"},
         {"test_a.py::test_a", "checks.py::test_b"}),
        ({"pyproject.toml": "[tool.pytest.ini_options]\nfilterwarnings = ['error']",
          "tests/test_a.py": "from shop import total\ndef test_a():\n    total([])"}, {"test_a.py::test_a"}),
        ({"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--no-such-option'",
          "tests/test_a.py": "from shop import total\ndef test_a():\n    total([])"}, {"test_a.py::test_a"}),
        ({"tests/__init__.py": "", "tests/helper.py": "from shop import total",
          "tests/a_test.py": "from .helper import total\ndef test_a():\n    total([])  # shop"}, {"a_test.py::test_a"}),
        ({"tests/test_a.py": "import gone\nfrom shop import total\ndef test_a():\n    total([])"}, set()),
        ({"tests/test_a.py": "from shop import total\ndef test_a(:\n    total([])"}, set()),
        ({"tests/conftest.py": "raise SystemExit(3)",
          "tests/test_a.py": "from shop import total\ndef test_a():\n    total([])"}, set()),
    ],
    ids=["conftest", "markers", "xdist", "files", "warnings", "unknown-option", "package", "import-error",
         "syntax-error", "conftest-exits"],
)  # fmt: skip
async def test_a_projects_own_configuration_holds(files: Mapping[str, str], reached: set[str], shop: Shop) -> None:
    shop.write(files)
    assert await shop.reached() == reached


async def test_a_file_that_cannot_run_is_named_with_its_error(shop: Shop) -> None:
    shop.write({"tests/test_a.py": "import gone\nfrom shop import total"})
    _, (trouble,) = await shop.tests.of(shop.target(), {}, shop.access)
    assert trouble.startswith("None of the tests in tests/test_a.py could run: ")
    assert "No module named 'gone'" in trouble


async def test_a_test_imports_the_module_by_another_path(shop: Shop) -> None:
    shop.write({"src/shop2.py": TOTAL, "tests/test_a.py": "from src.shop2 import total\ndef test_a():\n    total([])"})
    assert await shop.reached(shop.target(file="src/shop2.py")) == {"test_a.py::test_a"}


REFUND = """
from shop import total


def test_refund():
    assert total([3], [1]) == 2


def test_sum():
    assert total([1]) == 1
"""


async def test_a_candidate_that_a_test_refuses_is_not_verified(shop: Shop) -> None:
    shop.write({"tests/test_refunds.py": REFUND})
    outcome = await shop.fixed(WRONG)
    assert (outcome.status, outcome.passed, outcome.tests) == (Status.PARTIAL, 1, (1, 2))
    assert outcome.reason == "The test tests/test_refunds.py::test_refund fails: AssertionError: assert 3 == 2"
    assert not outcome.edits
    assert outcome.verdict is not None
    assert outcome.verdict.failure is not None
    told = describe(outcome.verdict.failure, 2000)
    assert "def test_refund():\n    assert total([3], [1]) == 2" in told
    assert "where 3 = total([3], [1])" in told


async def test_a_candidate_that_passes_the_tests_is_verified(shop: Shop) -> None:
    shop.write({"tests/test_refunds.py": REFUND})
    outcome = await shop.fixed(RIGHT)
    assert (outcome.status, outcome.passed, outcome.tests) == (Status.VERIFIED, 1, (2, 2))
    assert outcome.edits


async def test_without_tests_only_the_examples_count(shop: Shop) -> None:
    outcome = await shop.fixed(WRONG)
    assert (outcome.status, outcome.tests) == (Status.VERIFIED, (0, 0))


async def test_tests_alone_verify_a_function_without_examples(shop: Shop) -> None:
    shop.write({"tests/test_sum.py": "from shop import _sum\ndef test_sum():\n    assert _sum([1, 2]) == 3"})
    target = shop.target("_sum")
    right = await shop.fixed(Candidate('def _sum(values):\n    """It is right."""\n    return sum(values)'), target)
    wrong = await shop.fixed(Candidate('def _sum(values):\n    """It is wrong."""\n    return 1'), target)
    assert (right.status, right.tests) == (Status.VERIFIED, (1, 1))
    assert (wrong.status, wrong.tests) == (Status.FAILED, (0, 1))


async def test_tests_of_a_stub_verify_it(shop: Shop) -> None:
    stub = 'def double(x):\n    """Double a number."""\n    raise NotImplementedError\n'
    shop.write(
        {"two.py": stub, "tests/test_two.py": "from two import double\ndef test_two():\n    assert double(2) == 4"}
    )
    target = shop.target("double", "two.py")
    right = await shop.fixed(Candidate("def double(x):\n    return 2 * x"), target)
    wrong = await shop.fixed(Candidate("def double(x):\n    return x"), target)
    same = await shop.fixed(Candidate("def double(x):\n    raise NotImplementedError"), target)
    assert (right.status, wrong.status, same.status) == (Status.VERIFIED, Status.FAILED, Status.FAILED)


async def test_a_test_that_fails_for_another_reason_does_not_count(shop: Shop) -> None:
    unrelated = """
        from shop import total

        def test_a():
            try:
                total([])
            except RuntimeError:
                pass
            assert 1 == 2
    """
    shop.write({"tests/test_a.py": unrelated, "tests/test_refunds.py": REFUND})
    outcome = await shop.fixed(RIGHT)
    assert outcome.verdict is not None
    statuses = {test.name: test.status for test in outcome.verdict.tests}
    assert statuses["tests/test_a.py::test_a"] is ProjectTestStatus.FAILED_BEFORE
    assert any(note.startswith("tests/test_a.py::test_a did not count: ") for note in outcome.verdict.notes)
    assert (outcome.status, outcome.tests) == (Status.VERIFIED, (2, 2))


BESIDE = "\ndef test_fine():\n    total([])\n"
BEFORE = {
    "an exception that is missing": "import pytest\nfrom shop import total\ndef test_a():\n"
    "    with pytest.raises(ValueError):\n        total([-1])\n",
    "a comparison without its values": "import unittest\nfrom shop import total\nclass Its(unittest.TestCase):\n"
    "    def test_a(self):\n        self.assertTrue(total([3], [1]) == 2)\n",
    "an effect that is missing": "from shop import total\ndef test_a():\n    prices = [2, 1]\n    total(prices)\n"
    "    assert prices == [1, 2]\n",
    "a strict failure that is expected": "import pytest\nfrom shop import total\n@pytest.mark.xfail(strict=True)\n"
    "def test_a():\n    assert total([]) == 0\n",
}


@pytest.mark.parametrize("name", BEFORE)
async def test_a_test_that_fails_as_before_counts_if_the_function_may_be_the_cause(name: str, shop: Shop) -> None:
    shop.write({"shop.py": TOTAL.replace(" - _sum(refunds)", ""), "tests/test_a.py": BEFORE[name] + BESIDE})
    outcome = await shop.fixed(WRONG)
    assert (outcome.status, outcome.tests) == (Status.PARTIAL, (1, 2))
    assert outcome.reason is not None
    assert not outcome.reason.endswith("fails: ")


EVASIONS = {
    "a case is skipped": ("raise unittest.SkipTest", "it skipped a test that ran before"),
    "the run is interrupted": ("raise KeyboardInterrupt", "it skipped a test that ran before"),
    "the network is used": ("socket.create_connection(('10.0.0.1', 80), 1)", "OSError"),
}


@pytest.mark.parametrize("name", EVASIONS)
async def test_a_candidate_cannot_evade_one_case_of_a_test(name: str, shop: Shop) -> None:
    cases = "@pytest.mark.parametrize('n', [1, 2, pytest.param(3, marks=pytest.mark.skip)])"
    test = f"import pytest\nfrom shop import total\n{cases}\ndef test_a(n):\n    assert total([n, n]) == 2 * n"
    shop.write({"tests/test_a.py": test})
    code, why = EVASIONS[name]
    evading = f"def total(prices, refunds=()):\n    if prices == [2, 2]:\n        {code}\n    return sum(prices)"
    outcome = await shop.fixed(Candidate(evading, imports=("import socket", "import unittest")))
    assert outcome.status is Status.PARTIAL
    assert outcome.reason is not None
    assert why in outcome.reason
    assert (await shop.fixed(RIGHT)).tests == (1, 1)


SHARED = {
    "a fixture": """
        import pytest
        from shop import total

        @pytest.fixture(scope="module")
        def it():
            return total([3], [1])

        def test_a(it):
            assert it is not None

        def test_b(it):
            assert it == 2
    """,
    "an import": """
        from shop import total

        IT = total([3], [1])

        def test_a():
            total([])

        def test_b():
            assert IT == 2
    """,
    "a class": """
        import unittest
        from shop import total

        class Its(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                cls.it = total([3], [1])

            def test_a(self):
                total([])

            def test_b(self):
                self.assertEqual(self.it, 2)
    """,
}


@pytest.mark.parametrize("name", SHARED)
async def test_a_result_that_several_tests_share_counts_for_all_of_them(name: str, shop: Shop) -> None:
    shop.write({"tests/test_a.py": SHARED[name]})
    assert (await shop.fixed(WRONG)).status is Status.PARTIAL
    assert (await shop.fixed(RIGHT)).status is Status.VERIFIED


CACHED = f"""import functools
{TOTAL.replace(chr(10) + "def total", chr(10) + "@functools.cache" + chr(10) + "def total").replace("[1, 2]", "(1, 2)")}

class Prices:
    @staticmethod
    @functools.cache
    def twice(prices):
        return total(prices) * 2


class Lazy:
    @property
    def __class__(self):
        raise RuntimeError("It is not configured.")


lazy = Lazy()


@functools.lru_cache
def only():
    total(())
    return object()
"""


@pytest.mark.parametrize(
    ("first", "second", "entered"),
    [
        ("def test_a():\n    total((1,), (1,))", "def test_b():\n    assert total((1,), (1,)) == 0", [True, True]),
        ("def test_a():\n    Prices.twice((1,))", "def test_b():\n    assert Prices.twice((1,)) == 2", [True, True]),
        # What several tests share stays, because they may depend on it.
        ("one = only()\ndef test_a():\n    assert only() is one", "def test_b():\n    assert only() is one",
         [False, False]),
        ("@pytest.fixture(scope='module')\ndef one():\n    return only()\ndef test_a(one):\n    assert only() is one",
         "def test_b(one):\n    assert only() is one", [True, False]),
    ],
    ids=["direct", "below", "import", "fixture"],
)  # fmt: skip
async def test_a_test_does_not_get_results_from_the_caches_of_other_tests(
    first: str, second: str, entered: list[bool], shop: Shop
) -> None:
    head = "import pytest\nfrom shop import Prices, only, total"
    shop.write({"shop.py": CACHED, "test_a.py": f"{head}\n{first}\n{second}"})
    tests, _ = await shop.tests.of(shop.target(), {}, shop.access)
    assert [(test.name, test.status) for test in tests] == [(f"test_a.py::test_{each}", PASSED) for each in "ab"]
    verdict = (await shop.fixed(RIGHT)).verdict
    assert verdict is not None
    assert [(test.status, test.entered) for test in verdict.tests] == [(PASSED, each) for each in entered]


async def test_files_that_cannot_run_together_run_alone(shop: Shop) -> None:
    shop.write({"tests/a/test_it.py": REFUND, "tests/b/test_it.py": REFUND})
    assert (await shop.fixed(RIGHT)).tests == (4, 4)


async def test_a_test_that_takes_too_long_is_left_out(shop: Shop) -> None:
    slow = "import time\nfrom shop import total\ndef test_a():\n    total([])\n    time.sleep(0.7)"
    shop.write({"tests/test_a.py": slow, "tests/test_refunds.py": REFUND})
    outcome = await shop.fixed(RIGHT, seconds=1)
    assert outcome.verdict is not None
    assert (outcome.status, outcome.tests) == (Status.VERIFIED, (2, 2))
    assert "1 more test of 'total' did not run: raise --tests-seconds, or run pytest yourself." in outcome.verdict.notes


async def test_tests_run_again_after_a_file_that_they_read_has_changed(shop: Shop) -> None:
    test = """
        import rate
        from shop import total

        def test_a():
            assert total([1]) == rate.RATE == int(open("one").read())
    """
    shop.write({"rate.py": "RATE = 1", "one": "1", "tests/test_a.py": test})
    target = shop.target()

    async def status() -> ProjectTestStatus:
        (found,), _ = await shop.tests.of(target, {}, shop.access)
        return found.status

    assert await status() is PASSED
    shop.write({"rate.py": "RATE = 2"})
    assert await status() is FAILED
    shop.write({"rate.py": "RATE = 1"})
    assert await status() is PASSED
    shop.write({"one": "2"})
    assert await status() is FAILED


async def test_a_test_that_failed_before_because_of_the_function_counts(shop: Shop) -> None:
    shop.write({"shop.py": TOTAL.replace(" - _sum(refunds)", ""), "tests/test_refunds.py": REFUND})
    assert (await shop.fixed(WRONG)).status is Status.PARTIAL
    assert (await shop.fixed(RIGHT)).status is Status.VERIFIED


async def test_what_a_test_needs_and_isolation_denies_is_no_failure(shop: Shop) -> None:
    shop.write({"tests/test_a.py": (SHAPES / "a_network.py").read_text("utf-8")})
    outcome = await shop.fixed(RIGHT)
    assert outcome.verdict is not None
    assert [test.status for test in outcome.verdict.tests] == [ProjectTestStatus.NEEDS]
    assert (outcome.status, outcome.tests) == (Status.VERIFIED, (0, 0))


async def test_a_test_that_passes_the_second_time_is_unstable(shop: Shop) -> None:
    unstable = """
        import time
        from shop import total

        def test_a():
            assert total([1]) == 1
            assert time.monotonic_ns() // 1000 % 2
    """
    shop.write({"tests/test_a.py": unstable})
    for number in range(30):
        body = f'def total(prices, refunds=()):\n    """It is right {number}."""\n    return sum(prices) - sum(refunds)'
        outcome = await shop.fixed(Candidate(body))
        assert outcome.verdict is not None
        if outcome.verdict.tests[0].status is ProjectTestStatus.UNSTABLE:
            assert (outcome.status, outcome.tests) == (Status.UNVERIFIED, (0, 0))
            assert outcome.reason is not None
            assert outcome.reason.startswith("The test tests/test_a.py::test_a failed, and then passed")
            return
    pytest.fail("The test never failed first and then passed.")


async def test_an_endless_candidate_is_ended_by_the_time_limit_of_tests(shop: Shop) -> None:
    shop.write({"tests/test_refunds.py": REFUND})
    endless = Candidate(
        'def total(prices, refunds=()):\n    """Loop."""\n    while refunds:\n        pass\n    return sum(prices)'
    )
    outcome = await shop.fixed(endless, seconds=1)
    assert outcome.verdict is not None
    assert outcome.verdict.failure is not None
    assert outcome.verdict.failure.kind is FailureKind.TIMED_OUT
    assert outcome.reason == "A test of the project was still running after the 1 s that an evaluation may take."


async def test_a_test_file_runs_again_only_when_a_file_that_it_needs_has_changed(shop: Shop) -> None:
    shop.write(
        {"tests/test_refunds.py": REFUND, "tests/test_other.py": "from shop import other\ndef test_a():\n    other()"}
    )
    target = shop.target()
    first = await shop.tests.observe(shop.path("tests/test_refunds.py"), {}, shop.access, target.module)
    assert await shop.tests.observe(shop.path("tests/test_refunds.py"), {}, shop.access, target.module) is first
    shop.write({"tests/test_other.py": "from shop import total\ndef test_a():\n    total([])"})
    assert await shop.tests.observe(shop.path("tests/test_refunds.py"), {}, shop.access, target.module) is first
    shop.write({"tests/test_refunds.py": REFUND + "\n"})
    assert await shop.tests.observe(shop.path("tests/test_refunds.py"), {}, shop.access, target.module) is not first


async def test_after_a_while_no_further_file_is_observed(shop: Shop) -> None:
    shop.write({f"tests/test_{name}.py": REFUND for name in "ab"})
    shop.tests = ProjectTests(shop.host, shop.path("."), most_seconds=0)
    found, notes = await shop.tests.of(shop.target(), {}, shop.access)
    assert found == ()
    assert notes == ("2 test files did not run, because the others took long: run them yourself.",)


@pytest.mark.parametrize(
    ("options", "left_out"),
    [
        (
            "--no-such --reruns 2 --other=3 -Znope",
            "--no-such --reruns --other=3 -Znope, which no installed plug-in has",
        ),
        ("--tb=no_such_style", "its `addopts`, which it rejects"),
    ],
)
async def test_options_of_missing_plug_ins_are_left_out_alone(options: str, left_out: str, shop: Shop) -> None:
    shop.write({
        "pytest.ini": f"[pytest]\naddopts = --own {options} -m 'not slow'\nmarkers = slow",
        "conftest.py": "def pytest_addoption(parser):\n    parser.addoption('--own', action='store_true')",
        "test_a.py": "import pytest\nfrom shop import total\ndef test_a():\n    total([])\n"
        "@pytest.mark.slow\ndef test_b():\n    total([])",
    })  # fmt: skip
    tests, (note,) = await shop.tests.of(shop.target(), {}, shop.access)
    assert note.startswith(f"Pytest ran without {left_out}: ")
    assert [test.name for test in tests] == ["test_a.py::test_a", "test_a.py::test_b"][: 1 + ("--tb" in options)]


@pytest.mark.parametrize(
    ("files", "tests"),
    [
        ({}, {"test_a.py", "a_test.py", "src/test_b.py"}),
        ({"pytest.ini": "[pytest]\npython_files = tests.py"}, {"tests.py"}),
        ({".pytest.ini": "", "setup.cfg": "[tool:pytest]\npython_files = tests.py"},
         {"test_a.py", "a_test.py", "src/test_b.py"}),
        ({"tox.ini": "[pytest]\npython_files =\n    tests.py\n    *_check.py"}, {"tests.py", "src/a_check.py"}),
        ({"setup.cfg": "[tool:pytest]\npython_files = src/*.py"}, {"src/test_b.py", "src/a_check.py", "src/b.py"}),
        ({"pyproject.toml": "[tool.pytest.ini_options]\npython_files = ['tests.py']"}, {"tests.py"}),
        ({"pyproject.toml": "[tool.pytest]\npython_files = ['*.py']\ntestpaths = ['./src']"},
         {"src/test_b.py", "src/a_check.py", "src/b.py"}),
        ({"pyproject.toml": "[tool.pytest]\ntestpaths = ['missing', '../other']"},
         {"test_a.py", "a_test.py", "src/test_b.py"}),
        ({"pytest.ini": "[pytest]\ntestpaths = missing s*c"}, {"src/test_b.py"}),
        ({"pytest.toml": "[pytest]\npython_files = ['tests.py']", "pytest.ini": "[pytest]"}, {"tests.py"}),
        ({"src/pytest.ini": "[pytest]\npython_files = b.py"}, {"test_a.py", "a_test.py", "src/b.py"}),
        # A hostile configuration.
        ({"pytest.ini": "[pytest]\npython_files = " + "*a" * 60 + " " + "x " * 20 + "*.py"}, set()),
        ({"pyproject.toml": "[tool.pytest.ini_options]\npython_files = [1, {}, [], '[', '']"}, set()),
        ({"pytest.ini": "[pytest\n", "setup.cfg": "x", "tox.ini": "\0" * 9, "pytest.toml": "[" * 9999},
         {"test_a.py", "a_test.py", "src/test_b.py"}),
        ({"pytest.ini": "[pytest]\npython_files = tests.py\n" + "#" * 600_000},
         {"test_a.py", "a_test.py", "src/test_b.py"}),
        ({"pytest.ini/x": ""}, {"test_a.py", "a_test.py", "src/test_b.py"}),
    ],
)  # fmt: skip
def test_the_configuration_of_pytest_decides_which_files_have_tests(
    files: Mapping[str, str], tests: set[str], tmp_path: Path
) -> None:
    (tmp_path / "src").mkdir()
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    names = ("test_a.py", "a_test.py", "tests.py", "conftest.py", "src/test_b.py", "src/a_check.py", "src/b.py")
    is_test = files_with_tests(tmp_path)
    assert {name for name in names if is_test(tmp_path / name)} == tests


def test_a_link_to_a_configuration_outside_of_the_project_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "pytest.ini"
    outside.write_text("[pytest]\npython_files = tests.py", encoding="utf-8")
    folder = tmp_path / "project"
    folder.mkdir()
    assert files_with_tests(tmp_path)(tmp_path / "tests.py")
    (folder / "pytest.ini").symlink_to(outside)
    assert not files_with_tests(folder)(folder / "tests.py")
    assert files_with_tests(folder)(folder / "test_a.py")
