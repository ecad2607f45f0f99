"""`adacoder apply` with replies of chats and agents: several versions, patches, sessions and decorators."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from support.commandline import Desk

pytestmark = pytest.mark.isolation

KEEP = '''def keep(words, prefix):
    """Keep the words that start with prefix.

    >>> keep(['abc', 'bcd', 'array'], 'a')
    ['abc', 'array']
    >>> keep([], 'a')
    []
    """
'''
DRAFT = "def keep(words, prefix):\n    return [word for word in words if prefix in word]\n"
"""A reply that passes, but is wrong for 'bca'."""
FINAL = "def keep(words, prefix):\n    return [word for word in words if word.startswith(prefix)]\n"
WRONG = "def keep(words, prefix):\n    return words\n"
LAZY = "def keep(words, prefix):\n    ...\n"
UNIMPORTED = "def keep(words, prefix):\n    return [word for word in words if re.match(re.escape(prefix), word)]\n"


def fence(code: str, language: str = "python") -> str:
    return f"```{language}\n{code}```\n"


def apply(desk: Desk, reply: str, name: str, text: str) -> tuple[dict[str, Any], str]:
    """Return the result, and the text with its edits."""
    desk.write(text, "mod.py")
    desk.write(reply, "reply.txt")
    (result,) = desk.run("apply", f"mod.py::{name}", "--reply", "reply.txt", "--json", "--timeout", 5).objects
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    for edit in reversed(result["edits"]):
        start, end = (starts[at["line"]] + at["character"] for at in (edit["range"]["start"], edit["range"]["end"]))
        text = text[:start] + edit["newText"] + text[end:]
    return result, text


@pytest.mark.parametrize(
    ("reply", "wins"),
    {
        "a draft, then the answer": (f"{fence(DRAFT)}Wrong for 'bca'. Final version:\n{fence(FINAL)}", "startswith"),
        "a draft in the fence of another name": (f"{fence(DRAFT, 'text')}No.\n{fence(FINAL)}", "startswith"),
        "the answer without a fence": (f"{fence(DRAFT)}That is wrong. Finally:\n\n{FINAL}\nDone.\n", "startswith"),
        "the draft without a fence": (f"A draft:\n\n{DRAFT}\nThat is wrong.\n\n{fence(FINAL)}", "startswith"),
        "both in one fence": (fence(f"{DRAFT}\n\n{FINAL}"), "startswith"),
        "a counter-example last": (f"{fence(FINAL)}Do not write it so:\n{fence(WRONG)}", "startswith"),
        "the answer lacks an import": (f"{fence(DRAFT)}Wrong. Final version:\n{fence(UNIMPORTED)}", "re.escape"),
        "the answer leaves out its body": (
            f"{fence(FINAL)}\n{fence(LAZY)}",
            "startswith",
        ),
        "thoughts closed in a line": (f"Try:\n{fence(DRAFT)}no. </think> Answer:\n{fence(FINAL)}", "startswith"),
        "thoughts closed twice": (f"a\n</think>\n{fence(DRAFT)}\n</think>\n{fence(FINAL)}", "startswith"),
        "many versions": ("".join(map(fence, [*[DRAFT, WRONG] * 25, FINAL])), "startswith"),
    }.values(),
)
def test_the_last_version_that_passes_wins(desk: Desk, reply: str, wins: str) -> None:
    result, text = apply(desk, reply, "keep", KEEP)
    assert result["status"] == "verified"
    assert wins in text
    assert "in words if prefix in word" not in text


def test_no_version_is_evaluated_twice_and_not_all_of_many(desk: Desk) -> None:
    wrong = [fence(WRONG.replace("words\n", f"words[{number}:]\n")) for number in range(1, 21)]
    result, _ = apply(desk, "".join(wrong * 2), "keep", KEEP)
    assert result["status"] == "partial"
    assert [step["action"] for step in result["journal"]].count("evaluate") == 8
    assert "The reply holds 20 versions of 'keep': only the last 8 were read." in result["notes"]


def test_helpers_go_with_their_version(desk: Desk) -> None:
    def version(test: str) -> str:
        return fence(f"def starts(word, prefix):\n    return {test}\n") + fence(
            "def keep(words, prefix):\n    return [word for word in words if starts(word, prefix)]\n"
        )

    reply = f"{version('prefix in word')}Wrong for 'bca'.\n{version('word.startswith(prefix)')}"
    result, text = apply(desk, reply, "keep", KEEP)
    assert result["status"] == "verified"
    assert "word.startswith(prefix)" in text


MEAN = '''LIMIT = 10


def mean(values):
    """The mean, 0 of nothing.

    >>> mean([1, 2, 3])
    2.0
    >>> mean([])
    0
    """
    total = 0
    for value in values:
        total += value
    return total / len(values)


def other(values):
    return 0
'''
GUARD = "    if not values:\n        return 0\n"
GUARDED = MEAN.replace("    total = 0\n", f"{GUARD}    total = 0\n")
PLUS = "+    if not values:\n+        return 0\n"
WHOLE = f"def mean(values):\n{GUARD}    return sum(values) / len(values)\n"
CODEX = f"*** Begin Patch\n*** Update File: mod.py\n@@ def mean(values):\n{PLUS}     total = 0\n*** End Patch\n"
ELSEWHERE = "@@ -18,2 +20,2 @@\n def other(values):\n-    return 0\n+    return 1\n"
OF_X = "--- a/x.py\n+++ b/x.py\n@@\n-    total = 0\n+    total = 9\n"
SEARCH = f"<<<<<<< SEARCH\n    total = 0\n=======\n{GUARD}    total = 0\n>>>>>>> REPLACE\n"
SEARCH_OTHER = """<<<<<<< SEARCH
def other(values):
    return 0
=======
def other(values):
    return 1
>>>>>>> REPLACE
"""
OF_OTHER = "The reply also changes 'other': that was left out."


@pytest.mark.parametrize(
    ("reply", "note"),
    {
        "diff": (f'--- a/mod.py\n+++ b/mod.py\n@@ -10,3 +10,5 @@\n     """\n{PLUS}     total = 0\n', ""),
        "diff in a fence, numbers wrong": (fence(f"@@ -1,2 +1,4 @@\n{PLUS}     total = 0\n", "diff"), ""),
        "diff without places": (fence(f"{PLUS}     total = 0\n     for value in values:\n", "diff"), ""),
        "diff of several places": (fence(f"@@\n{PLUS}     total = 0\n{ELSEWHERE}", "diff"), OF_OTHER),
        "diff of several files": (
            f"{OF_X}--- a/mod.py\n+++ b/mod.py\n@@\n{PLUS}     total = 0\n",
            "",
        ),
        "a draft of a diff": (
            fence("-    total = 0\n+    total = 1\n", "diff") + "No:\n" + fence(f"{PLUS}     total = 0\n", "diff"),
            "",
        ),
        "search and replace": (SEARCH, ""),
        "search and replace, several": (f"mod.py\n{fence(SEARCH)}{fence(SEARCH_OTHER)}", OF_OTHER),
        "a patch": (CODEX, ""),
        "a patch in a tool call": (json.dumps({"name": "patch", "arguments": json.dumps({"input": CODEX})}), ""),
        "an elided end": (
            fence(f"def mean(values):\n{GUARD}    # ... existing code ...\n"),
            "The part that the reply leaves out was taken from the present function.",
        ),
    }.values(),
)
def test_only_what_an_edit_says_of_the_function_is_changed(desk: Desk, reply: str, note: str) -> None:
    result, text = apply(desk, reply, "mean", MEAN)
    assert (result["status"], text) == ("verified", GUARDED)
    assert result["notes"] == [note] * bool(note)


@pytest.mark.parametrize(
    "reply",
    [
        fence("-    total = 7\n+    total = 0\n", "diff"),
        fence("def mean(values):\n    total = 1\n    # ... existing code ...\n"),
        "<<<<<<< SEARCH\n        x = 1\n=======\n        x = 2\n>>>>>>> REPLACE\n",
    ],
)
def test_an_edit_that_fits_nowhere_or_in_several_ways_is_refused(desk: Desk, reply: str) -> None:
    result, text = apply(desk, reply, "mean", MEAN)
    assert (result["status"], text) == ("failed", MEAN)


@pytest.mark.parametrize(
    "reply",
    [
        "".join(f"{'...' if line[:1] == ' ' else '>>>'} {line}\n" for line in WHOLE.splitlines()) + ">>> mean([])\n0\n",
        fence("In [1]: " + WHOLE.replace("\n", "\n   ...: ").rstrip(" .:") + "\n\nOut[1]: 3\n"),
        "".join(f"{number:>6}\t{line}\n" for number, line in enumerate(WHOLE.splitlines(), 12)),
        "".join(f"{number:>6}→{line}\n" for number, line in enumerate(WHOLE.splitlines(), 12)),
        "".join(f"  {number} | {line}\n" for number, line in enumerate(WHOLE.splitlines(), 9)),
        "mean = lambda values: sum(values) / len(values) if values else 0\n",
        json.dumps([{"input": {"edits": [{"new_string": WHOLE}]}}]),
        "<tool_call>\n" + json.dumps({"arguments": json.dumps({"content": WHOLE})}) + "\n</tool_call>",
        json.dumps({"lines": WHOLE.splitlines()}),
    ],
)
def test_a_function_in_another_form_is_read(desk: Desk, reply: str) -> None:
    assert apply(desk, reply, "mean", MEAN)[0]["status"] == "verified"


FIB = 'def fib(n):\n    """Fibonacci.\n\n    >>> fib(120)\n    5358359254990966640871840\n    """\n'
RECURSIVE = "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
MEMO = """
def memo(f):
    seen = {}

    def g(n):
        if n not in seen:
            seen[n] = f(n)
        return seen[n]

    return g


"""
OPENED = '''def opened(log):
    """Log.

    >>> log = []
    >>> with opened(log):
    ...     log.append(1)
    >>> log
    ['in', 1]
    """
'''


@pytest.mark.parametrize(
    ("reply", "name", "text", "decorator"),
    [
        (f"from functools import cache\n\n@cache\n{RECURSIVE}", "fib", FIB, "@cache\ndef fib"),
        (f"{MEMO}@memo\n{RECURSIVE}", "fib", FIB, "@memo\ndef fib"),
        (
            "import contextlib\n\n@contextlib.contextmanager\ndef opened(log):\n    log.append('in')\n    yield\n",
            "opened",
            OPENED,
            "@contextlib.contextmanager\ndef opened",
        ),
    ],
)
def test_a_decorator_that_a_function_needs_comes_along(
    desk: Desk, reply: str, name: str, text: str, decorator: str
) -> None:
    result, written = apply(desk, fence(reply), name, text)
    assert result["status"] == "verified"
    assert decorator in written
    assert any(note.endswith("was added.") for note in result["notes"])


def test_what_is_left_out_is_said(desk: Desk) -> None:
    reply = f"@app.route('/')\n{WHOLE}\n\ndef other(values):\n    return 1\n\n\ndef more():\n    return 2\n"
    result, text = apply(desk, fence(reply), "mean", MEAN)
    assert result["status"] == "verified"
    assert result["notes"] == [
        "The reply's decorator @app.route('/') was left out.",
        "Left out of the reply: 'other', 'more'.",
    ]
    assert "route" not in text


LOOP = "def fib(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a\n"
PROGRAMS = {
    "its own parameter": """
def fib(n, seen={}):
    if n not in seen:
        seen[n] = n if n < 2 else fib(n - 1, seen) + fib(n - 2, seen)
    return seen[n]
""",
    "accumulators": """
def fib(n, a=0, b=1):
    return a if n == 0 else fib(n - 1, b, a + b)
""",
    "keyword only": """
def fib(n, *, a=0, b=1):
    return a if n == 0 else fib(n - 1, a=b, b=a + b)
""",
    "a table from a loop": """
T = [0, 1]
for _ in range(200):
    T.append(T[-1] + T[-2])

def fib(n):
    return T[n]
""",
    "a table filled below": """
def fib(n):
    return T[n]

T = [0, 1]
while len(T) < 200:
    T.append(T[-1] + T[-2])
""",
    "a table filled by a call": """
def fill(table):
    table += [0, 1]

T = []
fill(T)

def fib(n):
    while len(T) <= n:
        T.append(T[-1] + T[-2])
    return T[n]
""",
    "a guarded import": """
try:
    from operator import add as plus
except ImportError:
    plus = None

"""
    + LOOP.replace("a + b", "plus(a, b)"),
    "a helper under a condition": """
import sys

if sys.version_info > (3,):
    def plus(a, b):
        return a + b

"""
    + LOOP.replace("a + b", "plus(a, b)"),
    "an attribute set later": "class Start:\n    pass\n\nStart.a = 0\n\n" + LOOP.replace("= 0", "= Start.a"),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_that_runs_still_runs_in_place(desk: Desk, program: str) -> None:
    result, _ = apply(desk, program, "fib", FIB)
    assert result["status"] == "verified"
