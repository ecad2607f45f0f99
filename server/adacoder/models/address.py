"""Where an Ollama server is: its address as a user may write it, and what may be sent there."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from adacoder.models.base import BadHost

_PORTS = {"http": 80, "https": 443}
_OLLAMA_PORT = 11434
_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class Address:
    """The address of an Ollama server."""

    url: str
    """Scheme, host, port and, where there is one, path: `http://127.0.0.1:11434`."""
    loopback: bool
    """Whether it is this machine; then no proxy stands between."""
    named: bool
    """Whether the user named it, so that it is not merely Ollama's default."""

    @property
    def may_have_key(self) -> bool:
        """Whether OLLAMA_API_KEY may go there: only where the user said, never in clear over a network."""
        return self.named and (self.loopback or self.url.startswith("https:"))


def address(host: str | None) -> Address:
    """The address that `host` means, else that of `OLLAMA_HOST`, else Ollama's default.

    Read as Ollama reads `OLLAMA_HOST`: blanks and quotes around it do not count, a bare host has port 11434,
    `http://` 80 and `https://` 443; an address to listen on, such as `0.0.0.0`, stands for this machine.

    Raises:
        BadHost: it is no address.
    """
    written = (host or os.environ.get("OLLAMA_HOST") or "").strip(" \t\r\n'\"")
    scheme, separator, rest = written.partition("://")
    if not separator:
        scheme, rest = "http", written
    if scheme not in _PORTS:
        raise BadHost(written)
    try:
        parts = urlsplit(f"{scheme}://{_bracketed(rest)}")
        port = parts.port or (_PORTS[scheme] if separator else _OLLAMA_PORT)
    except ValueError:
        raise BadHost(written) from None
    if parts.username is not None or parts.query or parts.fragment:
        raise BadHost(written)
    name, loopback = _machine(parts.hostname or "127.0.0.1", written)
    return Address(f"{scheme}://{name}:{port}{parts.path.rstrip('/')}", loopback, named=bool(written))


def _bracketed(rest: str) -> str:
    """`rest` with brackets around it if it is a bare IPv6 address."""
    try:
        return f"[{ipaddress.IPv6Address(rest)}]"
    except ValueError:
        return rest


def _machine(name: str, written: str) -> tuple[str, bool]:
    """A host's name as a URL spells it, and whether it is this machine."""
    try:
        ip = ipaddress.ip_address(name)
    except ValueError:
        if not _NAME.fullmatch(name):
            raise BadHost(written) from None
        return name, name == "localhost" or name.endswith(".localhost")
    if ip.is_unspecified:
        ip = ipaddress.ip_address("127.0.0.1" if ip.version == 4 else "::1")
    return (f"[{ip}]" if ip.version == 6 else str(ip)), ip.is_loopback
