"""Redact recorded conversations: replace texts that identify the user or the machine.

`/home/ada/work/shop/cart.py` becomes `<workspace>/cart.py`, and other paths in the home folder begin with `~`. The
model server's address becomes `<server>`, and API keys and other secrets become `<key>`. Names of the user and the
machine become `<user>` and `<host>`. Encoded forms of these texts are also found (`privacy/encodings.py`).

Memory addresses and temporary folders are replaced because they differ each time.

A replay redacts its own requests before it compares them, so a recording also works on another machine.
"""

from __future__ import annotations

import builtins
import getpass
import json
import keyword
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self
from urllib.parse import quote, urlsplit

from adacoder.models.errors import OLLAMA, OPENAI
from adacoder.privacy.contents import secrecy_of, without_secrets

WORKSPACE, HOME, SERVER, KEY, SCRATCH, ADDRESS = "<workspace>", "~", "<server>", "<key>", "<scratch>", "0x…"
USER, HOST = "<user>", "<host>"

_PASSES = 3
"""Number of passes. One replacement can reveal another name."""
_KEY_LENGTH = 12
"""Minimum length of an API key. Shorter values are placeholders such as `EMPTY`."""
_WORDS = """
root user users home admin administrator guest nobody me owner local default
dev devel developer test tester testing build builder runner runneradmin worker
ubuntu debian fedora centos arch alpine vagrant docker vscode codespace gitpod
jenkins circleci travis node python jovyan app web www data git service
localhost localdomain server host desktop laptop computer linux windows macos
workspace key scratch adacoder conversation ollama openai replay model text
system assistant stop length verified unverified error full none main
"""
_COMMON = frozenset(
    word.lower() for word in (*_WORDS.split(), *keyword.kwlist, *dir(builtins), *sys.stdlib_module_names)
)
"""Words that are never redacted: common names of users and machines, and words of Python and of the file format."""
_SHORTEST_NAME = 3
_KEYS = frozenset({OLLAMA.key, OPENAI.key})
"""Environment variables with the API keys of model servers."""
_SLASH = r"(?:[\\/]|%2F|%5C)"
_ENDS = r"(?![\w-]|\.\w)"
"""Matches the end of a name. No further letters of a name and no file extension may follow."""
_NO_PATH_BEFORE = r"(?<![\w.~>-])"
_NAME = re.compile(r"[\\/][^\\/]")
"""Matches absolute paths, except for the root folder."""
_HOME = re.compile(r".*?[\\/](?:home|Users)[\\/][^\\/]+", re.IGNORECASE)
"""Matches the home folder at the start of a path, such as `/home/ada` or `/mnt/c/Users/ada`."""
_SCRATCH = (
    rf"(?:{_NO_PATH_BEFORE}/tmp(?:/adacoder-scratch-\w{{8}})?|\badacoder-scratch-\w{{8}})"  # noqa: S108
    r"/\d+(?:/[0-9a-f]{32})?(?![\w.-])"
)
"""Matches the temporary folder of an evaluation."""
_ADDRESS = r"(?<=\bat )0x[0-9A-F]{8,16}\b"
"""Matches a memory address, as in `<object object at 0x7f2fbb7a4960>`."""


class Redaction:
    """Replaces texts that identify the user or the machine. Redacting a text again changes nothing."""

    def __init__(
        self,
        *,
        workspaces: Iterable[str] = (),
        homes: Iterable[str] = (),
        servers: Iterable[str] = (),
        keys: Iterable[str] = (),
        users: Iterable[str] = (),
        hosts: Iterable[str] = (),
    ) -> None:
        """`servers` are URLs of model servers. `keys` are secret values. `users` and `hosts` are names."""
        folders = {**dict.fromkeys(homes, HOME), **dict.fromkeys(workspaces, WORKSPACE)}
        rules = [
            *((_key(key), KEY) for key in keys if len(key) >= _KEY_LENGTH),
            *((_server(url), SERVER) for url in servers),
            (_SCRATCH, SCRATCH),
            # longest first, because a workspace is usually in a home folder
            *((_folder(path), folders[path]) for path in sorted(folders, key=len, reverse=True) if _NAME.search(path)),
            (_ADDRESS, ADDRESS),
            *((_bare(name), USER) for name in users if _identifies(name)),
            *((_bare(name), HOST) for name in hosts if _identifies(name)),
        ]
        self._pattern = re.compile("|".join(f"({pattern})" for pattern, _ in rules), re.IGNORECASE)
        self._replacements = [replacement for _, replacement in rules]

    @classmethod
    def here(cls, workspace: Path | None = None, servers: Iterable[str] = ()) -> Self:
        """Create the redaction for this machine, its user and a workspace, without network access."""
        workspaces = [] if workspace is None else _spellings(str(workspace))
        homes = [home[0] for home in map(_HOME.match, workspaces) if home]
        with suppress(RuntimeError):  # the home folder is unknown
            homes += _spellings(str(Path.home()))
        users = [re.split(r"[\\/]", home)[-1] for home in homes if _HOME.fullmatch(home)]
        with suppress(OSError, KeyError, ImportError):  # the user's name is unknown
            users.append(getpass.getuser())
        hosts = [platform.node(), platform.node().partition(".")[0]]
        keys = [value for name, value in os.environ.items() if name in _KEYS or _is_key(name, value)]
        return cls(workspaces=workspaces, homes=homes, servers=servers, keys=keys, users=users, hosts=hosts)

    def __call__(self, text: str) -> str:
        """Return the redacted text."""
        return without_secrets(text, self._plainly)

    def _plainly(self, text: str) -> str:
        for _ in range(_PASSES):
            text = self._pattern.sub(self._replacement, text)
        return text

    def _replacement(self, match: re.Match[str]) -> str:
        return self._replacements[(match.lastindex or 1) - 1]  # each rule is one group of the pattern


def _is_key(name: str, value: str) -> bool:
    """Return whether an environment variable is a secret: its name looks like one, and its value is not a path."""
    return secrecy_of(name) is not None and not re.match(r"[\\/~]|[A-Za-z]:", value)


def _identifies(name: str) -> bool:
    return len(name) >= _SHORTEST_NAME and name.lower() not in _COMMON


def _bare(name: str) -> str:
    """Return a pattern for a name as a whole word. The pattern also matches escaped forms of the name."""
    return rf"(?<![^\W_]){_any_of(_escapes(name))}(?![^\W_])"


def _key(key: str) -> str:
    """Return a pattern for a key. The pattern also matches a truncated key."""
    return rf"{re.escape(key[:_KEY_LENGTH])}(?:{re.escape(key[_KEY_LENGTH:])}|[\w-]*)"


def _server(url: str) -> str:
    """Return a pattern for a server's address. A host name with a dot also matches alone."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    names = [url, f"{parts.scheme}://{parts.netloc}", parts.netloc]
    if "." in host and not host.startswith("127."):
        names.append(host)
    return rf"(?<![\w.-]){_any_of(filter(None, names))}{_ENDS}"


def _folder(path: str) -> str:
    """Return a pattern for a folder's path with any kind of slashes."""
    drive, *names = re.split(r"[\\/]+", path.rstrip("\\/"))
    below_root = rf"{_SLASH}+".join(_any_of(_escapes(name)) for name in names)
    root = rf"{_any_of(_escapes(drive))}{_SLASH}+" if drive else _SLASH
    # A longer path may end in a short path such as `/app`. A short path therefore matches only if no path precedes it.
    return rf"{_NO_PATH_BEFORE if len(names) == 1 else ''}{root}{below_root}{_ENDS}"


def _escapes(name: str) -> Iterator[str]:
    """Yield a name as plain text, and as escaped in URLs, JSON and Python."""
    yield name
    yield quote(name, errors="surrogateescape")
    yield json.dumps(name)[1:-1]
    yield name.encode("unicode_escape").decode("ascii")


def _any_of(texts: Iterable[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, sorted(set(texts), key=lambda text: (-len(text), text))))})"


def _spellings(path: str) -> list[str]:
    """Return the spellings of a path: as given, and with links resolved."""
    return [path, os.path.realpath(path)]
