"""A verified result that is kept is offered as an inline completion where the body belongs."""

from __future__ import annotations

from typing import Any

import pytest

from integration.lsp.client import Client
from integration.lsp.texts import BODY, GOOD, NO_EXAMPLES, SHOUT, STUB, told_of
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

ABOVE = "é𝔐 = 1\n\n\n"
BELOW = "\n\nX = 1\n"
IMPORTING = f'```python\nimport re\n\n{STUB}    return "".join(re.findall(r"\\b\\w", name)).upper()\n```'


async def kept(editor: Client, reply: str, name: str, text: str) -> tuple[str, str]:
    """Let the server keep a result for a function. Return the document and the id of the job."""
    async with StandIn([reply]) as standin:
        editor.settings = told_of(standin, preview=True, maxIterations=0)
        uri = await editor.write("names.py", text)
        answer = await editor.run("names.py", name)
    assert answer["kept"]
    return uri, answer["jobId"]


async def offered(editor: Client, uri: str, offset: int) -> list[dict[str, Any]]:
    """Return the inline completions at an offset of the text."""
    params = {
        "textDocument": {"uri": uri},
        "position": editor.position(editor.text(uri), offset),
        "context": {"triggerKind": 2},
    }
    return await editor.request("textDocument/inlineCompletion", params) or []


def lines_of(editor: Client, uri: str, item: dict[str, Any]) -> tuple[int, int]:
    return item["range"]["start"]["line"], item["range"]["end"]["line"]


async def accept(editor: Client, uri: str, item: dict[str, Any]) -> None:
    """Insert a completion, and execute its command as an editor does."""
    text = editor.text(uri)
    start, end = (editor.offset(text, item["range"][each]) for each in ("start", "end"))
    await editor.change(uri, text, text[:start] + item["insertText"] + text[end:])
    editor.received.clear()
    assert (await editor.execute(item["command"]["command"].rpartition(".")[2], *item["command"]["arguments"]))[
        "accepted"
    ]


STUBS = {
    "the docstring's end": ("", '"""'),
    "nothing": ("", '"""\n'),
    "a line": ("    \n", '"""\n    '),
    "an empty line": ("\n", '"""\n'),
    "an ellipsis": ("    ...\n", "..."),
    "pass": ("    pass\n", "    pass"),
}


@pytest.mark.parametrize("stub", STUBS)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
async def test_a_verified_body_is_offered_at_the_cursor_and_verified_again(editor: Client, stub: str, end: str) -> None:
    tail, marker = STUBS[stub]
    text, marker = (each.replace("\n", end) for each in (f"{ABOVE}{STUB}{tail}{BELOW}", marker))
    uri, _ = await kept(editor, GOOD, "initials", text)
    (item,) = await offered(editor, uri, text.rindex(marker) + len(marker))
    await accept(editor, uri, item)
    assert await editor.told() == (3, "Checked 'initials'. 2/2 examples passed.")
    assert editor.text(uri).split() == f"{ABOVE}{STUB}{BODY}{BELOW}".split()
    assert not (await editor.request("adacoder/kept", {}))["items"]


async def test_each_offer_has_one_line_that_has_the_cursor_and_inserts_the_same_body(editor: Client) -> None:
    text = f"{ABOVE}{STUB}    \n{BELOW}"
    uri, _ = await kept(editor, GOOD, "initials", text)
    assert editor.capabilities["inlineCompletionProvider"] is not None
    places = {}
    for offset in range(len(text) + 1):
        for item in await offered(editor, uri, offset):
            first, last = lines_of(editor, uri, item)
            start, stop = (editor.offset(text, item["range"][each]) for each in ("start", "end"))
            assert first == last
            assert start <= offset <= stop
            places[offset] = (text[:start] + item["insertText"] + text[stop:]).split()
    end = text.rindex('"""') + 3
    assert [*places] == [*range(text.rindex('    """'), end + 1), *range(end + 1, end + 6)]
    assert all(each == f"{ABOVE}{STUB}{BODY}{BELOW}".split() for each in places.values())


@pytest.mark.parametrize(
    ("reply", "name", "stub", "change", "count"),
    [
        (GOOD, "initials", STUB, None, 1),
        (GOOD, "initials", STUB, ("in capitals", "in large letters"), 0),
        (IMPORTING, "initials", STUB, None, 0),
        (SHOUT, "shout", NO_EXAMPLES, None, 0),
    ],
    ids=["the control", "another text", "with an import", "unverified"],
)
async def test_what_is_not_offered(
    editor: Client, reply: str, name: str, stub: str, change: tuple[str, str] | None, count: int
) -> None:
    uri, _ = await kept(editor, reply, name, stub)
    if change is not None:
        await editor.change(uri, *change)
    text = editor.text(uri)
    assert len(await offered(editor, uri, text.rindex('"""') + 3)) == count
    assert not await offered(editor, uri, 0)
