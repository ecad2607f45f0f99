"""`adacoder compare` shows where a function differs from an earlier version."""

from __future__ import annotations

import subprocess

import pytest

from support.commandline import SOLVED, STUB, WRONG, Desk
from support.repository import git

pytestmark = pytest.mark.isolation

JOINING = '''"""Texts."""

SEPARATOR = "-"


def slug(text):
    """A text for an address.

    >>> slug("Hello World")
    'hello-world'
    """
    return SEPARATOR.join(text.lower().split())


class Stack:
    """Values.

    >>> stack = Stack([1, 2])
    >>> stack.push(3)
    >>> stack.values
    [1, 2, 3]
    """

    def __init__(self, values):
        self.values = list(values)

    def push(self, value):
        """Add a value."""
        self.values.append(value)
'''


@pytest.fixture
def repository(desk: Desk) -> Desk:
    """A workspace whose file `texts.py` is committed."""
    desk.write(JOINING, "texts.py")
    git(desk.folder, "init", "--quiet")
    git(desk.folder, "add", "texts.py")
    git(desk.folder, "commit", "--quiet", "--message", "First")
    return desk


def test_a_version_in_a_commit_is_compared(repository: Desk) -> None:
    repository.write(JOINING.replace(".split()", ".split(' ')"), "texts.py")
    ran = repository.run("compare", "texts.py::slug", "--against", "HEAD", "--json")
    assert (ran.code, ran.err) == (1, "")
    (found,) = ran.objects
    assert found["function"] == "texts.py::slug"
    assert found["differs"][0] == {"call": "slug(' ')", "here": "'-'", "there": "''"}
    assert found["agreed"] == found["inputs"] - len(found["differs"])


def test_what_a_function_uses_is_its_own_versions(repository: Desk) -> None:
    repository.write(JOINING.replace('SEPARATOR = "-"', 'SEPARATOR = "_"'), "texts.py")
    ran = repository.run("compare", "texts.py::slug", "--against", "HEAD")
    assert ran.code == 1
    assert "    was 'hello-world'\n    now 'hello_world'\n" in ran.out


def test_a_method_is_compared_with_the_examples_of_its_class(repository: Desk) -> None:
    repository.write(
        JOINING.replace("        self.values.append", "        value in self.values or self.values.append"), "texts.py"
    )
    ran = repository.run("compare", "texts.py::Stack.push", "--against", "HEAD")
    assert ran.code == 1
    assert "  stack = Stack([2]); stack.push(2); stack.values\n    was [2, 2]\n    now [2]\n" in ran.out


def test_without_a_difference_all_functions_of_the_file_are_named(repository: Desk) -> None:
    new = '\n\ndef new(n):\n    """New.\n\n    >>> new(1)\n    1\n    """\n    return n\n'
    repository.write(JOINING.replace("text.lower().split()", "str.split(text.lower())") + new, "texts.py")
    ran = repository.run("compare", "texts.py", "--against", "HEAD")
    assert ran.code == 0
    slug, push = ran.out.splitlines()
    assert slug.startswith("texts.py::slug: same as in HEAD on ")
    assert push.startswith("texts.py::Stack.push: same as in HEAD on ")
    assert ran.err == "'new' is not in HEAD, so there is nothing to compare it with.\n"


def test_a_file_in_which_nothing_could_be_compared_is_not_the_same(desk: Desk) -> None:
    desk.write(SOLVED)
    desk.write("x = 1\n", "before.py")
    ran = desk.run("compare", "shapes.py", "--against", "before.py", "--json")
    assert ran.code == 2
    (found,) = ran.objects
    assert (found["function"], found["reason"]) == ("shapes.py::hypotenuse", ran.error_lines[0])
    assert ran.error_lines[1].endswith("could be compared: name another version than before.py.")


def test_a_version_in_a_file_is_compared(desk: Desk) -> None:
    desk.write(WRONG)
    desk.write(SOLVED, "before.py")
    ran = desk.run("compare", "shapes.py::hypotenuse", "--against", "before.py")
    assert ran.code == 1
    assert "  hypotenuse(3, 4)\n    was 5.0\n    now 7.0\n" in ran.out
    assert desk.run("compare", "before.py::hypotenuse", "--against", "before.py").code == 0


def test_the_file_may_be_anywhere_but_not_private(desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    desk.write(SOLVED)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for name in ("before.py", ".env"):
        (elsewhere / name).write_text(SOLVED, encoding="utf-8")
    assert desk.run("compare", "shapes.py::hypotenuse", "--against", elsewhere / "before.py").code == 0
    ran = desk.run("compare", "shapes.py::hypotenuse", "--against", elsewhere / ".env")
    assert (ran.code, ran.out) == (2, "")
    assert "is private (its name)" in ran.err


@pytest.mark.parametrize(
    ("text", "against", "told"),
    [
        (SOLVED, "HEAD~9", "git finds no shapes.py in 'HEAD~9': name a commit that has it."),
        (SOLVED, "--output=x", "'--output=x' is neither a file nor the name of a commit."),
        (SOLVED, "HEAD:x", "'HEAD:x' is neither a file nor the name of a commit."),
        (SOLVED, "other.py", "'hypotenuse' is not in other.py, so there is nothing to compare it with."),
        (STUB.replace(">>>", ">>"), "shapes.py", "'hypotenuse' has no examples to make inputs from"),
        (SOLVED.replace("import", "impor").replace('"""Shapes."""', "raise OSError"), "shapes.py", "raised OSError"),
    ],
)
def test_what_cannot_be_compared_is_told(text: str, against: str, told: str, desk: Desk) -> None:
    desk.write(text)
    desk.write("x = 1\n", "other.py")
    ran = desk.run("compare", "shapes.py::hypotenuse", "--against", against)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert len(ran.error_lines) == 1


DISPATCHING = '''import functools


@functools.singledispatch
def size(x):
    """The size.

    >>> size(7)
    7
    """
    return x


@size.register
def _(x: list):
    """Of a list.

    >>> size([1, 2, 3, 4, 5])
    5
    """
    return len(x)


@size.register
def _(x: str):
    """Of a text.

    >>> size("abcde")
    5
    """
    return len(x)
'''


def test_functions_of_one_name_are_paired_in_their_order(desk: Desk) -> None:
    desk.write(DISPATCHING, "before.py")
    desk.write(DISPATCHING.replace("return len(x)", "return min(len(x), 5)", 1), "sizes.py")
    ran = desk.run("compare", "sizes.py", "--against", "before.py", "--json")
    assert ran.code == 1
    assert [(found["function"], bool(found["differs"])) for found in ran.objects] == [
        ("sizes.py::size", False),
        ("sizes.py::_", True),
        ("sizes.py::_", False),
    ]


def test_functions_of_one_name_that_cannot_be_paired_are_told(desk: Desk) -> None:
    desk.write(DISPATCHING.rpartition("\n\n@size")[0], "before.py")
    desk.write(DISPATCHING, "sizes.py")
    ran = desk.run("compare", "sizes.py", "--against", "before.py")
    assert ran.code == 2
    assert "'_' has 2 definitions in " in ran.err
    assert "sizes.py::size: same as in before.py" in ran.out


def test_nothing_that_a_repository_names_is_run(repository: Desk) -> None:
    """Control: git itself runs the program that the repository names."""
    folder, ran = repository.folder, repository.folder / "ran"
    program = folder / "program.sh"
    program.write_text(f"#!/bin/sh\necho ran >> {ran}\n", encoding="utf-8")
    program.chmod(0o755)
    (folder / ".gitattributes").write_text("*.py diff=theirs filter=theirs\n", encoding="utf-8")
    settings = {
        "diff.theirs.textconv": program,
        "diff.theirs.command": program,
        "diff.external": program,
        "filter.theirs.smudge": program,
        "filter.theirs.clean": program,
        "core.fsmonitor": program,
        "core.pager": program,
        "pager.cat-file": program,
        "core.sshCommand": program,
        "core.hooksPath": folder,
        "alias.cat-file": f"!{program}",
        "remote.origin.url": f"ext::{program}",
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
        "protocol.ext.allow": "always",
    }
    for name, value in settings.items():
        git(folder, "config", name, str(value))
    for against in ("HEAD", "0" * 39 + "1", "HEAD~9"):
        repository.run("compare", "texts.py::slug", "--against", against)
    assert not ran.exists()
    repository.write(f"{JOINING}\n", "texts.py")
    subprocess.run(["git", "diff"], cwd=folder, check=False, capture_output=True)
    assert ran.exists()
