"""Keep unit tests in their own process. Tests that start processes or use servers belong in tests/integration."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

_STARTING = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}
_CONNECTING = {"socket.connect", "socket.getaddrinfo"} if sys.platform != "win32" else set[str]()
"""Audit events that an event loop causes on Windows, because it connects to itself."""
_FORBIDDEN = _STARTING | _CONNECTING
_left: list[str] = []


def _note(event: str, _: tuple[object, ...]) -> None:
    if event in _FORBIDDEN:
        _left.append(event)


sys.addaudithook(_note)


@pytest.fixture(autouse=True)
def stays_here() -> Iterator[list[str]]:
    """Fail a test that starts a process or connects to a server. Yield the list of such events."""
    _left.clear()
    yield _left
    assert not _left, f"this is no unit test: {', '.join(sorted(set(_left)))}"
