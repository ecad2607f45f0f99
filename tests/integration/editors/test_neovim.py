"""A real Neovim: a code action on a docstring ends as a verified body in the file."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from support.paths import ROOT
from support.standins.ollama import StandIn

pytestmark = pytest.mark.isolation

HERE = Path(__file__).parent
README = ROOT / "README.md"

STUB = '''def initials(name):
    """The initials of a name, in capitals.

    >>> initials("ada lovelace")
    'AL'
    >>> initials("Åsa öberg")
    'ÅÖ'
    """
'''
BODY = '    return "".join(word[0] for word in name.split()).upper()\n'


@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
async def test_a_code_action_writes_the_function_and_one_undo_takes_it_back(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    file = project / "names.py"
    file.write_text(STUB, encoding="utf-8")
    (project / "pyproject.toml").touch()
    config = tmp_path / "config.lua"
    (snippet,) = re.findall(r"```lua\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    config.write_text(snippet, encoding="utf-8")
    async with StandIn(lambda _: f"```python\n{STUB}{BODY}```") as standin:
        own = {f"XDG_{kind}_HOME": str(tmp_path) for kind in ("STATE", "DATA", "CACHE", "CONFIG")}
        told = {
            "ADACODER_FILE": str(file),
            "ADACODER_LINE": "2",
            "ADACODER_SERVER": f"{sys.executable} -m adacoder serve",
            "ADACODER_SETTINGS": json.dumps(
                {"adacoder": {"model": "qwen2.5-coder:7b", "ollama": {"host": standin.host}}}
            ),
            "ADACODER_CONFIG": str(config),
        }
        nvim = await asyncio.create_subprocess_exec(
            *("nvim", "--clean", "--headless", "-c", f"luafile {HERE / 'neovim.lua'}"),
            env={**os.environ, **own, **told},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output, _ = await asyncio.wait_for(nvim.communicate(), 90)
        finally:
            if nvim.returncode is None:
                nvim.kill()
    assert nvim.returncode == 0, output.decode(errors="replace")
    assert file.read_text(encoding="utf-8") == STUB + BODY
