"""Parse the address of a model server, and decide whether prompts and API keys may be sent to it."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
import socket
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from adacoder.models.errors import OPENAI, BadHost, Kind, LeavesNetwork, NoBaseUrl, NotRunning
from adacoder.models.windows import windows_host

_PORTS = {"http": 80, "https": 443}
_OLLAMA_PORT = 11434
_NAME = re.compile(r"[\w.-]+")
_BLANKS_AND_QUOTES = " \t\r\n'\""
_HOME = tuple(
    map(
        ipaddress.ip_network,
        (
            *("127.0.0.0/8", "::1/128"),  # this machine
            *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),  # private networks (RFC 1918, RFC 4193)
            *("169.254.0.0/16", "fe80::/10"),  # link-local addresses (RFC 3927, RFC 4291)
            "100.64.0.0/10",  # shared address space, used by overlay networks such as VPNs (RFC 6598)
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a model server."""

    url: str
    """URL such as `http://127.0.0.1:11434`, with an optional path."""
    loopback: bool
    """True if the server is on this machine. Connections to this machine use no proxy."""
    named: bool
    """True if the user gave the server's address. False for Ollama's default address."""

    @property
    def may_have_key(self) -> bool:
        """True if an API key may be sent to the server.

        The user must have given the server's address, and the connection must use TLS or stay on this machine.
        """
        return self.named and (self.loopback or self.url.startswith("https:"))

    @property
    def on_windows(self) -> bool:
        """True if AdaCoder runs in WSL and the server runs on Windows."""
        return self.loopback and not self.named and urlsplit(self.url).hostname != "127.0.0.1"

    async def is_private(self) -> bool:
        """Return whether all IP addresses of the host are on this machine or in a private network.

        The host's name may be looked up, but nothing is sent to the host itself.

        Raises:
            OSError, UnicodeError: the host's name cannot be resolved.
        """
        parts = urlsplit(self.url)
        with suppress(ValueError):  # the host is a name, not an IP address
            return _is_home(str(ipaddress.ip_address(parts.hostname or "")))
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(parts.hostname, parts.port, type=socket.SOCK_STREAM)
        return all(_is_home(str(place[0])) for *_, place in found)


async def require_private(place: Address, kind: Kind, seconds: float) -> None:
    """Raise an error unless `place` is in a private network or on this machine.

    Raises:
        LeavesNetwork: the host is elsewhere.
        NotRunning: the host's name cannot be resolved within `seconds`.
    """
    try:
        async with asyncio.timeout(seconds):
            is_private = await place.is_private()
    except (OSError, UnicodeError):  # a TimeoutError is an OSError
        raise NotRunning(place.url, kind) from None
    if not is_private:
        raise LeavesNetwork(place.url, kind)


def address(host: str | None) -> Address:
    """Return the address of an Ollama server: `host`, else `OLLAMA_HOST`, else Ollama's default address.

    `host` has the format of `OLLAMA_HOST`. The default port is 11434 without a scheme, 80 after `http://` and 443 after
    `https://`. An address for listening, such as `0.0.0.0`, stands for this machine.

    In WSL, the default address leads to Windows if no server runs in WSL.

    Raises:
        BadHost: the text is not an address.
    """
    written = (host or os.environ.get("OLLAMA_HOST") or "").strip(_BLANKS_AND_QUOTES)
    if not written and (windows := windows_host(_OLLAMA_PORT)) is not None:
        return Address(f"http://{windows}:{_OLLAMA_PORT}", loopback=True, named=False)
    try:
        return _read(written, _OLLAMA_PORT)
    except ValueError:
        raise BadHost(written) from None


def base_url(written: str | None) -> Address:
    """Parse the address of an OpenAI-compatible server, usually with the path `/v1`.

    The default scheme is `http`. The default port is 80 for `http` and 443 for `https`.

    Raises:
        NoBaseUrl: `written` is None or empty.
        BadHost: `written` is not an address.
    """
    written = (written or "").strip(_BLANKS_AND_QUOTES)
    if not written:
        raise NoBaseUrl
    try:
        return _read(written, _PORTS["http"])
    except ValueError:
        raise BadHost(written, OPENAI) from None


def _read(written: str, bare_port: int) -> Address:
    """Parse an address. Its port is `bare_port` if the address has neither a scheme nor a port.

    Raise ValueError if the address is invalid.
    """
    scheme, separator, rest = written.partition("://")
    if not separator:
        scheme, rest = "http", written
    if scheme not in _PORTS:
        raise ValueError(scheme)
    parts = urlsplit(f"{scheme}://{_bracketed(rest)}")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError(written)
    port = parts.port or (_PORTS[scheme] if separator else bare_port)
    name, loopback = _machine(parts.hostname or "127.0.0.1")
    return Address(f"{scheme}://{name}:{port}{parts.path.rstrip('/')}", loopback, named=bool(written))


def _bracketed(rest: str) -> str:
    try:
        return f"[{ipaddress.IPv6Address(rest)}]"
    except ValueError:
        return rest


def _machine(name: str) -> tuple[str, bool]:
    """Return a host's name as URLs write it, and whether the host is this machine.

    Raise ValueError if the name is invalid.
    """
    try:
        ip = ipaddress.ip_address(name)
    except ValueError:
        if not _NAME.fullmatch(name):
            raise
        return name, name == "localhost" or name.endswith(".localhost")
    if ip.is_unspecified:
        ip = ipaddress.ip_address("127.0.0.1" if ip.version == 4 else "::1")
    return (f"[{ip}]" if ip.version == 6 else str(ip)), ip.is_loopback


def _is_home(number: str) -> bool:
    """Return whether an IP address is in a private network or on this machine."""
    ip = ipaddress.ip_address(number)
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return any(ip in network for network in _HOME)
