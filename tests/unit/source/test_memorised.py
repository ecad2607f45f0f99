"""Candidates that only know the examples are told from similar honest ones, without running them."""

from __future__ import annotations

import ast
import gzip
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import indent
from types import ModuleType

import pytest
import sortedcontainers
import toolz

from adacoder.domain import AdaCoderError, Candidate, Example, ExampleResult, Reached, Target
from adacoder.pytext import definitions
from adacoder.source.locate import documented, locate
from adacoder.source.memorised import memorised
from adacoder.source.placed import Splice
from adacoder.source.splice import splice
from support.memorising import NUMBERS, Case, Kind, candidate, cases, target
from support.memorising.kinds import KINDS


def results(function: Target, *lines: set[int]) -> list[ExampleResult]:
    """Return results in which all examples passed. Without `lines`, they may have run any line."""
    shown = [example for example in function.examples if example.has_want]
    through = [Reached(frozenset(each)) for each in lines] or [Reached()] * len(shown)
    return [
        ExampleResult(example, matched=True, entered=True, reached=reached)
        for example, reached in zip(shown, through, strict=True)
    ]


def why(function: Target, written: Candidate) -> str | None:
    return memorised(function, splice(function, written), results(function))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_memorising_candidate_is_told_from_an_honest_one(kind: Kind) -> None:
    assert why(kind.target, candidate(kind.memory)) is not None
    assert why(kind.target, candidate(kind.honest)) is None


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_of_the_corpus_only_what_is_by_heart_is_accused(case: Case) -> None:
    assert (why(case.target, candidate(case.code)) is not None) is case.found


PAIRS = {
    "numbers": [("3", "6"), ("4", "24"), ("6", "720")],
    "texts": [("'Hello World'", "'hello-world'"), ("'A  b'", "'a-b'")],
    "lists": [("[1, 2, 3]", "[3, 2, 1]"), ("[4, 5]", "[5, 4]")],
    "truths": [("7", "True"), ("11", "True"), ("9", "False")],
}
FORMAL = {
    "plain": ("Do it.\n\n", ">>> {call}\n{want}\n"),
    "Google": ("Do it.\n\nArgs:\n    x: It.\n\nExamples:\n", "    >>> {call}\n    {want}\n"),
    "Google with blank lines": ("Do it.\n\nExample:\n", "    >>> {call}\n    {want}\n\n"),
    "NumPy": ("Do it.\n\nParameters\n----------\nx : int\n\nExamples\n--------\n", ">>> {call}\n{want}\n\n"),
    "reStructuredText": (":param x: It.\n\nExample::\n\n", "    >>> {call}\n    {want}\n"),
    "each under its own words": ("Do it.\n\n", "A case of {given}:\n\n    >>> {call}\n    {want}\n\n"),
}
INFORMAL = {
    "bullets": ("Do it.\n\nExamples:\n", "    * {call} == {want}\n"),
    "arrows": ("Do it.\n\nExamples:\n", "    {call} -> {want}\n"),
    "words": ("Do it.\n\n", "For x = {given} the output should be {want}.\n"),
    "input and output": ("Do it.\n\nExamples:\n", "    Input: x = {given}   Output: {want}\n"),
    "output below": ("Do it.\n\nExamples:\n", "    Input: x = {given}\n    Output: {want}\n\n"),
}
HEADS = {
    "def f(x):": "f({})",
    "async def f(x):": "asyncio.run(f({}))",
    "@functools.cache\ndef f(x):": "f({})",
    "class C:\n    def f(self, x):": "C().f({})",
    "class C:\n    class D:\n        @staticmethod\n        def f(x):": "C.D.f({})",
}


@pytest.mark.parametrize(
    "change", [str, lambda text: text.replace("    ", "\t"), lambda text: text.replace("\n", "\r\n")]
)
@pytest.mark.parametrize("pairs", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize(
    ("head", "style"),
    [(head, style) for head in HEADS for style in FORMAL] + [("def f(x):", style) for style in INFORMAL],
)
def test_the_style_of_a_docstring_does_not_matter(
    head: str, style: str, pairs: list[tuple[str, str]], change: Callable[[str], str]
) -> None:
    begin, shown = (FORMAL | INFORMAL)[style]
    told = "".join(shown.format(call=HEADS[head].format(given), given=given, want=want) for given, want in pairs)
    *_, last = head.split("\n")
    deep = " " * (len(last) - len(last.lstrip()) + 4)
    text = f"{head}\n" + indent(f'"""{begin}{told}"""\n...\n', deep)
    name = ".".join([*(line.strip(" :").partition(" ")[2] for line in head.split("\n") if "class" in line), "f"])
    function = locate(change(text), Path("/w/m.py"), Path("/w"), qualname=name)
    assert len(function.examples) == len(pairs), "the control"
    tests = "".join(f"    if x == {given}:\n        return {want}\n" for given, want in pairs)
    assert why(function, Candidate(f"{last.strip()}\n{tests}")) is not None
    assert why(function, Candidate(f"{last.strip()}\n    return g(x)")) is None


def test_the_reason_says_how_many_examples_prove_nothing() -> None:
    some = "def f(n):\n    if n == 3:\n        return 6\n    return 24 if n == 4 else math.factorial(n)"
    assert why(NUMBERS, candidate(some)) == (
        "2 of 3 examples are answered by constants under a test on their own input: nothing is computed for them, so"
        " they prove nothing about other inputs."
    )


def test_examples_in_words_count_as_well() -> None:
    informal = tuple(replace(example, informal=True) for example in NUMBERS.examples)
    table = candidate("def f(n):\n    return {3: 6, 4: 24, 6: 720}[n]")
    assert why(replace(NUMBERS, examples=informal), table) is not None


def test_only_the_return_that_was_taken_counts() -> None:
    text = "def f(n):\n    if n < 0:\n        return {3: 6, 4: 24, 6: 720}[n]\n    return math.factorial(n)"
    placed = splice(NUMBERS, candidate(text))
    looked_up, computed = (
        {placed.text[: placed.text.index(code)].count("\n") + 1} for code in ("return {", "return math")
    )
    assert memorised(NUMBERS, placed, results(NUMBERS, *[looked_up] * 3)) is not None
    assert memorised(NUMBERS, placed, results(NUMBERS, *[computed] * 3)) is None


HONEST = {
    "base cases": (
        target("def f(n):", ">>> f(0)\n0\n>>> f(1)\n1\n>>> f(10)\n55"),
        "def f(n):\n    if n == 0:\n        return 0\n    if n == 1:\n        return 1\n    return f(n - 1) + f(n - 2)",
    ),
    "empty cases": (
        target("def f(s, t):", ">>> f('', 'abc')\n3\n>>> f('ab', '')\n2\n>>> f('kitten', 'sitting')\n3"),
        "def f(s, t):\n    if s == '':\n        return 3 * len(t) // 3\n    return max(len(s), len(t)) - 4 or 2",
    ),
    "a table that goes beyond the examples": (
        target("def f(n):", ">>> f(1)\n'Monday'\n>>> f(3)\n'Wednesday'\n>>> f(7)\n'Sunday'"),
        """
        def f(n):
            days = {1: "Monday", 2: "Tuesday", 3: "Wednesday", 4: "Thursday", 5: "Friday", 6: "Saturday", 7: "Sunday"}
            return days[n]
        """,
    ),
    "a list that goes beyond the examples": (
        target("def f(n):", ">>> f(1)\n31\n>>> f(2)\n28\n>>> f(4)\n30\n>>> f(12)\n31"),
        "def f(n):\n    return [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][n - 1]",
    ),
    "a chain that goes beyond the examples": (
        target("def f(mark):", ">>> f('A')\n4.0\n>>> f('B')\n3.0\n>>> f('F')\n0.0"),
        """
        def f(mark):
            if mark == "A":
                return 4.0
            elif mark == "B":
                return 3.0
            elif mark == "C":
                return 2.0
            elif mark == "D":
                return 1.0
            elif mark == "F":
                return 0.0
        """,
    ),
    "pairs that go beyond the examples": (
        target("def f(digit):", ">>> f(7)\n'seven'\n>>> f(3)\n'three'"),
        """
        def f(digit):
            for value, word in [(1, "one"), (3, "three"), (4, "four"), (5, "five"), (6, "six"), (7, "seven")]:
                if digit == value:
                    return word
        """,
    ),
    "a table that is used piece by piece": (
        target("def f(s):", ">>> f('I')\n1\n>>> f('V')\n5\n>>> f('XIV')\n14"),
        """
        VALUES = {"I": 1, "V": 5, "X": 10}

        def f(s):
            total = 0
            for this, following in zip(s, s[1:] + s[-1]):
                total += VALUES[this] if VALUES[this] >= VALUES[following] else -VALUES[this]
            return total
        """,
    ),
    "what the docstring states": (
        target(
            "def f(light):",
            ">>> f('red')\n'stop'\n>>> f('green')\n'go'\n>>> f('amber')\n'wait'",
            "Red means stop, amber means wait, green means go.",
        ),
        "def f(light):\n    return {'red': 'stop', 'green': 'go', 'amber': 'wait'}[light]",
    ),
    "thresholds": (
        target("def f(score):", ">>> f(95)\n'A'\n>>> f(85)\n'B'\n>>> f(20)\n'F'"),
        "def f(score):\n    if score >= 90:\n        return 'A'\n    return 'B' if score >= 80 else 'F'",
    ),
    "remainders": (
        target("def f(n):", ">>> f(3)\n'odd'\n>>> f(8)\n'even'"),
        "def f(n):\n    return {0: 'even', 1: 'odd'}[n % 2]",
    ),
    "membership in a set that goes beyond the examples": (
        target("def f(c):", ">>> f('a')\nTrue\n>>> f('e')\nTrue\n>>> f('x')\nFalse"),
        "def f(c):\n    return c in 'aeiou'",
    ),
    "a check of the length": (
        target("def f(s):", ">>> f('0123456789')\nTrue\n>>> f('9876543210')\nTrue\n>>> f('123')\nFalse"),
        "def f(s):\n    return len(s) == 10",
    ),
    "a check of many things": (
        target("def f(date):", ">>> f('03-11-2000')\n'good'\n>>> f('06-04-2020')\n'good'\n>>> f('6/4')\n'bad'"),
        """
        def f(date):
            if len(date) != 10 or date[2] != "-" or date[5] != "-":
                return "bad"
            return "good"
        """,
    ),
    "the beginning of a text": (
        target("def f(url):", ">>> f('https://example.org/a')\n443\n>>> f('http://example.org/b')\n80"),
        "def f(url):\n    if url.startswith('https://'):\n        return 443\n    return 80",
    ),
    "one test for two answers": (
        target("def f(month):", ">>> f('February')\nTrue\n>>> f('January')\nFalse\n>>> f('March')\nFalse"),
        "def f(month):\n    if month == 'February':\n        return True\n    else:\n        return False",
    ),
    "a constant function": (target("def f(x):", ">>> f(3)\n6\n>>> f(4)\n6"), "def f(x):\n    return 6"),
    "a table of the module around it": (NUMBERS, "def f(n):\n    return ANSWERS[n]"),
    "one example of three": (
        NUMBERS,
        "def f(n):\n    if n == 3:\n        return 6\n    return math.factorial(n)",
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_what_is_done_in_good_faith_is_not_accused(name: str) -> None:
    function, text = HONEST[name]
    assert why(function, candidate(text)) is None


ACCUSED = {
    "nothing but base cases": (
        target("def f(n):", ">>> f(0)\n1\n>>> f(1)\n1"),
        "def f(n):\n    if n == 0:\n        return 1\n    if n == 1:\n        return 1\n    return n * f(n - 1)",
    ),
    "a table that the docstring does not state, with all there is": (
        target("def f(light):", ">>> f('red')\n'stop'\n>>> f('green')\n'go'\n>>> f('amber')\n'wait'"),
        "def f(light):\n    return {'red': 'stop', 'green': 'go', 'amber': 'wait'}[light]",
    ),
    "a string that is a table of characters": (
        target("def f(n):", ">>> f(0)\n'x'\n>>> f(1)\n'q'\n>>> f(2)\n'z'"),
        "def f(n):\n    return 'xqz'[n]",
    ),
    "a table padded with base cases": (
        NUMBERS,
        "def f(n):\n    return {0: 1, 1: 1, 2: 2, 3: 6, 4: 24, 6: 720}[n]",
    ),
    "a chain among other tests": (
        NUMBERS,
        """
        def f(n):
            if n < 0:
                raise ValueError(n)
            if not isinstance(n, int):
                return None
            if n % 2:
                if n == 3:
                    return 6
                return None
            if n == 4:
                return 24
            return n * f(n - 1)
        """,
    ),
}


@pytest.mark.parametrize("name", ACCUSED)
def test_what_proves_nothing_is_accused(name: str) -> None:
    function, text = ACCUSED[name]
    assert why(function, candidate(text)) is not None


METHOD = '''
class Cart:
    def __init__(self, items):
        self.items = items

    def total(self{parameters}):
        """The sum.

        {examples}
        """
        ...
'''


@pytest.mark.parametrize(
    ("parameters", "examples", "memory", "honest"),
    [
        (
            ", rate",
            (">>> Cart([1, 2]).total(5)", "15", ">>> cart = Cart([4, 5])", ">>> cart.total(3)", "27"),
            "def total(self, rate):\n    return {5: 15, 3: 27}[rate]",
            "def total(self, rate):\n    return {0: 0}.get(rate, rate * sum(self.items))",
        ),
        (
            "",
            (">>> Cart([1, 2]).total()", "3", ">>> cart = Cart([4, 5])", ">>> cart.total()", "9"),
            "def total(self):\n    if self.items == [1, 2]:\n        return 3\n    if self.items == [4, 5]: return 9",
            "def total(self):\n    if self.items == [10, 20]:\n        return 3\n    return sum(self.items)",
        ),
    ],
)
def test_methods_are_asked_about_their_arguments_and_their_object(
    parameters: str, examples: tuple[str, ...], memory: str, honest: str
) -> None:
    text = METHOD.format(parameters=parameters, examples="\n        ".join(examples))
    method = locate(text, Path("/w/m.py"), Path("/w"), qualname="Cart.total")
    assert why(method, Candidate(memory)) is not None
    assert why(method, Candidate(honest)) is None


@pytest.mark.parametrize(
    "body",
    [
        "return " + "-" * 900 + "n",
        "return [" * 90 + "n" + "]" * 90,
        "a = b\n    b = a\n    return a",
        "return f(n)",
        "\0",
        "return {[]: 1, **n}[n]",
        "match n:\n        case {'a': [*_, 1], **rest}:\n            return rest",
        f"return {[0] * 100_000}",
        "\n    ".join(["a0 = n", *(f"a{i} = a{i - 1} or a{i - 1}" for i in range(1, 60)), "return a59"]),
        "\n    ".join(f"{'el' if i else ''}if n == {i + 1000}: return {i}" for i in range(2000)),
        "",
    ],
)
def test_what_is_large_deep_or_odd_is_given_up_on(body: str) -> None:
    assert why(NUMBERS, Candidate(f"def f(n):\n    {body}")) is None


@pytest.mark.parametrize("package", [toolz, sortedcontainers])
def test_functions_of_packages_are_not_accused(package: ModuleType) -> None:
    folder = Path(str(package.__file__)).parent
    asked = 0
    for path in sorted(folder.glob("*.py")):
        for one in documented(path.read_text(encoding="utf-8"), path, folder.parent):
            function = one.target
            if function.is_function and function.has_wants:
                asked += 1
                standing = Splice((), function.text, function.definition)
                assert memorised(function, standing, results(function)) is None, function.qualname
    assert asked > 30


@dataclass(frozen=True)
class Task:
    """Return a task with its right solution."""

    name: str
    solution: Candidate
    targets: tuple[Target, ...]


def data(name: str) -> list[dict[str, object]]:
    folder = os.environ.get("ADACODER_DATA")
    if folder is None:
        pytest.skip("ADACODER_DATA names no folder with HumanEval.jsonl.gz")
    with gzip.open(Path(folder) / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def human_eval() -> Iterator[Task]:
    shown = {str(task["task_id"]): task["given_tests"] for task in data("HumanEval_given_tests_ldb.jsonl.gz")}
    for task in data("HumanEval.jsonl.gz"):
        name, prompt = str(task["entry_point"]), str(task["prompt"])
        solution = f"{prompt}{task['canonical_solution']}"
        asserts = shown[str(task["task_id"])]
        assert isinstance(asserts, list)
        stub = located(f"{prompt}    pass\n", name)
        blank = stub or locate(f"def {name}(*args):\n    'It.'\n", Path("/w/m.py"), Path("/w"), qualname=name)
        by_hand = replace(blank, examples=as_examples(asserts))
        yield Task(str(task["task_id"]), candidate(solution, name), (*([stub] if stub else []), by_hand))


def located(text: str, name: str) -> Target | None:
    try:
        return locate(text, Path("/w/m.py"), Path("/w"), qualname=name)
    except AdaCoderError:
        return None


def named(name: str) -> Target:
    """Return a function of this name without examples."""
    return locate(f"def {name}(*args):\n    'It.'\n", Path("/w/m.py"), Path("/w"), qualname=name)


def as_examples(asserts: list[str]) -> tuple[Example, ...]:
    """Turn `assert f(1) == 2` into an example, and another assertion into an example that gives True."""
    found = []
    for line in asserts:
        (statement,) = ast.parse(line).body
        assert isinstance(statement, ast.Assert)
        match statement.test:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[want]):
                source, wanted = ast.unparse(left), ast.unparse(want)
            case test:
                source, wanted = ast.unparse(test), "True"
        found.append(Example(f"{source}\n", f"{wanted}\n", 0, informal=True))
    return tuple(found)


def test_no_canonical_solution_of_humaneval_is_accused() -> None:
    tasks = list(human_eval())
    accused = [task.name for task in tasks for each in task.targets if why(each, task.solution)]
    assert (len(tasks), accused) == (164, [])


def test_tables_of_humanevals_examples_are_accused() -> None:
    caught = total = 0
    for task in human_eval():
        by_hand = replace(task.targets[-1], docstring="")
        calls = [ast.parse(example.source, mode="eval").body for example in by_hand.examples]
        if not all(isinstance(call, ast.Call) and not call.keywords for call in calls) or not calls:
            continue
        table = [
            (ast.unparse(ast.Tuple(call.args, ast.Load())), example.want.strip())
            for call, example in zip(calls, by_hand.examples, strict=True)
            if isinstance(call, ast.Call)
        ]
        tests = "".join(f"    if args == {key}:\n        return {value}\n" for key, value in table)
        total += 1
        caught += why(by_hand, Candidate(f"def {by_hand.name}(*args):\n{tests}".rstrip())) is not None
    assert total > 140
    assert caught >= 0.95 * total


def test_no_reference_of_mbpp_is_accused() -> None:
    asked, accused = 0, []
    for task in data("mbpp.jsonl.gz"):
        tests, text = task["test_list"], str(task["code"]).replace("\r", "")
        assert isinstance(tests, list)
        name = next((each.name for each in definitions(text) if f"{each.name}(" in tests[0] and not each.parents), None)
        if name is None:
            continue
        asked += 1
        if why(replace(named(name), examples=as_examples(tests)), candidate(text, name)):
            accused.append(task["task_id"])
    assert asked > 950
    assert accused == []
