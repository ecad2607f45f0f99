"""Cells of notebooks: a cell's module consists of the Python cells above it, in order, and the cell itself."""

from __future__ import annotations

import asyncio
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from integration.lsp.client import FULL, PATIENCE, Client, Notebook
from integration.lsp.test_edits import begin, settled
from integration.lsp.texts import BODY, GOOD, NEEDS_HELPER, SCALED, STUB, thinking, told_of
from support.paths import FIXTURES, ROOT
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

INFO, WARNING = 3, 2
SETUP, CODE = NEEDS_HELPER.split("\n\n\n")
"""`FACTOR = 10`, and a function without a body that needs it."""
SCALED_BODY = "    return x * FACTOR\n"
ROOTED = '''def rooted(x):
    """The square root.

    >>> rooted(4)
    2.0
    """
'''


async def taken(editor: Client, uri: str, command: str, at: str = "def ") -> tuple[int, str]:
    """Execute the action for `command`. Return the message at its end."""
    editor.received.clear()
    (found,) = (each for each in await editor.actions(uri, at) if each["command"]["command"].endswith(f".{command}"))
    await editor.take(found)
    return await editor.told()


async def kept(editor: Client, uri: str) -> list[Any]:
    return list((await editor.request("adacoder/kept", {"textDocument": {"uri": uri}}))["items"])


async def test_a_function_is_written_with_the_names_of_the_cells_above(editor: Client) -> None:
    async with StandIn([SCALED]) as standin:
        editor.settings = told_of(standin)
        notebook = await editor.open_notebook("prices.ipynb", f"%matplotlib inline\n!pip list\n{SETUP}", CODE, "1 +")
        _, uri, _ = notebook.cells
        assert await taken(editor, uri, "generate") == (INFO, "Inserted 'scaled'. 1/1 examples passed.")
        assert "FACTOR = 10" in str(standin.requests[-1]["messages"])
    assert editor.text(uri) == CODE + SCALED_BODY
    (edit,) = editor.all("workspace/applyEdit")
    (change,) = edit["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": uri, "version": 1}
    (lens,) = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert (lens["range"]["start"]["line"], lens["command"]["title"]) == (0, "✓ 1/1 example")
    hover = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 5}}
    shown = (await editor.request("textDocument/hover", hover))["contents"]["value"]
    assert "for the current text" in shown
    answer = await editor.execute("journal")
    assert answer["target"].endswith("prices.ipynb::scaled")
    assert answer["edits"][0]["range"]["start"]["line"] == CODE.count("\n") - 1
    assert answer["coverage"]["reached"] == [CODE.count("\n") + 1]


async def test_only_the_cells_above_count(editor: Client) -> None:
    whole = CODE + SCALED_BODY
    notebook = await editor.open_notebook("below.ipynb", whole, SETUP)
    answer = await editor.run(notebook.cells[0], "scaled", mode="check")
    assert "FACTOR" in answer["reason"]
    await editor.rearrange(notebook, notebook.cells[::-1])
    assert (await editor.run(notebook.cells[1], "scaled", mode="check"))["status"] == "verified"


async def test_new_imports_go_into_the_cell_itself(editor: Client) -> None:
    reply = f"```python\nimport math\n\n\n{ROOTED}    return math.sqrt(x)\n```"
    async with StandIn([reply]) as standin:
        editor.settings = told_of(standin)
        notebook = await editor.open_notebook("roots.ipynb", "import os\n\nos.sep", f"%%time\n{ROOTED}")
        above, uri = notebook.cells
        await taken(editor, uri, "generate")
    assert editor.text(uri) == f"%%time\n\nimport math\n\n\n{ROOTED}    return math.sqrt(x)\n"
    assert editor.text(above) == "import os\n\nos.sep"


async def test_of_two_functions_with_one_name_each_cell_has_its_own(editor: Client) -> None:
    async with StandIn([SCALED]) as standin:
        editor.settings = told_of(standin, preview=True)
        notebook = await editor.open_notebook("twice.ipynb", SETUP, CODE, f"FACTOR = 1\n{CODE}    return x * 10\n")
        _, stub, written = notebook.cells
        assert (await editor.run(written, "scaled", mode="check"))["status"] == "verified"
        answer = await editor.run(stub, "scaled")
        assert (answer["status"], answer["kept"]) == ("verified", True)
        assert (len(await kept(editor, stub)), await kept(editor, written)) == (1, [])
        assert not [each for each in await editor.actions(written, "def ") if each["title"].startswith("Insert")]
        difference = await editor.execute("difference", {"jobId": answer["jobId"], "show": False})
        assert difference["newText"] == CODE + SCALED_BODY
        await taken(editor, stub, "insert")
    assert editor.text(stub) == CODE + SCALED_BODY


async def test_a_failed_example_is_shown_at_its_line_of_the_cell(editor: Client) -> None:
    editor.settings = {"checkOnSave": True, "inlayHints": True}
    await editor.notify("workspace/didChangeConfiguration", {"settings": None})
    notebook = await editor.open_notebook("wrong.ipynb", "%%bash\nls", SETUP, f"# Mine.\n{CODE}    return x\n")
    *_, uri = notebook.cells
    await editor.notify("notebookDocument/didSave", {"notebookDocument": {"uri": notebook.uri}})
    line = f"# Mine.\n{CODE}"[: f"# Mine.\n{CODE}".index(">>>")].count("\n")
    shown = {"start": {"line": 0, "character": 0}, "end": {"line": 20, "character": 0}}
    asked = {"textDocument": {"uri": uri}, "range": shown}
    async with asyncio.timeout(PATIENCE):
        while not (hints := await editor.request("textDocument/inlayHint", asked)):
            pass
    assert [(hint["position"]["line"], hint["label"]) for hint in hints] == [(line, "gave 2")]
    answer = await editor.run(uri, "scaled", mode="check")
    assert f"The example on line {line + 1} gave" in answer["summary"]
    listing = await editor.request("adacoder/examples", {"textDocument": {"uri": uri}})
    (item,) = listing["items"]
    assert item["range"]["start"] == {"line": 1, "character": 0}
    assert [(each["range"]["start"]["line"], each["state"]) for each in item["examples"]] == [(line, "failed")]


async def test_a_cell_above_that_changes_meanwhile(editor: Client) -> None:
    async with StandIn([SCALED]) as standin:
        editor.settings = told_of(standin)
        notebook = await editor.open_notebook("changed.ipynb", SETUP, CODE)
        above, uri = notebook.cells
        async with thinking(standin):
            await begin(editor, uri, "scaled", standin)
            await editor.change(above, "FACTOR", "# One\n# Two\nFACTOR")
            await settled(editor)
        assert (await editor.told())[0] == INFO
    assert editor.text(uri) == CODE + SCALED_BODY
    steps = (await editor.execute("journal"))["journal"]
    assert [step["action"] for step in steps] == ["write", "evaluate", "evaluate"], "it ran again with the cell above"


async def test_a_cell_that_moves_meanwhile_gets_its_function(editor: Client) -> None:
    async with StandIn([SCALED]) as standin:
        editor.settings = told_of(standin)
        notebook = await editor.open_notebook("moved.ipynb", SETUP, CODE, "# Last.")
        setup, uri, last = notebook.cells
        async with thinking(standin):
            await begin(editor, uri, "scaled", standin)
            await editor.rearrange(notebook, [setup, last, uri])
            await settled(editor)
        assert (await editor.told())[0] == INFO
    assert editor.text(uri) == CODE + SCALED_BODY


async def test_a_cell_that_moves_above_what_it_needs_keeps_its_result_out(editor: Client) -> None:
    async with StandIn([SCALED]) as standin:
        editor.settings = told_of(standin)
        notebook = await editor.open_notebook("above.ipynb", SETUP, CODE)
        setup, uri = notebook.cells
        async with thinking(standin):
            await begin(editor, uri, "scaled", standin)
            await editor.rearrange(notebook, [uri, setup])
            await settled(editor)
        kind, message = await editor.told()
    assert (kind, "does not pass in the current text" in message) == (WARNING, True)
    assert editor.text(uri) == CODE
    assert len(await kept(editor, uri)) == 1


async def test_the_result_of_a_deleted_cell_is_kept_and_follows_the_cell_back(editor: Client) -> None:
    async with StandIn([SCALED]) as standin:
        editor.settings = told_of(standin)
        notebook = await editor.open_notebook("deleted.ipynb", SETUP, CODE)
        setup, uri = notebook.cells
        async with thinking(standin):
            await begin(editor, uri, "scaled", standin)
            await editor.rearrange(notebook, [setup])
            await settled(editor)
        kind, message = await editor.told()
    assert kind == WARNING
    assert message.startswith("Not inserted; its result is kept: The cell was deleted, or its notebook was closed")
    assert len(await kept(editor, uri)) == 1
    back = uri.replace("#W1", "#back")
    await editor.rearrange(notebook, [setup, back], back=CODE)
    await settled(editor)
    assert (await taken(editor, back, "insert"))[0] == INFO
    assert editor.text(back) == CODE + SCALED_BODY


@pytest.mark.parametrize("is_split", [True, False])
async def test_results_follow_their_functions_when_cells_are_split_and_joined(editor: Client, is_split: bool) -> None:
    """While the model thinks, the user splits the function's cell or joins it to the one above."""
    async with StandIn([SCALED]) as standin:
        editor.settings = told_of(standin)
        texts = [f"{SETUP}\n\n{CODE}"] if is_split else [SETUP, CODE]
        notebook = await editor.open_notebook(f"follows{is_split}.ipynb", *texts)
        first, begun_in = notebook.cells[0], notebook.cells[-1]
        async with thinking(standin):
            await begin(editor, begun_in, "scaled", standin)
            if is_split:
                own = first.replace("#W0", "#split")
                await editor.change(first, CODE, "")
                await editor.rearrange(notebook, [first, own], split=CODE)
            else:
                own = first
                await editor.change(first, SETUP, f"{SETUP}\n\n\n{CODE}")
                await editor.rearrange(notebook, [first])
            await settled(editor)
            before = editor.text(own)
        assert (await editor.told())[0] == INFO
    assert editor.text(own) == before + SCALED_BODY
    (edit,) = editor.all("workspace/applyEdit")
    assert [each["textDocument"]["uri"] for each in edit["edit"]["documentChanges"]] == [own]


async def test_a_cell_closed_and_opened_in_one_change_keeps_its_text(editor: Client) -> None:
    notebook = await editor.open_notebook("again.ipynb", f"{STUB}{BODY}")
    (uri,) = notebook.cells
    item = {"uri": uri, "languageId": "python", "version": 1, "text": editor.text(uri)}
    array = {"start": 0, "deleteCount": 1, "cells": [{"kind": 2, "document": uri}]}
    structure = {"array": array, "didOpen": [item], "didClose": [{"uri": uri}]}
    await editor._notebook_changed(notebook, {"structure": structure})
    assert (await editor.run(uri, "initials", mode="check"))["status"] == "verified"


async def test_a_notebook_without_a_name(editor: Client) -> None:
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        notebook = await editor.open_notebook("untitled:Untitled-1.ipynb?jupyter-notebook", STUB)
        (uri,) = notebook.cells
        await taken(editor, uri, "generate")
    assert editor.text(uri) == STUB + BODY
    answer = await editor.execute("journal")
    assert answer["target"] == "Untitled-1.ipynb::initials"


async def test_a_notebook_imports_from_its_own_folder(editor: Client) -> None:
    (editor.folder / "prices.py").write_text("FACTOR = 10\n", encoding="utf-8")
    (editor.folder / "__init__.py").touch()
    notebook = await editor.open_notebook("prices.ipynb", "from prices import FACTOR", CODE + SCALED_BODY)
    assert (await editor.run(notebook.cells[1], "scaled", mode="check"))["status"] == "verified"


@pytest.mark.parametrize(
    ("above", "reason"),
    [
        ("FACTOR = 10\nfor x in", "line 2 of code cell 1"),
        ("FACTOR = 10\ntext = '''", "line 2 of code cell 1"),
        ("import asyncio\nawait asyncio.sleep(0)", "line 2 of code cell 1"),
        ("raise KeyError('x')", "KeyError"),
    ],
)
async def test_a_cell_above_that_cannot_run_is_named(editor: Client, above: str, reason: str) -> None:
    notebook = await editor.open_notebook("broken.ipynb", above, CODE + SCALED_BODY)
    answer = await editor.run(notebook.cells[1], "scaled", mode="check")
    assert reason in answer["summary"]
    await editor.change(notebook.cells[0], above, SETUP)
    assert (await editor.run(notebook.cells[1], "scaled", mode="check"))["status"] == "verified", "the control"


async def test_a_cell_that_is_not_python_says_so(editor: Client) -> None:
    notebook = await editor.open_notebook("shell.ipynb", f"%%bash\necho '''\n{STUB}", f"{STUB}{BODY}")
    shell, python = notebook.cells
    (action,) = await editor.actions(shell, "def ")
    assert action["title"] == "AdaCoder: This cell begins with %%bash, so it is not Python: go to a cell in Python."
    assert (await editor.take(action))["accepted"] is False
    assert (await editor.run(python, "initials", mode="check"))["status"] == "verified", "the control"


async def test_a_docstring_and_all_stubs_of_a_cell(editor: Client) -> None:
    async with StandIn([SCALED, GOOD]) as standin:
        editor.settings = told_of(standin)
        notebook = await editor.open_notebook(
            "stubs.ipynb", f"{SETUP}\n\n\n{ROOTED}", f"{CODE}\n\n{STUB}", "def bare():\n    return 1\n"
        )
        _, uri, bare = notebook.cells
        assert (await taken(editor, uri, "generateAll"))[1].startswith("Generated 2 of 2 stubs in stubs.ipynb")
    assert editor.text(uri) == f"{CODE}{SCALED_BODY}\n\n{STUB}{BODY}"
    (action,) = await editor.actions(bare, "def ")
    await editor.take(action)
    await editor.until(lambda: '"""' in editor.text(bare))
    assert editor.text(bare).startswith('def bare():\n    """')


async def test_the_actual_output_of_an_example_is_written_into_its_cell(editor: Client) -> None:
    notebook = await editor.open_notebook("accepted.ipynb", SETUP, f"{CODE}    return x\n")
    _, uri = notebook.cells
    before = editor.text(uri)
    line = before[: before.index(">>>")].count("\n")
    place = {"uri": uri, "version": 1, "position": {"line": line, "character": 0}}
    assert (await editor.execute("acceptOutput", place))["accepted"]
    await editor.until(lambda: editor.text(uri) != before)
    assert editor.text(uri) == before.replace("    20\n", "    2\n")


async def test_a_reply_is_shown_at_the_lines_of_its_cell(tmp_path: Path) -> None:
    capabilities = {**FULL, "experimental": {"adacoder": {"writing": True}}}
    async with StandIn([SCALED]) as standin, Client.started(tmp_path, capabilities=capabilities) as editor:
        editor.settings = told_of(standin)
        notebook = await editor.open_notebook("shown.ipynb", SETUP, f"# Mine.\n{CODE}")
        await editor.run(notebook.cells[1], "scaled")
        places = {(each["uri"], each["first"], each["last"]) for each in editor.all("adacoder/writing")}
    assert places == {(notebook.cells[1], 1, CODE.count("\n"))}


async def test_the_result_of_a_closed_notebook_stays_with_it(editor: Client) -> None:
    """A file with the same function does not get the result."""
    async with StandIn([SCALED]) as standin:
        editor.settings = told_of(standin, preview=True)
        (editor.folder / "stays.ipynb").write_text("{}", encoding="utf-8")
        notebook = await editor.open_notebook("stays.ipynb", SETUP, CODE)
        uri = notebook.cells[1]
        assert (await editor.run(uri, "scaled"))["kept"]
    await editor.close_notebook(notebook)
    other = await editor.write("same.py", CODE)
    await settled(editor)
    assert (len(await kept(editor, uri)), await kept(editor, other)) == (1, [])
    await editor.open_notebook("stays.ipynb", SETUP, CODE)
    assert (await taken(editor, uri, "insert"))[0] == INFO
    assert editor.text(uri) == CODE + SCALED_BODY


async def test_a_closed_notebook_is_gone(editor: Client) -> None:
    notebook = await editor.open_notebook("closed.ipynb", f"{STUB}{BODY}")
    (uri,) = notebook.cells
    assert (await editor.run(uri, "initials", mode="check"))["status"] == "verified"
    await editor.close_notebook(notebook)
    assert (await editor.run(uri, "initials", mode="check"))["reason"].startswith("The cell was deleted")
    await editor._notebook_changed(notebook, {"textContent": []})
    debug = await editor.request("adacoder/debug", {"id": f"{uri}#initials"})
    assert debug["reason"].startswith("The cell was deleted")


async def test_the_settings_are_those_of_the_notebook(editor: Client) -> None:
    scopes: list[str] = []

    def answered(params: Any) -> list[Any]:
        scopes.extend(item["scopeUri"] for item in params["items"])
        return [{}]

    editor.answers["workspace/configuration"] = answered
    notebook: Notebook = await editor.open_notebook("scope.ipynb", f"{STUB}{BODY}")
    await editor.run(notebook.cells[0], "initials", mode="check")
    assert (notebook.uri in scopes, notebook.cells[0] in scopes) == (True, False)


async def test_the_example_notebook_is_written_from_a_real_reply(editor: Client) -> None:
    notebook = json.loads((ROOT / "examples/notebook/walks.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    replies = tomllib.loads((FIXTURES / "real_replies.toml").read_text("utf-8"))["examples/notebook/README.md"]
    async with StandIn(replies) as standin:
        editor.settings = told_of(standin)
        opened = await editor.open_notebook("walks.ipynb", *cells)
        (uri,) = (each for each in opened.cells if "def walking_time" in editor.text(each))
        assert await taken(editor, uri, "generate") == (INFO, "Inserted 'walking_time'. 2/2 examples passed.")
        assert len(standin.requests) == len(replies)
