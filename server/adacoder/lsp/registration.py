"""How commands and requests of our own are answered: each in the same way, whatever it does.

An answer is sent before what it tells of begins: some clients leave a request of ours unread that comes with an answer.
Cancelling the client's request cancels what answers it, at any moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from pygls.exceptions import JsonRpcInvalidParams

from adacoder import report
from adacoder.lsp.server import AdaCoderServer  # pygls reads annotations
from adacoder.lsp.snapshot import ParametersError

if TYPE_CHECKING:
    from adacoder.lsp.batch import Batch
    from adacoder.lsp.jobs import Job

Answer = Callable[[AdaCoderServer, Any], Awaitable[Any]]
"""Answers a command; its arguments are the server, and the command's first argument or None."""


def add_command(server: AdaCoderServer, name: str, answer: Answer) -> None:
    """Let `server` answer the command `name` by `answer`."""

    async def answered(ls: AdaCoderServer, *arguments: Any) -> Any:
        if (task := asyncio.current_task()) is not None:
            ls.protocol.cancel_with_request(task)
        return _with_version(await answer(ls, arguments[0] if arguments else None))

    server.command(name)(answered)


def add_request(server: AdaCoderServer, name: str, answer: Answer) -> None:
    """Let `server` answer the request `name` by `answer`; parameters that this cannot read are an error."""

    async def answered(ls: AdaCoderServer, params: object) -> Any:
        try:
            return _with_version(await answer(ls, params))
        except ParametersError as error:
            raise JsonRpcInvalidParams(str(error)) from None

    server.feature(name)(answered)


def _with_version(answer: Any) -> Any:
    return {"version": report.VERSION, **answer} if isinstance(answer, dict) else answer


def begin_after_answer(ls: AdaCoderServer, job: Job | Batch) -> None:
    """Let `job` begin once the command that started it has been answered; cancelled, that cancels the job, too."""

    def begin(is_cancelled: bool) -> None:
        if is_cancelled:
            job.cancel()
        job.may_begin.set()

    ls.protocol.after_answer(begin)
