"""Examples in Markdown and reStructuredText files in an editor. Offers for Python code do not appear there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from integration.lsp.client import FULL, Client

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

SHOWING: dict[str, Any] = {
    **FULL,
    "textDocument": {**FULL["textDocument"], "publishDiagnostics": {}, "hover": {"contentFormat": ["plaintext"]}},
}
MODULE = "def plus(x):\n    return x + 1\n"
MARKDOWN = """# Plus ü😀

```python
>>> from shop import plus
>>> plus(1)
3
```

    An indented block.

```pycon
>>> plus(2)
3
```

The end.
"""
REST = MARKDOWN.replace("```python", "::\n").replace("```pycon", "::\n").replace("```", "").replace(">>>", "   >>>")
REST = REST.replace("\n3\n", "\n   3\n")
FENCED = '''# Writing

```python
def initials(name):
    """The initials.

    Of a name.
    """
```

```python
def test_initials():
    """Of a test."""
```
'''


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    async with Client.started(tmp_path_factory.mktemp("pages"), capabilities=SHOWING) as client:
        yield client


async def write(editor: Client, name: str, text: str) -> str:
    """Write a page into its own project, next to the module that it imports."""
    (editor.folder / "pyproject.toml").touch()
    (editor.folder / "shop.py").write_text(MODULE)
    return await editor.write(name, text)


def shown(editor: Client, uri: str) -> list[dict[str, Any]]:
    sent = [each["diagnostics"] for each in editor.all("textDocument/publishDiagnostics") if each["uri"] == uri]
    return list(sent[-1]) if sent else []


async def titles(editor: Client, uri: str, at: str, **asked: Any) -> list[str]:
    return [action["title"] for action in await editor.actions(uri, at, **asked)]


async def lenses(editor: Client, uri: str) -> list[tuple[str, str]]:
    found = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}}) or []
    return [(editor.marked(uri, each["range"]), each["command"]["title"]) for each in found]


async def hovered(editor: Client, uri: str, at: str) -> Any:
    position = editor.position(editor.text(uri), editor.text(uri).index(at))
    return await editor.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": position})


@pytest.mark.parametrize(("name", "text"), [("README.md", MARKDOWN), ("plus.rst", REST)])
@pytest.mark.parametrize("is_open", [True, False])
async def test_a_page_is_listed_and_checked(name: str, text: str, is_open: bool, editor: Client) -> None:
    uri = await write(editor, name, text)
    if not is_open:
        await editor.close(uri)
    answer = await editor.request("adacoder/examples", {"textDocument": {"uri": uri}})
    (item,) = answer["items"]
    assert (answer["reason"], item["kind"], item["id"]) == (None, "page", f"{uri}#__doc__")
    assert [(each["source"], each["want"]) for each in item["examples"]] == [
        ("from shop import plus\n", ""),
        ("plus(1)\n", "3\n"),
        ("plus(2)\n", "3\n"),
    ]
    place = item["examples"][1]["range"]
    assert text[editor.offset(text, place["start"]) : editor.offset(text, place["end"])] == ">>> plus(1)"
    answer = await editor.request("adacoder/check", {"ids": [item["examples"][1]["id"]]})
    (result,) = answer["results"]
    assert (result["status"], result["target"].rpartition("/")[2]) == ("partial", f"{name}::__doc__")
    assert [(each["state"], each["got"]) for each in result["results"]] == [
        ("passed", ""),
        ("failed", "2\n"),
        ("passed", "3\n"),
    ]
    answer = await editor.request("adacoder/evidence", {"textDocument": {"uri": uri}})
    assert [(each["isCurrent"], each["evidence"]["status"]) for each in answer["items"]] == [(True, "partial")]


@pytest.mark.parametrize(("in_b", "places"), [(1, 1), (2, 1), (3, 2)])
async def test_an_example_of_two_groups_is_shown_once_if_it_fails_in_the_same_way(
    in_b: int, places: int, editor: Client
) -> None:
    text = f".. testsetup:: a\n\n   x = 1\n\n.. testsetup:: b\n\n   x = {in_b}\n\n.. doctest:: a, b\n\n   >>> x\n   2\n"
    uri = await write(editor, f"groups{in_b}.rst", text)
    answer = await editor.request("adacoder/check", {"textDocument": {"uri": uri}})
    states = [each["state"] for each in answer["results"][0]["results"]]
    assert states == ["passed", "failed", "passed", "passed" if in_b == 2 else "failed"]
    await editor.until(lambda: shown(editor, uri))
    assert [editor.marked(uri, each["range"]) for each in shown(editor, uri)] == [">>> x"] * places


async def test_a_page_uses_the_open_text_of_a_module(editor: Client) -> None:
    uri = await write(editor, "README.md", MARKDOWN.replace("(2)\n3", "(2)\n4"))
    await editor.open("shop.py", MODULE.replace("+ 1", "+ 2"))
    answer = await editor.request("adacoder/check", {"textDocument": {"uri": uri}})
    assert [each["status"] for each in answer["results"]] == ["verified"]


async def test_a_failed_example_is_shown_until_the_examples_change(editor: Client) -> None:
    uri = await write(editor, "README.md", MARKDOWN)
    assert await lenses(editor, uri) == []
    assert await hovered(editor, uri, ">>> plus(1)") is None
    ran = await editor.request("adacoder/run", editor.run_params("README.md", "__doc__", mode="check", apply=False))
    assert (
        ran["summary"] == "Checked 'README.md'. Only 1 of 2 examples passed. The example on line 5 gave 2 instead of 3."
    )
    await editor.until(lambda: shown(editor, uri))
    (diagnostic,) = shown(editor, uri)
    assert editor.marked(uri, diagnostic["range"]) == ">>> plus(1)"
    assert (diagnostic["data"]["want"], diagnostic["data"]["got"]) == ("3\n", "2\n")
    assert await lenses(editor, uri) == [(">>> from shop import plus", each) for each in ("✗ 1/2 examples", "Check")]
    assert "'README.md'" in (await hovered(editor, uri, ">>> plus(2)"))["contents"]["value"]
    assert await hovered(editor, uri, "An indented") is None
    for old, new in (("# Plus", "Words above.\n\n# Plus"), ("The end.", "The very end.")):
        await editor.change(uri, old, new)
        assert len(await lenses(editor, uri)) == 2, "prose around the examples"
    await editor.change(uri, "plus(1)", "plus(10)")
    await editor.until(lambda: not shown(editor, uri))
    assert await lenses(editor, uri) == []
    await editor.change(uri, "plus(10)", "plus(1)")
    await editor.until(lambda: shown(editor, uri))
    assert editor.marked(uri, shown(editor, uri)[0]["range"]) == ">>> plus(1)"


async def test_actions_check_a_page_and_insert_an_output(editor: Client) -> None:
    uri = await write(editor, "README.md", MARKDOWN)
    assert await titles(editor, uri, "An indented", trigger=2) == []
    (check,) = await editor.actions(uri, "An indented")
    assert check["title"] == "AdaCoder: check the examples of 'README.md'"
    assert (await editor.take(check))["accepted"]
    await editor.until(lambda: shown(editor, uri))
    found = shown(editor, uri)
    assert await titles(editor, uri, ">>> plus(1)", diagnostics=found) == [
        "AdaCoder: insert the actual output",
        "AdaCoder: clear what failed in 'README.md'",
        "AdaCoder: check the examples of 'README.md'",
    ]
    insert, clear, _ = await editor.actions(uri, ">>> plus(1)", diagnostics=found)
    assert (await editor.take(clear))["cleared"] == 1
    await editor.until(lambda: not shown(editor, uri))
    assert (await editor.take(insert))["accepted"]
    await editor.until(lambda: editor.text(uri) != MARKDOWN)
    assert editor.text(uri) == MARKDOWN.replace("(1)\n3", "(1)\n2")


@pytest.mark.parametrize("name", ["fenced.md", "test_fenced.md"])
async def test_functions_in_fences_get_no_offers(name: str, editor: Client) -> None:
    uri = await write(editor, name, FENCED)
    for at in ("def initials", "Of a name", "def test_initials"):
        assert await editor.actions(uri, at) == []
        assert await editor.actions(uri, at, only=["quickfix", "refactor.rewrite.adacoder"]) == []
    assert await lenses(editor, uri) == []
    line = FENCED[: FENCED.index("def test_initials")].count("\n")
    place = {"uri": uri, "position": {"line": line, "character": 0}}
    for command in (
        "generate",
        "fix",
        "repair",
        "another",
        "suggestExamples",
        "writeDocstring",
        "fixTest",
        "generateAll",
    ):
        answer = await editor.execute(command, place)
        assert (answer["accepted"], "is a page" in answer["reason"]) == (False, True), command
    answer = await editor.execute("check", place)
    assert (answer["accepted"], "has no example" in answer["reason"]) == (False, True)
    answer = await editor.request("adacoder/examples", {"textDocument": {"uri": uri}})
    assert (answer["items"], answer["reason"]) == ([], None)
    same = await editor.write("fenced.py", FENCED.replace("```", "# ```"))
    assert await titles(editor, same, "def initials"), "the control: Python gets offers"


async def test_an_unreadable_example_of_a_page_is_said(editor: Client) -> None:
    uri = await write(editor, "README.md", MARKDOWN.replace(">>> plus(2)", ">>>plus(2)"))
    answer = await editor.request("adacoder/examples", {"textDocument": {"uri": uri}})
    assert answer["reason"].startswith("The example on line 12 cannot be read")
    answer = await editor.request("adacoder/check", {"textDocument": {"uri": uri}})
    assert [each["status"] for each in answer["results"]] == ["failed"]
    await editor.until(lambda: shown(editor, uri))
    assert [editor.marked(uri, each["range"]) for each in shown(editor, uri)] == [">>>plus(2)"]


async def test_a_page_is_checked_when_it_is_saved(editor: Client) -> None:
    editor.settings = {"checkOnSave": True}
    uri = await write(editor, "saved.md", MARKDOWN)
    plain = await write(editor, "plain.md", FENCED)
    for each in (plain, uri):
        await editor.notify("textDocument/didSave", {"textDocument": {"uri": each}})
    await editor.until(lambda: shown(editor, uri))
    assert shown(editor, plain) == []
    assert editor.messages == []


async def debuggee(editor: Client, name: str) -> dict[str, Any]:
    answer: dict[str, Any] = await editor.request("adacoder/debug", {"id": name})
    return answer


async def test_a_debugger_gets_what_it_needs(editor: Client) -> None:
    editor.settings = {"doctestSetup": "import math", "doctestOptions": ["ELLIPSIS"], "env": {"SHOP": "1"}}
    uri = await write(editor, "README.md", MARKDOWN)
    page = await debuggee(editor, f"{uri}#__doc__")
    folder = editor.folder
    assert Path(page.pop("interpreter")).is_absolute()
    assert page == {
        "version": 1,
        "folder": str(folder.parent),
        "root": str(folder),
        "path": str(folder / "README.md"),
        "module": None,
        "qualifiedName": "__doc__",
        "setup": "import math",
        "env": ["SHOP=1"],
        "options": ["ELLIPSIS"],
        "reason": None,
    }
    module = await editor.write("shapes.py", 'class Shape:\n    """\n    >>> Shape()\n    """\n')
    found = await debuggee(editor, f"{module}#Shape")
    assert (found["module"], found["root"], found["qualifiedName"]) == ("shapes", str(folder), "Shape")


async def test_a_debugger_gets_a_reason(editor: Client) -> None:
    uri = await write(editor, "README.md", MARKDOWN.replace(">>> plus(2)", ">>>plus(2)"))
    assert "cannot be read" in (await debuggee(editor, f"{uri}#__doc__"))["reason"]
    assert "no such example" in (await debuggee(editor, f"{uri}#f"))["reason"]
    untitled = await editor.open("untitled:1", 'def f():\n    """\n    >>> f()\n    """\n')
    assert "not a file" in (await debuggee(editor, f"{untitled}#f"))["reason"]
    editor.settings = {"trusted": False}
    good = await write(editor, "NEWS.md", MARKDOWN)
    assert "not trusted" in (await debuggee(editor, f"{good}#__doc__"))["reason"]
    editor.settings = {}
    await editor.notify("workspace/didChangeConfiguration", {"settings": None})
    assert (await debuggee(editor, f"{good}#__doc__"))["reason"] is None, "the control"
