"""Processes that check several docstrings: what they share, and what happens if they are ended."""

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


LAZY = '''
import sys

COUNT = 0


def compiles():
    found = []
    sys.addaudithook(lambda event, args: found.append(str(args[1])) if event == "compile" else None)
    from pkg import helper

    return helper.VALUE, any(each.endswith("helper.py") for each in found)


def f():
    """
    >>> compiles()
    (1, True)
    >>> f()
    1
    """
    global COUNT
    COUNT += 1
    return COUNT


def g():
    """
    >>> compiles(), g()
    ((1, False), 1)
    """
    return 1
'''


async def test_a_file_that_examples_import_is_compiled_once_until_it_changes(tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    for name, content in (("__init__.py", ""), ("helper.py", "VALUE = 1\n"), ("a.py", LAZY)):
        (package / name).write_text(content, encoding="utf-8")
    path = package / "a.py"
    host = Host(find(None, tmp_path, tmp_path), tmp_path, least=Level.LSM)
    try:
        for name in ("f", "g"):
            verdict = await host.check(program(path, tmp_path, LAZY, name), examples(LAZY, name), timeout=9.0)
            assert verdict.passed, verdict.failure
        (package / "helper.py").write_text("VALUE = 2\n", encoding="utf-8")
        verdict = await host.check(program(path, tmp_path, LAZY, "g"), examples(LAZY, "g"), timeout=9.0)
        assert [result.got for result in verdict.results] == ["((2, True), 1)\n"]
    finally:
        await host.close()


BEGAN = "import time\n\nBEGAN = time.time_ns()\n\n\n" + "".join(
    f'def {name}():\n    """\n    >>> {name}()\n    0\n    """\n    return BEGAN\n\n\n' for name in "fg"
)
IMPORTING = 'def f():\n    """\n    >>> f()\n    1\n    """\n    import pkg.inner\n    return 1\n'


async def test_a_module_that_examples_imported_before_is_imported_once_for_its_own(tmp_path: Path) -> None:
    inner = tmp_path / "pkg/inner"
    inner.mkdir(parents=True)
    path, importing = inner / "began.py", tmp_path / "pkg/importing.py"
    for file, content in (
        (tmp_path / "pkg/__init__.py", ""),
        (inner / "__init__.py", "from pkg.inner import began\n"),
        (path, BEGAN),
        (importing, IMPORTING),
    ):
        file.write_text(content, encoding="utf-8")
    host = Host(find(None, tmp_path, tmp_path), tmp_path, least=Level.LSM)
    try:
        verdict = await host.check(program(importing, tmp_path, IMPORTING, "f"), examples(IMPORTING, "f"), timeout=9.0)
        assert verdict.passed, verdict.failure
        checks = [(program(path, tmp_path, BEGAN, name), examples(BEGAN, name)) for name in "fg"]
        one, other = [(await host.check(*each, timeout=9.0)).results[0].got for each in checks]
        assert one == other
    finally:
        await host.close()


NEEDING = "from helper import VALUE\n\n\n" + "".join(
    f'def {name}():\n    """\n    >>> {name}()\n    1\n    """\n    return VALUE\n\n\n' for name in NAMES
)


async def test_a_failed_import_is_tried_again_by_the_next_check(tmp_path: Path) -> None:
    path, helper = tmp_path / "a.py", tmp_path / "helper.py"
    path.write_text(NEEDING, encoding="utf-8")
    host = Host(find(None, tmp_path, tmp_path), tmp_path, least=Level.LSM)

    async def passed() -> list[bool]:
        asked = [(program(path, tmp_path, NEEDING, name), examples(NEEDING, name)) for name in NAMES]
        found = await asyncio.gather(*(host.check(*each, timeout=9.0) for each in asked))
        return [verdict.passed for verdict in found]

    try:
        for text, is_right in (("", False), ("", False), ("VALUE = 1\n", True)):
            helper.write_text(text, encoding="utf-8")
            assert await passed() == [is_right] * 3
    finally:
        await host.close()
