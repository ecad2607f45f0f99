"""What of a machine and its user is taken out of a recorded conversation, and what stands there instead.

The one place that decides it. Paths are what mostly tells of a machine: `/home/ada/work/shop/cart.py` becomes
`<workspace>/cart.py`, what else is in a home folder begins with `~`, and a user's name is `<user>` wherever it is
part of an absolute path. It is never taken out as a word, nor a host's name where it might be an identifier: a user
called `max` keeps the function. Addresses in memory and the random names of temporary folders go too, since they make
two recordings of the same request differ. All else that a person wrote into their code stays.

What was taken out tells nothing any more of what it was, so that no machine can do the same to its own texts: a folder
`/app` is a workspace here and a constant in the code there. `fits` compares the two without that.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from adacoder.models.errors import OLLAMA, OPENAI

WORKSPACE, HOME, TEMPORARY, SCRATCH = "<workspace>", "~", "<tmp>", "<scratch>"
USER, HOST, SERVER, KEY = "<user>", "<host>", "<server>", "<key>"
ADDRESS, RANDOM = "0x…", "…"

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

_SLASH = r"(?:[\\/]|%(?i:2F|5C))"
_SEPARATOR = f"{_SLASH}+"
"""Between the names of a path: backslashes may be escaped, and slashes too."""
_DRIVE = r"(?:/mnt/[A-Za-z]|[A-Za-z](?::|%(?i:3A))|/[A-Za-z])"
_ENDS = r"(?![\w-]|\.\w)"
"""After a whole name: neither it nor a file's extension goes on."""
_BEGINS = r"(?<![\w.~>-])"
"""Before a path that is no part of a longer one."""
_TEMPORARY = r"(?:<tmp>|(?:/private)?(?:/var)?/tmp)"

_MEMORY = re.compile(r"(?<=\bat )0x[0-9A-Fa-f]{8,16}\b")
"""As in `<object object at 0x7f2fbb7a4960>`."""
_SCRATCH = re.compile(rf"{_BEGINS}{_TEMPORARY}(?:/adacoder-(?:scratch-)?\w{{8}})?/\d+(?:/[0-9a-f]{{32}})?(?![\w.-])")
"""Where an evaluation works; its number is a matter of chance."""
_RANDOM = re.compile(rf"(?P<before>(?:{_TEMPORARY}|{SCRATCH})/(?:tmp|adacoder-(?:scratch-)?))[a-z0-9_]{{8}}(?!\w)")
"""What `tempfile` makes."""

_ABSOLUTE = re.compile(
    r"(?:(?<=file://)|(?<=~)|(?<![\w./~<>-]))(?:/[\w.@+%=,-]+){2,}"
    r"|(?<=~)/[\w.@+%=,-]+"
    r"|\b[A-Za-z]:(?:(?:\\\\|[\\/])[\w.@+%=,-]+)+"
)
"""A path of any system, as far as it can be told from other text."""

_HOME_OF = re.compile(r"/(?:home|Users)/(\w(?:[\w.$@-]*[\w$])?)(?:/|$)")

_PATH = re.compile(r"(?:[a-z](?::|%3A))?(?:[\\/~]|%2F|%5C)[^\n\"]{0,250}", re.IGNORECASE)
_NAME = re.compile(r"[\w.@$+-]{1,64}")
_STANDS_FOR = {
    **dict.fromkeys((WORKSPACE, HOME, TEMPORARY, SCRATCH), _PATH),
    **dict.fromkeys((USER, HOST), _NAME),
    SERVER: re.compile(r"[\w.:/\[\]-]{1,250}"),
    KEY: re.compile(r"\S{1,250}"),
    ADDRESS: re.compile(r"0x[0-9A-Fa-f]{8,16}"),
    RANDOM: re.compile(r"[a-z0-9_]{8}"),
}
"""What may have been where each of them stands."""
_STANDING = re.compile(rf"(<(?:workspace|tmp|scratch|user|host|server|key)>|{ADDRESS}|{RANDOM}|(?<!~){HOME}(?![\w~-]))")
"""Each of them in a text, where a mere `~` before a name is an operator."""
_MOST_WAYS = 100
"""In more ways than these no line can be read that somebody wrote."""


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
            *_key_rules(surroundings.keys),
            *_server_rules(surroundings.servers),
            *_host_rules(surroundings.hosts, users),
            *_folder_rules(surroundings),
            *_user_rules(users),
            (_SCRATCH, lambda _: SCRATCH),
            (_RANDOM, lambda match: f"{match['before']}{RANDOM}"),
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


def fits(recorded: str, told: str) -> bool:
    """Whether `told`, in which nothing is taken out, may be what was written down as `recorded` on any machine."""
    then, now = recorded.split("\n"), told.split("\n")
    return len(then) == len(now) and all(map(_line_fits, then, now))


def _line_fits(recorded: str, told: str) -> bool:
    if recorded == told:
        return True
    first, *rest = _STANDING.split(recorded)
    ways = {len(first)} if told.startswith(first) else set()
    for standing, literal in zip(rest[::2], rest[1::2], strict=True):
        ends = {end for start in ways for end in _ends(standing, told, start) if told.startswith(literal, end)}
        if len(ends) > _MOST_WAYS:
            return False
        ways = {end + len(literal) for end in ends}
    return len(told) in ways


def _ends(standing: str, told: str, start: int) -> Iterator[int]:
    """Where that may end in `told` for which `standing` stands, if it begins at `start`."""
    if told.startswith(standing, start):
        yield start + len(standing)
    if match := _STANDS_FOR[standing].match(told, start):
        yield from range(start + 1, match.end() + 1)


Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]


def _key_rules(keys: Iterable[str]) -> Iterator[Rule]:
    """A key, whole or cut off; and its ends, as servers show it."""
    for key in (key for key in keys if len(key) >= _KEY_LENGTH):
        begin, end = re.escape(key[:_KEY_LENGTH]), re.escape(key[_KEY_LENGTH:])
        yield re.compile(rf"{begin}(?:{end}|[\w-]*)"), _always(KEY)
        masked = rf"(?<![\w-]){re.escape(key[:2])}[\w-]*(?:\*{{2,}}|\.{{3}}|…)[\w-]*{re.escape(key[-2:])}(?![\w-])"
        yield re.compile(masked), _always(KEY)


def _folder_rules(surroundings: Surroundings) -> Iterator[Rule]:
    """The longest first: a workspace mostly lies in a home folder."""
    stands_for = {
        **dict.fromkeys((path for path in surroundings.temporary if path not in _SHARED_TEMPORARY), TEMPORARY),
        **dict.fromkeys(surroundings.homes, HOME),
        **dict.fromkeys(surroundings.workspaces, WORKSPACE),
    }
    for path in sorted(stands_for, key=len, reverse=True):
        drive, *names = re.split(r"[\\/]", path.rstrip("\\/"))
        if not names:
            continue  # the root of all: that a path begins there tells nothing
        begins = "" if len(names) > 1 else _BEGINS
        root = f"{_spelled([drive])}{_SEPARATOR}" if drive else _SLASH
        folders = _SEPARATOR.join(_spelled([name]) for name in names)
        yield re.compile(f"{begins}{root}{folders}{_ENDS}"), _always(stands_for[path])


def _user_rules(users: Sequence[str]) -> Iterator[Rule]:
    if not users:
        return
    user = _spelled(users)
    root = f"(?:{_DRIVE}{_SEPARATOR}|{_SLASH})"
    yield re.compile(rf"{root}(?i:(?:home|Users){_SEPARATOR}{user}){_ENDS}"), _always(HOME)
    # Elsewhere `~` is an operator.
    yield re.compile(rf"""(?<=["'`])~{user}(?=[\\/"'`])"""), _always(HOME)
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


def _spelled(names: Iterable[str]) -> str:
    """Any of these names of a path: as it is, and as it is in a URL, in JSON and in Python's ASCII."""
    return _alternatives(
        _unique(
            spelling
            for name in names
            for spelling in (
                name,
                quote(name, errors="surrogateescape"),
                json.dumps(name)[1:-1],
                name.encode("unicode_escape").decode("ascii"),
            )
        )
    )


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
    match = _HOME_OF.match(path)
    return match[1] if match else None


def _first(texts: Iterable[str]) -> str:
    return next(iter(texts), "")


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, texts)))
