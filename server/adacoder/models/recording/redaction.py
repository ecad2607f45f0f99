"""Redaction of recorded conversations: the one place that decides what is taken out, and what stands there instead.

`/home/ada/work/shop/cart.py` becomes `<workspace>/cart.py`, what else is in the home folder begins with `~`, and the
address of the model server is `<server>`. The keys for it, and other secrets in the environment, are `<key>`. The names
of the user and the machine are `<user>` and `<host>`. Addresses in memory and the folder that an evaluation works in
are replaced as well, since they are others each time. All that a prompt masks is masked too. Encoded words are
searched for all of this (`privacy/encodings.py`).

A replay does the same to what it compares, so that a recording fits in another folder, of another user, on another
machine. All else stays as it was written.
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
"""In a further pass names are found that went on before another one was replaced."""
_KEY_LENGTH = 12
"""Shorter keys are words such as `EMPTY`, which servers that ask for none are given."""
_COMMON = frozenset(
    {
        *(
            "root",
            "user",
            "users",
            "home",
            "admin",
            "administrator",
            "guest",
            "nobody",
            "me",
            "owner",
            "local",
            "default",
        ),
        *(
            "dev",
            "devel",
            "developer",
            "test",
            "tester",
            "testing",
            "build",
            "builder",
            "runner",
            "runneradmin",
            "worker",
        ),
        *(
            "ubuntu",
            "debian",
            "fedora",
            "centos",
            "arch",
            "alpine",
            "vagrant",
            "docker",
            "vscode",
            "codespace",
            "gitpod",
        ),
        *("jenkins", "circleci", "travis", "node", "python", "jovyan", "app", "web", "www", "data", "git", "service"),
        *("localhost", "localdomain", "server", "host", "desktop", "laptop", "computer", "linux", "windows", "macos"),
        *("workspace", "key", "scratch", "adacoder", "conversation", "ollama", "openai", "replay", "model", "text"),
        *("system", "assistant", "stop", "length", "verified", "unverified", "error", "full", "none", "main"),
        *(word.lower() for word in (*keyword.kwlist, *dir(builtins), *sys.stdlib_module_names)),
    }
)
"""Names of users and machines that identify nobody, and words that code and a recording need."""
_SHORTEST_NAME = 3
_KEYS = frozenset({OLLAMA.key, OPENAI.key})
"""Variables with the keys of model servers."""
_SLASH = r"(?:[\\/]|%2F|%5C)"
_ENDS = r"(?![\w-]|\.\w)"
"""End of a whole name: neither the name nor a file's extension goes on."""
_NO_PATH_BEFORE = r"(?<![\w.~>-])"
_NAME = re.compile(r"[\\/][^\\/]")
"""A name in an absolute path; the root has none, and identifies nothing."""
_HOME = re.compile(r".*?[\\/](?:home|Users)[\\/][^\\/]+", re.IGNORECASE)
"""Home folder at the beginning of a path of any system: `/home/ada`, `/mnt/c/Users/ada`."""
_SCRATCH = (
    rf"(?:{_NO_PATH_BEFORE}/tmp(?:/adacoder-scratch-\w{{8}})?|\badacoder-scratch-\w{{8}})"  # noqa: S108
    r"/\d+(?:/[0-9a-f]{32})?(?![\w.-])"
)
"""Folder that an evaluation works in."""
_ADDRESS = r"(?<=\bat )0x[0-9A-F]{8,16}\b"
"""Address in memory, as in `<object object at 0x7f2fbb7a4960>`."""


class Redaction:
    """Replaces in texts what identifies a machine and its user. Doing it twice is doing it once."""

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
        """`servers` are URLs of model servers, `keys` values that are secret, `users` and `hosts` names."""
        folders = {**dict.fromkeys(homes, HOME), **dict.fromkeys(workspaces, WORKSPACE)}
        rules = [
            *((_key(key), KEY) for key in keys if len(key) >= _KEY_LENGTH),
            *((_server(url), SERVER) for url in servers),
            (_SCRATCH, SCRATCH),
            # The longest first: a workspace mostly lies in a home folder.
            *((_folder(path), folders[path]) for path in sorted(folders, key=len, reverse=True) if _NAME.search(path)),
            (_ADDRESS, ADDRESS),
            *((_bare(name), USER) for name in users if _identifies(name)),
            *((_bare(name), HOST) for name in hosts if _identifies(name)),
        ]
        self._pattern = re.compile("|".join(f"({pattern})" for pattern, _ in rules), re.IGNORECASE)
        self._replacements = [replacement for _, replacement in rules]

    @classmethod
    def here(cls, workspace: Path | None = None, servers: Iterable[str] = ()) -> Self:
        """Return the Redaction for this process and a workspace, without asking any network."""
        workspaces = [] if workspace is None else _spellings(str(workspace))
        homes = [home[0] for home in map(_HOME.match, workspaces) if home]
        with suppress(RuntimeError):  # nobody knows who runs this
            homes += _spellings(str(Path.home()))
        users = [re.split(r"[\\/]", home)[-1] for home in homes if _HOME.fullmatch(home)]
        with suppress(OSError, KeyError, ImportError):  # likewise
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
        return self._replacements[(match.lastindex or 1) - 1]  # each rule is one group


def _is_key(name: str, value: str) -> bool:
    """True if a variable of the environment is called a secret, and is no path."""
    return secrecy_of(name) is not None and not re.match(r"[\\/~]|[A-Za-z]:", value)


def _identifies(name: str) -> bool:
    return len(name) >= _SHORTEST_NAME and name.lower() not in _COMMON


def _bare(name: str) -> str:
    """Pattern of a name as a word, in the spellings of `_escapes`."""
    return rf"(?<![^\W_]){_any_of(_escapes(name))}(?![^\W_])"


def _key(key: str) -> str:
    """Pattern of a key, whole or cut off."""
    return rf"{re.escape(key[:_KEY_LENGTH])}(?:{re.escape(key[_KEY_LENGTH:])}|[\w-]*)"


def _server(url: str) -> str:
    """Pattern of a server's address, and of its host's name where that can be nothing else."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    names = [url, f"{parts.scheme}://{parts.netloc}", parts.netloc]
    if "." in host and not host.startswith("127."):
        names.append(host)
    return rf"(?<![\w.-]){_any_of(filter(None, names))}{_ENDS}"


def _folder(path: str) -> str:
    """Pattern of a folder, with slashes of any system, escaped ones, and more of them than it takes."""
    drive, *names = re.split(r"[\\/]+", path.rstrip("\\/"))
    below_root = rf"{_SLASH}+".join(_any_of(_escapes(name)) for name in names)
    root = rf"{_any_of(_escapes(drive))}{_SLASH}+" if drive else _SLASH
    # A folder such as `/app` might be the end of a longer path; of others none so ends by chance.
    return rf"{_NO_PATH_BEFORE if len(names) == 1 else ''}{root}{below_root}{_ENDS}"


def _escapes(name: str) -> Iterator[str]:
    """Spellings of a name: as it is, in a URL, in JSON and in Python's ASCII."""
    yield name
    yield quote(name, errors="surrogateescape")
    yield json.dumps(name)[1:-1]
    yield name.encode("unicode_escape").decode("ascii")


def _any_of(texts: Iterable[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, sorted(set(texts), key=lambda text: (-len(text), text))))})"


def _spellings(path: str) -> list[str]:
    """Spellings of a path: as it is, and without links."""
    return [path, os.path.realpath(path)]
