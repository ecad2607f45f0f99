"""The sandbox judges examples as `doctest` does, and reports the first failure."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import Example, FailureKind
from adacoder.sandbox.probe import probe
from support.evaluating import Workspace, examples, program

if TYPE_CHECKING:
    from adacoder.domain import Verdict

pytestmark = pytest.mark.isolation


def function(body: str, examples: str, before: str = "") -> str:
    """Return a module with a function `f(x)`."""

    def indented(text: str) -> str:
        return "".join(f"    {line}\n" if line else "\n" for line in text.split("\n"))

    return f'{before}\ndef f(x=None):\n    r"""It.\n\n{indented(examples)}    """\n{indented(body)}'


PARITY = {
    "equal": function("return x + 1", ">>> f(1)\n2\n>>> f(2)\n4\n>>> f(3)\n4"),
    "none is not displayed": function("return x", ">>> f()\n>>> f(0)\n0"),
    "none, but something wanted": function("return x", ">>> f()\nNone"),
    "printed": function("print('a'); print('b', end='')", ">>> f()\na\nb"),
    "printed and returned": function("print('a'); return x", ">>> f(3)\na\n3"),
    "no newline at the end": function("print('a', end='')", ">>> f()\na"),
    "names last": function("return x", ">>> y = f(2)\n>>> y * 2\n4\n>>> _ + 1\n5"),
    "compound statements display": function("return x", ">>> for i in range(2):\n...     f(i)\n0\n1"),
    "several on a line": function("return x", ">>> f(1); f(2)\n1\n2"),
    "wanted exception": function(
        "raise ValueError('no')", ">>> f()\nTraceback (most recent call last):\n  ...\nValueError: no"
    ),
    "another message": function(
        "raise ValueError('no')", ">>> f()\nTraceback (most recent call last):\n  ...\nValueError: yes"
    ),
    "another exception": function(
        "raise KeyError('no')", ">>> f()\nTraceback (most recent call last):\n  ...\nValueError: no"
    ),
    "no exception": function("return x", ">>> f(1)\nTraceback (most recent call last):\n  ...\nValueError: no"),
    "unwanted exception": function("raise ValueError('no')", ">>> f()\n1"),
    "exception without text": function(
        "raise ValueError", ">>> f()\nTraceback (most recent call last):\n  ...\nValueError"
    ),
    "message of several lines": function(
        "raise ValueError('a\\nb')",
        ">>> f()\nTraceback (most recent call last):\n  ...\nValueError: a\n    b",
    ),
    "qualified exception": function(
        "raise E('no')",
        ">>> f()\nTraceback (most recent call last):\n  ...\nqualified_exception.E: no",
        "class E(Exception): pass",
    ),
    "unqualified exception": function(
        "raise E('no')",
        ">>> f()\nTraceback (most recent call last):\n  ...\nE: no",
        "class E(Exception): pass",
    ),
    "exception detail ignored": function(
        "raise E('no')",
        ">>> f()  # doctest: +IGNORE_EXCEPTION_DETAIL\nTraceback (most recent call last):\nother.E: yes",
        "class E(Exception): pass",
    ),
    "exception detail ignored, another class": function(
        "raise KeyError('no')",
        ">>> f()  # doctest: +IGNORE_EXCEPTION_DETAIL\nTraceback (most recent call last):\nValueError: no",
    ),
    "system exit": function("raise SystemExit(3)", ">>> f()\nTraceback (most recent call last):\n  ...\nSystemExit: 3"),
    "syntax error": function(
        "return compile('1 +', 'x', 'eval')",
        ">>> f()\nTraceback (most recent call last):\n  ...\nSyntaxError: invalid syntax",
    ),
    "output and a wanted exception": function(
        "print('a'); raise ValueError('no')", ">>> f()\nTraceback (most recent call last):\nValueError: no"
    ),
    "ellipsis": function("return list(range(20))", ">>> f()  # doctest: +ELLIPSIS\n[0, ..., 19]"),
    "no ellipsis": function("return list(range(20))", ">>> f()\n[0, ..., 19]"),
    "white space": function("return list(range(3))", ">>> f()  # doctest: +NORMALIZE_WHITESPACE\n[0,\n   1,    2]"),
    "no white space": function("return list(range(3))", ">>> f()\n[0,   1, 2]"),
    "true for one": function("return True", ">>> f()\n1"),
    "not true for one": function("return True", ">>> f()  # doctest: +DONT_ACCEPT_TRUE_FOR_1\n1"),
    "blank line": function("print('a\\n\\nb')", ">>> f()\na\n<BLANKLINE>\nb"),
    "blank line, literally": function(
        "print('<BLANKLINE>')", ">>> f()  # doctest: +DONT_ACCEPT_BLANKLINE\n<BLANKLINE>"
    ),
    "skipped": function("return x", ">>> f(1)  # doctest: +SKIP\n2\n>>> f(2)\n2"),
    "several directives": function(
        "return list(range(20))", ">>> f()  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE\n[0,  1, ..., 19]"
    ),
    "own module name": function("return __name__", ">>> f() == __name__\nTrue"),
    "globals are a copy": function(
        "return N", ">>> N = 5\n>>> f()\n1\n>>> N\n5\n>>> h(2)\n3", "N = 1\ndef h(x): return x + 1"
    ),
    "future features": function(
        "return x", ">>> def g(a: nowhere): return f(a)\n>>> g(1)\n1", "from __future__ import annotations"
    ),
    "not ascii": function("return 'ä' + x", ">>> f('→')\n'ä→'\n>>> print(f('é'))\näé"),
    "surrogates": function("return '\\ud800'", ">>> f()\n'\\ud800'"),
    "generator": function("yield from range(3)", ">>> list(f())\n[0, 1, 2]"),
    "async": function(
        "return asyncio.run(g(x))",
        ">>> f(1)\n2",
        "import asyncio\nasync def g(x):\n    await asyncio.sleep(0)\n    return x + 1",
    ),
    "standard error": function("import sys; print('a', file=sys.stderr); return 1", ">>> f()\n1"),
    "recursion": function(
        "return f(x)", ">>> try:\n...     f()\n... except RecursionError:\n...     print('deep')\ndeep"
    ),
    "unprintable": function("raise E", ">>> f()\n1", "class E(Exception):\n    def __str__(self): raise ValueError"),
    "multiple lines": function("return x", ">>> f(\n...     [1,\n...      2])\n[1, 2]"),
}

RUN_DOCTEST = """
import doctest, importlib, json, sys

class Recorder(doctest.DocTestRunner):
    def report_start(self, out, test, example): pass
    def report_success(self, out, test, example, got): matched.append(True)
    def report_failure(self, out, test, example, got): matched.append(False)
    def report_unexpected_exception(self, out, test, example, exc_info): matched.append(False)

for name in sys.argv[1:]:
    matched = []
    module = importlib.import_module(name)
    (test,) = [t for t in doctest.DocTestFinder().find(module) if t.name == name + ".f"]
    Recorder().run(test)
    print(json.dumps(matched))
"""


@pytest.fixture(scope="module")
def by_doctest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bool]]:
    """Return which examples of each module pass in `doctest`."""
    folder = tmp_path_factory.mktemp("parity")
    names = {case: case.replace(" ", "_").replace(",", "") for case in PARITY}
    for case, text in PARITY.items():
        (folder / f"{names[case]}.py").write_text(text, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", RUN_DOCTEST, *names.values()],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return dict(zip(PARITY, map(json.loads, run.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("case", PARITY)
async def test_an_example_matches_exactly_if_it_does_for_doctest(
    case: str, ws: Workspace, by_doctest: dict[str, list[bool]]
) -> None:
    name = case.replace(" ", "_").replace(",", "")
    verdict = await ws.evaluate(PARITY[case], file=f"{name}.py")
    assert [result.matched for result in verdict.results] == by_doctest[case]


def test_the_table_holds_matches_and_mismatches(by_doctest: dict[str, list[bool]]) -> None:
    outcomes = [matched for case in by_doctest.values() for matched in case]
    assert outcomes.count(True) > 30
    assert outcomes.count(False) > 10


async def test_a_pass_has_all_its_evidence(ws: Workspace) -> None:
    verdict = await ws.evaluate(function("return x + 1", ">>> f(1)\n2\n>>> f(2)\n3"))
    assert verdict.passed
    assert (verdict.parses, verdict.defines, verdict.imports, verdict.undefined) == (True, True, True, ())
    assert verdict.examples_passed == 2
    assert [result.got for result in verdict.results] == ["2\n", "3\n"]
    assert verdict.isolation == (await probe()).isolation
    assert {"seccomp", "rlimits"} < set(verdict.isolation.by)


async def test_wrong_output_names_the_first_example_and_goes_on(ws: Workspace) -> None:
    verdict = await ws.evaluate(function("return x + 1", ">>> f(1)\n3\n>>> f(2)\n3"))
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.WRONG_OUTPUT
    assert verdict.failure.message == "The example on line 5 gave 2 instead of 3."
    assert verdict.failure.example is verdict.results[0].example
    assert verdict.failure.got == "2\n"
    assert verdict.examples_passed == 1


async def test_an_exception_names_the_candidates_line(ws: Workspace) -> None:
    text = function("y = x\nreturn helper(y)", ">>> f(0)\n1", "def helper(y):\n    return 1 / y\n")
    verdict = await ws.evaluate(text)
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.EXCEPTION
    assert verdict.failure.error == "ZeroDivisionError: division by zero"
    assert verdict.failure.line == 8
    assert text.split("\n")[3 + 8 - 1] == "    return helper(y)"


async def test_another_exception_than_the_wanted_one(ws: Workspace) -> None:
    verdict = await ws.evaluate(PARITY["another exception"])
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.EXCEPTION
    assert verdict.failure.message.endswith("raised KeyError: 'no' instead of ValueError: no.")


async def test_no_examples_leave_nothing_failed(ws: Workspace) -> None:
    verdict = await ws.evaluate(function("return x", "No examples."))
    assert verdict.passed
    assert verdict.results == ()


KINDS = {
    "method": ("C.f", """
        class C:
            def f(self):
                '''
                >>> C().f()
                1
                '''
                return 1
        """),
    "classmethod": ("C.f", """
        class C:
            @classmethod
            def f(cls):
                '''
                >>> C.f()
                1
                '''
                return 1
        """),
    "property": ("C.f", """
        class C:
            @property
            def f(self):
                '''
                >>> C().f
                1
                '''
                return 1
        """),
    "nested staticmethod": ("C.D.f", """
        class C:
            class D:
                @staticmethod
                def f():
                    '''
                    >>> C.D.f()
                    1
                    '''
                    return 1
        """),
    "private": ("C.__f", """
        class C:
            def __f(self):
                '''
                >>> C()._C__f()
                1
                '''
                return 1
        """),
    "decorated": ("f", """
        import functools

        @functools.cache
        def f():
            '''
            >>> f()
            1
            '''
            return 1
        """),
}  # fmt: skip


@pytest.mark.parametrize(("of", "text"), KINDS.values(), ids=KINDS)
async def test_every_kind_of_function(of: str, text: str, ws: Workspace) -> None:
    verdict = await ws.evaluate(text, of=of)
    assert verdict.passed
    assert len(verdict.results) == 1
    wrong = await ws.evaluate(text.replace("return 1", "return 2"), of=of)
    assert wrong.failure is not None
    assert wrong.failure.kind is FailureKind.WRONG_OUTPUT


async def test_a_set_up_statement_that_raises_does_not_decide(ws: Workspace) -> None:
    verdict = await ws.evaluate(function("return x", ">>> print('noise')\n>>> 1 / 0\n>>> f(1)\n1"))
    assert verdict.passed
    assert [result.matched for result in verdict.results] == [False, False, True]
    assert verdict.results[1].error == "ZeroDivisionError: division by zero"


async def test_an_example_that_uses_what_nothing_defines_is_broken(ws: Workspace) -> None:
    verdict = await ws.evaluate(function("return x", ">>> f(helper(1))\n1"))
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.BROKEN_EXAMPLE
    assert verdict.failure.message == (
        "The example on line 5 uses 'helper', which nothing defines: define it, or correct the example."
    )
    assert verdict.final


async def test_a_name_error_of_the_candidate_breaks_no_example(ws: Workspace) -> None:
    verdict = await ws.evaluate(function("return helper(x)", ">>> f(1)\n1"))
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.EXCEPTION
    assert not verdict.final


async def test_an_example_is_broken_by_its_set_up(ws: Workspace) -> None:
    verdict = await ws.evaluate(function("return x", ">>> y = int('no')\n>>> f(y)\n1"))
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.BROKEN_EXAMPLE
    assert "line 5 raised ValueError" in verdict.failure.message
    assert "'y' is missing" in verdict.failure.message


async def test_a_set_up_that_the_candidate_breaks_is_the_candidates_fault(ws: Workspace) -> None:
    verdict = await ws.evaluate(function("return x.no", ">>> y = f(1)\n>>> [y, f]\n1"))
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.EXCEPTION
    assert verdict.failure.error == "AttributeError: 'int' object has no attribute 'no'"
    assert verdict.failure.example is verdict.results[0].example


async def test_an_example_that_is_no_python_is_broken(ws: Workspace) -> None:
    verdict = await ws.evaluate(function("return x", ">>> f(1))\n1"))
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.BROKEN_EXAMPLE
    assert "is a syntax error" in verdict.failure.message


async def test_an_undefined_name_fails_though_no_example_meets_it(ws: Workspace) -> None:
    text = function("if x: return math.pi\nreturn 1", ">>> f(0)\n1")
    verdict = await ws.evaluate(text, suspects=("math",))
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.UNDEFINED_NAME
    assert verdict.undefined == ("math",)
    assert verdict.examples_passed == 1
    defined = await ws.evaluate("from math import *\nimport math\n" + text, suspects=("math", "pi", "len"))
    assert defined.passed


async def test_an_undefined_name_carries_the_example_that_met_it(ws: Workspace) -> None:
    verdict = await ws.evaluate(function("return math.pi", ">>> f(0)\n1"), suspects=("math",))
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.UNDEFINED_NAME
    assert verdict.failure.example is verdict.results[0].example
    assert verdict.failure.line == 7
    assert "'math'" in verdict.failure.message


async def test_a_name_that_runs_only_define_is_not_missing(ws: Workspace) -> None:
    text = function("global made\nmade = x\nreturn made", ">>> f(1)\n1")
    assert (await ws.evaluate(text, suspects=("made",))).passed


async def test_a_name_that_the_import_misses_is_undefined(ws: Workspace) -> None:
    verdict = await ws.evaluate("@cache\n" + function("return 1", ">>> f()\n1").lstrip(), suspects=("cache",))
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.UNDEFINED_NAME
    assert verdict.undefined == ("cache",)
    assert not verdict.imports


async def test_no_function(ws: Workspace) -> None:
    verdict = await ws.evaluate(function("return 1", ">>> f()\n1") + "\ndel f\n")
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.NO_FUNCTION
    assert (verdict.imports, verdict.defines) == (True, False)


async def test_an_import_that_raises(ws: Workspace) -> None:
    verdict = await ws.evaluate(function("return 1", ">>> f()\n1", "import no_such_module"))
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.IMPORT_ERROR
    assert verdict.failure.error == "ModuleNotFoundError: No module named 'no_such_module'"
    assert verdict.failure.line is None
    decorated = "@int\n" + function("return 1", ">>> f()\n1").lstrip()
    blamed = (await ws.evaluate(decorated)).failure
    assert blamed is not None
    assert (blamed.kind, blamed.line) == (FailureKind.IMPORT_ERROR, 1)


async def test_a_time_limit_names_the_example(ws: Workspace) -> None:
    verdict = await ws.evaluate(function("while x: pass", ">>> f(0)\n>>> f(1)\n1"), timeout=0.3)
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.TIMED_OUT
    assert verdict.failure.example is not None
    assert verdict.failure.example.source == "f(1)\n"
    assert len(verdict.results) == 1
    assert "line 6" in verdict.failure.message


def informal(*stated: tuple[str, str]) -> tuple[Example, ...]:
    return tuple(
        Example(f"{call}\n", f"{result}\n", 4 + number, informal=True) for number, (call, result) in enumerate(stated)
    )


async def judged(ws: Workspace, body: str, examples: tuple[Example, ...]) -> Verdict:
    what = program(ws.folder / "mod.py", ws.folder, function(body, "No examples."), "f")
    return await ws.host().evaluate(what, examples, timeout=10)


async def test_informal_examples_are_compared_by_value(ws: Workspace) -> None:
    stated = informal(
        ("f(15)", "15.0"), ("f({'b', 'a'})", "{'a', 'b'}"), ("f(None)", "None"), ("f([1, (2,)])", "[1,(2,)]")
    )
    assert (await judged(ws, "return x", stated)).passed
    others = informal(
        ("f(1)", "True"), ("f(True)", "1"), ("f([1])", "(1,)"), ("f(0.1)", "0.10001"), ("print(1)", "None")
    )
    assert [result.matched for result in (await judged(ws, "return x", others)).results] == [False] * 5


async def test_the_failure_of_an_informal_example_tells_both_values(ws: Workspace) -> None:
    failures = [
        (await judged(ws, body, informal(("f(1)", result)))).failure
        for body, result in (("return 2", "'a'"), ("pass", "[]"), ("return []", "None"))
    ]
    assert [failure and failure.message for failure in failures] == [
        "The example on line 5 gave 2 instead of 'a'.",
        "The example on line 5 gave None instead of [].",
        "The example on line 5 gave [] instead of None.",
    ]


async def test_an_informal_exception_may_have_any_message(ws: Workspace) -> None:
    wanted = Example(
        "f(0)\n",
        "Traceback (most recent call last):\nValueError\n",
        4,
        flags=doctest.IGNORE_EXCEPTION_DETAIL,
        exception="ValueError\n",
        informal=True,
    )
    assert (await judged(ws, "raise ValueError('no')", (wanted,))).passed
    messages = []
    for body in ("raise KeyError('no')", "return x", "print('Traceback (most recent call last):\\nValueError')"):
        failure = (await judged(ws, body, (wanted,))).failure
        messages.append(failure and failure.message)
    printed = "printed Traceback (most recent call last): … and returned None"
    assert messages == [
        "The example on line 5 raised KeyError: 'no' instead of ValueError.",
        "The example on line 5 gave 0 instead of raising ValueError.",
        f"The example on line 5 {printed} instead of raising ValueError.",
    ]


async def test_a_code_fence_right_below_an_output_is_told(ws: Workspace) -> None:
    fenced = function("return x", "```python\n>>> f(1)\n1\n```")
    failure = (await ws.evaluate(fenced)).failure
    assert failure is not None
    assert failure.kind is FailureKind.BROKEN_EXAMPLE
    assert failure.message == (
        "The example on line 6 takes the code fence below it for output, as doctest does: leave a blank line."
    )
    assert (await ws.evaluate(fenced.replace("    1\n    ```", "    1\n\n    ```"))).passed
    wrong = (await ws.evaluate(fenced.replace("return x", "return 2"))).failure
    assert wrong is not None
    assert wrong.kind is FailureKind.WRONG_OUTPUT


@pytest.mark.parametrize("has_candidate", [False, True])
async def test_only_in_code_without_a_candidate_an_example_replaces_the_displayhook(
    ws: Workspace, has_candidate: bool
) -> None:
    replaced = ">>> import sys\n>>> sys.displayhook = lambda value: print(f'<{value}>')\n"
    text = function("return x", replaced + ">>> f(1)\n<1>")
    what = replace(program(ws.folder / "mod.py", ws.folder, text, "f"), is_unchanged=not has_candidate)
    verdict = await ws.host().evaluate(what, examples(text), timeout=10)
    assert verdict.passed is not has_candidate
