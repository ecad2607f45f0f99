"""Extract candidates from replies as models write them."""

from __future__ import annotations

import ast
import gzip
import json
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.domain import Candidate, Ended, Reply, Target
from adacoder.replies.extract import extract
from adacoder.source.locate import locate
from support.cases import before_and_after, parts, tables

MODULE = '''"""Numbers."""

from collections import Counter

LIMIT = 10


def helper(x):
    return x


def mean(values, weights=None):
    """The mean of values.

    >>> mean([1, 2, 3])
    2.0
    """
    pass


class Square:
    """A square."""

    def __init__(self, side):
        self.side = side

    @property
    def area(self):
        """The area.

        >>> Square(2).area
        4
        """
        ...

    @area.setter
    def area(self, value):
        self.side = value**0.5


def refuse():
    """Not written yet: raises NotImplementedError."""


def record(log, entry):
    """Append entry to log.

    >>> record([], 1)
    """
'''


def target(qualname: str = "mean", text: str = MODULE) -> Target:
    return locate(text, Path("/w/numbers.py"), Path("/w"), qualname=qualname)


def read(text: str, qualname: str = "mean", ended: Ended = Ended.STOP) -> Candidate:
    return extract(Reply(text, ended=ended), target(qualname))


MEAN = "def mean(values, weights=None):\n    return sum(values) / len(values)"
BODY = "return sum(values) / len(values)"
STUB = 'def mean(values, weights=None):\n    """The mean of values."""\n    pass'
LOOP = "total = 0\nfor value in values:\n    total += value\nreturn total / len(values)"
LOOPING = (
    "def mean(values, weights=None):\n    total = 0\n    for value in values:\n        total += value\n"
    "    return total / len(values)"
)


def indented(text: str, by: str = "    ") -> str:
    return "".join(by + line for line in text.splitlines(keepends=True))


WHOLE = {
    "nothing but code": MEAN,
    "one fence": f"```python\n{MEAN}\n```",
    "fence in prose": f"Here is the function:\n\n```python\n{MEAN}\n```\n\nIt divides the sum.",
    "fence without a language": f"```\n{MEAN}\n```",
    "tildes": f"~~~python\n{MEAN}\n~~~",
    "four backticks": f"````python\n{MEAN}\n````",
    "unclosed fence": f"```python\n{MEAN}\n",
    "fence under a list": f"1. Write it:\n\n   ```python\n{indented(MEAN, '   ')}\n   ```\n2. Run it.",
    "carriage returns": f"```python\n{MEAN}\n```".replace("\n", "\r\n"),
    "lone carriage returns": MEAN.replace("\n", "\r"),
    "byte order mark": f"\ufeff{MEAN}",
    "prose before and after": f"Sure! Here's the code (as you asked:\n\n{MEAN}\n\nThis function's fine.",
    "usage sample first": f"Use it so:\n```python\nprint(mean([1, 2]))\n```\nCode:\n```python\n{MEAN}\n```",
    "bash first": f"```bash\npip install numpy\n```\n```python\n{MEAN}\n```",
    "the last of two alternatives": f"```python\n{LOOPING}\n```\nOr in short:\n```python\n{MEAN}\n```",
    "lazy first alternative": f"```python\n{STUB}\n```\nComplete:\n```python\n{MEAN}\n```",
    "echoed stub in the same block": f"```python\n{STUB}\n\n\n{MEAN}\n```",
    "the last of two in one block": f"{LOOPING}\n\n\n{MEAN}\n",
    "broken off in a repetition": f"{MEAN}\n\n\ndef mean(values, wei",
    "closed thinking": f"<think>\nA draft:\n```python\n{LOOPING}\n```\n</think>\n```python\n{MEAN}\n```",
    "unclosed thinking": f"<think>\nWe need a sum.\n```python\n{MEAN}\n```",
    "thinking without opening tag": f"We need a sum.\n</think>\n\n{MEAN}",
    "control token at the end": f"{MEAN}<|endoftext|>",
    "control token before the fence closes": f"```python\n{MEAN}<｜end▁of▁sentence｜>\n```",
    "another text after the end": f"{MEAN}<|endoftext|>import os\ndef mean(values):\n    return os",
    "JSON": json.dumps({"code": MEAN + "\n", "explanation": "A mean."}),
    "fenced JSON": "```json\n" + json.dumps({"function": MEAN}) + "\n```",
    "tool call": "<tool_call>\n" + json.dumps({"name": "w", "arguments": {"code": MEAN}}) + "\n</tool_call>",
    "body and tests": f"    {BODY}\n\n\nassert mean([1]) == 1\nassert mean([",
    "prose before a body": f"The body is:\n\n    {BODY}\n",
    "the whole function indented": indented(MEAN),
}
"""Replies from which `extract` reads `MEAN`."""
BODIES = {
    "body at column 0 in a fence": f"```python\n{LOOP}\n```",
    "body at column 0": LOOP,
    "body at four columns": indented(LOOP),
    "body whose first line lost its indentation": LOOP.replace("\n", "\n    "),
}
"""Replies that contain only a body. `extract` makes `LOOPING` from them."""
NOTHING = {
    "nothing": "",
    "white space": " \n\t\n",
    "prose": "I'm sorry, but I can't return that. Ask for something else, please.",
    "a word": "Sure",
    "an error message": "'gbk' codec can't encode character '\\xb2' in position 286: illegal sequence",
    "only a test": "```python\nassert mean([1]) == 1\nprint(mean([2]))\n```",
    "only imports": "```python\nimport math\n```",
    "another function": "def area(radius):\n    return 3 * radius",
    "several other functions": "def a(x, y):\n    return 1\n\ndef b(x, y):\n    return 2\n",
    "JavaScript": "```javascript\nfunction mean(values) {\n  return 1;\n}\n```",
    "JavaScript without a language": "```\nfunction mean(values) {\n  return 1;\n}\n```",
    "C": "int mean(int *values) {\n    return values[0];\n}\n",
    "Ruby": "def mean(values, weights)\n  values.sum\nend\n",
    "tool call without code": '{"name": "read_file", "arguments": {"path": "a.py"}}',
}
"""Replies that contain no function."""


def as_case(table: str, diff: str) -> tuple[str, Candidate]:
    """Read a case of extract.toml: a reply and its candidate, written as a diff."""
    reply, code = before_and_after(diff)
    if table != "module":
        return reply, Candidate(code, cut=table == "cut")
    function, imports, definitions = parts(code, "mean")
    decorators = tuple(line for line in function.splitlines() if line.startswith("@"))
    return reply, Candidate(function, imports, definitions, decorators=decorators)


CASES = {
    **{name: (reply, Candidate(MEAN)) for name, reply in WHOLE.items()},
    **{name: (reply, Candidate(LOOPING)) for name, reply in BODIES.items()},
    **{name: (reply, Candidate("")) for name, reply in NOTHING.items()},
    **{name: as_case(table, diff) for table, diffs in tables(__file__).items() for name, diff in diffs.items()},
    "renamed function and a helper": (
        "def add(xs):\n    return sum(xs)\n\n\ndef average(xs, ws=None):\n    return add(xs)\n",
        Candidate("def average(xs, ws=None):\n    return add(xs)", (), ("def add(xs):\n    return sum(xs)",)),
    ),
    "whole module echoed": (
        MODULE.replace("    pass\n", f"    {BODY}\n", 1) + "\n\ndef fresh():\n    return 1\n",
        Candidate(
            'def mean(values, weights=None):\n    """The mean of values.\n\n    >>> mean([1, 2, 3])\n    2.0\n    """\n'
            f"    {BODY}",
            ("from collections import Counter",),
        ),
    ),
}


@pytest.mark.parametrize(("reply", "candidate"), CASES.values(), ids=CASES)
def test_replies_as_models_write_them(reply: str, candidate: Candidate) -> None:
    assert read(reply) == candidate


AREA = "@property\ndef area(self):\n    return self.side**2"


@pytest.mark.parametrize(
    ("reply", "function"),
    [
        (f"```python\n{AREA}\n```", AREA),
        (indented(AREA), AREA),
        ("def area(self):\n    return self.side**2", "def area(self):\n    return self.side**2"),
        ("        return self.side**2", "def area(self):\n        return self.side**2"),
        ("return self.side**2", "def area(self):\n    return self.side**2"),
        (f"class Square:\n    def new(self):\n        return 1\n\n{indented(AREA)}\n", AREA),
        (
            f"class Square:\n{indented(AREA)}\n\n    @area.setter\n    def area(self, value):\n        self.side = 1\n",
            AREA,
        ),
        (MODULE.replace("        ...\n", "        return self.side**2\n"), None),
        (f"class Rectangle:\n{indented(AREA)}\n", AREA),
    ],
)
def test_methods(reply: str, function: str | None) -> None:
    candidate = read(reply, "Square.area")
    if function is not None:
        assert candidate.function == function
    assert candidate.function.endswith("return self.side**2")
    assert candidate.definitions == ()
    assert not candidate.cut


def test_a_body_that_returns_nothing_is_taken_from_a_fence_only() -> None:
    expected = "def record(log, entry):\n    log.append(entry)"
    assert read("```python\nlog.append(entry)\n```", "record").function == expected
    assert read("log.append(entry)", "record").function == ""
    assert read("```python\nlog = []\nrecord(log, 1)\n```", "record").function == ""
    assert read("```python\nassert record(log, entry) is None\n```", "record").function == ""


@pytest.mark.parametrize(
    ("qualname", "body"),
    [
        ("record", "assert entry\nlog.append(entry)"),
        ("record", "print(entry, file=log)"),
        ("record", "log.record(entry)"),
        ("Square.area", "self.parent.area()"),
    ],
)
def test_a_body_that_returns_nothing_is_known_by_the_parameters_it_uses(qualname: str, body: str) -> None:
    candidate = read(f"```python\n{body}\n```", qualname)
    assert candidate.function.endswith(":\n" + indented(body))
    assert not candidate.cut


def test_raising_not_implemented_is_no_laziness_where_the_docstring_asks_for_it() -> None:
    assert not read("def refuse():\n    raise NotImplementedError", "refuse").cut
    assert read("def refuse():\n    pass", "refuse").cut


@pytest.mark.parametrize(
    ("reply", "cut"),
    [
        (f"```python\n{MEAN}", True),
        (MEAN, True),
        (f"{MEAN}\n\ndef other(a):\n    retu", False),
        (f"{MEAN.replace('sum', 'add')}\n\ndef add(a):\n    retu", True),
        (f"```python\n{MEAN}\n```\nThis func", False),
        (f"{MEAN}\n\nprint(mean([1, ", False),
        (json.dumps({"code": MEAN}), False),
    ],
)
def test_a_reply_that_reached_its_length_is_cut_if_the_function_is(reply: str, cut: bool) -> None:
    candidate = read(reply, ended=Ended.LENGTH)
    assert candidate.function.replace("add", "sum") == MEAN
    assert candidate.cut is cut
    assert not read(reply, ended=Ended.STOPPED_EARLY).cut


def test_a_nested_class_and_carriage_returns_in_the_module() -> None:
    text = "class A:\r\n    class B:\r\n        def f(self,\r\n              x):\r\n            '''Doc.'''\r\n"
    candidate = extract(Reply("    return x\r\n"), target("A.B.f", text))
    assert candidate.function == "def f(self,\n              x):\n    return x"


PIECES = [
    *(reply for reply, _ in CASES.values()),
    "```", "```python\n", "~~~", '"""', "'''", "(", "def mean(", "\\", "\n", "\r", "    ", "\t", "<think>",
    "</think>", "class Square:", "@", ":", "#", '{"code": "', "<|im_end|>", ">>> ", "... ", "\x00", "\ud800", "\u2028",
    "“", "return ",
]  # fmt: skip
QUALNAMES = st.sampled_from(["mean", "Square.area", "record", "refuse"])


def is_candidate(candidate: Candidate) -> bool:
    parts = [candidate.function, *candidate.imports, *candidate.definitions]
    return not any(part[:1] in (" ", "\t", "\n") or part.endswith("\n") or "\r" in part for part in parts)


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join) | st.text(), QUALNAMES, st.sampled_from(Ended))
def test_any_text_gives_a_candidate(text: str, qualname: str, ended: Ended) -> None:
    assert is_candidate(read(text, qualname, ended))


@given(st.sampled_from([reply for reply, _ in CASES.values()]), st.data())
def test_mutated_replies_give_a_candidate(reply: str, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(reply)))
    end = data.draw(st.integers(begin, min(begin + 9, len(reply))))
    text = reply[:begin] + data.draw(st.sampled_from(PIECES)) + reply[end:]
    assert is_candidate(read(text))


@pytest.mark.parametrize("name", ["one fence", "closed thinking", "JSON", "body and tests", "rest of code"])
def test_every_prefix_gives_a_candidate(name: str) -> None:
    reply, _ = CASES[name]
    for end in range(len(reply)):
        assert is_candidate(read(reply[:end], ended=Ended.LENGTH))


@pytest.mark.parametrize(
    "text",
    [
        " " * 50_000,
        "```\n\"\"\"\n" * 1_000,
        "(" * 20_000,
        "word " * 10_000,
        "def mean(a, b):\n    return a\n" * 500,
        "<think>" * 1_000,
        "“" * 10_000,
        '{"code": "' + "\\\\" * 10_000,
    ],
)  # fmt: skip
def test_degenerate_replies_give_a_candidate(text: str) -> None:
    for reply in (text, f"```python\n{text}", f"{MEAN}\n{text}"):
        assert is_candidate(read(reply))


FOLDER = os.environ.get("ADACODER_DATA")
with_data = pytest.mark.skipif(FOLDER is None, reason="ADACODER_DATA names no folder with recorded replies")


@cache
def recorded(name: str) -> list[dict[str, str]]:
    with gzip.open(Path(FOLDER or "") / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@cache
def humaneval(task: str) -> tuple[Target, str]:
    """Return the target of a HumanEval task, and the prompt."""
    found = next(each for each in recorded("HumanEval.jsonl.gz") if each["task_id"] == task)
    return target(found["entry_point"], found["prompt"].rstrip() + "\n    pass\n"), found["prompt"]


def plainly(reply: dict[str, str], prompt: str, name: str) -> ast.FunctionDef | None:
    """Return the function in the first fence, else in the whole text, else in the text after the prompt."""
    fence = re.search(r"```(?:\w+)?\n(.*?)```", reply["reply"], re.DOTALL)
    code = fence[1] if fence else reply["reply"]
    for text in (prompt + code,) if reply["kind"] == "continuation" else (code, prompt + code):
        try:
            found = [each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)]
        except SyntaxError:
            continue
        return next((each for each in reversed(found) if each.name == name), None)
    return None


def shape(function: ast.FunctionDef) -> str:
    """Return the function without its docstring."""
    if ast.get_docstring(function, clean=False) is not None:
        function.body = function.body[1:]
    return ast.dump(function)


@with_data
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_recorded_replies_that_pass_are_found() -> None:
    """For at least 99 % of recorded replies that pass, `extract` finds the same function as `plainly`."""
    replies = [
        each
        for each in recorded("model_replies.jsonl.gz")
        if each["benchmark"] == "HumanEval" and each["hidden_tests"] == "pass"
    ][::3]
    missed = []
    for reply in replies:
        task, prompt = humaneval(reply["task_id"])
        candidate = extract(Reply(reply["reply"]), task)
        expected = plainly(reply, prompt, task.name)
        assert expected is not None
        try:
            found = ast.parse(candidate.function).body
        except SyntaxError:
            found = []
        same = len(found) == 1 and isinstance(found[0], ast.FunctionDef) and shape(found[0]) == shape(expected)
        if not same or candidate.cut:
            missed.append(reply["id"])
    print(f"{len(replies) - len(missed)} of {len(replies)} recorded replies found")
    assert len(missed) <= len(replies) // 100, missed


@with_data
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_recorded_replies_never_raise(one_in: Callable[[int], int]) -> None:
    replies = recorded("model_replies.jsonl.gz")[:: one_in(24)]
    for reply in replies:
        task = humaneval(reply["task_id"])[0] if reply["benchmark"] == "HumanEval" else target()
        assert is_candidate(extract(Reply(reply["reply"]), task))


@with_data
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_prefixes_of_recorded_replies_never_raise(one_in: Callable[[int], int]) -> None:
    replies = [each for each in recorded("model_replies.jsonl.gz") if each["benchmark"] == "HumanEval"][::150]
    for reply in replies:
        task, _ = humaneval(reply["task_id"])
        for end in range(0, len(reply["reply"]), one_in(51)):
            assert is_candidate(extract(Reply(reply["reply"][:end], ended=Ended.LENGTH), task))
