"""Docstrings of a module share a process, but each gets the same verdict as alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from support.commandline import Desk
from support.standins.ollama import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.isolation

PAIR = '''{header}


def first():
    """
    >>> {change}
    >>> first()
    1
    """
    return 1


def second():
    """
    >>> {look}
    {value}
    >>> second()
    2
    """
    return 2
'''
CLASS = (
    "class Thing:\n    made = 0\n    names = []\n\n    def speak(self):\n        return 'quiet'\n\n\nTHING = Thing()"
)
ON = """def counting(n=0):
    def on():
        nonlocal n
        n += 1
        return n

    return on


count = counting()"""
LEAKS = {
    "a global": (
        "LIMIT = 1\n\n\ndef raise_it():\n    global LIMIT\n    LIMIT = 2",
        "raise_it()",
        "vars(MODULE)['LIMIT']",
        1,
    ),
    "a deleted global": ("LIMIT = 1", "del vars(MODULE)['LIMIT']", "hasattr(MODULE, 'LIMIT')", True),
    "a new global": ("", "MODULE.EXTRA = 3", "hasattr(MODULE, 'EXTRA')", False),
    "a list": ("SEEN = []", "SEEN.append(1)", "SEEN", []),
    "a dict": ("SEEN = {}", "SEEN['a'] = 1", "SEEN", {}),
    "a value of a dict": ("SEEN = {'a': 1}", "SEEN['a'] = 2", "SEEN", {"a": 1}),
    "a set": ("SEEN = set()", "SEEN.add(1)", "len(SEEN)", 0),
    "a nested list": ("SEEN = {'a': ([],)}", "SEEN['a'][0].append(1)", "SEEN", {"a": ([],)}),
    "a deque": ("from collections import deque\nSEEN = deque()", "SEEN.append(1)", "len(SEEN)", 0),
    "a counter": ("from collections import Counter\nSEEN = Counter()", "SEEN.update('a')", "len(SEEN)", 0),
    "a default dict": ("from collections import defaultdict\nSEEN = defaultdict(int)", "_ = SEEN['a']", "len(SEEN)", 0),
    "a list of a subclass": ("class Own(list):\n    pass\n\n\nSEEN = Own()", "SEEN.append(1)", "len(SEEN)", 0),
    "a byte array": ("SEEN = bytearray(2)", "SEEN[0] = 1", "SEEN[0]", 0),
    "an array": ("import array\nSEEN = array.array('i', [0])", "SEEN[0] = 1", "SEEN[0]", 0),
    "an iterator": ("import itertools\nNUMBERS = itertools.count()", "_ = next(NUMBERS)", "next(NUMBERS)", 0),
    "a generator": ("NUMBERS = (n for n in range(9))", "_ = next(NUMBERS)", "next(NUMBERS)", 0),
    "an attribute of a class": (CLASS, "Thing.made = 1", "Thing.made", 0),
    "a list of a class": (CLASS, "Thing.names.append(1)", "Thing.names", []),
    "a method": (CLASS, "Thing.speak = lambda self: 'loud'", "THING.speak()", "quiet"),
    "an attribute of an object": (CLASS, "THING.made = 1", "THING.made", 0),
    "a slot": ("class Slim:\n    __slots__ = ('a',)\n\n\nSLIM = Slim()\nSLIM.a = 0", "SLIM.a = 1", "SLIM.a", 0),
    "a namespace": (
        "from types import SimpleNamespace\nOPTIONS = SimpleNamespace(a=0)",
        "OPTIONS.a = 1",
        "OPTIONS.a",
        0,
    ),
    "an attribute of a function": (
        "def called():\n    pass\n\n\ncalled.times = 0",
        "called.times += 1",
        "called.times",
        0,
    ),
    "a default": ("def add(to=[]):\n    to.append(1)\n    return len(to)", "_ = add()", "add()", 1),
    "a variable of an outer function": (
        ON,
        "_ = count()",
        "count()",
        1,
    ),
    "a registered subclass": (
        "KINDS = []\n\n\nclass Base:\n    def __init_subclass__(cls):\n        KINDS.append(cls.__name__)",
        "_ = type('New', (Base,), {})",
        "KINDS",
        [],
    ),
    "a registered function": (
        "from functools import singledispatch\n\n\n@singledispatch\ndef say(x):\n    return 'any'",
        "_ = say.register(int, lambda x: 'int')",
        "say(1)",
        "any",
    ),
    "a global of another module": ("import helper", "helper.LIMIT = 2", "helper.LIMIT", 1),
    "a list of another module": ("import helper", "helper.SEEN.append(1)", "helper.SEEN", []),
    "a list of a module that only an example imports": (
        "",
        "import helper\n    >>> helper.SEEN.append(1)",
        "__import__('helper').SEEN",
        [],
    ),
    "a function of the library": ("import time", "time.time = lambda: 0", "time.time() > 0", True),
    "a class of the library": (
        "from json import JSONEncoder",
        "JSONEncoder.indent = 9",
        "hasattr(JSONEncoder, 'indent')",
        False,
    ),
    "a built-in": ("import builtins", "builtins.shout = str.upper", "hasattr(builtins, 'shout')", False),
    "a module": ("import json, sys", "sys.modules['json'] = None", "sys.modules['json'] is json", True),
    "the environment": ("import os", "os.environ['LEAK'] = '1'", "'LEAK' in os.environ", False),
    "the folder": ("import os", "os.chdir('/')", "os.getcwd() == '/'", False),
    "a file": ("import os", "open('left', 'w').close()", "os.path.exists('left')", False),
    "an open file": ("import os", "_ = os.dup2(0, 40)", "is_open(40)", False),
    "a thread": (
        "import threading, time",
        "threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
        "threading.active_count()",
        1,
    ),
    "filters of warnings": (
        "import warnings",
        "warnings.simplefilter('error')",
        "warnings.filters[0][0] == 'error'",
        False,
    ),
    "a logger": ("import logging", "logging.getLogger().setLevel(10)", "logging.getLogger().level == 10", False),
    "decimal": ("import decimal", "decimal.getcontext().prec = 3", "decimal.getcontext().prec", 28),
    "a context variable": (
        "from contextvars import ContextVar\nVAR = ContextVar('VAR', default=0)",
        "_ = VAR.set(1)",
        "VAR.get()",
        0,
    ),
    "sys.path": ("import sys", "sys.path.append('/nowhere')", "'/nowhere' in sys.path", False),
    "an import hook": ("import sys", "sys.meta_path.append(None)", "None in sys.meta_path", False),
    "a signal handler": (
        "import signal",
        "_ = signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
        "signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN",
        False,
    ),
    "the umask": ("import os", "_ = os.umask(0o7)", "os.umask(0o7) == 0o7", False),
    "an object in a list": (CLASS + "\nTHINGS = [Thing()]", "THINGS[0].made = 5", "THINGS[0].made", 0),
    "an object of an object": (CLASS + "\nTHING.other = Thing()", "THING.other.made = 5", "THING.other.made", 0),
    "an object of a class of the library": (
        "from collections import UserDict\nSEEN = UserDict()",
        "SEEN['a'] = 1",
        "len(SEEN)",
        0,
    ),
    "a new method": (CLASS, "Thing.shout = lambda self: 'loud'", "hasattr(Thing, 'shout')", False),
    "a new function": ("", "MODULE.shout = lambda: 'loud'", "hasattr(MODULE, 'shout')", False),
    "a key": ("SEEN = {'a': None}", "SEEN['b'] = SEEN.pop('a')", "SEEN", {"a": None}),
    "a list with a bound method": ("SEEN = []\nadd = SEEN.append", "add(1)", "len(SEEN)", 0),
    "an argument of a partial function": (
        "from functools import partial\nadd = partial(list.append, [])\nSEEN = add.args",
        "add(1)",
        "SEEN",
        ([],),
    ),
    "an iterator of a list": ("NUMBERS = iter([1, 2, 3])", "_ = next(NUMBERS)", "next(NUMBERS)", 1),
    "a private global": ("_limit = None", "MODULE._limit = 3", "MODULE._limit is None", True),
    "a registered class": (
        "from abc import ABC\n\n\nclass Own(ABC):\n    pass",
        "_ = Own.register(int)",
        "isinstance(1, Own)",
        False,
    ),
    "standard input": ("import io, sys", "sys.stdin = io.StringIO('x')", "sys.stdin is sys.__stdin__", True),
    "a setting before an import": (
        "import decimal",
        "decimal.getcontext().prec = 3\n    >>> import colorsys",
        "decimal.getcontext().prec",
        28,
    ),
    "an import that a function needs": (
        "import xml.dom\n\n\ndef parse():\n    return xml.dom.minidom.__name__",
        "import xml.dom.minidom",
        "hasattr(xml.dom, 'minidom') and parse()",
        False,
    ),
    "the collector": ("import gc", "gc.disable()", "gc.isenabled()", True),
}
"""Changes by the first docstring. Each has code for the module's top, the change, the expression in the second
docstring, and its value without the change.
"""
RESTORED = {
    "random numbers": (
        "import random\nSTATE = hash(random.getstate())",
        "random.seed(3)",
        "hash(random.getstate()) == STATE",
        True,
    ),
    "an own generator": (
        "import random\nOWN = random.Random(1)",
        "_ = OWN.random()",
        "OWN.random()",
        0.13436424411240122,
    ),
    "a cache": (
        "from functools import lru_cache\n\n\n@lru_cache\ndef slow(n):\n    return n",
        "_ = slow(1)",
        "slow.cache_info().currsize",
        0,
    ),
    "the last value": ("import builtins", "7 and None", "hasattr(builtins, '_')", False),
    "the arguments": ("import sys", "sys.argv.append('more')", "len(sys.argv)", 1),
    "a cache in the home folder": (
        "import os",
        "os.makedirs(os.path.expanduser('~/.cache/fonts'))",
        "os.path.exists(os.path.expanduser('~/.cache'))",
        False,
    ),
    "the limit of recursion": ("import sys", "sys.setrecursionlimit(4321)", "sys.getrecursionlimit() == 4321", False),
}
"""Changes that are undone, or after which the second docstring runs again. No note reports them."""
COUNTING = """class Counting:
    _count = 0

    def next(self):
        self._count += 1
        return self._count


COUNT = Counting()
"""
START = """import sys

MODULE = sys.modules[__name__]


def is_open(number):
    import os

    try:
        os.fstat(number)
    except OSError:
        return False
    return True
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a module for each pair of docstrings."""
    made = tmp_path_factory.mktemp("pairs")
    (made / "pyproject.toml").touch()
    (made / "helper.py").write_text("LIMIT = 1\nSEEN = []\n", encoding="utf-8")
    for number, (header, change, look, value) in enumerate([*LEAKS.values(), *RESTORED.values()]):
        text = PAIR.format(header=START + header, change=change, look=look, value=repr(value))
        (made / f"pair_{number}.py").write_text(text, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def results(folder: Path) -> Mapping[str, Any]:
    """The results of one check of all pairs, by docstring."""
    command = [sys.executable, "-m", "adacoder", "check", "--json"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return {result["target"]: result for result in map(json.loads, ran.stdout.splitlines())}


@pytest.mark.parametrize("number", range(len(LEAKS)), ids=[*LEAKS])
def test_what_a_docstring_changes_is_told_and_changes_no_verdict(number: int, results: Mapping[str, Any]) -> None:
    first, second = (results[f"pair_{number}.py::{name}"] for name in ("first", "second"))
    assert (first["status"], second["status"]) == ("verified", "verified"), second["reason"]
    assert any(note.startswith("The examples change ") for note in first["notes"]), first["notes"]
    assert not any("change" in note for note in second["notes"])


@pytest.mark.parametrize("number", range(len(LEAKS), len(LEAKS) + len(RESTORED)), ids=[*RESTORED])
def test_what_does_not_end_the_process_changes_no_verdict(number: int, results: Mapping[str, Any]) -> None:
    first, second = (results[f"pair_{number}.py::{name}"] for name in ("first", "second"))
    assert (first["status"], second["status"]) == ("verified", "verified"), second["reason"]
    assert first["notes"] == []


def test_the_changes_are_real(folder: Path) -> None:
    """Control: in doctest, docstrings share a process, so the second one of most pairs fails."""
    passed = [
        name
        for number, name in enumerate([*LEAKS, *RESTORED])
        if not subprocess.run(
            [sys.executable, "-m", "doctest", f"pair_{number}.py"],
            cwd=folder,
            env={**os.environ, "HOME": str(folder)},
            capture_output=True,
            timeout=PATIENCE,
        ).returncode
    ]
    assert passed == []


def test_a_docstring_that_fails_after_others_runs_again_alone(desk: Desk) -> None:
    """Attributes with a leading underscore are not watched, because many of them are caches."""
    desk.write(COUNTING + PAIR.format(header="", change="_ = COUNT.next()", look="COUNT.next()", value=1), "a.py")
    first, second = desk.run("check", "--json").objects
    assert (first["status"], first["notes"]) == ("verified", [])
    assert second["status"] == "verified"
    assert second["notes"] == ["The examples pass alone, but fail after those of 'first'."]


def test_a_docstring_that_needs_the_import_of_another_fails(desk: Desk) -> None:
    text = "import xml.dom\n\n\n" + PAIR.format(
        header="", change="import xml.dom.minidom", look="xml.dom.minidom.__name__", value="'xml.dom.minidom'"
    )
    path = desk.write(text, "a.py")
    assert subprocess.run([sys.executable, "-m", "doctest", path], timeout=PATIENCE, check=False).returncode == 0
    assert [each["status"] for each in desk.run("check", "--json").objects] == ["verified", "partial"]
    importing = text.replace(">>> xml.dom.minidom", ">>> import xml.dom.minidom\n    >>> xml.dom.minidom")
    desk.write(importing, "a.py")
    assert [each["status"] for each in desk.run("check", "--json").objects] == ["verified", "verified"]


def test_docstrings_that_change_nothing_share_a_process(desk: Desk) -> None:
    """Control: the second docstring sees the attribute that is not watched, so both use one process."""
    desk.write(COUNTING + PAIR.format(header="", change="_ = COUNT.next()", look="COUNT.next()", value=2), "a.py")
    assert [each["status"] for each in desk.run("check", "--json").objects] == ["verified", "verified"]


def test_another_file_is_not_affected_by_what_examples_change(desk: Desk) -> None:
    desk.write(
        "import os\n" + PAIR.format(header="", change="os.mark = 1", look="hasattr(os, 'mark')", value="False"), "a.py"
    )
    desk.write(
        "import os\n" + PAIR.format(header="", change="hasattr(os, 'mark')\n    False", look="1", value="1"), "b.py"
    )
    assert {each["status"] for each in desk.run("check", "--json").objects} == {"verified"}


def test_random_numbers_are_the_same_in_each_docstring(desk: Desk) -> None:
    text = "import random\n\nrandom.seed(0)\n" + PAIR.format(
        header="", change="random.random()\n    0.8444218515250481", look="random.random()", value=0.8444218515250481
    )
    path = desk.write(text, "a.py")
    assert {each["status"] for each in desk.run("check", "--json").objects} == {"verified"}
    assert desk.run("check", f"{path}::second").code == 0


@pytest.mark.parametrize("end", ["time.sleep(20)", "os._exit(3)"])
def test_what_a_finalizer_does_says_nothing_about_the_examples(end: str, desk: Desk) -> None:
    text = f"import os, time\n\n\nclass Slow:\n    def __del__(self):\n        {end}\n" + PAIR.format(
        header="", change="slow = Slow()", look="1 + 1", value=2
    )
    desk.write(text, "a.py")
    assert [each["status"] for each in desk.run("check", "--json", "--timeout", "2").objects] == ["verified"] * 2


def test_each_docstring_has_its_own_processor_time(desk: Desk) -> None:
    one = """def f{0}():
    \"\"\"
    >>> f{0}()
    1
    \"\"\"
    end = time.process_time() + 0.5
    while time.process_time() < end:
        pass
    return 1


"""
    desk.write("import time\n\n\n" + "".join(one.format(number) for number in range(8)), "a.py")
    found = desk.run("check", "--json", "--timeout", "1").objects
    assert [(each["status"], each["notes"]) for each in found] == [("verified", [])] * 8


def test_a_module_with_too_many_objects_has_a_process_for_each_docstring(desk: Desk) -> None:
    many = "MANY = [[([],)] * 900 + [[] for _ in range(99)] for _ in range(999)]\n"
    desk.write(
        many + COUNTING + PAIR.format(header="", change="_ = COUNT.next()", look="COUNT.next()", value=1), "a.py"
    )
    first, second = desk.run("check", "--json").objects
    assert (first["status"], first["notes"]) == ("verified", [])
    assert (second["status"], second["notes"]) == ("verified", [])
