"""The display never uses older settings than the editor's latest change."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from adacoder.lsp.showing.shown import Shown
from adacoder.lsp.snapshot import Uri
from adacoder.settings import Settings

if TYPE_CHECKING:
    from adacoder.lsp.connection.client import Client

URI = Uri("file:///project/demo.py")


class Changing(Shown):
    """An editor whose answer has the old settings, because they changed while it was on its way."""

    def __init__(self) -> None:
        client = SimpleNamespace(begin=lambda work: work.close())
        super().__init__(cast("Client", client))
        self.answers = [Settings(code_lens=False), Settings(code_lens=True)]
        self.may_answer = asyncio.Event()

    async def _asked(self, uri: Uri) -> Settings:
        answer = self.answers.pop(0)
        await self.may_answer.wait()
        return answer


async def test_an_answer_from_before_a_change_does_not_count() -> None:
    shown = Changing()
    first = asyncio.create_task(shown.settings(URI))
    await asyncio.sleep(0)
    shown.configured()
    shown.may_answer.set()
    assert (await first).code_lens
    assert (await shown.settings(URI)).code_lens
    assert shown.answers == []
