"""Run `adacoder`, and record its connections and the files that it writes: `python watched.py LOG [COMMAND…]`.

Each line of LOG is a JSON list: the event and its object. Events are Python's audit events (PEP 578), which no library
can avoid.

Connections of the process to itself are ignored, because testing the isolation makes some. Other tests watch the
processes that run examples.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CONNECTING = {"socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"}
CHANGING = {"os.mkdir", "os.rename", "os.link", "os.symlink", "sqlite3.connect"}


def watch(log: int) -> None:
    """Record events in the file descriptor `log` from now on."""

    own: list[socket.socket] = []

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "socket.bind" and isinstance(arguments[0], socket.socket):
            own.append(arguments[0])
            return
        if event == "socket.connect" and arguments[1] in {each.getsockname() for each in own if each.fileno() >= 0}:
            return
        if event in CONNECTING:
            what: object = arguments[0] if event == "socket.getaddrinfo" else arguments[1:]
        elif event in CHANGING or (event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING):
            what = arguments[0]
        else:
            return
        os.write(log, f"{json.dumps([event, what], default=os.fspath)}\n".encode())

    sys.addaudithook(hook)


if __name__ == "__main__":
    from adacoder.__main__ import main

    watch(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    elsewhere = os.environ.get("ADACODER_TEST_STRAY")
    if elsewhere:  # a test sets this variable to check that violations are recorded
        Path("stray.txt").write_text("stored", encoding="utf-8")
        with socket.socket() as stray:
            stray.connect_ex(("127.0.0.1", int(elsewhere)))
    sys.exit(main(sys.argv[2:]))
