"""The project's tests and the examples decide together: `generate`, `fix`, `fix --test` and `check --tests`."""

from __future__ import annotations

import json
import venv

import pytest

from support.commandline import BODY, GOOD_REPLY, MODEL, PLAN, SOLVED, STUB, Desk
from support.standins.ollama import StandIn

pytestmark = pytest.mark.isolation

LUCKY = "```python\ndef hypotenuse(a, b):\n    return float(max(a, b) + 1)\n```"
"""A reply that passes both examples but no test."""
TEST = "from shapes import hypotenuse\n\n\ndef test_equal():\n    assert hypotenuse(1, 1) < 1.5\n"
PLANNING = ("--strategy", "adacoder")
"""A plan follows each failure, also that of the user's code."""
PROVEN = "2/2 examples and 1/1 test passed"


def test_a_program_that_passes_the_examples_must_pass_the_tests_too(desk: Desk) -> None:
    path = desk.write(STUB)
    desk.write(TEST, "tests/test_shapes.py")
    with StandIn([LUCKY, PLAN, GOOD_REPLY]).in_thread() as standin:
        ran = desk.run("generate", "shapes.py::hypotenuse", "--write", "--model", MODEL, "--host", standin.host)
        _, planner, _ = (json.dumps(each["messages"]) for each in standin.requests)
    assert ran.code == 0
    assert path.read_text("utf-8") == SOLVED
    assert any(PROVEN in line for line in ran.error_lines)
    assert "This test of the project fails (tests/test_shapes.py::test_equal)" in planner
    assert "assert hypotenuse(1, 1) < 1.5" in planner
    assert "where 2.0 = hypotenuse(1, 1)" in planner


@pytest.mark.parametrize("way", ["option", "project"])
def test_without_the_setting_tests_do_not_run(way: str, desk: Desk) -> None:
    desk.write(STUB)
    desk.write(TEST, "tests/test_shapes.py")
    if way == "project":
        desk.write("[tool.adacoder]\ntests = false\n", "pyproject.toml")
    with StandIn([LUCKY]).in_thread() as standin:
        options = ("--no-tests",) if way == "option" else ()
        shared = ("--json", "--model", MODEL, "--host", standin.host)
        ran = desk.run("generate", "shapes.py::hypotenuse", *shared, *options)
    (found,) = ran.objects
    assert (found["status"], found["examples"]["passed"], found["tests"]) == ("verified", 2, [])


def test_the_result_of_each_test_is_in_the_object(desk: Desk) -> None:
    desk.write(STUB)
    desk.write(TEST, "tests/test_shapes.py")
    with StandIn([LUCKY]).in_thread() as standin:
        options = ("--json", "--max-iterations", "0", "--model", MODEL, "--host", standin.host)
        ran = desk.run("generate", "shapes.py::hypotenuse", *options)
    (found,) = ran.objects
    (test,) = found["tests"]
    assert (ran.code, found["status"], found["examples"]) == (1, "partial", {"passed": 2, "total": 2})
    assert (test["name"], test["status"]) == ("tests/test_shapes.py::test_equal", "failed")
    failure = found["failure"]
    assert (failure["kind"], failure["test"], failure["example"]) == ("test_failed", test["name"], None)
    assert "hypotenuse(1, 1)" in failure["explanation"]
    assert found["edits"] == []


WITHOUT_EXAMPLES = 'def double(number):\n    """Do what the tests want."""\n    raise NotImplementedError\n'


def test_the_model_reads_the_tests_of_a_function_without_examples(desk: Desk) -> None:
    path = desk.write(WITHOUT_EXAMPLES, "two.py")
    desk.write("from two import double\n\ndef test_two():\n    assert double(2) == 4\n", "test_two.py")
    with StandIn(["```python\ndef double(number):\n    return 2 * number\n```"]).in_thread() as standin:
        ran = desk.run("generate", "two.py::double", "--write", "--model", MODEL, "--host", standin.host)
        (asked,) = (each["messages"][-1]["content"] for each in standin.requests)
    assert "The project tests it like this:\n\n```python\ndef test_two():\n    assert double(2) == 4\n```" in asked
    assert ran.code == 0
    assert "return 2 * number" in path.read_text("utf-8")
    assert any("Verified 'double': 1/1 test passed" in line for line in ran.error_lines)


def test_fix_starts_from_a_failing_test(desk: Desk) -> None:
    path = desk.write(STUB.replace("    pass\n", "    return float(max(a, b) + 1)\n"))
    desk.write(TEST, "tests/test_shapes.py")
    with StandIn([GOOD_REPLY]).in_thread() as standin:
        ran = desk.run("fix", "shapes.py::hypotenuse", "--write", "--model", MODEL, "--host", standin.host)
        first = json.dumps(standin.requests[0]["messages"])
    assert "This test of the project fails" in first
    assert ran.code == 0
    assert BODY.strip() in path.read_text("utf-8")


SHOP = '''
def total(prices):
    """Add prices.

    >>> total([])
    0
    """
    return sum(prices[:2])


def label(price):
    """Describe a price.

    >>> label(2)
    '2 EUR'
    """
    return f"{price} EUR"


def receipt(prices):
    """Describe the total of prices."""
    return label(total(prices))
'''
SHOP_TESTS = """
from shop import label, receipt, total

def test_label():
    assert label(3) == "3 EUR"

def test_no_price():
    assert receipt([]) == "0 EUR"

def test_three():
    assert receipt([1, 2, 3]) == "6 EUR"

def test_broken():
    assert label(3) == "three"
"""
USELESS = "```python\ndef total(prices):\n    return sum(prices[:1])\n```"
RIGHT = "```python\ndef total(prices):\n    return sum(prices)\n```"
AROUND = "```python\ndef receipt(prices):\n    return label(sum(prices))\n```"


@pytest.mark.parametrize(("replies", "tried"), [([PLAN, RIGHT], "total"), ([PLAN, USELESS, PLAN, AROUND], "receipt")])
def test_fix_tries_the_functions_that_a_failing_test_runs(replies: list[str], tried: str, desk: Desk) -> None:
    path = desk.write(SHOP, "shop.py")
    desk.write(SHOP_TESTS, "tests/test_shop.py")
    with StandIn(replies).in_thread() as standin:
        options = ("--write", *PLANNING, "--max-iterations", "1", "--model", MODEL, "--host", standin.host)
        ran = desk.run("fix", "--test", "tests/test_shop.py::test_three", *options)
    assert ran.code == 0
    assert replies[-1].splitlines()[2] in path.read_text("utf-8").splitlines()
    told = [line.partition(": ") for line in ran.error_lines if "run by" in line]
    assert [place for place, _, _ in told] == ["shop.py::total", "shop.py::receipt"][: len(replies) // 2]
    assert {why for _, _, why in told} == {"run by 1 failing test and 1 passing test."}
    assert any(f"Verified '{tried}': " in line and "2/2 tests passed" in line for line in ran.error_lines)


def test_a_function_whose_fix_leaves_the_test_failing_is_not_the_one(desk: Desk) -> None:
    """The helper passes its own example, and the test's file does not name it."""
    helper = 'def helper(x):\n    """Double.\n\n    >>> helper(1)\n    2\n    """\n    return 2 * x\n'
    desk.write(helper, "pkg/util.py")
    shop = 'from pkg.util import helper\n\n\ndef price(x):\n    """Double, and add 1."""\n    return helper(x)\n'
    path = desk.write(shop, "shop.py")
    desk.write("from shop import price\n\ndef test_price():\n    assert price(2) == 5\n", "test_shop.py")
    desk.write(helper, ".venv/lib/python3/site-packages/other.py")
    right = "```python\ndef price(x):\n    return helper(x) + 1\n```"
    same = "```python\ndef helper(x):\n    return x + x\n```"
    with StandIn([PLAN, same, PLAN, right]).in_thread() as standin:
        options = ("--write", *PLANNING, "--max-iterations", "1", "--model", MODEL, "--host", standin.host)
        ran = desk.run("fix", "--test", "test_shop.py::test_price", *options)
    tried = [line.partition(": ")[0] for line in ran.error_lines if "run by" in line]
    assert (ran.code, tried) == (0, ["pkg/util.py::helper", "shop.py::price"])
    assert "return helper(x) + 1" in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def total(prices):\n    return sum(prices[:2])\n", "def total(prices):\n    return sum(prices)\n"),
        ("def total(prices):  # all\n\treturn sum(prices[:2])\n", "def total(prices):  # all\n\treturn sum(prices)\n"),
        ("def total(prices): return sum(prices[:2])\n", "def total(prices):\n    return sum(prices)\n"),
        ("class Cart:\n  @staticmethod\n  def sum(prices):\n    return sum(prices[:2])\n\ntotal = Cart.sum\n",
         "class Cart:\n  @staticmethod\n  def sum(prices):\n    return sum(prices)\n\ntotal = Cart.sum\n"),
    ],
)  # fmt: skip
def test_fix_also_tries_functions_without_a_docstring(before: str, after: str, desk: Desk) -> None:
    path = desk.write(before, "shop.py")
    desk.write("from shop import total\n\ndef test_two():\n    assert total([1, 2]) == 3\n\n"
               "def test_three():\n    assert total([1, 2, 3]) == 6\n", "test_shop.py")  # fmt: skip
    reply = '```python\ndef total(prices):\n    """Add prices."""\n    return sum(prices)\n```'
    with StandIn([PLAN, reply.replace("total", "sum") if "Cart" in before else reply]).in_thread() as standin:
        options = ("--write", *PLANNING, "--max-iterations", "1", "--model", MODEL, "--host", standin.host)
        ran = desk.run("fix", "--test", "test_shop.py::test_three", *options)
        asked = str(standin.requests[0])
    assert ran.code == 0, ran.error_lines
    assert path.read_text("utf-8") == after
    assert any("2/2 tests passed" in line for line in ran.error_lines)
    assert any("has no docstring, so only tests decide" in line for line in ran.error_lines)
    assert "assert total([1, 2, 3]) == 6" in asked


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--test", "tests/test_shop.py::test_gone"), "There is no test 'tests/test_shop.py::test_gone'"),
        (("--test", "tests/test_gone.py::test_a"), "There is no test 'tests/test_gone.py::test_a'"),
        (("--test", "tests/test_shop.py::test_label"), "does not fail here (its status is 'passed'): nothing to fix."),
        (("--test", "tests/test_shop.py::test_three", "--no-tests"), "The project's tests are switched off"),
        ((), "Give either PATH or --test TEST."),
        (("shop.py", "--test", "tests/test_shop.py::test_three"), "Give either PATH or --test TEST."),
    ],
)
def test_a_test_that_cannot_be_fixed_is_told_in_a_sentence(
    arguments: tuple[str, ...], message: str, desk: Desk
) -> None:
    path = desk.write(SHOP, "shop.py")
    desk.write(SHOP_TESTS, "tests/test_shop.py")
    before = path.read_bytes()
    ran = desk.run("fix", *arguments)
    assert ran.code == 2
    assert message in ran.error_lines[-1]
    assert path.read_bytes() == before


def test_check_runs_the_tests_of_each_function(desk: Desk) -> None:
    desk.write(SHOP, "shop.py")
    desk.write(SHOP_TESTS, "tests/test_shop.py")
    ran = desk.run("check", "--tests", "-v", "shop.py")
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert any(line.startswith("Not verified: 'receipt': ") and "1/2 tests passed" in line for line in lines)
    assert "  tests/test_shop.py::test_no_price passed" in lines
    assert "  tests/test_shop.py::test_three failed" in lines
    assert "E   AssertionError: assert '3 EUR' == '6 EUR'" in lines or "E     - 6 EUR" in lines
    assert lines[-1].startswith("Failed: 3 of 3 docstrings in 1 file, 2/2 examples and 2/4 tests passed")
    assert desk.run("check", "shop.py").code == 0


def test_check_leaves_out_functions_that_nothing_runs(desk: Desk) -> None:
    desk.write(SHOP + '\n\ndef alone():\n    """Nothing runs it."""\n', "shop.py")
    desk.write("from shop import label\ndef test_label():\n    assert label(3) == '3 EUR'\n", "tests/test_shop.py")
    ran = desk.run("check", "--tests", "--json", "shop.py")
    found = {each["target"]: (each["status"], len(each["tests"])) for each in ran.objects}
    assert found == {"shop.py::total": ("verified", 0), "shop.py::label": ("verified", 1)}


def test_a_missing_pytest_is_told(desk: Desk) -> None:
    venv.create(desk.folder / ".venv", with_pip=False)
    desk.write(STUB)
    desk.write(TEST, "tests/test_shapes.py")
    with StandIn([GOOD_REPLY]).in_thread() as standin:
        options = ("--json", "--model", MODEL, "--host", standin.host)
        (found,) = desk.run("generate", "shapes.py::hypotenuse", *options).objects
    assert found["status"] == "verified"
    (note,) = found["notes"]
    assert note.startswith("None of the tests in tests/test_shapes.py could run: pytest cannot be imported ")


UNITTEST = """
import unittest
from shapes import hypotenuse

class Lengths(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.three = hypotenuse(3, 4)

    def test_equal(self):
        self.assertLess(hypotenuse(1, 1), 1.5)

    def test_parts(self):
        for side in (1, 2):
            with self.subTest(side=side):
                self.assertGreater(hypotenuse(side, side), side)

    def test_shared(self):
        self.assertEqual(self.three, 5)

    @unittest.skip("no")
    def test_skipped(self):
        hypotenuse(1, 1)

    @unittest.expectedFailure
    def test_expected(self):
        self.assertEqual(hypotenuse(1, 1), 0)

class Waits(unittest.IsolatedAsyncioTestCase):
    async def test_waits(self):
        self.assertEqual(hypotenuse(6, 8), 10)
"""


def test_unittest_runs_tests_without_pytest(desk: Desk) -> None:
    venv.create(desk.folder / ".venv", with_pip=False)
    path = desk.write(STUB)
    desk.write(UNITTEST, "tests/test_shapes.py")
    with StandIn([LUCKY, PLAN, GOOD_REPLY]).in_thread() as standin:
        ran = desk.run("generate", "shapes.py::hypotenuse", "--write", "--model", MODEL, "--host", standin.host)
        _, planner, _ = (json.dumps(each["messages"]) for each in standin.requests)
    assert ran.code == 0
    assert path.read_text("utf-8") == SOLVED
    assert any("2/2 examples and 3/3 tests passed" in line for line in ran.error_lines), ran.err
    assert "This test of the project fails (tests/test_shapes.py::Lengths::test_equal)" in planner
    assert "AssertionError: 2.0 not less than 1.5" in planner
    assert "self.assertLess(hypotenuse(1, 1), 1.5)" in planner
    assert "unittest/case.py" not in planner
    (found,) = desk.run("check", "--tests", "--json", "shapes.py").objects
    assert {each["name"].partition("::")[2]: each["status"] for each in found["tests"]} == {
        **dict.fromkeys(("Lengths::test_equal", "Lengths::test_parts", "Lengths::test_shared"), "passed"),
        "Waits::test_waits": "passed",
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import unittest\nclass A(unittest.TestCase):\n    def setUp(", "SyntaxError"),
        ("from shapes import gone", "cannot import name 'gone'"),
        ("from shapes import hypotenuse\nraise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_a_unittest_file_that_cannot_run_is_told(text: str, told: str, desk: Desk) -> None:
    venv.create(desk.folder / ".venv", with_pip=False)
    desk.write(SOLVED)
    desk.write(f"# hypotenuse\n{text}\n", "test_shapes.py")
    (found,) = desk.run("check", "--tests", "--json", "shapes.py").objects
    (note,) = found["notes"]
    assert note.startswith("None of the tests in test_shapes.py could run: ")
    assert told in note


def test_a_hidden_test_file_is_not_read(desk: Desk) -> None:
    desk.write(STUB)
    desk.write(TEST, "tests/test_shapes.py")
    with StandIn([LUCKY]).in_thread() as standin:
        options = ("--json", "--hide", "test_shapes.py", "--model", MODEL, "--host", standin.host)
        (found,) = desk.run("generate", "shapes.py::hypotenuse", *options).objects
    assert (found["status"], found["tests"]) == ("verified", [])


def test_check_tells_of_a_test_file_that_cannot_run(desk: Desk) -> None:
    desk.write('def lonely(x):\n    """Return x."""\n    return x\n', "shop.py")
    desk.write("from shop import lonely\ndef test_it(:\n", "test_shop.py")
    ran = desk.run("check", "--tests", "shop.py")
    assert any("None of the tests in test_shop.py could run: " in line for line in ran.error_lines)


def test_tests_of_two_projects_are_counted_apart(desk: Desk) -> None:
    for name, wanted in (("p", 1), ("q", 2)):
        desk.write("", f"{name}/pyproject.toml")
        desk.write('def one():\n    """Return 1."""\n    return 1\n', f"{name}/one.py")
        desk.write(f"from one import one\ndef test_it():\n    assert one() == {wanted}\n", f"{name}/test_a.py")
    ran = desk.run("check", "--tests", "p", "q")
    assert "1/2 tests passed" in ran.out.splitlines()[-1]


REACHED = '''def grade(points):
    """Return the grade.

    >>> grade(95)
    'A'
    """
    if points >= 90:
        return "A"
    if points >= 75:
        return "B"
    return "F"


def doubled(number):
    """Return twice the number."""
    if number < 0:
        return -2
    return 2 * number
'''


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), {"grade": "no example reaches lines 9 to 11: `if points >= 75`"}),
        (
            ("--tests",),
            {
                "grade": 'no example or test reaches line 11: `return "F"`',
                "doubled": "no example or test reaches line 17: `return -2`",
            },
        ),
    ],
)
def test_coverage_counts_examples_and_tests(options: tuple[str, ...], told: dict[str, str], desk: Desk) -> None:
    desk.write(REACHED, "grades.py")
    tests = "def test_b():\n    assert grade(80) == 'B'\ndef test_two():\n    doubled(1)\n"
    desk.write(f"from grades import doubled, grade\n{tests}", "test_grades.py")
    ran = desk.run("check", "--coverage", *options, "grades.py")
    assert ran.code == 0
    for name, words in told.items():
        assert any(name in line and words in line for line in ran.out.splitlines())


def test_a_program_that_tests_cover_has_no_unreached_line(desk: Desk) -> None:
    """Lines that only a test reaches are not reported, also in a new function."""
    written = REACHED.partition("\n\n\n")[0]
    desk.write(written.partition("    if points")[0] + "    raise NotImplementedError\n", "grades.py")
    test = "from grades import grade\ndef test_b():\n    assert [grade(80), grade(0)] == ['B', 'F']\n"
    desk.write(test, "test_grades.py")
    with StandIn([f"```python\n{written}\n```"]).in_thread() as standin:
        ran = desk.run("generate", "grades.py::grade", "--json", "--model", MODEL, "--host", standin.host)
    (found,) = ran.objects
    assert (found["status"], found["coverage"]["unreached"], found["coverage"]["branches"]) == ("verified", [], [])
