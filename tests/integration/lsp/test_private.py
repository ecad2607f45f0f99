"""Private files stay private if they are open in the editor, and so do open files outside the workspace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from integration.lsp.client import Client
from integration.lsp.texts import GOOD, STUB, told_of
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

USING = f"from creds import lake\n\n\n{STUB}"
TELLING = f"```python\n{STUB}    import creds\n    return creds.lake\n```"


def _link(editor: Client, tmp_path: Path, aim: str) -> None:
    """Make `creds.py` a link to a file that contains the name of a lake."""
    place = {"elsewhere": tmp_path / "notes.py", "private": editor.folder / ".env", "honest": editor.folder / "own.py"}
    place[aim].write_text("lake = 1\n", encoding="utf-8")
    (editor.folder / "creds.py").symlink_to(place[aim])


@pytest.mark.parametrize("aim", ["elsewhere", "private"])
async def test_the_open_text_of_what_is_private_is_told_to_nobody(editor: Client, tmp_path: Path, aim: str) -> None:
    _link(editor, tmp_path, aim)
    async with StandIn([TELLING]) as standin:
        editor.settings = told_of(standin, maxIterations=0)
        await editor.open("creds.py", "lake = 'Windermere7'\n")
        await editor.write("names.py", USING)
        answer = await editor.run("names.py", "initials")
        assert "Windermere7" not in json.dumps(standin.requests)
    assert len(standin.requests) == 1
    assert "Windermere7" not in json.dumps(answer)


async def test_the_open_text_of_an_honest_link_is_told(editor: Client, tmp_path: Path) -> None:
    _link(editor, tmp_path, "honest")
    async with StandIn([TELLING]) as standin:
        editor.settings = told_of(standin, maxIterations=0)
        await editor.open("creds.py", "lake = 'Thirlmere5'\n")
        await editor.write("names.py", USING)
        answer = await editor.run("names.py", "initials")
        assert "Thirlmere5" in json.dumps(standin.requests)
    assert "Thirlmere5" in json.dumps(answer["failure"])


@pytest.mark.parametrize(
    ("aim", "why"), [("elsewhere", "leads out of the workspace"), ("private", "is private"), ("honest", None)]
)
async def test_a_function_in_such_a_file(editor: Client, tmp_path: Path, aim: str, why: str | None) -> None:
    _link(editor, tmp_path, aim)
    async with StandIn([GOOD]) as standin:
        editor.settings = told_of(standin)
        uri = await editor.open("creds.py", STUB)
        answer = await editor.run("creds.py", "initials")
        assert bool(standin.requests) is (why is None)
    if why is None:
        assert answer["status"] == "verified"
        assert editor.text(uri) != STUB
    else:
        assert answer["status"] == "error"
        assert why in answer["reason"]
        assert editor.text(uri) == STUB
