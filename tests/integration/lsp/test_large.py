"""The handling of messages does no work that grows with the file."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from integration.lsp.client import Client
from integration.lsp.texts import BODY, GOOD, STUB, WRONG, told_of
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio]

OTHERS = '''

class Order{n}:
    """An order."""

    def total(self, rate: float = {n}.5) -> float:
        """What it costs.

        >>> Order{n}().total(2.0)
        2.0
        """
        return rate if rate > 1 else -rate
'''
LARGE = f"import math\n\n\n{STUB}" + "".join(OTHERS.format(n=n) for n in range(500))
CHEAP = frozenset(
    {"Lines.__init__", "Lines.starts", "_starts", "Lines.line_at", "line_start", "line_number"}
    | {"apply_edits", "must_be_short", "position_at", "range_of", "unmarked"}
)
"""Functions that are fast for a text of any size, because they copy, compare or count."""
WATCHED = f"""
import sys

def watch(frame, event, argument):
    code = frame.f_code
    if event == "call" and "/adacoder/" in code.co_filename:
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if any(map(is_long, (frame.f_locals.get(name) for name in names))):
            told.write(f"{{code.co_qualname}} {{code.co_filename}}\\n")

def is_long(value):
    text = getattr(value, "text", None) if type(value).__name__.endswith("Lines") else value
    return isinstance(text, str) and len(text) > {len(LARGE) // 2}

told = open(sys.argv[1], "w", buffering=1)
from adacoder.__main__ import main
sys.setprofile(watch)
sys.exit(main(["serve"]))
"""
"""A server that reports which functions its main thread calls with a long text."""
READERS = re.compile(r"/adacoder/(?:source|pytext|replies|sandbox/environment/imports_ahead)\b")


PLAN = "1. Take the first letters."
REQUESTS = [
    ("generate", "", [WRONG, PLAN, GOOD]),
    ("fix", "    return math.nothing(nowhere)\n", [PLAN, GOOD]),
    ("repair", "    return datetime.now(nowhere)\n", []),
    ("check", BODY, []),
    ("suggestExamples", BODY, ["```python\n>>> initials(\"grace hopper\")\n'GH'\n```"]),
]


async def test_no_module_is_read_on_the_event_loop(tmp_path: Path) -> None:
    told, project = tmp_path / "told", tmp_path / "project"
    project.mkdir()
    command = (sys.executable, "-c", WATCHED, str(told))
    replies = [reply for _, _, needed in REQUESTS for reply in needed]
    async with (
        StandIn([*replies, GOOD]) as standin,
        Client.started(project, told_of(standin, strategy="adacoder"), command=command) as editor,
    ):
        for mode, body, _ in REQUESTS:
            uri = await editor.write(f"{mode}.py", LARGE.replace(STUB, STUB + body))
            assert await editor.actions(uri, "def initials")
            answer = await editor.run(f"{mode}.py", "initials", mode=mode, apply=False)
            assert answer["status"] in ("verified", "failed", "unverified"), answer
            place = {"textDocument": {"uri": uri}, "position": {"line": 3, "character": 4}}
            assert await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}}) is not None
            hover = await editor.request("textDocument/hover", place)
            assert bool(hover) is (mode in ("check", "repair")), "candidates of the others are not inserted"
            await editor.close(uri)
        uri = await editor.write("applied.py", LARGE)
        applying = asyncio.create_task(editor.run("applied.py", "initials"))
        await editor.change(uri, "Order7:", "Order_7:")
        assert (await applying)["applied"]
    lines = [line.split(" ", 1) for line in told.read_text().splitlines()]
    assert "_workspace_folder" in {name for name, _ in lines}, "what is called there with such a text is seen"
    assert {name for name, file in lines if READERS.search(file)} <= CHEAP
