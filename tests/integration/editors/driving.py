"""Run a real editor with AdaCoder, set up as docs/editors.md says. A script in the editor's language acts as the
user.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from integration.lsp.texts import NO_EXAMPLES, SHOUT, SHOUTED
from support.paths import ROOT
from support.standins.ollama import Ending, Script, StandIn

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
"""The body of a second program, which passes both examples but differs for one word."""
ANSWERED = """
    >>> asked('a')
    'A'
    \"\"\"
"""


def reply(name: str) -> Script:
    """Return the model's reply to a request for the function `name`."""
    text = SHOUT if name == "shout" else f"```python\n{STUBS[name]}{BODY}```"
    match name:
        case "slowly" | "edited":  # slow, so that the script can type meanwhile
            return Script(text, token=4, pause=0.03)
        case "forever":
            return Script(f"```python\n{STUBS[name]}", token=1000, ending=Ending.STALL)
    return Script(text)


def asked_for(body: Mapping[str, Any]) -> Script:
    """Reply to a chat, by the function in its prompt. Requests for a second program have a higher temperature."""
    name = next(name for name in STUBS if f"def {name}(" in str(body["messages"]))
    if body["options"]["temperature"] == 0.8:
        return Script(f"```python\n{STUBS[name]}{DIFFERING if name == 'asked' else BODY}```")
    return reply(name)


def snippet(file: Path, heading: str, language: str, number: int = 0) -> str:
    """Return a block of code below a heading. `number` counts the blocks in this language from 0."""
    section = file.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return str(re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)[number])


def of_the_system(program: str) -> str | None:
    """Return the path of an installed program."""
    return shutil.which(program, path="/usr/local/bin:/usr/bin:/bin")


async def run(editor: Sequence[str], project: Path, home: Path, **env: str) -> str:
    """Run an editor in a project with the home folder `home`. Return its output. Fail if its exit code is not 0."""
    own = {"XDG_STATE_HOME": f"{home}", "XDG_DATA_HOME": f"{home}/.local/share", "XDG_CONFIG_HOME": f"{home}/.config"}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    process = await asyncio.create_subprocess_exec(
        *editor,
        cwd=project,
        env={**os.environ, **own, "HOME": str(home), "PATH": path, **env},
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
    return said


async def drive(editor: Sequence[str], folder: Path, **env: str) -> None:
    """Run the script's steps in an editor, and check the texts of the files on disk."""
    project = folder / "project"
    project.mkdir()
    (project / ".git").mkdir()
    (project / "asking").mkdir()
    (project / "asking/pyproject.toml").write_text("[tool.adacoder]\ncrossCheck = true\n", encoding="utf-8")
    files = {name: project / ("asking" if name == "asked" else "") / f"{name}.py" for name in STUBS}
    for name, stub in STUBS.items():
        files[name].write_text(stub, encoding="utf-8")
    async with StandIn(asked_for) as standin:
        said = await run(editor, project, folder, OLLAMA_HOST=standin.host, **env)
    texts = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    assert texts == {
        "initials": STUBS["initials"] + BODY,
        "slowly": 'B = "typed meanwhile"\n' + STUBS["slowly"] + BODY,
        "edited": STUBS["edited"].replace("capitals.", "capitals. Please.") + BODY,
        "forever": STUBS["forever"],
        "asked": STUBS["asked"].removesuffix('    """\n') + ANSWERED + BODY,
        "shout": "y = 1\n" + SHOUTED,
    }, said
