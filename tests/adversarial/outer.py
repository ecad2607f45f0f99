"""Run attacks in a disposable sandbox, without any other isolation."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from adversarial.attack import Harm, Harness
from adversarial.scene import TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adversarial.attack import Attack

_DRIVER = Path(__file__).with_name("driver.py")
_SECONDS = 60
_LIMITS = {resource.RLIMIT_CPU: 60, resource.RLIMIT_AS: 64 << 30, resource.RLIMIT_CORE: 0}
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")


async def let_loose(attack: Attack, harness: Harness) -> set[Harm]:
    """Return the harm that an attack does to its evaluator and to everything else in the sandbox."""
    process = await asyncio.create_subprocess_exec(
        *_command(),
        *(sys.executable, str(_DRIVER), attack.name, harness),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        preexec_fn=_limit,
    )
    try:
        async with asyncio.timeout(_SECONDS):
            output, complaints = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, complaints.decode(errors="replace")
    return {Harm(found) for found in json.loads(output)}


def _command() -> Iterator[str]:
    yield from ("bwrap", "--unshare-user", "--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1")
    yield from ("--uid", "0", "--gid", "0", "--cap-add", "ALL")  # the sandbox has its own namespaces
    yield from ("--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "PYTHONDONTWRITEBYTECODE", "1")
    yield from ("--setenv", TOKEN, token_hex(8))
    own = [place for place in sys.path if not Path(place).is_relative_to(sys.base_prefix)]
    yield from ("--setenv", "PYTHONPATH", os.pathsep.join(own))
    for place in _SYSTEM:
        yield from ("--ro-bind-try", place, place)
    yield from ("--proc", "/proc", "--dev", "/dev", "--size", str(1 << 30), "--tmpfs", "/tmp")
    for place in sorted({sys.prefix, sys.base_prefix, *filter(os.path.isdir, sys.path)}):
        yield from ("--ro-bind", place, place)
    yield from ("--chdir", "/tmp", "--")


def _limit() -> None:
    for kind, most in _LIMITS.items():
        resource.setrlimit(kind, (most, most))
