"""Evidence in an editor: diagnostics, code lenses, hovers, inlay hints, and checks on save."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from integration.lsp.client import FULL, Client, Silence, encodings
from integration.lsp.texts import BODY, GOOD, STUB, UNENDING, WRONG, told_of
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

SHOWING: dict[str, Any] = {
    **FULL,
    "window": {**FULL["window"], "showDocument": {"support": True}},
    "workspace": {
        **FULL["workspace"],
        "codeLens": {"refreshSupport": True},
        "inlayHint": {"refreshSupport": True},
    },
    "textDocument": {
        **FULL["textDocument"],
        "publishDiagnostics": {"versionSupport": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
    },
}
WRONG_BODY = "    return name\n"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    async with Client.started(tmp_path_factory.mktemp("shown"), capabilities=SHOWING) as client:
        for method in ("workspace/codeLens/refresh", "workspace/inlayHint/refresh"):
            client.answers[method] = lambda params: None
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def editor(server: Client) -> AsyncIterator[Client]:
    async with server.case():
        await configure(server)
        yield server


async def configure(editor: Client, **settings: Any) -> None:
    editor.settings = settings
    await editor.notify("workspace/didChangeConfiguration", {"settings": None})


def shown(editor: Client, uri: str) -> list[dict[str, Any]]:
    """Return the diagnostics that the editor shows now."""
    sent = [each["diagnostics"] for each in editor.all("textDocument/publishDiagnostics") if each["uri"] == uri]
    return sent[-1] if sent else []


HEADER = "def initials(name):"


async def lenses(editor: Client, uri: str) -> list[tuple[str, str]]:
    """Return the line and the title of each code lens."""
    found = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    lines = editor.text(uri).split("\n")
    return [(lines[each["range"]["start"]["line"]].strip(), each["command"]["title"]) for each in found or []]


async def hovered(editor: Client, uri: str, at: str) -> str | None:
    position = editor.position(editor.text(uri), editor.text(uri).index(at))
    found = await editor.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": position})
    return str(found["contents"]["value"]) if found else None


async def hints(editor: Client, uri: str) -> list[tuple[str, str]]:
    """Return the line with each inlay hint, and the hint's text."""
    text = editor.text(uri)
    whole = {"start": {"line": 0, "character": 0}, "end": editor.position(text, len(text))}
    found = await editor.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": whole})
    ends = [editor.offset(text, each["position"]) for each in found or []]
    assert all(text[end : end + 1] == "\n" for end in ends)
    return [
        (text[:end].rpartition("\n")[2].strip(), each["label"]) for end, each in zip(ends, found or [], strict=True)
    ]


async def check(editor: Client, name: str, qualname: str = "initials") -> Any:
    return await editor.run(name, qualname, mode="check")


async def test_a_failed_example_has_a_diagnostic_at_its_line_until_it_passes(editor: Client) -> None:
    text = f"import os\n\n\n{STUB}{WRONG_BODY}"
    uri = await editor.write("names.py", text)
    await check(editor, "names.py")
    await editor.until(lambda: len(shown(editor, uri)) == 2)
    one, other = shown(editor, uri)
    places = [editor.offset(text, each["range"]["start"]) for each in (one, other)]
    assert [text[place:].split("\n")[0] for place in places] == [
        '>>> initials("ada lovelace")',
        '>>> initials("Åsa öberg")',
    ]
    assert (one["source"], one["code"], one["severity"]) == ("adacoder", "wrong_output", 1)
    assert one["message"] == "Example failed: wanted 'AL', but it gave 'ada lovelace'."
    assert (one["data"]["want"], one["data"]["got"]) == ("'AL'\n", "'ada lovelace'\n")
    assert editor.all("textDocument/publishDiagnostics")[-1]["version"] == 1
    await editor.change(uri, WRONG_BODY, BODY)
    await editor.until(lambda: not shown(editor, uri))
    await check(editor, "names.py")
    assert shown(editor, uri) == []


async def test_diagnostics_go_with_the_text_that_they_are_of(editor: Client) -> None:
    uri = await editor.write("names.py", f"A = 1\n\n\n{STUB}{WRONG_BODY}\n\ndef other():\n    return 1\n")
    await check(editor, "names.py")
    await editor.until(lambda: shown(editor, uri))
    editor.received.clear()
    await editor.change(uri, "A = 1\n", "A = 1\nB = 2\n")  # a change above the diagnostic
    await editor.change(uri, "return 1", "return 2")  # a change below the diagnostic
    assert await hovered(editor, uri, "def initials")
    assert editor.all("textDocument/publishDiagnostics") == [], "the editor moves them itself"
    await editor.change(uri, WRONG_BODY, f"{WRONG_BODY}\n    # more of it\n")
    await editor.until(lambda: editor.all("textDocument/publishDiagnostics"))
    assert shown(editor, uri) == []
    await editor.change(uri, f"{WRONG_BODY}\n    # more of it\n", WRONG_BODY)
    await editor.until(lambda: shown(editor, uri))
    assert shown(editor, uri)[0]["range"]["start"]["line"] == 7, "undone: it is the same text, further down"


@pytest.mark.parametrize("before", ["@decorated\n", "x = '''\n"])
async def test_what_makes_another_function_of_it_clears_them(editor: Client, before: str) -> None:
    uri = await editor.write("names.py", f"A = 1\n{STUB}{WRONG_BODY}")
    await check(editor, "names.py")
    await editor.until(lambda: shown(editor, uri))
    await editor.change(uri, "def initials", f"{before}def initials")
    if before.startswith("@"):
        await editor.until(lambda: not shown(editor, uri))


async def test_the_fix_is_attached(editor: Client) -> None:
    uri = await editor.write("names.py", f"{STUB}{WRONG_BODY}")
    assert [each["title"] for each in await editor.actions(uri, "def initials", trigger=2)] == []
    await check(editor, "names.py")
    await editor.until(lambda: shown(editor, uri))
    diagnostic = shown(editor, uri)[0]
    context = {"diagnostics": [diagnostic], "only": ["quickfix"], "triggerKind": 2}
    params = {"textDocument": {"uri": uri}, "range": diagnostic["range"], "context": context}
    fix, clear = await editor.request("textDocument/codeAction", params)
    assert (fix["title"], fix["command"]["command"]) == ("Fix with AdaCoder", "adacoder.server.fix")
    assert fix["diagnostics"] == clear["diagnostics"] == [diagnostic]
    assert fix["isPreferred"]
    assert "isPreferred" not in clear
    assert await editor.take(clear) == {"version": 1, "cleared": 1}
    await editor.until(lambda: not shown(editor, uri))


async def test_a_generation_that_failed_tells_of_its_best_attempt(editor: Client) -> None:
    async with StandIn([WRONG]) as standin:
        await configure(editor, **told_of(standin, maxIterations=0))
        uri = await editor.write("names.py", STUB)
        await editor.run("names.py", "initials")
    await editor.until(lambda: shown(editor, uri))
    diagnostic = shown(editor, uri)[0]
    assert diagnostic["severity"] == 3, "the code is not in the file"
    assert diagnostic["message"].startswith("AdaCoder's best attempt, which is not inserted: Example failed")
    assert await lenses(editor, uri) == [(HEADER, "✗ 0/2 examples"), (HEADER, "Generate")]
    params = {"textDocument": {"uri": uri}, "range": diagnostic["range"], "context": {"diagnostics": [diagnostic]}}
    fix = (await editor.request("textDocument/codeAction", params))[0]
    assert (fix["title"], fix["command"]["command"]) == ("Fix with AdaCoder", "adacoder.server.generate")


async def test_a_failed_candidate_does_not_speak_for_a_text_that_passed(editor: Client) -> None:
    async with StandIn([WRONG]) as standin:
        await configure(editor, **told_of(standin, maxIterations=0))
        uri = await editor.write("names.py", STUB + BODY)
        await check(editor, "names.py")
        assert (await editor.run("names.py", "initials"))["status"] == "failed"
    assert await lenses(editor, uri) == [(HEADER, "✓ 2/2 examples")]
    assert shown(editor, uri) == []


HALF = f'```python\n{STUB}    return "AL"\n```'


async def best_attempt(editor: Client, **settings: Any) -> tuple[str, Any]:
    """Generate a function with a candidate that passes half of the examples. Return the document and the answer."""
    async with StandIn([HALF]) as standin:
        await configure(editor, **told_of(standin, maxIterations=0), inlayHints=True, **settings)
        uri = await editor.write("names.py", STUB)
        return uri, await editor.run("names.py", "initials")


async def shows_anything(editor: Client, uri: str) -> list[Any]:
    """Return True if anything but actions is shown for the function."""
    found = [*shown(editor, uri), await hovered(editor, uri, "initials"), *await hints(editor, uri)]
    return [*filter(None, found), *(title for _, title in await lenses(editor, uri) if "/" in title)]


@pytest.mark.parametrize("how", ["discarded", "closed", "edited and back", "replaced"])
async def test_nothing_is_shown_of_a_candidate_that_nobody_sees_any_more(editor: Client, how: str) -> None:
    uri, answer = await best_attempt(editor)
    assert answer["kept"]
    await editor.until(lambda: shown(editor, uri))
    assert await hovered(editor, uri, "initials"), "the control"
    assert await hints(editor, uri) == [], "what a candidate gave is no hint of the text"
    if how == "discarded":
        await editor.execute("discard", {"jobId": answer["jobId"]})
    elif how == "closed":
        await editor.close(uri)
        await editor.until(lambda: not shown(editor, uri))
        await editor.open("names.py")
    elif how == "edited and back":
        await editor.change(uri, "in capitals", "in large letters")
        await editor.change(uri, "in large letters", "in capitals")
    else:
        async with StandIn([HALF]) as standin:
            await configure(editor, **told_of(standin, maxIterations=0), unverified="discard")
            again = await editor.run("names.py", "initials")
        assert not again["kept"]
        await editor.execute("discard", {"jobId": answer["jobId"]})
    await editor.until(lambda: not shown(editor, uri))
    assert not [each for each in await shows_anything(editor, uri) if "AdaCoder's result" not in str(each)]


async def test_nothing_is_shown_of_what_is_discarded_at_once(editor: Client) -> None:
    uri, answer = await best_attempt(editor, unverified="discard")
    assert (answer["status"], answer["kept"]) == ("partial", False)
    assert await shows_anything(editor, uri) == []


async def test_nothing_is_shown_of_a_text_that_was_not_saved(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        await configure(editor, **told_of(standin))
        uri = await editor.write("names.py", STUB)
        assert (await editor.run("names.py", "initials"))["applied"]
    assert await hovered(editor, uri, "initials"), "the control"
    await editor.close(uri)
    await editor.open("names.py")
    assert editor.text(uri) == STUB
    assert await shows_anything(editor, uri) == []


async def test_what_is_known_of_the_text_outlives_a_candidate_that_was_discarded(editor: Client) -> None:
    async with StandIn([HALF]) as standin:
        await configure(editor, **told_of(standin, maxIterations=0))
        uri = await editor.write("names.py", STUB + WRONG_BODY)
        await check(editor, "names.py")
        answer = await editor.run("names.py", "initials")
        assert answer["kept"]
        await editor.execute("discard", {"jobId": answer["jobId"]})
    await editor.until(lambda: shown(editor, uri))
    assert [each["data"]["ofCandidate"] for each in shown(editor, uri)] == [False, False]
    assert await lenses(editor, uri) == [(HEADER, "✗ 0/2 examples"), (HEADER, "Fix")]


async def test_what_ails_the_module_is_told_once(editor: Client) -> None:
    text = "".join(
        f'def f{n}():\n    """Gives {n}.\n\n    >>> f{n}()\n    {n}\n    """\n    return {n}\n\n\n' for n in (1, 2)
    )
    uri = await editor.write("broken.py", f"import nowhere\n\n\n{text}")
    for name in ("f1", "f2"):
        await check(editor, "broken.py", name)
    await editor.until(lambda: shown(editor, uri))
    (diagnostic,) = shown(editor, uri)
    assert (diagnostic["code"], diagnostic["range"]["start"]["line"]) == ("broken_module", 3)


async def test_a_closed_document_shows_nothing_and_again_when_it_is_opened(editor: Client) -> None:
    uri = await editor.write("names.py", f"{STUB}{WRONG_BODY}")
    await check(editor, "names.py")
    await editor.until(lambda: shown(editor, uri))
    await editor.close(uri)
    await editor.until(lambda: not shown(editor, uri))
    await editor.open("names.py", f"A = 1\n{STUB}{WRONG_BODY}")
    await editor.until(lambda: shown(editor, uri))
    assert shown(editor, uri)[0]["range"]["start"]["line"] == 4


UNREACHED = '''def sign(x):
    """The sign of x.

    >>> sign(3)
    1
    """
    if x < 0:
        return -1
    return 1
'''


async def test_lines_that_no_example_reaches_are_hints_where_they_are_wanted(editor: Client) -> None:
    uri = await editor.write("signs.py", UNREACHED)
    await check(editor, "signs.py", "sign")
    assert await lenses(editor, uri) == [("def sign(x):", "✓ 1/1 example · line 8 not reached")]
    assert shown(editor, uri) == []
    await configure(editor, unreachedHints=True)
    await editor.until(lambda: shown(editor, uri))
    (hint,) = shown(editor, uri)
    assert (hint["severity"], hint["code"], hint["range"]["start"]) == (4, "unreached", {"line": 7, "character": 8})
    await editor.change(uri, "def sign", "\n\ndef sign")
    assert await lenses(editor, uri) == [("def sign(x):", "✓ 1/1 example · line 10 not reached")]


async def test_each_line_that_no_example_reaches_has_a_hint(editor: Client) -> None:
    text = UNREACHED.replace("    return 1\n", "    if x == 0:\n        return 0\n    return 1\n")
    uri = await editor.write("zeros.py", text)
    await configure(editor, unreachedHints=True)
    await check(editor, "zeros.py", "sign")
    await editor.until(lambda: shown(editor, uri))
    assert [each["range"]["start"]["line"] for each in shown(editor, uri)] == [7, 9]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_positions_in_each_encoding(tmp_path: Path, encoding: str) -> None:
    text = 'def f(x):\n    """𝔸 é.\n\n    >>> f("𝔸é") + "𝔸"  # 𝔸\n    \'𝔸é𝔸!\'\n    """\n    return x\n'
    async with Client.started(tmp_path, {"inlayHints": True}, capabilities=encodings(SHOWING, encoding)) as editor:
        for method in ("workspace/codeLens/refresh", "workspace/inlayHint/refresh"):
            editor.answers[method] = lambda params: None
        uri = await editor.write("f.py", text)
        await check(editor, "f.py", "f")
        await editor.until(lambda: shown(editor, uri))
        place = shown(editor, uri)[0]["range"]
        assert text[editor.offset(text, place["start"]) : editor.offset(text, place["end"])] == '>>> f("𝔸é") + "𝔸"  # 𝔸'
        assert await hints(editor, uri) == [('>>> f("𝔸é") + "𝔸"  # 𝔸', "gave '𝔸é𝔸'")]


SEVERAL = f'''import abc


{STUB}

def plain(x):
    return x


class Shape(abc.ABC):
    """A shape."""

    @abc.abstractmethod
    def area(self):
        """For others to write."""

    @property
    def sides(self):
        """How many.

        >>> 1 + 1
        3
        """
        return 3
'''


async def test_lenses_say_what_can_be_done_and_what_is_known(editor: Client) -> None:
    uri = await editor.write("shapes.py", SEVERAL)
    unchecked = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert [each["command"]["title"] for each in unchecked] == ["Generate", "Check"]
    assert (await editor.take(unchecked[1]))["accepted"]
    assert "3" in (await editor.told())[1]
    await check(editor, "shapes.py", "Shape.sides")
    await editor.until(lambda: editor.all("workspace/codeLens/refresh"))
    assert await lenses(editor, uri) == [(HEADER, "Generate"), ("@property", "✗ 0/1 example"), ("@property", "Fix")]
    async with StandIn([GOOD]) as standin:
        await configure(editor, **told_of(standin))
        assert (await editor.run("shapes.py", "initials"))["applied"]
    assert (await lenses(editor, uri))[0] == (HEADER, "✓ 2/2 examples")
    await configure(editor, codeLens=False)
    assert await lenses(editor, uri) == []


@pytest.mark.parametrize("is_long", [True, False])
async def test_nothing_is_shown_beside_a_text_that_is_too_long(editor: Client, is_long: bool) -> None:
    uri = await editor.write("long.py", STUB + WRONG_BODY + "# a\n" * (250_000 if is_long else 2))
    assert await lenses(editor, uri) == ([] if is_long else [(HEADER, "Check")])
    titles = [each["title"] for each in await editor.actions(uri, "def ")]
    assert any("characters: move the function" in title for title in titles) is is_long
    assert ("AdaCoder: check the examples of 'initials'" in titles) is not is_long
    answer = await editor.execute("check", {"uri": uri, "qualifiedName": "initials"})
    assert ("more than 1,000,000 characters" in str(answer["reason"])) is is_long


async def test_a_lens_cancels_what_runs(editor: Client) -> None:
    async with StandIn([UNENDING]) as standin:
        await configure(editor, **told_of(standin))
        uri = await editor.write("names.py", STUB)
        found = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        assert (await editor.take(found[0]))["accepted"]
        await editor.until(lambda: "round 1/6" in str(editor.all("$/progress")[-1:]))
        state, cancel = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        assert state["command"]["title"] == "round 1/6"
        assert [each["mode"] for each in (await editor.take(state))["jobs"]] == ["generate"]
        assert cancel["command"]["title"] == "Cancel"
        assert len((await editor.take(cancel))["cancelled"]) == 1
        await editor.idle()
        await editor.until(lambda: editor.messages)
    assert await lenses(editor, uri) == [(HEADER, "Generate")]


IMPATIENT = """
import sys
from adacoder.lsp import stdio
from adacoder.lsp.showing import shown

shown._PATIENCE = 3.0
sys.exit(stdio.serve())
"""


async def test_an_editor_that_was_busy_is_asked_to_refresh_at_the_end(tmp_path: Path) -> None:
    """Neovim does not answer while it shows "Press ENTER"."""

    def silent(params: object) -> None:
        raise Silence

    command = (sys.executable, "-c", IMPATIENT)
    async with (
        StandIn([GOOD]) as standin,
        Client.started(tmp_path, told_of(standin), capabilities=SHOWING, command=command) as editor,
    ):
        editor.answers["workspace/codeLens/refresh"] = silent
        uri = await editor.write("names.py", STUB)
        await editor.execute("generate", {"uri": uri, "qualifiedName": "initials"})
        await editor.told()
        await editor.until(lambda: len(editor.all("workspace/codeLens/refresh")) == 2)
        assert await lenses(editor, uri) == [(HEADER, "✓ 2/2 examples")]


async def test_a_hover_tells_the_evidence_and_of_which_text(editor: Client) -> None:
    uri = await editor.write("names.py", f"A = 1\n\n\n{STUB}{BODY}")
    assert await hovered(editor, uri, "initials") is None
    await check(editor, "names.py")
    told = await hovered(editor, uri, "initials") or ""
    assert told.startswith("✓ Verified 'initials': 2/2 examples passed")
    assert "Just now, for the current text." in told
    assert await hovered(editor, uri, "return") is None, "elsewhere others have something to say"
    assert await hovered(editor, uri, "A = 1") is None
    await editor.change(uri, "A = 1", "A = 2")
    assert "the file has since changed elsewhere" in (await hovered(editor, uri, "initials") or "")
    await editor.change(uri, ".upper()", "")
    assert "for another text of this function" in (await hovered(editor, uri, "initials") or "")


@pytest.mark.parametrize(
    ("formats", "line"),
    [
        (["markdown", "plaintext"], "✗ Not verified: '`parse_price`': The example "),
        (["plaintext"], "✗ Not verified: 'parse_price': The example "),
    ],
)
async def test_a_hover_spells_names_as_they_are(tmp_path: Path, formats: list[str], line: str) -> None:
    text_document = {**SHOWING["textDocument"], "hover": {"contentFormat": formats}}
    async with Client.started(tmp_path, capabilities={**SHOWING, "textDocument": text_document}) as editor:
        uri = await editor.write("prices.py", STUB.replace("initials", "parse_price") + WRONG_BODY)
        await check(editor, "prices.py", "parse_price")
        told = await hovered(editor, uri, "parse_price") or ""
    assert told.startswith(line)
    assert "\\_" not in told
    assert ("```text\n" in told) is ("markdown" in formats)


async def test_a_hover_shows_what_failed_and_obeys_nothing_of_it(editor: Client) -> None:
    text = 'def f():\n    """Gives.\n\n    >>> print("```\\\\n[x](command:y) <b>")\n    1\n    """\n'
    uri = await editor.write("f.py", f"{text}    return 1\n")
    await check(editor, "f.py", "f")
    told = await hovered(editor, uri, "def f") or ""
    assert "````text\nFailed example:" in told
    assert "](command:" not in told


async def test_hints_show_what_came_where_they_are_wanted(editor: Client) -> None:
    uri = await editor.write("names.py", f"A = 1\n{STUB}{WRONG_BODY}")
    await check(editor, "names.py")
    assert await hints(editor, uri) == []
    await configure(editor, inlayHints=True)
    first, second = [
        ('>>> initials("ada lovelace")', "gave 'ada lovelace'"),
        ('>>> initials("Åsa öberg")', "gave 'Åsa öberg'"),
    ]
    assert await hints(editor, uri) == [first, second]
    await editor.change(uri, "A = 1", "A = 1\nB = 2")
    assert await hints(editor, uri) == [first, second]
    await editor.change(uri, WRONG_BODY, BODY)
    assert await hints(editor, uri) == []


async def save(editor: Client, uri: str) -> None:
    await editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})


TWO = f'''{STUB}{WRONG_BODY}

def unwritten(x):
    """Twice x.

    >>> unwritten(2)
    4
    """
'''


async def test_a_save_checks_where_the_setting_says_so(editor: Client) -> None:
    uri = await editor.write("names.py", TWO)
    await save(editor, uri)
    assert await lenses(editor, uri) == [(HEADER, "Check"), ("def unwritten(x):", "Generate")]
    await configure(editor, checkOnSave=True)
    await save(editor, uri)
    await editor.until(lambda: shown(editor, uri))
    assert [each["data"]["qualifiedName"] for each in shown(editor, uri)] == ["initials"] * 2, "a stub fails by nature"
    await editor.change(uri, WRONG_BODY, BODY)
    await save(editor, uri)

    async def is_proved() -> bool:
        return (HEADER, "✓ 2/2 examples") in await lenses(editor, uri)

    while not await is_proved():
        await editor.until(lambda: editor.all("workspace/codeLens/refresh"))
    assert shown(editor, uri) == []
    assert editor.messages == []


async def test_a_workspace_that_is_not_trusted_runs_nothing_on_save(tmp_path: Path) -> None:
    text = 'def f():\n    """Gives.\n\n    >>> f()\n    1\n    """\n    return 2\n'
    untrusted = {"checkOnSave": True, "trusted": False}
    async with Client.started(tmp_path, untrusted, capabilities=SHOWING) as editor:
        uri = await editor.write("f.py", text)
        await save(editor, uri)
        await asyncio.sleep(1.0)  # nothing shows that no check starts, so wait
        assert editor.descendants() == set()
        assert await lenses(editor, uri) == [("def f():", "Check")]
        await configure(editor, checkOnSave=True, trusted=True)
        await save(editor, uri)
        await editor.until(lambda: shown(editor, uri))
        assert editor.descendants()


async def test_a_change_that_comes_after_the_end_of_its_document_is_let_go(editor: Client) -> None:
    """When an unsaved file is closed, VS Code sends a change after the end.

    Opening the file again sends the whole text.
    """
    uri = await editor.write("closed.py", STUB)
    document, before = editor.documents[uri], editor.stderr
    await editor.close(uri)
    late = {"textDocument": {"uri": uri, "version": document.version + 1}, "contentChanges": [{"text": ""}]}
    await editor.notify("textDocument/didChange", late)
    await editor.open("closed.py")
    assert await editor.actions(uri, "def ")
    assert editor.stderr == before
