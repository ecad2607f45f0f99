"""Attacks on the network, on services of this machine, and on the user's terminal."""

from __future__ import annotations

from adacoder.domain import FailureKind
from adversarial.attack import Attack, Ending, Harm, Harness

_STOPPED: tuple[Ending, ...] = (FailureKind.DENIED, FailureKind.EXCEPTION)
_HONEST = """
import socket
one, other = socket.socketpair()
return one.send(b"ab")
"""


def _reaches(name: str, body: str, *ends: Ending, harness: Harness = Harness.UNCONFINED, twin: str = _HONEST) -> Attack:
    return Attack(name, body, ends or _STOPPED, Harm.REACHED, harness, twin)


ATTACKS = (
    _reaches("calls a port", "import socket\nsocket.create_connection(('127.0.0.1', PORT), 5)\nreturn 2",
             FailureKind.DENIED),
    _reaches(
        "calls a web server",
        """
        import urllib.request
        urllib.request.urlopen(f"http://127.0.0.1:{PORT}", timeout=0.3)
        return 2
        """,
        twin="import urllib.parse\nreturn len(urllib.parse.urlsplit('//a')) - 3",
    ),
    _reaches(
        "calls a port from an event loop",
        """
        import asyncio
        asyncio.run(asyncio.open_connection("127.0.0.1", PORT))
        return 2
        """,
        twin="import asyncio\nreturn asyncio.run(asyncio.sleep(0, 2))",
    ),
    _reaches("sends a datagram",
             "import socket\nreturn socket.socket(type=socket.SOCK_DGRAM).sendto(b'ab', ('127.0.0.1', UDP_PORT))"),
    _reaches(
        "sends with the first packet",
        """
        import socket
        fast_open = 0x20000000
        socket.socket().sendto(b"ab", fast_open, ("127.0.0.1", PORT))
        return 2
        """,
    ),
    _reaches(
        "calls a port by the bare module",
        """
        import _socket
        _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM, 0).connect(("127.0.0.1", PORT))
        return 2
        """,
    ),
    _reaches("calls a socket outside the project",
             "import socket\nsocket.socket(socket.AF_UNIX).connect(SOCKET)\nreturn 2"),
    _reaches("calls a socket in the project",
             "import socket\nsocket.socket(socket.AF_UNIX).connect(PROJECT_SOCKET)\nreturn 2"),
    _reaches("calls an abstract socket",
             "import socket\nsocket.socket(socket.AF_UNIX).connect(ABSTRACT_SOCKET)\nreturn 2"),
    _reaches(
        "calls with one end of a pair",
        """
        import socket
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        other.close()
        one.connect(DATAGRAM_SOCKET)
        return one.send(b"ab")
        """,
    ),
    _reaches(
        "sends with one end of a pair",
        """
        import socket
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        return one.sendto(b"ab", DATAGRAM_SOCKET)
        """,
    ),
    _reaches(
        "asks for a name",
        """
        import socket
        return len(socket.getaddrinfo("example.org", 80)) and 2
        """,
        FailureKind.DENIED,
        twin="import socket\nreturn len(socket.getaddrinfo('127.0.0.1', 80)) and 2",
    ),
    Attack(
        "offers a port",
        "import socket\nsocket.create_server(('', 0))\nreturn 2",
        _STOPPED,
        Harm.PASSED,
        twin=_HONEST,
    ),
    Attack(
        "asks what networks there are",
        "import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW)\nreturn 2",
        _STOPPED,
        Harm.PASSED,
        twin=_HONEST,
    ),
    _reaches(
        "types on the terminal",
        """
        import fcntl, termios
        for key in b"!\\n":
            fcntl.ioctl(os.open("/dev/tty", os.O_RDWR), termios.TIOCSTI, bytes([key]))
        return 2
        """,
        harness=Harness.REPORT,
        twin="import termios\nreturn len([termios.TIOCSTI, termios.TIOCSTI])",
    ),
)  # fmt: skip
