"""After a job, the tests of the file's module run in the background, so that the next job knows their results."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from adacoder.agents.observations import Observations
from integration.lsp.client import PATIENCE, Client
from integration.lsp.texts import told_of
from support.standins.ollama import StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="session")]

STUB = '''def total(prices):
    """Add prices.

    >>> total([1, 2])
    3
    """
'''
TEST = "from shop import total\n\n\ndef test_one():\n    assert total([1]) == 1\n"
RIGHT = "```python\ndef total(prices):\n    return sum(prices)\n```"
WAIT = 8
"""Seconds that a test waits for a run that must not begin. The server waits for a part of it."""


async def generated(editor: Client, files: Mapping[str, str], settings: Mapping[str, object]) -> str:
    """Write files and generate the function. Return the URI of its module."""
    for name, text in files.items():
        (editor.folder / name).write_text(text, encoding="utf-8")
    async with StandIn([RIGHT]) as standin:
        editor.settings = {**told_of(standin), **settings}
        uri = await editor.write("shop.py", STUB)
        await editor.run(editor.folder / "shop.py", "total")
    return uri


def is_observed(editor: Client) -> bool:
    """Return whether the test file was observed with the present text of the module."""
    observed = Observations(editor.folder.parent).load(editor.folder / "test_shop.py", editor.folder)
    return observed is not None and any(test.ran for test in observed.tests)


async def test_the_tests_of_a_changed_module_run_after_its_job(editor: Client) -> None:
    uri = await generated(editor, {"test_shop.py": TEST}, {})
    assert "return sum" in editor.text(uri)
    assert not is_observed(editor)  # a stub fails its test
    async with asyncio.timeout(PATIENCE):
        while not is_observed(editor):  # noqa: ASYNC110  # another process observes it
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("what", ["no tests", "another module", "a change"])
async def test_tests_do_not_run_ahead(what: str, editor: Client) -> None:
    test = "def test_one():\n    pass\n" if what == "another module" else TEST
    uri = await generated(editor, {"test_shop.py": test}, {"tests": False} if what == "no tests" else {})
    for _ in range(WAIT):
        if what == "a change":
            await editor.change(uri, "def", "def ")
            await editor.change(uri, "def ", "def")
        await asyncio.sleep(1)
    assert not is_observed(editor)
