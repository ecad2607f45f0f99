"""What of a machine and its user is taken out of a recorded conversation, and what stands there instead.

The one place that decides it. Paths are what mostly tells of a machine: `/home/ada/work/shop/cart.py` becomes
`<workspace>/cart.py`, what else is in a home folder begins with `~`, and a user's name is `<user>` wherever it is
part of an absolute path. It is never taken out as a word, nor a host's name where it might be an identifier: a user
called `max` keeps the function. Addresses in memory and the random names of temporary folders go too, since they make
two recordings of the same request differ. All else that a person wrote into their code stays.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote, urlsplit

from adacoder.models.base import OLLAMA, OPENAI

WORKSPACE, HOME, TEMPORARY, SCRATCH = "<workspace>", "~", "<tmp>", "<scratch>"
USER, HOST, SERVER, KEY, ADDRESS = "<user>", "<host>", "<server>", "<key>", "0x…"

_SHARED_TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp")  # noqa: S108  # only looked for
"""Folders of temporary files that are called the same on many machines; they may stay."""
_NOBODY = frozenset({"", "root"})
"""Names that tell of no person."""
_THIS_MACHINE = frozenset({"", "localhost", "ip6-localhost", "localhost.localdomain"})
_TELLING_LENGTH = 6
"""From this length on a name that is no identifier is a host's wherever it stands; `n-1` is not."""
_KEY_LENGTH = 12
"""Shorter keys are words such as `EMPTY`, which servers that ask for none are given."""
_MOST_PASSES = 8
"""One pass may uncover what the next one takes out; nothing needs so many."""

_SEPARATOR = r"(?P<separator>\\\\|[\\/])"
_DRIVE = r"(?:/mnt/[A-Za-z]|[A-Za-z]:|/[A-Za-z])?"
_ENDS = r"(?![\w-]|\.\w)"
"""After a whole name: neither it nor a file's extension goes on."""
_BEGINS = r"(?<![\w.~>-])"
"""Before a path that is no part of a longer one."""
_TEMPORARY = r"(?:<tmp>|(?:/private)?(?:/var)?/tmp)"

_MEMORY = re.compile(r"(?<=\bat )0x[0-9A-Fa-f]{8,16}\b")
"""As in `<object object at 0x7f2fbb7a4960>`."""
_SCRATCH = re.compile(rf"{_BEGINS}{_TEMPORARY}(?:/adacoder-\w{{8}})?/\d+(?![\w.-])")
"""Where an evaluation works; its number is a matter of chance."""
_RANDOM = re.compile(rf"(?P<before>(?:{_TEMPORARY}|{SCRATCH})/(?:tmp|adacoder-))[a-z0-9_]{{8}}(?!\w)")
"""What `tempfile` makes."""

_ABSOLUTE = re.compile(
    r"(?:(?<=file://)|(?<=~)|(?<![\w./~<>-]))(?:/[\w.@+%=,-]+){2,}"
    r"|(?<=~)/[\w.@+%=,-]+"
    r"|\b[A-Za-z]:(?:(?:\\\\|[\\/])[\w.@+%=,-]+)+"
)
"""A path of any system, as far as it can be told from other text."""

_ANY_NAME = r"\w(?:[\w.$@-]*[\w$])?"
_ELSEWHERE = (
    (re.compile(rf"{_BEGINS}{_DRIVE}{_SEPARATOR}(?:home|Users)(?P=separator){_ANY_NAME}"), HOME),
    (re.compile(rf"{_BEGINS}/(?:var/)?root{_ENDS}"), HOME),
    (re.compile(rf"{_BEGINS}(?:/private)?(?:/var)?/tmp{_ENDS}"), TEMPORARY),
    (re.compile(rf"{_BEGINS}(?:/private)?/var/folders/\w+/\w+/T{_ENDS}"), TEMPORARY),
    (re.compile(r"(?:https?://)?(?:\blocalhost|\b127\.0\.0\.1|\[::1\]):11434\b"), SERVER),
)
"""What other machines call what is taken out of a recording there."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What must not be in a recording."""

    workspaces: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()
    temporary: tuple[str, ...] = ()
    """Folders of temporary files."""
    users: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    """Names of this machine."""
    servers: tuple[str, ...] = ()
    """URLs of model servers."""
    keys: tuple[str, ...] = ()
    """What is secret between them and the user; some servers repeat it in an error."""

    @classmethod
    def here(cls, workspace: Path | None = None, servers: Iterable[str] = ()) -> Surroundings:
        """Those of this process. Asks the system, and no network."""
        workspaces = _spellings([] if workspace is None else [workspace])
        homes = _spellings(_homes())
        temporary = _spellings([Path(tempfile.gettempdir())])
        owners = (_owner(path) for path in (*workspaces, *homes, *temporary))
        users = (*_user_names(), *filter(None, owners))
        hosts = (socket.gethostname(), os.environ.get("HOSTNAME", ""))
        keys = _unique(os.environ.get(kind.key, "") for kind in (OLLAMA, OPENAI))
        return cls(workspaces, homes, temporary, _unique(users), _unique(hosts), tuple(servers), keys)


class Redaction:
    """Takes out of texts what `Surroundings` name. To do it twice is to do it once."""

    def __init__(self, surroundings: Surroundings) -> None:
        users = sorted({name for name in surroundings.users if name not in _NOBODY}, key=len, reverse=True)
        self._rules: tuple[Rule, ...] = (
            *((re.compile(re.escape(key)), _always(KEY)) for key in surroundings.keys if len(key) >= _KEY_LENGTH),
            *_server_rules(surroundings.servers),
            *_host_rules(surroundings.hosts, users),
            *_folder_rules(surroundings),
            *_user_rules(users),
            (_SCRATCH, lambda _: SCRATCH),
            (_RANDOM, lambda match: f"{match['before']}…"),
            (_MEMORY, lambda _: ADDRESS),
        )

    def __call__(self, text: str) -> str:
        """`text` without what must not be told."""
        for _ in range(_MOST_PASSES):
            before = text
            for pattern, replacement in self._rules:
                text = pattern.sub(replacement, text)
            if text == before:
                break
        return text

    def comparable(self, text: str) -> str:
        """`text` such that it is the same for the same request on any machine; only for comparing.

        A path in code that means nothing here may have been redacted where it was somebody's home.
        """
        text = self(text)
        for pattern, replacement in _ELSEWHERE:
            text = pattern.sub(replacement, text)
        return self(text)


Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]


def _folder_rules(surroundings: Surroundings) -> Iterator[Rule]:
    """The longest first: a workspace mostly lies in a home folder."""
    stands_for = {
        **dict.fromkeys((path for path in surroundings.temporary if path not in _SHARED_TEMPORARY), TEMPORARY),
        **dict.fromkeys(surroundings.homes, HOME),
        **dict.fromkeys(surroundings.workspaces, WORKSPACE),
    }
    for path in sorted(stands_for, key=len, reverse=True):
        names = len(PurePosixPath(path).parts) - 1
        if names < 1:
            continue  # the root of all: that a path begins there tells nothing
        begins = "" if names > 1 else _BEGINS
        spellings = "|".join(map(re.escape, _unique((path, quote(path)))))
        yield re.compile(f"{begins}(?:{spellings}){_ENDS}"), _always(stands_for[path])


def _user_rules(users: Sequence[str]) -> Iterator[Rule]:
    if not users:
        return
    homes = _alternatives(users)
    yield re.compile(rf"{_DRIVE}{_SEPARATOR}(?:home|Users)(?P=separator){homes}{_ENDS}"), _always(HOME)
    if several := [name for name in users if len(name) > 1]:
        name = re.compile(rf"(?<![A-Za-z0-9]){_alternatives(several)}(?![A-Za-z0-9])")
        yield _ABSOLUTE, lambda path: name.sub(USER, path.group())


def _host_rules(hosts: Sequence[str], users: Sequence[str]) -> Iterator[Rule]:
    names = _unique(each for host in hosts for each in (host, host.partition(".")[0]))
    names = tuple(name for name in names if name.lower() not in _THIS_MACHINE)
    if not names:
        return
    host = _alternatives(sorted(names, key=len, reverse=True))
    if users:
        yield (
            re.compile(rf"(?<![\w.-]){_alternatives(users)}@(?:{host}|{HOST}){_ENDS}", re.IGNORECASE),
            _always(f"{USER}@{HOST}"),
        )
    # After a mere `@` stands a decorator, and after a mere `//` a divisor.
    after = r"""(?:(?<=[\w>]@)|(?<=://)|(?<=["'(]//)|(?<=\\\\)|(?<=nodename='))"""
    yield re.compile(rf"{after}{host}(?![\w-])", re.IGNORECASE), _always(HOST)
    telling = [name for name in names if _is_no_identifier(name)]
    if telling:
        host = _alternatives(sorted(telling, key=len, reverse=True))
        yield re.compile(rf"(?<![\w.-]){host}(?![\w-])", re.IGNORECASE), _always(HOST)


def _server_rules(servers: Sequence[str]) -> Iterator[Rule]:
    for url in servers:
        parts = urlsplit(url)
        host = parts.hostname or ""
        spellings = {url, f"{parts.scheme}://{parts.netloc}", parts.netloc} - {""}
        if host not in _THIS_MACHINE and not host.startswith("127.") and ("." in host or _is_no_identifier(host)):
            spellings.add(host)
        server = _alternatives(sorted(spellings, key=len, reverse=True))
        yield re.compile(rf"(?<![\w.-]){server}{_ENDS}", re.IGNORECASE), _always(SERVER)


def _always(replacement: str) -> Callable[[re.Match[str]], str]:
    return lambda _: replacement


def _alternatives(texts: Iterable[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, texts))})"


def _is_no_identifier(name: str) -> bool:
    """Whether a name is neither an identifier nor a short sum or number, so that it means the host where it stands."""
    return len(name) >= _TELLING_LENGTH and not name.isidentifier() and any(letter.isalpha() for letter in name)


def _spellings(paths: Iterable[Path]) -> tuple[str, ...]:
    """Each path as it is written, and as it is without links."""
    return _unique(spelling for path in paths for spelling in (str(path), os.path.realpath(path)))


def _homes() -> Iterator[Path]:
    for written in ("~", f"~{_first(_user_names())}"):
        with suppress(RuntimeError):
            yield Path(written).expanduser()


def _user_names() -> Iterator[str]:
    with suppress(OSError, KeyError):  # the system does not know who runs this
        yield getpass.getuser()
    yield from filter(None, (os.environ.get(name) for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")))


def _owner(path: str) -> str | None:
    """Whose home folder a path leads into."""
    match = re.match(rf"/(?:home|Users)/({_ANY_NAME})(?:/|$)", path)
    return match[1] if match else None


def _first(texts: Iterable[str]) -> str:
    return next(iter(texts), "")


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, texts)))
