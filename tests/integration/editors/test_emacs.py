"""The package for Emacs, installed as docs/editors.md says, with eglot and lsp-mode. `emacs.el` acts as the user."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adacoder import __version__
from integration.editors.driving import BODY, EDITORS, HERE, PATIENCE, STUB, drive, of_the_system, run, snippet
from integration.lsp.texts import NO_EXAMPLES
from support.paths import ROOT
from support.standins.ollama import Ending, Model, Script, StandIn

pytestmark = pytest.mark.isolation

PACKAGE = ROOT / "client/emacs/adacoder.el"
SYSTEM = "/usr/local/bin:/usr/bin:/bin"
COMMAND = [str(of_the_system("emacs")), "--batch", "-q", "-l", str(HERE / "emacs.el")]


def has(package: str) -> bool:
    """Return True if Emacs and a Debian package for it are installed."""
    return of_the_system("emacs") is not None and any(Path("/usr/share/emacs/site-lisp/elpa-src").glob(f"{package}-*"))


NEEDS_EGLOT = pytest.mark.skipif(not has("eglot"), reason="Emacs with eglot is not installed")
NEEDS_LSP_MODE = pytest.mark.skipif(not has("lsp-mode"), reason="Emacs with lsp-mode is not installed")
NEEDS_EMACS = pytest.mark.skipif(of_the_system("emacs") is None, reason="Emacs is not installed")

FLOWS = "not-running written wished all fixed another checked suggested action cancel page settings doctor menu end"
JOINED = '    return str.join("", (word[0] for word in name.split())).upper()\n'
WRONG = "    return name.title()[0] + name.split()[1][0].upper() if name.isascii() else name\n"
WRITTEN = {
    name: STUB.format(name=name) for name in ("written", "wished", "action", "settings", "forever", "one", "two")
}
WRITTEN |= {name: STUB.format(name=name) + WRONG for name in ("fixed", "checked")}
WRITTEN["another"] = STUB.format(name="another") + BODY
FILES = {f"{name}.py": text for name, text in WRITTEN.items() if name not in ("one", "two")}
FILES |= {"page.rst": "Sums\n====\n\n>>> 1 + 1\n2\n>>> 1 + 2\n4\n"}
FILES |= {"shout.py": NO_EXAMPLES, "all.py": "\n\n".join(WRITTEN[name] for name in ("one", "two"))}
AFTERWARDS = {
    **FILES,
    **{f"{name}.py": STUB.format(name=name) + BODY for name in ("fixed", "action", "settings")},
    **{f"{name}.py": STUB.format(name=name) + JOINED for name in ("wished", "another")},
    "written.py": "\n" * 12 + STUB.format(name="written") + BODY,
    "all.py": "\n\n".join(STUB.format(name=name) + BODY for name in ("one", "two")),
}


def asked_for(body: Mapping[str, Any]) -> Script:
    """Reply to a chat. Only the second model, which the setting `temperature` selects, writes the function
    "settings".
    """
    asked = str(body["messages"])
    if "def shout(" in asked:
        return Script("```\n>>> shout(\"Ada\")\n'ADA'\n```")
    name = max(WRITTEN, key=lambda name: asked.rfind(f"def {name}("))  # the context comes first
    if name == "forever":
        return Script(f"```python\n{WRITTEN[name]}", token=1000, ending=Ending.STALL)
    is_joined = name == "another" or "The user wishes for this function: use join" in asked
    is_wrong = name == "settings" and (body["model"], body["options"]["temperature"]) != ("other:1b", 0.7)
    return Script(f"```python\n{STUB.format(name=name)}{WRONG if is_wrong else JOINED if is_joined else BODY}```")


def configuration(home: Path) -> str:
    """Return the page's configuration. It installs from a copy of the clone, because Emacs locks its files."""
    shutil.copytree(PACKAGE.parent, home / "adacoder/client/emacs")
    return snippet(EDITORS, "Emacs", "elisp")


async def done(client: str, flows: str, folder: Path) -> dict[str, str]:
    """Run steps with the installed package. Return the texts of the files.

    The program `adacoder` is not on the `PATH`.
    """
    program = Path(sys.executable).with_name("adacoder")
    own = f'(setq adacoder-program "{program}" adacoder-modes \'(python-mode rst-mode))\n'
    (folder / "config").write_text(own + configuration(folder), encoding="utf-8")
    project = folder / "project"
    (project / ".git").mkdir(parents=True)
    for name, text in FILES.items():
        (project / name).write_text(text, encoding="utf-8")
    async with StandIn(asked_for, models=(Model("qwen2.5-coder:7b"), Model("other:1b"))) as standin:
        told = {"ADACODER_CONFIG": str(folder / "config"), "ADACODER_CLIENT": client, "ADACODER_FLOWS": flows}
        await run(COMMAND, project, folder, OLLAMA_HOST=standin.host, PATH=SYSTEM, **told)
    return {name: (project / name).read_text(encoding="utf-8") for name in FILES}


@NEEDS_EGLOT
async def test_emacs_with_eglot(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(configuration(tmp_path), encoding="utf-8")
    await drive(COMMAND, tmp_path, ADACODER_CONFIG=str(tmp_path / "config"))


@pytest.mark.parametrize(
    "client",
    [
        pytest.param("eglot", marks=NEEDS_EGLOT),
        pytest.param("lsp", marks=NEEDS_LSP_MODE),
    ],
)
async def test_the_commands(client: str, tmp_path: Path) -> None:
    assert await done(client, FLOWS, tmp_path) == AFTERWARDS


@NEEDS_LSP_MODE
async def test_another_server_beside_it(tmp_path: Path) -> None:
    assert await done("lsp", "beside", tmp_path) == FILES


def emacs(*arguments: str) -> str:
    """Run Emacs without packages. Return its output."""
    command = [str(of_the_system("emacs")), "--batch", "-Q", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def warnings_of(file: Path, folder: Path) -> tuple[str, str]:
    """Return the warnings of the byte compiler and checkdoc about a file."""
    to = f'(setq byte-compile-dest-file-function (lambda (_) "{folder / "x.elc"}"))'
    compiled = emacs("--eval", to, "-f", "batch-byte-compile", str(file))
    return compiled, emacs("--eval", f'(checkdoc-file "{file}")')


@NEEDS_EMACS
def test_the_package_compiles_and_is_documented(tmp_path: Path) -> None:
    assert warnings_of(PACKAGE, tmp_path) == ("", "")
    bad = tmp_path / "adacoder.el"
    text = PACKAGE.read_text(encoding="utf-8")
    bad.write_text(
        text.replace("(provide", "(defun adacoder-bad ()\n  (no-such-function))\n\n(provide"), encoding="utf-8"
    )
    compiled, checked = warnings_of(bad, tmp_path)
    assert "no-such-function" in compiled
    assert "documentation string" in checked


def test_its_version_is_that_of_the_server() -> None:
    found = re.search(r"^;; Version: (\S+)$", PACKAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    assert found[1] == __version__
