"""Find the address of Windows from WSL. A model server may run on Windows."""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path

_KERNEL = Path("/proc/sys/kernel/osrelease")
_ROUTES = Path("/proc/net/route")
_MIRRORED = Path("/sys/class/net/loopback0")
"""Path that exists if WSL shares the network of Windows. In this case, the gateway is a router, not Windows."""
_NAT = ipaddress.ip_network("172.16.0.0/12")
"""Address range of WSL's own network."""
_PATIENCE = 0.2
"""Timeout for a connection to this machine, in seconds. This machine accepts or refuses connections at once."""


def windows_host(port: int) -> str | None:
    """Return the address of Windows, or None.

    The result is None outside of WSL 2. It is also None if WSL shares the network of Windows, or if a server in WSL
    listens on `port`.
    """
    gateway = _gateway() if _is_wsl() and not _MIRRORED.exists() else None
    return gateway if gateway is not None and not _listens(port) else None


def _is_wsl() -> bool:
    try:
        return "microsoft" in _KERNEL.read_text("ascii", "replace").lower()
    except OSError:
        return False


def _gateway() -> str | None:
    """Return the default gateway if it is in WSL's own network."""
    try:
        lines = _ROUTES.read_text("ascii", "replace").splitlines()[1:]
    except OSError:
        return None
    for fields in map(str.split, lines):
        if len(fields) > 2 and fields[1] == "00000000":
            address = ipaddress.IPv4Address(bytes.fromhex(fields[2])[::-1])
            return str(address) if address in _NAT else None
    return None


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), _PATIENCE).close()
    except OSError:
        return False
    return True
