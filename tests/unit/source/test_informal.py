"""Examples in prose: every usual form is read, and ambiguous forms are ignored."""

from __future__ import annotations

import ast
import doctest
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.conclusion import conclude
from adacoder.domain import Attempt, Candidate, Example, Status, TargetError, Verdict
from adacoder.source.locate import locate, may_have_examples

if TYPE_CHECKING:
    from adacoder.domain import Target


def target(docstring: str, signature: str = "def f(x, y=0):") -> Target:
    escaped = docstring.replace("\\", "\\\\").replace('"', '\\"').replace("\0", "\\0").replace("\r", "\\r")
    return locate(f'{signature}\n    """{escaped}"""\n', Path("/w/mod.py"), Path("/w"), line=0)


def found(docstring: str, signature: str = "def f(x, y=0):") -> tuple[Example, ...]:
    return target(docstring, signature).examples


def stated(docstring: str, signature: str = "def f(x, y=0):") -> list[tuple[str, str]]:
    return [(example.source.rstrip("\n"), example.want.rstrip("\n")) for example in found(docstring, signature)]


def test_an_informal_example_is_a_call_and_its_result() -> None:
    (example,) = found('Adds.\n\n    f(1, "a")  ==  (2.50,\n        None)\n')
    assert example == Example("f(1, 'a')\n", "(2.5, None)\n", 3, informal=True)


@pytest.mark.parametrize(
    "form",
    [
        "f(1, 2) == 3",
        "f(1,2)==3",
        "f(1, 2) = 3",
        "f(1, 2) === 3",
        "f(1, 2) -> 3",
        "f(1, 2) --> 3",
        "f(1, 2) => 3",
        "f(1, 2) ==> 3",
        "f(1, 2) ➞ 3",
        "f(1, 2) → 3",
        "f(1, 2) ⇒ 3",
        "f(1, 2) ⟹ 3",
        "f(1, 2) ↦ 3",
        "f(1, 2) ->3",
        "f(1, 2) returns 3",
        "f(1, 2) should return 3.",
        "f(1, 2) will return 3",
        "f(1, 2) should be 3",
        "f(1, 2) is 3",
        "f(1, 2) gives 3",
        "f(1, 2) equals 3",
        "f(1, 2) is equal to 3",
        "f(1, 2) evaluates to 3",
        "f (1, 2) == 3",
        "f(1, 2) returns the number 3",
        "f(1, 2) -> returns 3",
        "f(1, 2)  # returns 3",
        "f(1, 2) # => 3",
        "assert f(1, 2) == 3",
        "assert f(1, 2) == (3)",
        'assert f(1, 2) == 3, "sum"',
        "for f(1, 2) == 3",
        "* f(1, 2) == 3",
        "- f(1, 2) == 3",
        "1. f(1, 2) == 3",
        "a) f(1, 2) == 3",
        "Example 1: f(1, 2) == 3",
        "`f(1, 2) == 3`",
        "``f(1, 2)`` returns ``3``",
        "`f(1, 2)` is `3`.",
        "(e.g. f(1, 2) == 3)",
        "Example: f(1, 2) is 3.",
        "Examples:\n    ---------\n    f(1, 2) == 3",
        "For example, f(1, 2) returns 3, since 1 + 2 is 3.",
        "f(1, 2) == 3 (the sum of both)",
        "f(1, 2) == 3 # their sum",
        "f(1, 2) == 1 + 2 = 3",
        "f(1, 2) -> 1 + 2",
        "f(1, 2) = 6 // 2 = 9 - 6",
        "f(1,\n  2) == 3",
        "f(1, 2)\n    -> 3",
        "f(1, 2) should\nreturn 3",
        "f(1, 2) == 3\nIf all is well it is quick.",
        "Examples:\n\nf(1, 2) == 3\n\nNotes",
        "For x = 1, y = 2 the output should be 3",
        "For x = 1 and y = 2, the result is 3.",
        "if x = 1, y = 2 it returns 3",
        "For x = 1, y = 2, whose sum is told beyond doubt, the answer is 3",
        "given x=1, y=2 -> 3",
        "Input: x = 1, y = 2\nOutput: 3",
        "  Input: x = 1\n         y = 2\n  Output: 3 # sum",
        "Input: x = 1, y = 2, Output: 3",
        "Sample input: x = 1, y = 2\n\nExpected output: 3",
        "Input:\n  x: 1\n  y: 2\nOutput:\n  3",
        "* Input: y = 2, x = 1\n* Output: 3",
    ],
)
def test_forms_that_are_read(form: str) -> None:
    assert stated(f"Adds.\n\n{form}\n") == [("f(1, 2)", "3")]
    assert may_have_examples(f'def f(x, y):\n    """Adds.\n\n    {form}\n    """\n')


@pytest.mark.parametrize(
    ("form", "call", "want"),
    [
        ("f('a') == true", "f('a')", "True"),
        ("f(-1) == +1", "f(-1)", "1"),
        ("f(1) == 5.", "f(1)", "5"),
        ("f(1) == 6.00", "f(1)", "6.0"),
        ("f(1) == 1e-3", "f(1)", "0.001"),
        ("f(1) == {'b', 'a'}", "f(1)", "{'b', 'a'}"),
        ("f(1) == set()", "f(1)", "set()"),
        ("f(()) == ()", "f(())", "()"),
        ("f([]) == None", "f([])", "None"),
        ("f(1, y=[2]) == {'a': (1,)}", "f(1, y=[2])", "{'a': (1,)}"),
        ("f('a)b(', '\\n') == 'c == d'", "f('a)b(', '\\n')", "'c == d'"),
        ("f(2 ** 3, [0] * 2) == 8", "f(2 ** 3, [0] * 2)", "8"),
        ("For y = 2, x = 1 the output is 3", "f(1, 2)", "3"),
        ("For x = 1 the output is 3", "f(1)", "3"),
        ("Input: 1\nOutput: 3", "f(1)", "3"),
    ],
)
def test_calls_and_results(form: str, call: str, want: str) -> None:
    assert stated(f"{form}\n") == [(call, want)]


@pytest.mark.parametrize(
    "form", ["f(0) raises ValueError", "f(0) should raise a ValueError.", "f(0)  # raises ValueError"]
)
def test_an_exception_is_a_traceback_of_any_message(form: str) -> None:
    (example,) = found(form)
    assert example == Example(
        "f(0)\n",
        "Traceback (most recent call last):\nValueError\n",
        1,
        doctest.IGNORE_EXCEPTION_DETAIL,
        "ValueError\n",
        informal=True,
    )


@pytest.mark.parametrize(
    "form",
    [
        # values or arguments that are not literals
        "f(1) == a",
        "f(a) == 1",
        "f(1) is FALSE",
        "f(1) == inf",
        "f(1) == f'a'",
        "f(*[1]) == 2",
        "f(f'a') == 2",
        "f(**{'x': 1}) == 2",
        "f(1) == {**{}}",
        "f(1) == int",
        "f(1) is not None",
        "f(1) == ''a'",
        "f(1) == 'a' 'b'",
        # abbreviated values
        "f([1, ...]) == 1",
        "f(1) == [1, ...]",
        "f(1) == 3.14...",
        "f(1) == 'abc...'",
        "f('abc…') == 1",
        # approximate values
        "f(1) is about 3",
        "f(1) == 3 (approximately)",
        "f(1) == 3 # roughly",
        "f(1) ≈ 3",
        "f(1) = 3 (mod 5)",
        # something other than the function's result is compared
        "f(1) != 2",
        "not f(1) == 2",
        "g(f(1)) == 2",
        "1 + f(1) == 2",
        "2 * f(1) == 2",
        "2*f(1) == 2",
        "2(f(1)) == 2",
        "f(1) + 1 == 2",
        "f(1)[0] == 2",
        "x.f(1) == 2",
        "f(1).x == 2",
        "f(1), f(2) == 3",
        "f(1) == f(2) == 3",
        "af(1) == 2",
        "f(1): 3",
        "| f(1) | 3 |",
        # the result continues on the next line
        "f(1) == 2 + y",
        "f(1) == 2\n+ 3",
        "f(1) == 1, 2",
        "f(1) == 2%",
        "f(1) is 1st",
        "f(1) == 3!",
        "f(1) returns 3 as a string",
        "f(1) == 1.2.3",
        "f(1) == 10,000",
        "f(1) == 2 x",
        "f(1) -> 2 -> 3",
        "f(1) == 2 ** 3",
        "f(1) == 1 / 0",
        "f(1) == [1] + [2]",
        "f(1) is 3 times 4",
        # conditions and alternatives
        "if f(1) == 2 it is so",
        "when\nf(1) == 2",
        "f(1) == 2 if y",
        "f(1) == 2\nif y",
        "f(1) is 2, but only if y",
        "f(1) == 2 or 3",
        "f(1) == 2\nor 3",
        "f(1) is 2, or 3",
        "f(1) returns 2, when y",
        "f(1) == 2 as long as y",
        "If y is set,\nf(1) == 2",
        "Wrong:\n\n  f(1) == 2",
        "Known failures:\n\n  f(1) == 2",
        "Counterexamples\n---------------\nf(1) == 2",
        ".. deprecated:: 3.2\n  f(1) == 2",
        "f(1) == 2, in Python 2",
        "f(0) raises ValueError if y",
        "For x = 1 the output is 2 or 3",
        "For x = 1 + y the output is 3",
        "For x = 1 to 5 the output is 3",
        "except for x = 1 the output is 3",
        # calls that the signature does not allow
        "f() == 3",
        "f(1, 2, 3) == 3",
        "f(1, z=2) == 3",
        "For z = 1 the output is 2",
        "Input: z = 1\nOutput: 2",
        "Input: 1 or 2\nOutput: 2",
        "Input: a number\nOutput: 2",
        "Input: 1, 2\nOutput: 3",
        "For x = n the output is 2",
        # text that may have another meaning
        "f(1) == ('a')",
        "f(1) == 2\nf(1) == 3",
        "f(n) = f(n - 1) + 1\nf(0) = 1",
        "f(3) = 2 + f(1)\nf(1) = 1",
        "f(0) raises Foo",
        "f(0) raises something",
        "f(0) raises print",
        "For x = 1 it is 2, for x = 1 it is 3",
    ],
)
def test_what_could_be_misread_is_left_out(form: str) -> None:
    assert stated(f"Adds.\n\n{form}\n") == []


def test_a_signature_is_no_example() -> None:
    assert stated("f() -> None", "def f():") == []
    assert stated("f(x=False) -> None") == []
    assert stated("f() returns None", "def f():") == [("f()", "None")]
    assert stated("f(0) -> None") == [("f(0)", "None")]


def test_of_a_generator_no_result_is_told() -> None:
    text = 'def f(x):\n    """f(2) == [0, 1]"""\n    {body}\n'
    read = [
        locate(text.format(body=body), Path("/w/m.py"), Path("/w"), line=0).examples for body in ("yield x", "return x")
    ]
    assert [len(examples) for examples in read] == [0, 1]


def test_calls_that_agree_are_one_example_and_calls_that_do_not_are_none() -> None:
    assert stated("f(1) == 2\nf( 1 ) returns 2\nf(2) == 3\nf(3) == 4\nf(2) == 4") == [("f(1)", "2"), ("f(3)", "4")]


@pytest.mark.parametrize(
    ("signature", "form", "is_read"),
    [
        ("def f(x: int) -> str:", "f(1) == 'a'", True),
        ("def f(x: int) -> str:", "f(1) == 2", False),
        ("def f(x: int) -> str:", "f('b') == 'a'", False),
        ("def f(x: float) -> float:", "f(1) == 2", True),
        ("def f(x: list[int]) -> Optional[int]:", "f([]) == None", True),
        ("def f(x) -> Iterator[int]:", "f(1) == [1]", False),
        ("def f(*x):", "f(1, 2) == 3", True),
        ("def f(x, /, *, y):", "f(1, y=2) == 3", True),
        ("def f(x, /, *, y):", "f(x=1, y=2) == 3", False),
        ("@cache\ndef f(x):", "f(1) == 2", True),
        ("@deprecated\ndef f(x):", "f(1, 2) == 2", True),
        ("async def f(x):", "f(1) == 2", False),
        ("def f(nums):", "For x = [1] the output should be 2", True),
        ("def f(nums):", "If x = [1] the output should be 2", False),
        ("def f(nums):", "If nums = [1] the output should be 2", True),
        ("def f(x, y):", "Input: 1, 2\nOutput: 3", True),
    ],
)
def test_the_signature_must_agree_where_it_can_be_told(signature: str, form: str, is_read: bool) -> None:
    assert bool(found(form, signature)) == is_read


@pytest.mark.parametrize(
    ("decorator", "parameters", "form", "calls"),
    [
        ("@staticmethod", "x", "C.f(1) == 2", ["C.f(1)"]),
        ("@classmethod", "cls, x", "C.f(1) == 2", ["C.f(1)"]),
        ("@classmethod", "cls, x", "For x = 1 the output is 2", ["C.f(1)"]),
        ("@staticmethod", "x", "f(1) == 2", []),
        ("@property", "self", "C.f() == 2", []),
        ("", "self, x", "C.f(1) == 2", []),
    ],
)
def test_a_method_is_called_only_where_it_takes_no_instance(
    decorator: str, parameters: str, form: str, calls: list[str]
) -> None:
    text = f'class C:\n    {decorator}\n    def f({parameters}):\n        """{form}"""\n'
    examples = locate(text, Path("/w/mod.py"), Path("/w"), qualname="C.f").examples
    assert [example.source.rstrip() for example in examples] == calls


@pytest.mark.parametrize(
    ("docstring", "informal"),
    [
        ("f(1) == 2\n\n>>> f(2)\n3", []),
        ("f(1) == 2\n\n>>> f(2)", ["f(1)"]),
        ("f(1) == 2\n\n>>> f(2)  # doctest: +SKIP\n3", ["f(1)"]),
        ("f(1) == 2\n\n>>> g(2)\n3", []),
        (">>> f(1) == 2\n\n>>> f(2) == 3", ["f(1)", "f(2)"]),
        (">>> f(1) == 2  # doctest: +SKIP", []),
        (">>> g(2)\nf(1) == 2", []),
    ],
)
def test_prose_is_read_where_doctest_finds_no_output(docstring: str, informal: list[str]) -> None:
    examples = found(docstring)
    assert [example.source.rstrip() for example in examples if example.informal] == informal
    assert list(examples) == sorted(examples, key=lambda example: example.line)


def test_an_informal_example_knows_its_line_in_the_file() -> None:
    literal = "'Doc, which goes \\\non.\\n\\\nf(1) == 2\\n\\n  f(2) == 3'"
    examples = locate(f"\n\ndef f(x):\n    {literal}\n", Path("/w/m.py"), Path("/w"), qualname="f").examples
    assert [(example.source, example.line) for example in examples] == [("f(1)\n", 5), ("f(2)\n", 5)]


LITERALS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(lambda text: not text.endswith(("...", "…")))
    | st.binary(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2)
    ),
    max_leaves=6,
)
RELATIONS = st.sampled_from(["==", "->", "=>", "➞", "returns", "should return", "=", "# =>", "\n  ==>"])


@given(LITERALS, LITERALS, LITERALS, RELATIONS)
def test_what_is_written_is_read_back(x: object, y: object, result: object, relation: str) -> None:
    (example,) = found(f"Doc.\n\n  * f({x!r}, y={y!r}) {relation} {result!r}\n")
    call = ast.parse(example.source, mode="eval").body
    assert isinstance(call, ast.Call)
    assert repr(ast.literal_eval(call.args[0])) == repr(x)
    assert repr(ast.literal_eval(call.keywords[0].value)) == repr(y)
    assert repr(ast.literal_eval(example.want)) == repr(result)


WORDS = """
    f( f(1) f(1, 2) f(-1) (x=1) == = -> ➞ returns raises should is be for For if x y 1 2 3.5 . , ; : ... ( ) [ ] { } ' "
    'a' "b" None True ValueError Input: Output: output the \\ # ` + - * / or and not >>> assert é 漢
"""
PIECES = st.sampled_from([*WORDS.split(), "\n", "\n\n", "\t", "\0", "\xa0"])


@given(st.lists(PIECES, max_size=30).map(" ".join) | st.text(max_size=80))
def test_whatever_is_written_an_example_calls_the_function(docstring: str) -> None:
    try:
        examples = found(docstring)
    except TargetError:
        return  # doctest cannot read this
    for example in examples:
        if example.informal:
            call = ast.parse(example.source, mode="eval").body
            assert isinstance(call, ast.Call)
            assert ast.unparse(call.func) == "f"
            if example.exception is None:
                ast.literal_eval(example.want)


@pytest.mark.parametrize(
    "hostile",
    [
        f"f(1) should{' ' * 90_000}be",
        f"f(1) should{' ' * 900}x\n" * 20,
        f"Input: 1{' ' * 900}x\n" * 20,
        f"f(2){' ' * 90_000}== 3",
        f"f({'-' * 400}1) == 1",
        f"f({'-' * 1_200}1) == 1",
        f"f({'1 + ' * 400}1) == 401",
        f"f(2) == {'1 + ' * 240}1",
        "f(2) == " + "1 +\n" * 1_200 + "1",
        f"f({'[' * 90}{']' * 90}) == 2",
        f"f(2) == 0x{'f' * 19_000}",
        f"f(2) == 3, {'a ' * 400}if x > 3\n" * 20,
        ("- " * 20 + "f(2) == 3 or 4, ") * 300,
        ("f(" + "a " * 300 + "\n") * 30,
    ],
)
def test_hostile_prose_is_passed_over(hostile: str) -> None:
    assert stated(hostile) == []
    assert stated(f"f(4) == 5\n\n{hostile}") == [("f(4)", "5")]


@pytest.mark.parametrize("decorator", [f"a{'.b' * 500}", f"a{'()' * 500}", "staticmethod"])
def test_hostile_decorators_are_passed_over(decorator: str) -> None:
    assert stated("f(1) == 2", f"@{decorator}\ndef f(x):") == [("f(1)", "2")]


def test_where_there_is_none_the_reason_says_what_is_read() -> None:
    outcome = conclude(target("Adds."), Attempt(Candidate("def f(x): return x"), Verdict(None)), 1)
    assert outcome.status is Status.UNVERIFIED
    assert outcome.reason == (
        "The docstring of 'f' has no >>> examples and shows no call with its result, such as `f(…) == …`,"
        " so nothing could be verified."
    )
