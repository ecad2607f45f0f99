"""HTTP settings for all model servers, and the translation of HTTP failures into errors for users.

This module imports httpx, which is slow, so import this module only at the first request.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypedDict

import anyio._backends._asyncio  # noqa: F401  # Otherwise httpx would import it on the event loop, at its first request.
import httpx

from adacoder.models.address import Address
from adacoder.models.errors import (
    BadHost,
    BadName,
    BadReply,
    Busy,
    CannotConnect,
    CloudDisabled,
    ContextOverflow,
    Denied,
    Kind,
    Loading,
    ModelError,
    ModelMissing,
    NoTls,
    NotRunning,
    OtherScheme,
    OtherServer,
    OutOfMemory,
)
from adacoder.models.response_guard import guard

_OVERFLOW_WORDS = ("context length", "context size", "context window", "context_length", "exceed_context")
_MEMORY_WORDS = ("system memory", "out of memory", "allocate", "signal: killed")
_NO_TLS_WORDS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG")
"""OpenSSL's names of the errors that occur when a server does not speak TLS."""


class ClientSettings(TypedDict):
    """Settings of an httpx client."""

    headers: Mapping[str, str]
    timeout: httpx.Timeout
    limits: httpx.Limits
    trust_env: bool
    verify: bool | ssl.SSLContext
    follow_redirects: bool
    auth: Callable[[httpx.Request], httpx.Request]
    event_hooks: dict[str, list[Callable[[httpx.Response], Awaitable[None]]]]


def client_settings(address: Address, key: str | None, connect_seconds: float) -> ClientSettings:
    """Return the client settings for the server at `address`, with `key` if the server may get it.

    The settings limit only the time to connect. Callers must limit the time of requests themselves.

    Raises:
        ValueError: the key cannot be sent in a header.
    """
    key = key.strip() if key and address.may_have_key else ""
    if not (key.isascii() and key.isprintable()):
        raise ValueError("the key has characters that no key has")

    def authorize(request: httpx.Request) -> httpx.Request:
        request.headers.pop("Authorization", None)  # client libraries would send the key to any host
        request.headers.pop("Cookie", None)
        if key:
            request.headers["Authorization"] = f"Bearer {key}"
        return request

    return {
        # otherwise the Ollama library takes the key from the environment
        "headers": {"Accept-Encoding": "identity", "Authorization": "none"},
        "timeout": httpx.Timeout(None, connect=connect_seconds),
        # a reused connection could fail if the server closes it at the same moment
        "limits": httpx.Limits(max_keepalive_connections=0),
        "trust_env": not address.loopback,
        # reading certificates takes 20 ms; for http, use a context without certificates
        "verify": address.url.startswith("https:") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        "follow_redirects": False,
        "auth": authorize,
        "event_hooks": {"response": [guard]},
    }


@contextmanager
def client_setup(url: str, kind: Kind) -> Iterator[None]:
    """Raise a ModelError for errors of the `with` block, which creates a client for the server at `url`."""
    try:
        httpx.URL(url)
    except httpx.InvalidURL:
        raise BadHost(url, kind) from None
    try:
        yield
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
        # for example, an environment variable names an unsupported proxy
        raise CannotConnect(url, str(error), kind) from error


@contextmanager
def translated_failures(url: str, kind: Kind) -> Iterator[None]:
    """Raise a ModelError for errors of the `with` block, which communicates with the server at `url`."""
    try:
        yield
    except httpx.ConnectError as error:
        said = str(error)
        if any(word in said for word in _NO_TLS_WORDS):
            raise OtherScheme(url, kind) from error
        if "[SSL" in said:
            raise CannotConnect(url, said, kind) from error
        raise NotRunning(url, kind) from error
    except (httpx.ConnectTimeout, httpx.ProxyError) as error:
        raise (NoTls if _waited_for_tls(error) else NotRunning)(url, kind) from error
    except httpx.HTTPError as error:
        raise BadReply(url, "the connection broke off") from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        # the answer is not JSON, or not of the expected form
        raise BadReply(url, f"it does not answer like an {kind.name} server") from error


def _waited_for_tls(error: BaseException) -> bool:
    """Return whether a server accepted the connection, but did not answer with TLS."""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    return any(isinstance(each, ssl.SSLWantReadError) for each in causes)


def refusal(status: int, said: str, model: str, url: str, kind: Kind) -> ModelError:
    """Return the error for an error response. `status` is -1 if the error came in the middle of a stream."""
    lower = said.lower()
    if status == 503 and "loading" in lower:  # sent by llama-server before the model is loaded
        return Loading(url)
    if status in (429, 503):
        return Busy(url)
    if status == 404 and "model" in lower:
        return ModelMissing(model, url, kind=kind)
    if status in (404, 405):
        return OtherServer(url, kind)
    if "cloud is disabled" in lower:
        return CloudDisabled(model)
    if status == 400 and "http request" in lower and "https" in lower:
        return OtherScheme(url, kind)
    if status == 400 and "invalid model name" in lower:
        return BadName(model)
    if status in (401, 403):
        return Denied(url, status, kind)
    if any(word in lower for word in _OVERFLOW_WORDS):
        return ContextOverflow.by(model)
    if any(word in lower for word in _MEMORY_WORDS):
        return OutOfMemory(model, said)
    if 300 <= status < 400:
        return BadReply(url, "it redirects to another address: name that address instead")
    return BadReply(url, said.strip() or (f"HTTP {status}" if status > 0 else "it reported an error without a message"))
