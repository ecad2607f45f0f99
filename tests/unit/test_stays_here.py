"""The guard in tests/unit/conftest.py notices processes and connections."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest


def test_a_process_and_a_connection_are_seen(stays_here: list[str]) -> None:
    assert stays_here == []
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert "subprocess.Popen" in stays_here
    stays_here.clear()
    with socket.socket() as one, pytest.raises(ConnectionRefusedError):
        one.connect(("127.0.0.1", 1))
    assert stays_here == (["socket.connect"] if sys.platform != "win32" else [])
    stays_here.clear()
