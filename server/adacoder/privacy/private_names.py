"""Decide by name whether files and folders are private. The names are listed in `names.txt`."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from enum import IntEnum, auto
from fnmatch import translate
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_LIST = Path(__file__).with_name("names.txt")
_LONGEST_NAME = 255
"""Only this many characters at the end of a name are checked."""
_GLOB = re.compile(r"[*?\[]")
_WORDS = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
_NUMBER = re.compile(r"v?\d+")
_NUMBERED = re.compile(r"[._-]\d+\Z|[ _-]+copy(?:[ _-]?\d+)?\Z|[ ]?\(\d+\)\Z|[ ]?\((?:copy|another copy|\d+)\)\Z")


_ENDS_OF_COPIES = frozenset("0123456789)yY~")


class Secrecy(IntEnum):
    OPEN = auto()
    STORE = auto()
    """The folder is for secrets, for example because its name is `secrets`. The files in it are private unless Python
    can import them.
    """
    WHOLE = auto()
    """Everything in the folder is private."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """The settings' patterns for private and for public files.

    These patterns have priority over `names.txt`. A pattern with a slash is compared with paths relative to the
    workspace.
    """

    hide: tuple[str, ...] = ()
    """Patterns for additional private files. Both the user and the project may set them."""
    show: tuple[str, ...] = ()
    """Patterns for files that are never private. Only the user may set them."""

    def hides(self, parts: Sequence[str]) -> bool:
        """Return whether a `hide` pattern matches a path or one of its parent folders."""
        return bool(self.hide) and _names(self.hide, parts)

    def shows(self, parts: Sequence[str]) -> bool:
        """Return whether a `show` pattern matches a path or one of its parent folders."""
        return bool(self.show) and _names(self.show, parts)

    def reaches_into(self, parts: Sequence[str]) -> bool:
        """Return whether a `show` pattern may match a file in this folder. Such a folder must be searched."""
        return any(f"{parts[-1].lower()}/" in pattern.lower() for pattern in self.show)


NO_WISHES = Wishes()
HIDDEN_BY_WISH = "the setting 'hide' names it"


def is_importable(name: str) -> bool:
    """Return whether Python can import a file with this name."""
    return _suffix(name.lower()) in _known().importable


def is_readable(name: str) -> bool:
    """Return whether files with this name must be searched for secrets. Source code need not be searched."""
    suffix = _suffix(name.lower())
    return suffix not in _known().importable and suffix not in _known().code


@lru_cache(maxsize=1 << 15)
def is_private(name: str) -> bool:
    """Return whether a file with this name is private in every folder."""
    name = name[-_LONGEST_NAME:]
    if is_importable(name):
        return False
    return any(_is_private(*each) for each in _copied(name))


def is_private_in_store(name: str) -> bool:
    """Return whether a file with this name is private in a folder for secrets, see `Secrecy.STORE`."""
    return not (is_importable(name) or _known().harmless.matches(name.lower()) or _is_example(_words(name)))


def is_private_entry(folder: str, name: str) -> bool:
    """Return whether the file or folder `name` is private if its folder is named `folder`."""
    patterns = _known().entries.get(folder.lower())
    return patterns is not None and not is_importable(name) and patterns.matches(name.lower())


def secrecy(name: str) -> Secrecy:
    name = name.lower()
    if name in _known().folders:
        return Secrecy.WHOLE
    return Secrecy.STORE if _known().stores.matches(name) else Secrecy.OPEN


def privacy_reason(parts: Sequence[str]) -> str | None:
    """Return the reason why a file is private, or None. `parts` is its path relative to the workspace."""
    *folders, name = parts
    in_store = False
    for number, folder in enumerate(folders):
        found = secrecy(folder)
        if found is Secrecy.WHOLE or (number and is_private_entry(folders[number - 1], folder)):
            return f"it lies in {folder}"
        in_store |= found is Secrecy.STORE
    if in_store and is_private_in_store(name):
        return "it lies in a folder of secrets"
    return "its name" if is_private(name) or (folders and is_private_entry(folders[-1], name)) else None


def _is_private(name: str, words: Sequence[str]) -> bool:
    known = _known()
    if not (known.files.matches(name) or _tells(name, words)):
        return False
    return not (known.harmless.matches(name) or _is_example(words) or _suffix(name) in known.importable)


def _is_example(words: Iterable[str]) -> bool:
    return not _known().examples.isdisjoint(words)


def _tells(name: str, words: Sequence[str]) -> bool:
    known = _known()
    suffix = _suffix(name)
    if suffix in known.code or not known.innocent.isdisjoint(words):
        return False
    own = list(words[:-1] if suffix and len(words) > 1 else words)
    while len(own) > 1 and (own[-1] in known.qualifiers or _NUMBER.fullmatch(own[-1])):
        own.pop()
    if own and own[-1] in known.last_words:
        return True
    is_prose = suffix in known.prose or suffix in known.scripts
    own = own[-2:] if is_prose else own
    pairs = {f"{one}-{other}" for one, other in itertools.pairwise(own)}
    single = own[-1:] if is_prose else own
    return not known.words.isdisjoint({*single, *pairs}) or any(word.endswith(known.endings) for word in single)


def _words(name: str) -> list[str]:
    return _WORDS.findall(_CAMEL.sub("_", name).lower())


def _copied(name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and its words. For a copy, such as `a.txt~`, also yield the name and words of the original."""
    yield name.lower(), _words(name)
    core = name.removeprefix(".#").strip("#").rstrip("~").strip()
    if core.lower().startswith("copy of "):
        core = core[len("copy of ") :]
    is_swap = False
    while True:
        suffix = _suffix(core.lower())
        if suffix in _known().backups:
            shorter = core[: -len(suffix)]
        else:
            shorter = _NUMBERED.sub("", core).rstrip("~") if core[-1:] in _ENDS_OF_COPIES else core
        if shorter in ("", ".", core):
            break
        is_swap |= suffix.startswith(".sw")
        core = shorter
    if core != name:
        yield core.lower(), _words(core)
    if is_swap:
        yield core.removeprefix(".").lower(), _words(core)


def _suffix(name: str) -> str:
    """Return the extension of a file name, with its dot. A leading dot, as in `.env`, does not count."""
    start = name.rfind(".")
    return name[start:] if start > 0 else ""


def _names(patterns: tuple[str, ...], parts: Sequence[str]) -> bool:
    by_name, by_path = _compiled(patterns)
    if by_name is not None and any(by_name.match(part.lower()) for part in parts):
        return True
    paths = ("/".join(parts[:end]).lower() for end in range(1, len(parts) + 1))
    return by_path is not None and any(map(by_path.match, paths))


@cache
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    cleaned = [pattern.lower().removeprefix("./").rstrip("/") for pattern in patterns]
    return _any_of([each for each in cleaned if "/" not in each]), _any_of(
        [each.removeprefix("**/").lstrip("/") for each in cleaned if "/" in each]
    )


def _any_of(patterns: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(map(translate, patterns))) if patterns else None


class _Patterns:
    """A set of glob patterns. Simple patterns are compared without regular expressions, which is faster."""

    def __init__(self, patterns: Iterable[str]) -> None:
        patterns = list(patterns)
        self._whole = frozenset(each for each in patterns if not _GLOB.search(each))
        self._endings = tuple(each[1:] for each in patterns if each[0] == "*" and not _GLOB.search(each[1:]))
        self._begins = tuple(each[:-1] for each in patterns if each[-1] == "*" and not _GLOB.search(each[:-1]))
        others = {*patterns} - self._whole - {f"*{each}" for each in self._endings} - {f"{e}*" for e in self._begins}
        self._other = _any_of(sorted(others))

    def matches(self, name: str) -> bool:
        """Return whether a pattern matches all of `name`, which must be in lower case."""
        if name in self._whole or name.endswith(self._endings) or name.startswith(self._begins):
            return True
        return self._other is not None and self._other.match(name) is not None


@dataclass(frozen=True, slots=True)
class _Known:
    """The sections of `names.txt`."""

    files: _Patterns
    stores: _Patterns
    entries: Mapping[str, _Patterns]
    """Patterns of entries that are private only in certain folders, by the folder's name."""
    harmless: _Patterns
    folders: frozenset[str]
    importable: frozenset[str]
    examples: frozenset[str]
    backups: frozenset[str]
    words: frozenset[str]
    endings: tuple[str, ...]
    last_words: frozenset[str]
    qualifiers: frozenset[str]
    innocent: frozenset[str]
    prose: frozenset[str]
    scripts: frozenset[str]
    code: frozenset[str]


@cache
def _known() -> _Known:
    parts: dict[str, list[str]] = {}
    part: list[str] = []
    for line in _LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            part = parts.setdefault(line.strip("[]").replace(" ", "_"), [])
        elif not line.startswith("#"):
            part += line.split()
    patterns = ("files", "stores", "harmless")
    entries: dict[str, list[str]] = {}
    for folder, _, name in (entry.partition("/") for entry in parts.pop("entries")):
        entries.setdefault(folder, []).append(name)
    return _Known(
        entries={folder: _Patterns(names) for folder, names in entries.items()},
        endings=tuple(parts.pop("endings")),
        **{name: _Patterns(parts.pop(name)) for name in patterns},  # type: ignore[arg-type]  # the names are the fields
        # The names of the sections are the names of the fields.
        **{name: frozenset(words) for name, words in parts.items()},  # type: ignore[arg-type]
    )
