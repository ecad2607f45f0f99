"""A project's `conftest.py` runs only in isolation, whatever needs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.commandline import Desk

pytestmark = pytest.mark.isolation

CONFTEST = """import pytest

{use}


def mark(what):
    with open({mark!r}, "a") as file:
        file.write(what)


try:
    mark("import")
except OSError:
    pass


@pytest.fixture(autouse=True)
def leave(doctest_namespace):
    try:
        mark("fixture")
    except OSError:
        doctest_namespace["f"] = lambda: 2
"""
MODULE = 'def f():\n    """\n    >>> f()\n    1\n    """\n    return 1\n'


@pytest.mark.parametrize("use", ["", "collect_ignore = ['other.py']"])
def test_it_cannot_write_outside(use: str, desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    mark: Path = tmp_path_factory.mktemp("outside") / "mark"
    desk.write(CONFTEST.format(use=use, mark=str(mark)), "conftest.py")
    desk.write(MODULE, "mod.py")
    desk.write(MODULE, "other.py")
    ran = desk.run("check", "--json")
    assert not mark.exists()
    assert [each["status"] for each in ran.objects if each["target"] == "mod.py::f"] == ["failed"]
    command = [sys.executable, "-m", "pytest", "-q", "--doctest-modules", "-p", "no:cacheprovider", "mod.py"]
    subprocess.run(command, cwd=desk.folder, capture_output=True, check=False, timeout=120)
    assert mark.read_text("utf-8") == "importfixture", "the control does the harm"


def test_a_name_of_a_fixture_cannot_prove_a_function(desk: Desk) -> None:
    """The fixture's name replaces the function in the examples, which the observer notices."""
    conftest = "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef names(doctest_namespace):\n    "
    desk.write(conftest + "doctest_namespace['f'] = lambda: 1\n", "conftest.py")
    desk.write(MODULE, "mod.py")
    (found,) = desk.run("check", "--json", "mod.py").objects
    assert found["status"] == "unverified"
    desk.write(conftest + "doctest_namespace['g'] = lambda: 1\n", "conftest.py")
    (found,) = desk.run("check", "--json", "mod.py").objects
    assert found["status"] == "verified"
