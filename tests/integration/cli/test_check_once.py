"""`adacoder check` imports a module once for all its docstrings, but no docstring sees the effects of another."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from adacoder.sandbox import desks, importers
from adacoder.sandbox.process import forked
from support.commandline import Desk, Ran
from support.standins.ollama import PATIENCE

if TYPE_CHECKING:
    from adacoder.sandbox.process import Evaluation
    from adacoder.sandbox.wire import Channel

pytestmark = pytest.mark.isolation

TOLD = '''{header}
import os

TOKEN = os.urandom(8).hex()


def one():
    """
    >>> one()
    """
    return TOKEN


def other():
    """
    >>> other()
    """
    return TOKEN
'''
"""The outputs of two docstrings, which are equal if both use the same import of the module."""
GOOD = 'def {0}():\n    """\n    >>> {0}()\n    {1}\n    """\n    return {1}\n\n\n'
LEFT = {
    "threads": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "threads of no Python": "import _thread, time\n_thread.start_new_thread(time.sleep, (60,))",
    "open files": "file = open(__file__)",
    "files in its folder": "open('left', 'w').close()",
    "the current folder": "import os\nos.chdir('/')",
    "shared memory": (
        "import ctypes, os\nwith open('x', 'wb+') as file:\n    file.truncate(4096)\n"
        "    ctypes.CDLL(None).mmap(None, ctypes.c_size_t(4096), 3, 1, file.fileno(), ctypes.c_long(0))\nos.remove('x')"
    ),
}
"""Effects of an import that a forked process does not inherit."""
CHANGED = {
    "the environment": "import os\nos.environ['CHANGED'] = '1'",
    "sys.path": "import sys\nsys.path.append('/nowhere')",
    "signal handlers": "import signal\nsignal.signal(signal.SIGUSR1, lambda *_: None)",
}


def gave(ran: Ran) -> list[str]:
    return [result["failure"]["got"] for result in ran.objects]


def statuses(ran: Ran) -> dict[str, str]:
    return {result["target"]: result["status"] for result in ran.objects}


def test_an_import_may_lose_its_caches(desk: Desk) -> None:
    """If a docstring fails because a cache was lost, it runs again with its own import of the module."""
    header = "import os\n\nPLACE = os.path.expanduser('~/.cache/fonts')\nos.makedirs(PLACE)\n\n\n"
    needs = 'def needs():\n    """\n    >>> needs()\n    True\n    """\n    return os.path.isdir(PLACE)\n\n\n'
    desk.write(header + GOOD.format("f", 1) + needs + GOOD.format("g", 2), "a.py")
    ran = desk.run("check", "--json")
    assert statuses(ran) == {"a.py::f": "verified", "a.py::needs": "verified", "a.py::g": "verified"}
    assert [result["notes"] for result in ran.objects] == [[], [], []], "no note on another import"


def test_a_module_is_imported_once(desk: Desk) -> None:
    desk.write(TOLD.format(header=""), "told.py")
    one, other = gave(desk.run("check", "--json"))
    assert one == other
    assert not any(result["notes"] for result in desk.run("check", "--json").objects)


@pytest.mark.parametrize("what", LEFT)
def test_what_cannot_be_forked_is_imported_anew_for_each_docstring_and_told(what: str, desk: Desk) -> None:
    desk.write(TOLD.format(header=LEFT[what]), "told.py")
    desk.write(GOOD.format("f", 1), "beside.py")
    ran = desk.run("check", "--json")
    beside, *told = ran.objects
    assert beside["status"] == "verified"
    assert beside["notes"] == []
    assert len({result["failure"]["got"] for result in told}) == 2
    left = what.partition(" of no")[0]
    for result in told:
        (note,) = result["notes"]
        assert note.startswith(f"The import of 'told' leaves {left}")


@pytest.mark.parametrize("what", CHANGED)
def test_what_an_import_changes_is_told_and_changes_nothing_for_other_modules(what: str, desk: Desk) -> None:
    look = (
        'def look():\n    """\n    >>> look()\n    """\n    import os, signal, sys\n'
        "    return 'CHANGED' in os.environ, '/nowhere' in sys.path, bool(signal.getsignal(signal.SIGUSR1))\n"
    )
    desk.write(f"{CHANGED[what]}\n\n\n{look}", "a_changes.py")
    desk.write(look, "beside.py")
    ran = desk.run("check", "--json")
    changes, beside = ran.objects
    assert gave(ran) == ["({}, {}, {})\n".format(*(name == what for name in CHANGED)), "(False, False, False)\n"]
    assert changes["notes"] == [f"The import of 'a_changes' changes {what}."]
    assert beside["notes"] == []


def test_no_docstring_sees_what_another_did(desk: Desk) -> None:
    one = '''

def f{0}():
    """
    >>> len(SEEN), hasattr(os, "mark"), os.path.exists("mark"), "mark" in globals()
    (0, False, False, False)
    >>> SEEN.append(1); os.mark = mark = open("mark", "w")
    >>> len(SEEN), hasattr(os, "mark"), os.path.exists("mark"), "mark" in globals()
    (1, True, True, True)
    >>> f{0}()
    {0}
    """
    return {0}
'''
    desk.write("import os\n\nSEEN = []\n" + "".join(one.format(number) for number in range(8)))
    ran = desk.run("check", "--json")
    assert {result["status"] for result in ran.objects} == {"verified"}
    assert len(ran.objects) == 8


def test_modules_of_one_name_in_two_folders_are_each_their_own(desk: Desk) -> None:
    for number, folder in enumerate(("a", "b")):
        desk.write(f"VALUE = {number}\n", f"{folder}/common.py")
        desk.write(f"from common import VALUE\n\n\n{GOOD.format('f', number)}", f"{folder}/module.py")
        desk.write(GOOD.format("f", number), f"{folder}/pkg/__init__.py")
    desk.write(f"from common import VALUE\n\n\n{GOOD.format('f', 'VALUE + 5')}", "b/wrong.py")
    ran = desk.run("check", "--json")
    assert statuses(ran) == {
        "a/module.py::f": "verified",
        "a/pkg/__init__.py::f": "verified",
        "b/module.py::f": "verified",
        "b/pkg/__init__.py::f": "verified",
        "b/wrong.py::f": "failed",
    }
    (wrong,) = [each["failure"] for each in ran.objects if each["status"] == "failed"]
    assert wrong["got"] == "6\n"


def test_a_package_is_imported_with_what_it_imports_and_the_rest_by_itself(desk: Desk) -> None:
    desk.write("import os\nfrom . import eager\n\nTOKEN = os.urandom(8).hex()\n", "pkg/__init__.py")
    desk.write(GOOD.format("f", 1), "pkg/eager.py")
    lazy = f"from .eager import f\nfrom . import TOKEN\n\n\n{GOOD.format('g', 2)}"
    token = 'def told():\n    """\n    >>> told()\n    """\n    return TOKEN\n'
    desk.write(lazy + token, "pkg/lazy.py")
    desk.write(lazy + token, "pkg/sub/__init__.py".replace("__init__", "deep"))
    desk.write("", "pkg/sub/__init__.py")
    (desk.folder / "pkg/sub/deep.py").write_text((lazy + token).replace("from .", "from .."), "utf-8")
    ran = desk.run("check", "--json")
    assert statuses(ran) == {
        "pkg/eager.py::f": "verified",
        "pkg/lazy.py::g": "verified",
        "pkg/lazy.py::told": "failed",
        "pkg/sub/deep.py::g": "verified",
        "pkg/sub/deep.py::told": "failed",
    }
    tokens = [result["failure"]["got"] for result in ran.objects if result["failure"]]
    assert len(tokens) == 2
    assert len(set(tokens)) == 1, "one process imported the package for all of its modules"


@pytest.mark.parametrize("where", ["a.py", "pkg/__init__.py"])
def test_docstrings_share_the_failure_of_an_import(where: str, desk: Desk) -> None:
    """Each attempt would give another message."""
    functions = "".join(GOOD.format(f"f{number}", number) for number in range(100))
    desk.write(f"import os\n\nraise ValueError(os.urandom(8).hex())\n\n\n{functions}", where)
    ran = desk.run("check", "--json")
    assert set(statuses(ran).values()) == {"failed"}
    assert 1 <= len({result["reason"] for result in ran.objects}) < 50


@pytest.mark.parametrize(
    "how", ["raise ValueError('no')", "import nowhere", "while True: pass", "import os; os._exit(0)"]
)
def test_an_import_that_goes_wrong_fails_its_own_docstrings_only(how: str, desk: Desk) -> None:
    desk.write(f"{how}\n\n\n{GOOD.format('f', 1)}", "a_wrong.py")
    desk.write(f"{how}\n", "pkg/__init__.py")
    desk.write(GOOD.format("f", 1), "pkg/module.py")
    desk.write(GOOD.format("f", 1), "right.py")
    ran = desk.run("check", "--json", "--timeout", "1")
    assert statuses(ran) == {"a_wrong.py::f": "failed", "pkg/module.py::f": "failed", "right.py::f": "verified"}
    assert ran.code == 1


def test_each_docstring_has_its_own_time_and_its_own_end(desk: Desk) -> None:
    ways = {"spin": "while True: pass", "leave": "import os; os._exit(0)", "fork": "import os; return os.fork() and 1"}
    text = "".join(
        f'def {name}():\n    """\n    >>> {name}()\n    1\n    """\n    {body}\n\n\n' for name, body in ways.items()
    )
    desk.write(GOOD.format("before", 1) + text + GOOD.format("since", 1))
    ran = desk.run("check", "--json", "--timeout", "1")
    kinds = {
        result["target"].rpartition(":")[2]: result["failure"] and result["failure"]["kind"] for result in ran.objects
    }
    assert kinds == {"before": None, "spin": "timed_out", "leave": "killed", "fork": "denied", "since": None}


def doctest(path: object) -> int:
    run = subprocess.run([sys.executable, "-m", "doctest", str(path)], stdout=subprocess.DEVNULL, timeout=PATIENCE)
    return run.returncode


def test_what_a_module_deletes_is_not_checked_as_in_doctest(desk: Desk) -> None:
    path = desk.write(GOOD.format("gone", 1).replace("return 1", "return 2") + "del gone\n", "a.py")
    ran = desk.run("check", "--json")
    (result,) = ran.objects
    assert (result["status"], result["failure"], ran.code) == ("unverified", None, 0)
    assert result["examples"] == {"passed": 0, "total": 0}
    assert result["reason"] == (
        "The imported module does not define 'gone', and doctest does not find it: it was not checked."
    )
    assert desk.run("check", "a.py::gone").code == 1, "it was asked for by name"
    assert doctest(path) == 0
    kept = desk.write(path.read_text("utf-8").replace("del gone\n", ""), "a.py")
    assert desk.run("check").code == doctest(kept) == 1


def test_an_example_that_uses_what_was_deleted_fails_as_in_doctest(desk: Desk) -> None:
    using = "def helper():\n    return 1\n\n\n" + GOOD.format("f", 1).replace(">>> f()", ">>> helper()")
    path = desk.write(using, "a.py")
    assert doctest(path) == 0
    assert desk.run("check").code == 0
    path = desk.write(using + "del helper\n", "a.py")
    ran = desk.run("check", "--json")
    assert ran.code == doctest(path) == 1
    assert "NameError" in ran.objects[0]["failure"]["error"]


@pytest.mark.parametrize("place", ["pkg/__init__.py", "pkg/eager.py", "pkg/lazy.py", "flat.py"])
def test_who_runs_the_function_is_observed_wherever_it_was_imported(place: str, desk: Desk) -> None:
    desk.write("", "pkg/__init__.py")
    desk.write("", "pkg/eager.py")
    runs = GOOD.format("f", 1)
    desk.write(runs + runs.replace("def f", "def never"), place)
    if place.startswith("pkg/"):
        init = desk.folder / "pkg/__init__.py"
        init.write_text("from . import eager\n" + init.read_text("utf-8"), "utf-8")
    ran = desk.run("check", "--json")
    assert statuses(ran) == {f"{place}::f": "verified", f"{place}::never": "unverified"}


def test_a_file_may_be_a_program_or_have_no_module_s_name(desk: Desk) -> None:
    desk.write(f"{GOOD.format('f', 1)}if __name__ == '__main__':\n    raise SystemExit(3)\n", "my-script.py")
    desk.write(GOOD.format("f", 1), "pkg/__main__.py")
    desk.write("", "pkg/__init__.py")
    desk.write(GOOD.format("choice", 1), "random.py")
    assert set(statuses(desk.run("check", "--json")).values()) == {"verified"}


def test_what_a_docstring_is_about_to_use_is_not_ended_for_other_modules(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = 3 * (importers.MOST + 1)
    for number in range(modules):
        desk.write(GOOD.format("f", 1), f"module{number}.py")
    slow = itertools.cycle([0.2, 0.0])
    alive: list[bool] = []

    async def slowly(parent: Channel, turn: asyncio.Lock, slot: int, *kind: str, **named: Any) -> Evaluation:
        evaluation = await forked(parent, turn, slot, *kind, **named)
        if kind == ("desk",):
            await asyncio.sleep(next(slow))
            alive.append(evaluation.alive)
        return evaluation

    monkeypatch.setattr(desks, "forked", slowly)
    assert set(statuses(desk.run("check", "--json")).values()) == {"verified"}
    assert alive == [True] * modules


def test_coverage_is_told_of_modules_that_were_imported_once(desk: Desk) -> None:
    text = 'def f(x):\n    """\n    >>> f(1)\n    1\n    """\n    if x:\n        return 1\n    return 2\n'
    desk.write(text, "pkg/__init__.py")
    ran = desk.run("check", "--coverage")
    assert "return 2" in ran.out
    assert ran.code == 0
