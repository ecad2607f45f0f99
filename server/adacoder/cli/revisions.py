"""Read the version of a file in a commit, without running any program that the repository configures.

A repository may come from anybody, and `git diff` and `git show` start the filters, text converters and pagers of its
configuration. So this module uses `git cat-file`, which prints an object as it is stored, and forbids git to fetch
missing objects.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from adacoder.domain import TargetError
from adacoder.programs import output_of
from adacoder.sandbox.isolation.system_programs import environment, program_of_system
from adacoder.source.text import LONGEST, SourceFile, decoded, must_be_short

_SECONDS = 20.0
"""Time limit for a call of git."""
_SAFE = ("-c", "core.fsmonitor=false", "-c", "safe.directory=*")
"""Options for every call. Git may read even another user's repository, because no program of the repository runs."""
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "",  # unlike `protocol.allow`, no configuration can override this
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


async def read_at(revision: str, path: Path) -> SourceFile:
    """Read the version of the file `path` in the commit `revision`.

    Raises:
        TargetError: git is not installed, the commit or the file in it does not exist, or the file is not Python text.
    """
    git = program_of_system("git")
    if git is None:
        raise TargetError("There is no git in the system's folders: install it, or name a file with --against.")
    path = _real(path)
    name = f"{revision}:./{path.name}"
    is_odd = any(not character.isprintable() or character == ":" for character in revision)
    if not revision or revision.startswith("-") or is_odd:
        raise TargetError(f"'{revision}' is neither a file nor the name of a commit.")
    size, _ = await _run(git, path.parent, "cat-file", "-s", name)
    if not size.strip().isdigit():
        raise TargetError(f"git finds no {path.name} in '{revision}': name a commit that has it, or a file.")
    must_be_short(path, int(size))
    data, code = await _run(git, path.parent, "cat-file", "blob", name)
    if code or len(data) > LONGEST:
        raise TargetError(f"git cannot read {path.name} in '{revision}': name a commit that has it, or a file.")
    return decoded(path, data)


def _real(path: Path) -> Path:
    """Resolve links, because git stores a link and not its target under the link's name."""
    return Path(os.path.realpath(path))


async def _run(git: Path, folder: Path, *arguments: str) -> tuple[bytes, int]:
    try:
        async with asyncio.timeout(_SECONDS):
            command = (str(git), "--no-replace-objects", *_SAFE, *arguments)
            return await output_of(*command, env={**environment(), **_ENVIRONMENT}, cwd=folder)
    except TimeoutError:
        raise TargetError(f"git did not answer within {_SECONDS:g} s: name a file with --against.") from None
