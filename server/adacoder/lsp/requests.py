"""Decorators for handlers: they read the parameters and take the snapshot, so that no handler can forget it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from adacoder.domain import AdaCoderError, TargetError
from adacoder.lsp.client_state import MOMENT
from adacoder.lsp.from_proto import read
from adacoder.lsp.snapshot import Snapshot, take
from adacoder.lsp.uri import Uri

if TYPE_CHECKING:
    from adacoder.lsp.language_server import AdaCoderServer, Answer

P = TypeVar("P")
Refused: TypeAlias = "Callable[[AdaCoderServer, str], dict[str, Any]]"
"""Makes the answer to a request that cannot be met, given the reason."""
Wanted: TypeAlias = "Callable[[AdaCoderServer, Uri], Awaitable[bool]]"
OnDocument: TypeAlias = "Callable[[AdaCoderServer, Any, Snapshot], Awaitable[Any]]"


def reads(
    kind: type[P], refused: Refused | None = None
) -> Callable[[Callable[[AdaCoderServer, P], Awaitable[Any]]], Answer]:
    """Decorate a handler of a command or request of AdaCoder's own, whose parameters are of a `kind`.

    Without `refused`, an AdaCoderError goes on. A ParametersError then becomes an error answer.
    """

    def decorate(handler: Callable[[AdaCoderServer, P], Awaitable[Any]]) -> Answer:
        @wraps(handler)
        async def answer(ls: AdaCoderServer, params: object) -> Any:
            try:
                return await handler(ls, read(kind, params))
            except AdaCoderError as error:
                if refused is None:
                    raise
                return refused(ls, str(error))

        return answer

    return decorate


def on_document(*, restored: bool = False, wanted: Wanted | None = None) -> Callable[[OnDocument], Answer]:
    """Decorate a handler of a request of the protocol on one document, which editors send at each keystroke.

    The answer is null for an unsaved text, or for a document that is not `wanted`, of which no snapshot is taken. With
    `restored`, the results of earlier servers are read first.
    """

    def decorate(handler: OnDocument) -> Answer:
        @wraps(handler)
        async def answer(ls: AdaCoderServer, params: Any) -> Any:
            uri = Uri(params.text_document.uri)
            if wanted is not None and not await wanted(ls, uri):
                return None
            if restored:
                await ls.state.restored(MOMENT)
            try:
                snapshot = take(ls.workspace, uri)
            except TargetError:
                return None
            return await handler(ls, params, snapshot)

        return answer

    return decorate
