"""Read the files of a commit without running any program that the repository's configuration names.

A repository may be hostile. `git diff`, `git status` and `git show` start filters and other programs from the
configuration. `git ls-tree` and `git cat-file` start none, so only these two read files. Git also must not fetch
missing objects.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from adacoder.domain import TargetError
from adacoder.privacy.access import opened_regular
from adacoder.programs import output_of
from adacoder.sandbox.isolation.system_programs import environment, program_of_system
from adacoder.source.text import LONGEST, SourceFile, decoded, must_be_short

_SECONDS = 20.0
"""Maximum number of seconds for a call of git."""
_SAFE = ("-c", "core.fsmonitor=false", "-c", "safe.directory=*", "-c", "core.commitGraph=false")
"""Options for every call of git.

Repositories of other users are allowed, because no program from the configuration runs. The commit graph is not read,
because a hostile graph could name wrong parents.
"""
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "",  # the repository's configuration can override `protocol.allow`, but not this
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_GRAFT_FILE": os.devnull,  # grafts could change the parents of commits
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


_HEAD = "HEAD"
_BATCH = 50
"""Number of files that one call of git reads."""
_ABBREVIATED = re.compile(r"[0-9a-f]{4,64}")


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit, with the ids of its files."""

    folder: Path
    """The real path of the repository's top folder."""
    name: str
    """The commit as the user named it, such as `HEAD` or `main`."""
    commit: str
    """The full id of the commit."""
    files: Mapping[str, str]
    """Git's ids of the contents of regular files. The keys are paths relative to `folder`."""
    submodules: frozenset[str]
    """Paths of submodules, which are separate repositories."""
    _reals: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Cache for the real paths of folders."""
    _differ: dict[Path, bool] = field(default_factory=dict, compare=False, repr=False)
    """Cache for the results of `differs`."""

    def place(self, path: Path) -> str:
        """Return the path of a file relative to the repository.

        Links to folders are resolved. If the file itself is a link, the link is not resolved.
        """
        folder, name = os.path.split(path)
        if folder not in self._reals:
            self._reals[folder] = Path(os.path.relpath(os.path.realpath(folder), self.folder)).as_posix()
        return name if self._reals[folder] == "." else f"{self._reals[folder]}/{name}"

    def submodule(self, path: Path) -> str | None:
        """Return the submodule that contains a file, or None."""
        parents = map(Path.as_posix, Path(self.place(path)).parents) if self.submodules else ()
        return next(filter(self.submodules.__contains__, parents), None)

    def differs(self, path: Path) -> bool:
        """Return whether a file differs from the commit. Windows line ends are ignored."""
        if path not in self._differ:
            known = self.files.get(self.place(path))
            try:
                is_link = os.path.islink(path)  # noqa: PTH114  # Path.is_symlink() is slower, and there are many paths
                self._differ[path] = is_link or known is None or not _is_at(path, known)
            except OSError:
                self._differ[path] = known is not None or os.path.lexists(path)
        return self._differ[path]

    async def texts(self, places: Iterable[str]) -> dict[str, bytes | None]:
        """Return the contents of files in the commit.

        `places` are paths in the repository. Files that are too long are None.

        Raises:
            TargetError: git lacks an object, or an object is damaged.
        """
        wanted = [place for place in places if place in self.files]
        found: dict[str, bytes | None] = {}
        for begin in range(0, len(wanted), _BATCH):
            batch = {place: self.files[place] for place in wanted[begin : begin + _BATCH]}
            told = (await self._asked("--batch-check=%(objectname) %(objectsize)", batch.values())).split(b"\n")
            sizes = dict(line.decode("ascii", "replace").split(" ", 1) for line in told if b" " in line)
            long = {name for name, size in sizes.items() if size.isdecimal() and int(size) > LONGEST}
            asked = await self._asked("--batch", (name for name in batch.values() if name not in long))
            contents = await asyncio.to_thread(_contents, asked)
            for place, name in batch.items():
                if name not in contents and name not in long:
                    raise TargetError(f"git lacks {place} of {self.name}: fetch it, or repair the repository.")
                found[place] = contents.get(name)
        return found

    async def not_checked_out(self) -> frozenset[str]:
        """Return the paths of files that git did not check out (sparse checkout)."""
        told, _ = await _run(_git(), self.folder, *_in(self.folder), "config", "--type=bool", "core.sparseCheckout")
        if told.strip() != b"true":
            return frozenset()
        listed, _ = await _run(_git(), self.folder, *_in(self.folder), "ls-files", "-t", "-z")
        return await asyncio.to_thread(_skipped, listed)

    async def _asked(self, how: str, ids: Iterable[str]) -> bytes:
        asked = "".join(f"{each}\n" for each in ids).encode()
        return (await _run(_git(), self.folder, *_in(self.folder), "cat-file", how, given=asked))[0]


async def revision_of(folder: Path, base: str | None = None) -> Revision:
    """Read the list of files of a commit.

    Args:
        folder: a folder in the repository.
        base: a full commit id, or a name such as `main`. A name is replaced by the merge base of its commit and
            HEAD. If None, HEAD.

    Raises:
        TargetError: git is not installed, or the repository or the commit does not exist.
    """
    git, top = _git(), repository_around(folder)
    name, commit = base or _HEAD, await (_head(git, top) if base is None else _base(git, top, base))
    listed, code = await _run(git, top, *_in(top), "ls-tree", "-r", "-z", "--full-tree", commit)
    if code:
        raise TargetError(f"git cannot list the files of {name} in {top}: repair the repository.")
    files, submodules = await asyncio.to_thread(_entries, listed)
    return Revision(top, name, commit, files, submodules)


async def _head(git: Path, top: Path) -> str:
    """Return the commit id of HEAD. In a repository without commits, return the id of the empty tree."""
    head = await _commit(git, top, _HEAD)
    if head is None:
        refs, code = await _run(git, top, *_in(top), "for-each-ref", "--count=1")
        if refs or code:
            raise TargetError(f"git finds no commit at HEAD in {top}: commit first.")
        return await _empty(git, top)
    return head


async def _empty(git: Path, top: Path) -> str:
    return (await _run(git, top, *_in(top), "hash-object", "-t", "tree", "--stdin"))[0].decode("ascii").strip()


async def _base(git: Path, top: Path, base: str) -> str:
    """Return `base` if it is a full commit id. Otherwise return the merge base of `base` and HEAD."""
    _must_be_a_name(base)
    given = await _commit(git, top, base)
    if given == base or (given is None and base == await _empty(git, top)):
        return base
    if given is None:
        raise TargetError(f"git finds no commit '{base}' in {top}: name another with --base.")
    merged, code = await _run(git, top, *_in(top), "merge-base", given, await _head(git, top))
    if code:
        raise TargetError(f"'{base}' and HEAD have no common commit: fetch more of the history, or name another.")
    return merged.decode("ascii").strip()


def repository_around(folder: Path) -> Path:
    """Return the real path of the repository that contains `folder`.

    The repository's configuration could name another folder, so it is not read.

    Raises:
        TargetError: the folder is outside of all repositories.
    """
    real = _real(folder)
    found = next((each for each in (real, *real.parents) if os.path.lexists(each / ".git")), None)
    if found is None:
        raise TargetError(f"{folder} is in no git repository, so its changes are unknown: create one, and commit.")
    return found


def _in(top: Path) -> tuple[str, str]:
    return f"--git-dir={top / '.git'}", f"--work-tree={top}"


async def _commit(git: Path, top: Path, name: str) -> str | None:
    """Return the id of a commit, or None.

    Raises:
        TargetError: the name is ambiguous.
    """
    found, code = await _run(git, top, *_in(top), "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    commit = found.decode("ascii", "replace").strip()
    if code or not commit:
        return None
    named = {f"refs/{kind}/{name}" for kind in ("heads", "tags", "remotes")}
    # The output also lists references below these names, such as `refs/heads/NAME/other`.
    refs, _ = await _run(git, top, *_in(top), "for-each-ref", "--format=%(refname)", *named)
    if len(named.intersection(os.fsdecode(refs).split("\n"))) > 1 or (
        _ABBREVIATED.fullmatch(name) and not commit.startswith(name) and await _abbreviates(git, top, name)
    ):
        raise TargetError(f"'{name}' may mean two commits: name the commit by its whole id.")
    return commit


async def _abbreviates(git: Path, top: Path, name: str) -> bool:
    """Return whether `name` is the beginning of a commit id."""
    ids, _ = await _run(git, top, *_in(top), "rev-parse", f"--disambiguate={name}")
    kinds, _ = await _run(git, top, *_in(top), "cat-file", "--batch-check=%(objecttype)", given=ids)
    return b"commit" in kinds.split()


def _skipped(listed: bytes) -> frozenset[str]:
    """Read the paths that are marked as skipped in the output of `git ls-files -t`."""
    return frozenset(os.fsdecode(each[2:]) for each in listed.split(b"\0") if each.startswith(b"S "))


def _entries(listed: bytes) -> tuple[dict[str, str], frozenset[str]]:
    """Read the regular files and the submodules from the output of `git ls-tree`."""
    files: dict[str, str] = {}
    submodules = set[str]()
    for entry in filter(None, listed.split(b"\0")):
        about, _, path = entry.partition(b"\t")
        mode, _, name = about.split()
        if mode == b"160000":
            submodules.add(os.fsdecode(path))
        elif mode != b"120000":
            files[os.fsdecode(path)] = name.decode("ascii")
    return files, frozenset(submodules)


def _contents(batch: bytes) -> dict[str, bytes]:
    """Read the output of `git cat-file --batch`. Damaged contents, which do not match their id, are left out."""
    found: dict[str, bytes] = {}
    at = 0
    while (end := batch.find(b"\n", at)) >= 0:
        name, *about = batch[at:end].decode("ascii", "replace").split()
        at = end + 1
        if len(about) == 2 and about[1].isdecimal():
            data = batch[at : at + int(about[1])]
            at += int(about[1]) + 1
            found |= {name: data} if _id(data, name) == name else {}
    return found


def _is_at(path: Path, known: str) -> bool:
    """Return whether git's id for the contents of the file `path` is `known`."""
    with opened_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if hashlib.file_digest(file, lambda: _begun(size, known)).hexdigest() == known:
            return True
        file.seek(0)
        data = file.read(LONGEST) if size <= LONGEST else b""
    return b"\r\n" in data and _id(data.replace(b"\r\n", b"\n"), known) == known


def _begun(size: int, like: str) -> hashlib._Hash:
    """Start to compute git's id for contents of `size` bytes.

    If the id `like` is long, use SHA-256, else SHA-1.
    """
    form = hashlib.sha256 if len(like) == hashlib.sha256().digest_size * 2 else hashlib.sha1
    return form(b"blob %d\0" % size, usedforsecurity=False)


def _id(data: bytes, like: str) -> str:
    known = _begun(len(data), like)
    known.update(data)
    return known.hexdigest()


async def read_at(revision: str, path: Path) -> SourceFile:
    """Read the file `path` as it was in the commit `revision`.

    Raises:
        TargetError: git is not installed, the commit does not exist or has no such file, or the file is not Python
            text.
    """
    git, path = _git(), _real(path)
    name = f"{revision}:./{path.name}"
    _must_be_a_name(revision)
    size, _ = await _run(git, path.parent, "cat-file", "-s", name)
    if not size.strip().isdigit():
        raise TargetError(f"git finds no {path.name} in '{revision}': name a commit that has it.")
    must_be_short(path, int(size))
    data, code = await _run(git, path.parent, "cat-file", "blob", name)
    if code or len(data) > LONGEST:
        raise TargetError(f"git cannot read {path.name} in '{revision}': name a commit that has it.")
    return decoded(path, data)


def _git() -> Path:
    git = program_of_system("git")
    if git is None:
        raise TargetError("git was not found in the system's folders, so no commit can be read: install it.")
    return git


def _must_be_a_name(revision: str) -> None:
    is_odd = any(not character.isprintable() or character == ":" for character in revision)
    if not revision or revision.startswith("-") or is_odd:
        raise TargetError(f"'{revision}' is neither a file nor the name of a commit.")


def _real(path: Path) -> Path:
    """Return the real path, because git stores the contents of a file only under this path."""
    return Path(os.path.realpath(path))


async def _run(git: Path, folder: Path, *arguments: str, given: bytes = b"") -> tuple[bytes, int]:
    try:
        async with asyncio.timeout(_SECONDS):
            command = (str(git), "--no-replace-objects", *_SAFE, *arguments)
            return await output_of(*command, env={**environment(), **_ENVIRONMENT}, cwd=folder, given=given)
    except TimeoutError:
        raise TargetError(f"git did not answer within {_SECONDS:g} s: run the command again.") from None
