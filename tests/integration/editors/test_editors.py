"""Real editors, set up as docs/editors.md says: from a code action to a verified body in the file, and more.

A script in the editor's own language, beside this file, does what a person does.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from integration.lsp.texts import NO_EXAMPLES, SHOUT, SHOUTED
from support.paths import ROOT
from support.standins.ollama import Ending, Script, StandIn

pytestmark = pytest.mark.isolation

HERE = Path(__file__).parent
EDITORS = ROOT / "docs" / "editors.md"
PATIENCE = 120

STUB = '''def {name}(name):
    """The initials of a name, in capitals.

    >>> {name}("ada lovelace")
    'AL'
    >>> {name}("Åsa öberg")
    'ÅÖ'
    """
'''
BODY = '    return "".join(word[0] for word in name.split()).upper()\n'
STUBS = {name: STUB.format(name=name) for name in ("initials", "slowly", "edited", "forever", "asked")}
STUBS["shout"] = NO_EXAMPLES
DIFFERING = '    return "".join(word[0] for word in name.title().split()) if " " in name else name\n'
"""The body of a second program. It passes both examples, and differs for a single word."""
ANSWERED = """
    >>> asked('a')
    'A'
    \"\"\"
"""


def reply(name: str) -> Script:
    """Return the model's reply to a request for the function `name`."""
    text = SHOUT if name == "shout" else f"```python\n{STUBS[name]}{BODY}```"
    match name:
        case "slowly" | "edited":  # there is time to type
            return Script(text, token=4, pause=0.03)
        case "forever":
            return Script(f"```python\n{STUBS[name]}", token=1000, ending=Ending.STALL)
    return Script(text)


def asked_for(body: Mapping[str, Any]) -> Script:
    """Reply to a chat, by the function in its prompt. A second program has a higher temperature."""
    name = next(name for name in STUBS if f"def {name}(" in str(body["messages"]))
    if body["options"]["temperature"] == 0.8:
        return Script(f"```python\n{STUBS[name]}{DIFFERING if name == 'asked' else BODY}```")
    return reply(name)


def snippet(file: Path, heading: str, language: str) -> str:
    """Return the first block of code below a heading."""
    section = file.read_text(encoding="utf-8").partition(f"## {heading}\n")[2]
    found = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert found is not None, heading
    return found[1]


def of_the_wheel() -> str | None:
    """Return the Neovim that is installed for the tests."""
    return shutil.which("nvim", path=sysconfig.get_path("scripts"))


def of_the_system(program: str) -> str | None:
    """Return the path of a program of the system."""
    return shutil.which(program, path="/usr/local/bin:/usr/bin:/bin")


def has_eglot() -> bool:
    """Return whether Emacs with eglot is installed."""
    return of_the_system("emacs") is not None and any(Path("/usr/share/emacs/site-lisp/elpa-src").glob("eglot-*"))


async def drive(editor: Sequence[str], config: str, folder: Path) -> None:
    """Run an editor's flows, and assert the text of the files on disk afterwards."""
    project = folder / "project"
    project.mkdir()
    (project / ".git").mkdir()
    (project / "asking").mkdir()
    (project / "asking/pyproject.toml").write_text("[tool.adacoder]\ncrossCheck = true\n", encoding="utf-8")
    files = {name: project / ("asking" if name == "asked" else "") / f"{name}.py" for name in STUBS}
    for name, stub in STUBS.items():
        files[name].write_text(stub, encoding="utf-8")
    (folder / "config").write_text(config, encoding="utf-8")
    async with StandIn(asked_for) as standin:
        own = {f"XDG_{kind}_HOME": str(folder) for kind in ("STATE", "DATA", "CONFIG")}
        told = {"ADACODER_CONFIG": str(folder / "config"), "OLLAMA_HOST": standin.host, "HOME": str(folder)}
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        process = await asyncio.create_subprocess_exec(
            *editor,
            cwd=project,
            env={**os.environ, **own, **told, "PATH": path},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    said = output.decode(errors="replace")
    assert process.returncode == 0, said
    texts = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    assert texts == {
        "initials": STUBS["initials"] + BODY,
        "slowly": 'B = "typed meanwhile"\n' + STUBS["slowly"] + BODY,
        "edited": STUBS["edited"].replace("capitals.", "capitals. Please.") + BODY,
        "forever": STUBS["forever"],
        "asked": STUBS["asked"].removesuffix('    """\n') + ANSWERED + BODY,
        "shout": "y = 1\n" + SHOUTED,
    }, said


def neovim(program: str | None) -> list[str]:
    return [str(program), "--clean", "--headless", "-c", f"luafile {HERE / 'neovim.lua'}"]


@pytest.mark.skipif(of_the_wheel() is None, reason="Neovim's wheel is not installed")
async def test_neovim(tmp_path: Path) -> None:
    config = snippet(EDITORS, "Neovim 0.11 or later", "lua")
    await drive(neovim(of_the_wheel()), config, tmp_path)


@pytest.mark.skipif(of_the_system("nvim") is None, reason="Neovim is not installed")
async def test_an_old_neovim(tmp_path: Path) -> None:
    config = snippet(EDITORS, "Neovim 0.7 to 0.10", "lua")
    await drive(neovim(of_the_system("nvim")), config, tmp_path)


@pytest.mark.skipif(not has_eglot(), reason="Emacs with eglot is not installed")
async def test_emacs_with_eglot(tmp_path: Path) -> None:
    config = snippet(EDITORS, "Emacs: eglot", "elisp")
    await drive([str(of_the_system("emacs")), "--batch", "-q", "-l", str(HERE / "emacs.el")], config, tmp_path)
