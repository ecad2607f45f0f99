"""A kept result that is verified is offered as an inline completion at the place of the body."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from integration.lsp.client import Client
from integration.lsp.texts import BODY, GOOD, NO_EXAMPLES, SHOUT, STUB, told_of
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]


async def kept(editor: Client, reply: str, name: str, text: str) -> str:
    """Make the server keep a result for a function. Return the document."""
    async with StandIn([reply]) as standin:
        editor.settings = told_of(standin, preview=True, maxIterations=0)
        uri = await editor.write("names.py", text)
        assert (await editor.run("names.py", name))["kept"]
    return uri


async def offered(editor: Client, uri: str, offset: int) -> list[dict[str, Any]]:
    """Return the inline completions at an offset."""
    params = {
        "textDocument": {"uri": uri},
        "position": editor.position(editor.text(uri), offset),
        "context": {"triggerKind": 2},
    }
    return await editor.request("textDocument/inlineCompletion", params) or []


async def accept(editor: Client, uri: str, item: dict[str, Any]) -> None:
    """Insert a completion, execute its command as editors do, and continue typing."""
    text = editor.text(uri)
    start, end = (editor.offset(text, item["range"][each]) for each in ("start", "end"))
    await editor.change(uri, text, text[:start] + item["insertText"] + text[end:])
    editor.received.clear()
    command = {"command": item["command"]["command"], "arguments": item["command"]["arguments"]}
    _, answer = await editor.begin("workspace/executeCommand", command)
    await editor.change(uri, "# above", "# typed since")
    assert (await answer)["accepted"]


ABOVE = "# above\né𝔐 = 1\n\n\n"
STUBS = {
    "the docstring's end": ("", '"""', BODY),
    "an indented line": ("    \n", '"""\n    ', BODY),
    "an empty line": ("\n", '"""\n', f"{BODY}\n"),
    "an ellipsis": ("    ...\n", "...", BODY),
    "the beginning of pass": ("    pass\n", "  pass", BODY),
}
"""Stubs: the text below the docstring, the end of the text before the cursor, and the completed text."""


@pytest.mark.parametrize("stub", STUBS)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
async def test_a_verified_body_is_offered_and_run_again_when_it_is_accepted(
    editor: Client, stub: str, end: str
) -> None:
    tail, marker, body = STUBS[stub]
    text, marker = (each.replace("\n", end) for each in (f"{ABOVE}{STUB}{tail}\n\nX = 1\n", marker))
    uri = await kept(editor, GOOD, "initials", text)
    (item,) = await offered(editor, uri, text.rindex(marker) + len(marker))
    await accept(editor, uri, item)
    assert await editor.told() == (3, "Checked 'initials'. 2/2 examples passed.")
    expected = f"{ABOVE}{STUB}{body}\n\nX = 1\n".replace("\n", end).replace("# above", "# typed since")
    assert editor.text(uri) == expected
    assert not await offered(editor, uri, text.rindex(marker) + len(marker))
    await editor.change(uri, expected, text)
    assert await offered(editor, uri, text.rindex(marker) + len(marker)), "undone"


async def test_each_offer_has_one_line_that_has_the_cursor_and_inserts_the_same_body(editor: Client) -> None:
    text = f"{ABOVE}{STUB}    \n\n\nX = 1\n"
    uri = await kept(editor, GOOD, "initials", text)
    assert editor.capabilities["inlineCompletionProvider"] is not None
    places = {}
    for offset in range(len(text) + 1):
        for item in await offered(editor, uri, offset):
            first, last = (item["range"][each]["line"] for each in ("start", "end"))
            start, stop = (editor.offset(text, item["range"][each]) for each in ("start", "end"))
            assert first == last
            assert start <= offset <= stop
            places[offset] = text[:start] + item["insertText"] + text[stop:]
    end = text.rindex('"""') + 3
    at_the_docstring, below = range(text.rindex('    """'), end + 1), range(end + 1, end + 6)
    inserted, replaced = f"{ABOVE}{STUB}{BODY}    \n\n\nX = 1\n", f"{ABOVE}{STUB}{BODY}\n\nX = 1\n"
    assert places == dict.fromkeys(at_the_docstring, inserted) | dict.fromkeys(below, replaced)


IMPORTING = f'```python\nimport re\n\n{STUB}    return "".join(re.findall(r"\\b\\w", name)).upper()\n```'
HIDDEN = f'```python\n{STUB}    unused = "\u202e"\n{BODY}```'
NOTHING = ("\n", "\n")


@pytest.mark.parametrize(
    ("reply", "name", "stub", "change", "count"),
    [
        (GOOD, "initials", STUB, NOTHING, 1),
        (GOOD, "initials", f"F = 1\n\n\n{STUB}", ("F = 1\n", "F = 1\n\n"), 1),
        (GOOD, "initials", f"F = 1\n\n\n{STUB}", ("F = 1", "F = 2"), 0),
        (GOOD, "initials", STUB, ("in capitals", "in large letters"), 0),
        (IMPORTING, "initials", STUB, NOTHING, 0),
        (HIDDEN, "initials", STUB, NOTHING, 0),
        (SHOUT, "shout", NO_EXAMPLES, NOTHING, 0),
    ],
    ids=[
        *("the control", "a blank line", "another module", "another function"),
        *("with an import", "with invisible characters", "unverified"),
    ],
)
async def test_what_is_not_offered(
    editor: Client, reply: str, name: str, stub: str, change: tuple[str, str], count: int
) -> None:
    uri = await kept(editor, reply, name, stub)
    await editor.change(uri, *change)
    text = editor.text(uri)
    assert len(await offered(editor, uri, text.rindex('"""') + 3)) == count
    assert not await offered(editor, uri, 0)


@pytest.mark.parametrize("changed", [False, True])
async def test_a_body_is_not_offered_if_the_text_changes_before_the_answer(editor: Client, changed: bool) -> None:
    # With so many functions, the answer takes much longer than the change needs to arrive.
    others = "".join(f'\n\ndef f{number}():\n    """Return 1."""\n    return 1\n' for number in range(8000))
    uri = await kept(editor, GOOD, "initials", f"{ABOVE}{STUB}{others}")
    text = editor.text(uri)
    place = editor.position(text, text.index("\n\n\ndef f0"))
    document, around = {"uri": uri}, {"start": place, "end": place}
    before = {"textDocument": document, "range": around, "context": {"diagnostics": []}}
    waiting = [(await editor.begin("textDocument/codeAction", before))[1] for _ in range(20)]
    params = {"textDocument": document, "position": place, "context": {"triggerKind": 2}}
    _, answer = await editor.begin("textDocument/inlineCompletion", params)
    await editor.execute("status")  # the server has begun to answer
    assert not answer.done()
    if changed:
        await editor.change(uri, "# above", "# typed meanwhile")
    assert bool(await answer) is not changed
    await asyncio.gather(*waiting)


async def test_text_beside_the_docstring_is_not_left_above_a_body(editor: Client) -> None:
    text = STUB.replace('"""\n', '"""; ...\n') if STUB.count('"""\n') == 1 else ""
    uri = await kept(editor, GOOD, "initials", f"{text}\n\nX = 1\n")
    assert not await offered(editor, uri, len(text))
    assert len(await offered(editor, uri, len(text) - 1)) == 1
