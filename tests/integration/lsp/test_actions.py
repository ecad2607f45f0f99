"""Which code actions are offered where, and in which form."""

from __future__ import annotations

from typing import Any

import pytest

from integration.lsp.client import Client
from integration.lsp.texts import STUB

pytestmark = pytest.mark.asyncio(loop_scope="session")

GENERATE = "refactor.rewrite.adacoder"
FIX = "quickfix"

TEXT = '''"""A module."""

LIMIT = 3


def stub(x):
    """Does something."""


def written(x):
    """Does something."""
    return x  # inside


def undocumented(x):
    return x  # bare


class Shape:
    """A shape."""

    SIDES = 4

    @property
    def area(self):
        """The area."""
        raise NotImplementedError

    def scaled(self, by):
        """Larger."""

        def inner(y):
            """Out of reach."""
            return y  # deep

        return inner(by)
'''


def kinds(actions: list[dict[str, Any]]) -> list[str]:
    return [action["kind"] for action in actions if "disabled" not in action]


def commands(actions: list[dict[str, Any]]) -> list[str]:
    return [action["command"]["command"].removeprefix("adacoder.server.") for action in actions]


@pytest.mark.parametrize(
    ("at", "offered"),
    [
        ("def stub", ["generate", "suggestExamples", "generateAll"]),
        ("def written", ["generate", "fix", "another", "suggestExamples"]),
        ("return x  # inside", ["generate", "fix", "another", "suggestExamples"]),
        ("def undocumented", ["writeDocstring"]),
        ("LIMIT", []),
        ("SIDES", []),
        ("@property", ["generate", "suggestExamples", "generateAll"]),
        ("raise NotImplementedError", ["generate", "suggestExamples", "generateAll"]),
        ("def scaled", ["generate", "fix", "another", "suggestExamples"]),
        ("return y  # deep", ["generate", "fix", "another", "suggestExamples"]),
    ],
)
async def test_what_is_offered(editor: Client, at: str, offered: list[str]) -> None:
    uri = await editor.open("shapes.py", TEXT)
    assert commands(await editor.actions(uri, at)) == offered


async def test_an_action_carries_its_command(editor: Client) -> None:
    uri = await editor.open("shapes.py", TEXT)
    generate, fix, *_ = await editor.actions(uri, "def scaled")
    assert (generate["title"], fix["title"]) == ("AdaCoder: generate function 'scaled'", "Fix with AdaCoder")
    assert generate["command"]["command"] == "adacoder.server.generate"
    assert fix["command"]["command"] == "adacoder.server.fix"
    (argument,) = generate["command"]["arguments"]
    assert (argument["uri"], argument["version"], argument["qualifiedName"]) == (uri, 1, "Shape.scaled")
    assert "isPreferred" not in generate | fix
    assert "edit" not in generate | fix
    assert generate["tags"] == fix["tags"] == [1]


@pytest.mark.parametrize(
    ("only", "offered"),
    [
        ([""], [GENERATE, FIX, GENERATE, GENERATE]),
        (["refactor"], [GENERATE, GENERATE, GENERATE]),
        (["refactor.rewrite"], [GENERATE, GENERATE, GENERATE]),
        (["refactor.rewrite.adacoder"], [GENERATE, GENERATE, GENERATE]),
        (["refactor.rewrite.ada"], []),
        (["quickfix"], [FIX]),
        (["quickfix", "refactor"], [GENERATE, FIX, GENERATE, GENERATE]),
        (["source", "refactor.extract"], []),
    ],
)
async def test_only_the_kinds_asked_for_are_offered(editor: Client, only: list[str], offered: list[str]) -> None:
    uri = await editor.open("shapes.py", TEXT)
    assert kinds(await editor.actions(uri, "def written", only)) == offered


@pytest.mark.parametrize(("at", "offered"), [("def stub", [GENERATE]), ("def written", [])])
async def test_only_a_stub_is_worth_a_lightbulb(editor: Client, at: str, offered: list[str]) -> None:
    uri = await editor.open("shapes.py", TEXT)
    assert kinds(await editor.actions(uri, at, trigger=2)) == offered
    assert kinds(await editor.actions(uri, at, trigger=None)) != []


@pytest.mark.parametrize(
    ("at", "only", "reason"),
    [
        ("def undocumented", ["refactor"], "has no docstring"),
        ("LIMIT", ["refactor"], "no function"),
        ("SIDES", ["refactor"], f"no function at line {TEXT[: TEXT.index('SIDES')].count(chr(10)) + 1} "),
        ("def stub", ["quickfix"], "no body yet"),
    ],
)
async def test_who_asks_for_a_kind_is_told_why_not(editor: Client, at: str, only: list[str], reason: str) -> None:
    uri = await editor.open("shapes.py", TEXT)
    (action,) = [each for each in await editor.actions(uri, at, only) if "disabled" in each]
    assert reason in action["disabled"]["reason"]
    assert "command" not in action
    assert all("disabled" not in each for each in await editor.actions(uri, at))


async def test_what_is_offered_follows_what_is_typed(editor: Client) -> None:
    uri = await editor.open("shapes.py", TEXT)
    await editor.change(uri, "def undocumented(x):\n", 'def undocumented(x):\n    """No more."""\n')
    generate, *_ = await editor.actions(uri, "# bare")
    assert generate["command"]["arguments"][0]["version"] == 2


async def test_a_broken_file_still_offers(editor: Client) -> None:
    uri = await editor.open("broken.py", f"x = (1,\n\n\n{TEXT}\n\ndef !!! (:\n")
    assert kinds(await editor.actions(uri, "def stub"))[:1] == [GENERATE]


@pytest.mark.parametrize(
    ("name", "text", "at", "reason"),
    [
        ("shapes.pyi", TEXT, "def stub", "shapes.pyi only declares types, and its code never runs: go to shapes.py."),
        ("a.py", "@overload\ndef f(x: int):\n    'Doc.'\n", "def f", "'f' is only declared here, as an overload"),
        ("a.py", "def f():\n    def g():\n        'Doc.'\n", "def g", "'f.g' is inside a function"),
    ],
)
async def test_what_never_runs_is_answered_with_why_not(
    editor: Client, name: str, text: str, at: str, reason: str
) -> None:
    uri = await editor.open(name, text)
    for kind in (GENERATE, FIX):
        (action,) = await editor.actions(uri, at, [kind])
        assert action["disabled"]["reason"].startswith(reason)
    assert await editor.actions(uri, at) == []


async def test_examples_are_suggested_only_where_there_are_none(editor: Client) -> None:
    uri = await editor.open("names.py", STUB)
    assert commands(await editor.actions(uri, "def")) == ["generate"], "it is the only stub of its file, too"


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("git:/a.py", "save it as a .py file first"),
        ("vscode-notebook-cell:/a.ipynb#x", "sends this cell without its notebook"),
    ],
)
async def test_a_text_that_cannot_be_imported_says_why_if_it_is_asked(editor: Client, uri: str, reason: str) -> None:
    await editor.open(uri, TEXT)
    (action,) = await editor.actions(uri, "def stub")
    assert reason in action["title"]
    answer = await editor.take(action)
    assert action["title"] == f"AdaCoder: {answer['reason']}"
    assert [action["disabled"]["reason"] for action in await editor.actions(uri, "def stub", [FIX])] == [
        answer["reason"]
    ]
    assert await editor.actions(uri, "def stub", trigger=2) == [], "no light bulb"
