"""A project's environment variables reach only confined code, and only after its interpreter has started."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adacoder.domain import Example, Level, Module, Verdict
from adacoder.sandbox.environment.interpreter import find
from adacoder.sandbox.host import Host, Program
from support.commandline import Desk

CANARY = "canary-7d3f"
REFUSED = ("PYTHONHASHSEED", "PYTHONSTARTUP", "PYTHONHOME", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "HOME", "TMPDIR")
IMPORT_AND_SHOW = "import os, sys\nSEEN = {}, 'sitecustomize' in sys.modules\n"


async def shown(folder: Path, level: Level, env: tuple[str, ...], name: str, *, once: bool = False) -> str:
    """Return the value of a variable during an import, and True if Python found a `sitecustomize`."""
    path = folder / "mod.py"
    path.write_text(IMPORT_AND_SHOW.format(f"os.environ.get({name!r})"), encoding="utf-8")
    host = Host(find(None, folder, folder), folder, least=level, best=level, env=env)
    program = Program(Module(path, "mod", folder), path.read_text("utf-8"), "SEEN", 1, 1, all_count=True)
    try:
        run = host.check if once else host.evaluate
        verdict: Verdict = await run(program, [Example("SEEN\n", "", 1)], timeout=20)
    finally:
        await host.close()
    return verdict.results[0].got.strip()


@pytest.mark.asyncio
@pytest.mark.parametrize("once", [False, True])
async def test_no_program_starts_with_them(
    level: Level, once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    spawn = asyncio.create_subprocess_exec

    async def noted(*arguments: Any, **named: Any) -> Any:
        started.append((arguments, named))
        return await spawn(*arguments, **named)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    env = (f"ITEM={CANARY}", f"PATH=/{CANARY}")
    assert await shown(tmp_path, level, env, "ITEM", once=once) == f"('{CANARY}', False)"
    assert await shown(tmp_path, level, env, "PATH", once=once) == f"('/{CANARY}', False)"
    assert started
    assert CANARY not in str(started)
    assert CANARY not in str(os.environ)


def test_the_start_of_python_does_not_read_them(level: Level, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    (trap / "sitecustomize.py").touch()
    ask = "import sys; print('sitecustomize' in sys.modules and 'trap' in sys.modules['sitecustomize'].__file__)"
    env = {"PYTHONPATH": str(trap)}
    control = subprocess.run([sys.executable, "-c", ask], env=env, capture_output=True, text=True, check=True)
    assert control.stdout == "True\n"
    seen = asyncio.run(shown(tmp_path, level, (f"PYTHONPATH={trap}",), "PYTHONPATH"))
    assert seen == f"('{trap}', False)"


@pytest.mark.parametrize("name", REFUSED)
def test_a_variable_without_effect_is_refused(name: str, desk: Desk) -> None:
    desk.write(f'[tool.adacoder.env]\n{name} = "/{CANARY}"\nITEM = "fine"\n', "pyproject.toml")
    show = "__import__('os').environ.get"
    desk.write(f'"""\n>>> {show}("ITEM")\n\'fine\'\n>>> {show}("{name}") == "/{CANARY}"\nFalse\n"""\n', "mod.py")
    ran = desk.run("check")
    assert ran.code == 0
    assert ran.err.startswith(f"adacoder.env = {{{name}}} is ignored: {name} would have no effect")
    assert CANARY not in ran.err
    assert desk.run("check", "--env", f"{name}=/x").code == 2


def test_runs_with_other_variables_share_nothing(desk: Desk) -> None:
    desk.write("import os\nITEM = os.environ.get('ITEM')\ndef item():\n    \"The item.\"\n    return ITEM\n", "mod.py")
    desk.write("import mod\ndef test_item():\n    assert mod.item() == 'a'\n", "test_mod.py")
    check = ("check", "--json", "--tests", "mod.py::item")
    found = [desk.run(*check, "--env", f"ITEM={item}").objects[0]["tests"][0]["status"] for item in ("a", "b", "a")]
    assert found == ["passed", "failed", "passed"]
