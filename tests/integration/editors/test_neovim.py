"""The Neovim plug-in, installed as docs/editors.md says: code actions, commands, and `:checkhealth`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from adacoder.domain import Level
from integration.editors.driving import BODY, EDITORS, HERE, STUB, drive, of_the_system, run, snippet
from integration.lsp.texts import NO_EXAMPLES, SHOUT
from support.paths import ROOT
from support.standins.ollama import Body, Ending, Model, Script, StandIn

pytestmark = pytest.mark.isolation

OF_THE_WHEEL = shutil.which("nvim", path=sysconfig.get_path("scripts"))
OF_THE_SYSTEM = of_the_system("nvim")
NEOVIMS = [
    pytest.param(
        OF_THE_WHEEL, id="new", marks=pytest.mark.skipif(OF_THE_WHEEL is None, reason="Neovim's wheel is not installed")
    ),
    pytest.param(
        OF_THE_SYSTEM, id="old", marks=pytest.mark.skipif(OF_THE_SYSTEM is None, reason="Neovim is not installed")
    ),
]
BOTH = pytest.mark.parametrize("program", NEOVIMS)
MODEL = "qwen2.5-coder:7b"
WRONG = "    return name\n"
OTHER = '    return "".join([word[0].upper() for word in name.split()])\n'
FILES = {
    "written.py": STUB.format(name="written"),
    "wished.py": STUB.format(name="wished"),
    "all.py": STUB.format(name="first") + "\n\n" + STUB.format(name="second"),
    "wrong.py": STUB.format(name="wrong") + WRONG + "\n\n" + STUB.format(name="right") + BODY,
    "other.py": STUB.format(name="other") + BODY,
    "shout.py": NO_EXAMPLES,
    "forever.py": STUB.format(name="forever"),
    "chosen.py": STUB.format(name="chosen"),
    "keys.py": STUB.format(name="keys") + BODY,
    "keyless.py": STUB.format(name="keyless") + BODY,
    "inner/here": "",
    "inner/forever.py": STUB.format(name="forever"),
    "inner/hinted.py": STUB.format(name="hinted") + WRONG,
    "inner/page.md": "    >>> 1 + 1\n    2\n",
}
NAMES = tuple(name for text in FILES.values() for name in re.findall(r"def (\w+)", text))
ATTACHED = "lua vim.wait(20000, function() return #vim.tbl_keys(require('adacoder').clients) == {} end)"
"""Waits until a number of servers run."""
SUGGESTED = "    >>> shout('a')\n    'A'\n"


def reply(body: Body) -> Script:
    """Reply to a chat, by the function in its prompt."""
    prompt = str(body["messages"])
    name = max(NAMES, key=lambda name: prompt.rfind(f"def {name}("))  # other functions are context
    if name == "shout":
        return Script("```\n>>> shout('a')\n'A'\n```" if "Suggest three examples" in prompt else SHOUT)
    text = f"```python\n{STUB.format(name=name)}"
    if name == "forever":
        return Script(text + "    initials = [", token=1000, ending=Ending.STALL)
    return Script(f"{text}{OTHER if name == 'other' else BODY}```")


def install(program: str | None, home: Path) -> list[str]:
    """Install the plug-in with the page's commands. Return a command that runs Neovim with the page's `init.lua`."""
    checkout = home / "checkout"
    shutil.copytree(ROOT / "client/neovim", checkout / "client/neovim")
    folder = Path(str(program)).parent
    env = {**os.environ, "HOME": str(home), "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    commands = snippet(EDITORS, "Neovim", "sh")
    subprocess.run(["sh", "-euc", commands], cwd=checkout, env=env, check=True, stdin=subprocess.DEVNULL)
    (home / "init.lua").write_text(snippet(EDITORS, "Neovim", "lua"), encoding="utf-8")
    return [str(program), "--headless", "-n", "-i", "NONE", "-u", str(home / "init.lua")]


def flows(neovim: list[str], script: str) -> list[str]:
    return [*neovim, "-c", f"luafile {HERE / script}"]


@BOTH
async def test_code_actions(program: str | None, tmp_path: Path) -> None:
    neovim = install(program, tmp_path)
    await drive(flows(neovim, "neovim.lua"), tmp_path, ADACODER_PERSON=str(HERE / "neovim_person.lua"))


@BOTH
async def test_commands(program: str | None, tmp_path: Path) -> None:
    neovim = install(program, tmp_path)
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "inner").mkdir()
    for name, text in FILES.items():
        (project / name).write_text(text, encoding="utf-8")
    async with StandIn(reply, models=(Model(MODEL), Model("tiny:1b"))) as standin:
        env = {"OLLAMA_HOST": standin.host, "ADACODER_PERSON": str(HERE / "neovim_person.lua")}
        said = await run(flows(neovim, "neovim_commands.lua"), project, tmp_path, **env)
        requests = standin.requests
    texts = {name: (project / name).read_text(encoding="utf-8") for name in FILES}
    assert texts == {
        **FILES,
        "written.py": FILES["written.py"] + BODY,
        "wished.py": FILES["wished.py"] + BODY,
        "all.py": STUB.format(name="first") + BODY + "\n\n" + STUB.format(name="second") + BODY,
        "wrong.py": FILES["wrong.py"].replace(WRONG, BODY),
        "other.py": STUB.format(name="other") + OTHER,
        "shout.py": FILES["shout.py"].replace('capitals."""', f'capitals.\n\n{SUGGESTED}    """'),
        "chosen.py": FILES["chosen.py"] + BODY,
    }, said
    wishes = [each for each in requests if "use join, please" in str(each["messages"])]
    assert [("wished" in str(each["messages"])) for each in wishes] == [True]
    assert {each["model"] for each in requests if "def chosen(" in str(each["messages"])} == {"tiny:1b"}
    assert {each["model"] for each in requests if "def written(" in str(each["messages"])} == {MODEL}


@BOTH
async def test_the_specification_for_lazy(program: str | None, tmp_path: Path) -> None:
    """lazy.nvim adds `dir` to the runtimepath, requires the module `main`, and calls its `setup` with `opts`."""
    specification = snippet(EDITORS, "Neovim", "lua", 1)
    (tmp_path / "adacoder/client").mkdir(parents=True)
    (tmp_path / "adacoder/client/neovim").symlink_to(ROOT / "client/neovim")
    init = f"""
    local spec = {specification}
    vim.opt.runtimepath:prepend(vim.fn.expand(spec.dir))
    require(spec.main).setup(spec.opts)
    print(vim.fn.exists(':AdaCoder'), require('adacoder').options.settings.model)
    """
    (tmp_path / "init.lua").write_text(init, encoding="utf-8")
    said = await run([str(program), "--headless", "-u", str(tmp_path / "init.lua"), "-c", "quit"], tmp_path, tmp_path)
    assert said.split() == ["2", MODEL]


async def health(neovim: list[str], home: Path, *before: str, **env: str) -> str:
    """Return the text of `:checkhealth adacoder`."""
    commands = [*before, "checkhealth adacoder", f"silent write! {home / 'health'}", "qall!"]
    await run([*neovim, *(part for each in commands for part in ("-c", each))], home, home, **env)
    return (home / "health").read_text(encoding="utf-8")


def marked(text: str, name: str) -> str:
    """Return the line of the health report with a finding."""
    return next(line for line in text.splitlines() if name in line)


@BOTH
async def test_health(program: str | None, tmp_path: Path) -> None:
    neovim = install(program, tmp_path)
    (tmp_path / "some.py").write_text(FILES["written.py"], encoding="utf-8")
    nowhere = "127.0.0.1:1"
    async with StandIn(reply) as standin:
        well = await health(neovim, tmp_path, OLLAMA_HOST=standin.host)
        served = await health(neovim, tmp_path, "edit some.py", ATTACHED.format(1), OLLAMA_HOST=standin.host)
        assert not standin.requests  # no model is loaded
    without_model = await health(neovim, tmp_path, OLLAMA_HOST=nowhere)
    served_without_model = await health(neovim, tmp_path, "edit some.py", ATTACHED.format(1), OLLAMA_HOST=nowhere)
    assert "OK" in marked(well, "Neovim ")
    assert "OK" in marked(well, "'adacoder' is ")
    assert "0.1.0" in marked(well, "AdaCoder: ")
    assert "OK" in marked(well, "Isolation: ")
    assert "ERROR" not in well
    assert MODEL in marked(well, "Model: ")
    assert "with your settings" not in well
    assert "with your settings" in served
    assert MODEL in marked(served, "Model: ")
    assert "with your settings" in served_without_model
    for text in (without_model, served_without_model):
        assert "ERROR" in marked(text, "Ollama: ")
        assert "ollama serve" in text


@BOTH
async def test_health_of_each_server(program: str | None, tmp_path: Path) -> None:
    neovim = install(program, tmp_path)
    for project, window in (("one", 4096), ("two", 6144)):
        (tmp_path / project).mkdir()
        settings = f"[tool.adacoder]\ncontextTokens = {window}\n"
        (tmp_path / project / "pyproject.toml").write_text(settings, encoding="utf-8")
        (tmp_path / project / "some.py").write_text(FILES["written.py"], encoding="utf-8")
    async with StandIn(reply) as standin:
        edits = [f"edit {tmp_path / project}/some.py" for project in ("one", "two")]
        both = await health(neovim, tmp_path, *edits, ATTACHED.format(2), OLLAMA_HOST=standin.host)
    _, one, two = both.split("AdaCoder in ")
    assert one.startswith("~/one")
    assert two.startswith("~/two")
    assert "4,096 tokens" in marked(one, "Context: ")
    assert "6,144 tokens" in marked(two, "Context: ")


@BOTH
@pytest.mark.isolation(Level.LSM)
async def test_health_without_bubblewrap_or_adacoder(program: str | None, tmp_path: Path) -> None:
    neovim = install(program, tmp_path)
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    missing = await health(neovim, tmp_path, PATH=str(bin_))
    (bin_ / "adacoder").symlink_to(Path(sys.executable).parent / "adacoder")
    (tmp_path / "some.py").write_text(FILES["written.py"], encoding="utf-8")
    weak = await health(neovim, tmp_path, PATH=str(bin_))
    weak_server = await health(neovim, tmp_path, "edit some.py", ATTACHED.format(1), PATH=str(bin_))
    assert "ERROR" in marked(missing, "'adacoder' is not")
    assert "with your settings" in weak_server
    for text in (weak, weak_server):
        assert "WARN" in marked(text, "Isolation: lsm")
        assert "apt install bubblewrap" in text
