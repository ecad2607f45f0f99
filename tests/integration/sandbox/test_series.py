"""If a process checks several docstrings and is ended, no docstring waits forever."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import Level
from adacoder.sandbox.environment.interpreter import find
from adacoder.sandbox.host import Host
from adacoder.sandbox.unavailable import SandboxError
from support.evaluating import examples, program

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.isolation

NAMES = ("f", "g", "h")
SLOW = "import time\n\n\n" + "".join(
    f'def {name}():\n    """\n    >>> {name}()\n    1\n    """\n    time.sleep(0.5)\n    return 1\n\n\n'
    for name in NAMES
)


@pytest.mark.parametrize("moment", [0.0, 0.7])
async def test_the_end_of_a_host_ends_all_that_wait(moment: float, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(SLOW, encoding="utf-8")
    host = Host(find(None, tmp_path, tmp_path), tmp_path, least=Level.LSM)
    checks = [
        asyncio.create_task(host.check(program(path, tmp_path, SLOW, name), examples(SLOW, name), timeout=9.0))
        for name in NAMES
    ]
    await asyncio.sleep(moment)
    await host.close()
    async with asyncio.timeout(20):
        found = await asyncio.gather(*checks, return_exceptions=True)
    assert any(isinstance(each, SandboxError) for each in found)
    assert all(isinstance(each, SandboxError) or each.passed for each in found)  # type: ignore[union-attr]
