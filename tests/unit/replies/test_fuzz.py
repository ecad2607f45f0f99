"""No reply raises an error or breaks code that parsed. A cut-off reply is always noticed."""

from __future__ import annotations

import ast
import gzip
import json
import os
import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adacoder.agents.repairs import repaired_by_rules
from adacoder.domain import Candidate, Ended, Reply, Target
from adacoder.replies.completion import completion
from adacoder.replies.extract import extract
from adacoder.source.locate import locate
from adacoder.source.splice import splice
from support.sampling import sampled

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
FOLDER = os.environ.get("ADACODER_DATA")
with_data = pytest.mark.skipif(FOLDER is None, reason="ADACODER_DATA names no folder with recorded replies")

MODULE = '''"""Numbers."""

import math

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
    side = 1

    @property
    def area(self):
        """The area."""
        ...
'''
TARGETS = tuple(
    locate(text, Path("/w/numbers.py"), Path("/w"), qualname=qualname)
    for text in (MODULE, MODULE.replace("\n", "\r\n"), MODULE.replace("    ", "\t"))
    for qualname in ("mean", "Square.area")
)
FUNCTION = "def mean(values, weights=None):\n    if not values:\n        raise ValueError('none')\n"
REPLIES = (
    f"""Here it is:

```python
import math


def total(xs):
    return math.fsum(xs)


{FUNCTION}    return total(values) / len(values)
```

It divides the sum.
""",
    """    total = 0
    for value in values:
        total += value
    return total / len(values)


def helper(x):
    return x + 1

assert mean([1]) == 1
""",
    """<think>
A sum?
```python
def mean(v, w):
    return 1
```
</think>
```python
def mean(xs, ws=None):
    '''The mean.

    ```
    x
    ```
    '''
    return (sum(xs) /
            len(xs))
```<|im_end|>
""",
    json.dumps({"name": "write", "arguments": {"code": f"{FUNCTION}    return {{\n        1: values[0]\n    }}[1]\n"}}),
    "1 | def mean(values, weights=None):\n2 |     return f'{sum(values)}'\n\nThat’s “all” — really.\n",
    """```python
class Square:
    side = 1

    @property
    def area(self):
        side = self.side
        return side ** 2

    def double(self):
        return 2 * self.area
```
```python
print(Square().area)
```
""",
    "def mean(values, weights=None):\n    # ... rest of the code ...\n    pass\n\nTODO: the rest\n",
)
MARKS = (
    "```",
    "```python\n",
    "~~~",
    "<think>",
    "</think>",
    "<code>",
    "</code>",
    "<|im_end|>",
    ">>> ",
    "... ",
    "> ",
    "+",
)
SIGNS = ('"""', "'''", '"', "'", "(", ")", "[", "]", "{", "}", "@", ":", ";", "#", ",", "\\", "\\n", "-", "*", "%", "$")
SPACES = ("\n", "\r", "\r\n", " ", "    ", "\t", "\x0c", "\x00", "\ud800", "\u2028", "“", "…", "π", "&lt;")
WORDS = (
    *(
        "return ",
        "yield ",
        "async ",
        "lambda ",
        "del values\n",
        "global values\n",
        "nonlocal x\n",
        "x = 1\n",
        "mean(1)\n",
    ),
    *("def mean(", "def f():\n", "class A:\n", "if x:\n", "else:\n", "match x:\n", "import os\n", "1 | ", "@@\n"),
    *("from __future__ import annotations\n", '{"code": "'),
)
PIECES = (*MARKS, *SIGNS, *SPACES, *WORDS)


def parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def check(text: str, target: Target, ended: Ended = Ended.STOP) -> Candidate:
    """Check that a reply gives a well-formed candidate, which breaks no module."""
    candidate = extract(Reply(text, ended=ended), target)
    for part in (candidate.function, *candidate.imports, *candidate.definitions):
        assert part[:1] not in (" ", "\t", "\n")
        assert not part.endswith("\n")
        assert "\r" not in part
    check_splice(candidate, target)
    return candidate


def check_splice(candidate: Candidate, target: Target) -> None:
    """Check that a candidate that parses gives a module that parses."""
    placed = splice(target, candidate)
    if not candidate.cut and all(map(parses, (candidate.function, *candidate.imports, *candidate.definitions))):
        assert parses(placed.text), candidate


def check_mending(candidate: Candidate, target: Target) -> None:
    """Check that repair rules return the same candidate, or one that parses and breaks no module."""
    repaired, kept = repaired_by_rules(candidate, target, lambda _: (), {"List": "from typing import List"}.get)
    if repaired is candidate:
        assert not kept
        return
    assert parses(repaired.function)
    check_splice(repaired, target)


def check_prefixes(text: str, target: Target, ends: Iterable[int]) -> None:
    """Check that a prefix of a reply counts as cut if its function does not parse, but the whole reply's does."""
    whole = extract(Reply(text), target)
    sound = not whole.cut and parses(whole.function)
    complete = completion(target)
    for end in ends:
        candidate = check(text[:end], target, Ended.LENGTH)
        if sound:
            assert candidate.cut or parses(candidate.function), text[:end]
        if complete(text[:end]):
            assert not extract(Reply(text[:end], ended=Ended.STOPPED_EARLY), target).cut


@st.composite
def mutations(draw: st.DrawFn, replies: tuple[str, ...]) -> str:
    """Return a reply with inserted or moved lines, missing parts, or the end of another reply."""
    text = draw(st.sampled_from(replies))
    for _ in range(draw(st.integers(1, 6))):
        begin = draw(st.integers(0, len(text)))
        end = draw(st.integers(begin, min(len(text), begin + 40)))
        match draw(st.sampled_from(["insert", "replace", "repeat", "delete", "indent", "cross"])):
            case "insert":
                text = text[:begin] + draw(st.sampled_from(PIECES)) + text[begin:]
            case "replace":
                text = text[:begin] + draw(st.sampled_from(PIECES)) + text[end:]
            case "repeat":
                text = text[:end] + text[begin:]
            case "delete":
                text = text[:begin] + text[end:]
            case "indent":
                text = text[:begin] + text[begin:].replace("\n", draw(st.sampled_from(["\n ", "\n\t", "\n> "])))
            case "cross":
                other = draw(st.sampled_from(replies))
                text = text[:begin] + other[draw(st.integers(0, len(other))) :]
    return text


@settings(derandomize=True, max_examples=settings().max_examples * 3)
@given(mutations(REPLIES), st.sampled_from(TARGETS), st.sampled_from(Ended))
def test_mutated_replies(text: str, target: Target, ended: Ended) -> None:
    check_mending(check(text, target, ended), target)


@settings(derandomize=True, max_examples=settings().max_examples * 2)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(), st.sampled_from(TARGETS))
def test_any_text(text: str, target: Target) -> None:
    check_mending(check(text, target), target)
    complete = completion(target)
    for end in range(len(text) + 1):
        assert complete(text[:end]) in (True, False)


@pytest.mark.parametrize("text", REPLIES)
def test_every_prefix(text: str) -> None:
    target = TARGETS[1 if "area" in text else 0]
    check_prefixes(text, target, range(len(text) + 1))


LONG = 10_000
REPEATED = (
    *(
        "`",
        "~~~\n",
        '"""\n',
        "'''\n\"\"\"\n",
        "[{\n",
        '{"a": ',
        "<a>\n",
        "<a ",
        "<|x|>",
        "<|channel|>",
        "<<<<<<< SEARCH\n",
    ),
    *(
        "> def\n",
        ">>> def f():\n",
        "1 | def f():\n",
        "1. ",
        "* ",
        "In [1]: ",
        "word ",
        "word, ",
        "a. ",
        "# \n",
        "&amp;",
    ),
    *("@a\n", "def mean():\n", "has(", "x[a\n", '\\"', "from x import y\n", "def mean(values):\n    return 1\n"),
)


@pytest.mark.parametrize("piece", sampled([*PIECES, *REPEATED], 3))
def test_long_replies_take_no_time_to_speak_of(piece: str) -> None:
    """If any step took quadratic time, this test would never end."""
    text = piece * (LONG // len(piece))
    for reply in (text, f"```python\n{text}", f"def mean(values, weights=None):\n    return 1\n{text}"):
        check(reply, TARGETS[0])


@cache
def recorded() -> tuple[tuple[str, dict[str, str]], ...]:
    """Return recorded replies to HumanEval's tasks, each with its task."""
    folder = Path(FOLDER or "")
    with gzip.open(folder / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as lines:
        tasks = {task["task_id"]: task for task in map(json.loads, lines)}
    with gzip.open(folder / "model_replies.jsonl.gz", "rt", encoding="utf-8") as lines:
        replies = [reply for reply in map(json.loads, lines) if reply["task_id"] in tasks]
    return tuple((reply["reply"], tasks[reply["task_id"]]) for reply in replies)


def sample(count: int) -> Iterator[tuple[str, Target]]:
    """Return a fixed sample of recorded replies with their targets."""
    for reply, task in random.Random(count).sample(recorded(), count):
        text = task["prompt"].rstrip() + "\n    pass\n"
        yield reply, locate(text, Path("/w/task.py"), Path("/w"), qualname=task["entry_point"])


def changed(text: str, source: random.Random) -> Iterator[str]:
    """Yield endless mutations of a recorded reply."""
    while True:
        new = text
        for _ in range(source.randint(1, 4)):
            begin = source.randint(0, len(new))
            end = min(len(new), begin + source.choice((0, 0, 1, 2, 10, 100)))
            new = new[:begin] + source.choice(("", *PIECES)) + new[end:]
        yield new


@with_data
def test_mutated_recorded_replies(one_in: Callable[[int], int]) -> None:
    source = random.Random(4)
    for reply, target in sample(300 // one_in(4)):
        for text in islice(changed(reply, source), 3):
            check_mending(check(text, target, source.choice(list(Ended))), target)


@with_data
def test_prefixes_of_recorded_replies(one_in: Callable[[int], int]) -> None:
    for reply, target in sample(200 // one_in(4)):
        check_prefixes(reply, target, range(0, len(reply) + 1, max(1, len(reply) // 12)))
