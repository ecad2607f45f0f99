"""Check every block of code in the docs: commands with the command line's own parser, others by language.

`tests/integration/editors/` also runs the configurations of Neovim and Emacs.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
import pytest
import yaml
from markdown_it import MarkdownIt

from adacoder import __version__
from adacoder.cli import commands
from adacoder.settings import Settings, merge
from support.commandline import Desk
from support.paths import ROOT
from support.repository import commit, git

PATTERNS = ("*.md", "docs/*.md", "docs/howto/*.md", "docs/skills/*/*.md", "examples/README.md", "examples/*/README.md")
PAGES = sorted(page for pattern in PATTERNS for page in ROOT.glob(pattern))
"""The pages of the site."""
FOREIGN = frozenset(
    {"dask", "git", "llama-server", "npm", "nvim", "ollama", "pytest", "python3"}
    | {".", "cat", "cd", "cp", "echo", "grep", "ln", "mkdir", "sed", "tail"}
)
"""Programs that are not AdaCoder's. Their arguments are not checked."""
WITHOUT_MODEL = frozenset({"check", "compare", "strategies"})
"""Commands that need no model, and are run."""
FOUND = (
    AssertionError,
    LookupError,
    SyntaxError,
    ValueError,
    click.UsageError,
    subprocess.SubprocessError,
    yaml.YAMLError,
)
"""Errors that an invalid block raises."""
MOST_WORDS = 4
"""Maximum number of words of a phrase to look for, because the code may break longer texts into lines."""
FUNCTION = '''def slug(text):
    """A slug.

    >>> slug("A b")
    'a-b'
    """
    return text.lower().replace(" ", "-")


class Stack:
    """A stack.

    >>> Stack().push(1)
    1
    """

    def push(self, item):
        """Put an item on top.

        >>> Stack().push(2)
        2
        """
        return item
'''
FILES = {
    **dict.fromkeys(("src/a.py", "src/texts.py", "tools/a.py"), FUNCTION),
    "shop/prices.py": FUNCTION.replace("slug", "discounted"),
    "before.py": FUNCTION.replace("lower", "upper"),
    "README.md": ">>> 1 + 1\n2\n",
    "docs/a.rst": ">>> 1 + 1\n2\n",
}
"""Files that commands in the docs name."""


@dataclass(frozen=True)
class Block:
    place: str
    language: str
    text: str

    def __str__(self) -> str:
        return self.place

    @property
    def commands(self) -> Iterator[list[str]]:
        """The words of each command, without comments, redirections and variables."""
        for command in re.split(r"\n| && | \|\| ", self.text):
            words = shlex.split(re.sub(r" [<>|] .*", "", command), comments=True)
            while words and re.match(r"\w+=", words[0]):
                words = words[1:]
            if words:
                yield words


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page, except Sphinx's directives."""
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")):
        if token.type in {"fence", "code_block"} and not token.info.startswith("{"):
            is_command = re.match(r"\w+ ", token.content) and token.type == "code_block"
            language = token.info or ("sh" if is_command else "text")
            yield Block(f"{page.relative_to(ROOT)}:{(token.map or [0])[0] + 1}", language, token.content)


BLOCKS = [block for page in PAGES for block in blocks(page)]


@cache
def _sources() -> str:
    """Return the code of the package and the demo."""
    files = [*(ROOT / "server/adacoder").rglob("*.py"), *(ROOT / "fixtures/demo/project").rglob("*.py")]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def _shell(block: Block) -> None:
    for program, *arguments in block.commands:
        match program:
            case "adacoder":
                _file("reply.txt", "")
                command = commands.adacoder.commands[arguments[0]]
                with command.make_context(arguments[0], arguments[1:]):
                    pass
            case "nox":
                sessions = arguments[arguments.index("-s") + 1 :][:1] if "-s" in arguments else []
                text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
                assert all(f"\ndef {session}(" in text for session in sessions)
            case "python":
                assert (ROOT / arguments[0]).exists()
            case "pip":
                project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
                extras = re.findall(r"adacoder\[(\w+)\]", block.text)
                assert set(extras) <= project["optional-dependencies"].keys()
            case "code":
                assert arguments == ["--install-extension", f"adacoder-{__version__}.vsix"]
            case _:
                assert program in FOREIGN


def _console(block: Block) -> None:
    """Check the commands after the prompts. Other tests compare their outputs."""
    typed = [line.removeprefix("$ ") for line in block.text.splitlines() if line.startswith("$ ")]
    assert typed
    _shell(Block(block.place, "sh", "\n".join(typed)))


def _yaml(block: Block) -> None:
    """Check the YAML, the version of AdaCoder in it, and steps of a workflow that run `adacoder`."""
    yaml.safe_load(block.text)
    assert set(re.findall(r"(?:adacoder-|rev: v)(\d[\d.]*\d)", block.text)) <= {__version__}
    _shell(Block(block.place, "sh", "\n".join(re.findall(r"- run: (adacoder .*)", block.text))))


def _settings(values: object, above: str = "") -> None:
    """Assert that AdaCoder accepts its settings in the configuration of a project or an editor."""
    if not isinstance(values, Mapping):
        return
    for key, value in values.items():
        if above in {"tool", "config", "settings", "lsp_config"} and key.partition(".")[0] == "adacoder":
            notices: list[str] = []
            merge(Settings(), value if key == "adacoder" else {key.removeprefix("adacoder."): value}, notices.append)
            assert notices == []
        _settings(value, key)


def _output(block: Block) -> None:
    """Assert that the fixed words of an output occur in the package. Skip diagrams."""
    if "─▶" not in block.text:
        for phrase in re.findall(r"[A-Za-z]+(?: [A-Za-z]+)+", re.sub(r"'[^'\n]*'|HEAD|full", ".", block.text)):
            assert " ".join(phrase.split()[:MOST_WORDS]) in _sources()


def _diff(block: Block) -> None:
    """Assert that the unchanged lines of a diff occur in the code."""
    for line in block.text.splitlines():
        assert line.startswith("+") or f"{line[1:]}\n" in _sources(), line


def _vim(block: Block) -> None:
    for place, name in (("ale/linter", "Define"), ("ale/python", "FindProjectRoot")):
        _file(f"autoload/{place}.vim", f"function {place.replace('/', '#')}#{name}(...)\nendfunction\n")
    _neovim("block.vim", block.text)


def _lua(block: Block) -> None:
    is_table = block.text.startswith("{")
    _neovim("block.lua", f"local function parsed()\n{'return ' * is_table}{block.text}\nend")


def _neovim(name: str, text: str) -> None:
    program = shutil.which("nvim") or pytest.skip("Neovim is not installed")
    start = [program, "--clean", "--headless", "--cmd", "set runtimepath+=."]
    ended = subprocess.run(
        [*start, "-c", f"source {_file(name, text)}", "-c", "qall!"], capture_output=True, check=True
    )
    assert ended.stderr == b""


def _elisp(block: Block) -> None:
    program = shutil.which("emacs") or pytest.skip("Emacs is not installed")
    subprocess.run(
        [program, "--batch", _file("block.el", block.text), "-f", "check-parens"], capture_output=True, check=True
    )


def _file(name: str, text: str) -> str:
    file = Path(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return name


RULES: Mapping[str, Callable[[Block], object]] = {
    "sh": _shell,
    "console": _console,
    "text": _output,
    "json": lambda block: _settings(json.loads(block.text)),
    "toml": lambda block: _settings(tomllib.loads(block.text)),
    "yaml": _yaml,
    "python": lambda block: ast.parse(block.text),
    "diff": _diff,
    "lua": _lua,
    "vim": _vim,
    "elisp": _elisp,
}


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_block_is_right(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    RULES[block.language](block)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("sh", "adacoder check --surely-not"),
        ("sh", "adacoder surely-not"),
        ("sh", "nox -s surely_not"),
        ("sh", "pip install 'adacoder[surely_not]'"),
        ("sh", "surely-not"),
        ("console", "$ adacoder check --surely-not"),
        ("console", "adacoder check"),
        ("text", "No code says these words."),
        ("json", "{"),
        ("json", '{"settings": {"adacoder": {"surelyNot": 1}}}'),
        ("toml", "[tool.adacoder]\nstrategy = 1\n"),
        ("yaml", "{"),
        ("yaml", "- run: adacoder check --surely-not"),
        ("yaml", "rev: v0.0.1"),
        ("python", "def"),
        ("diff", " SURELY_NOT = 1\n"),
        ("lua", "surely not"),
        ("vim", "surely not\n"),
        ("elisp", "(surely not"),
        ("cobol", "STOP RUN."),
    ],
)
def test_a_wrong_block_is_found(language: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FOUND):
        RULES[language](Block("", language, text))


@pytest.mark.isolation
def test_commands_without_a_model_run_as_printed(desk: Desk, one_in: Callable[[int], int]) -> None:
    for name, text in FILES.items():
        desk.write(text, name)
    commit(desk.folder)
    git(desk.folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    printed = {
        " ".join(words): words[1:]
        for block in BLOCKS
        if block.language == "sh" and not block.place.startswith("README")
        for words in block.commands
        if words[0] == "adacoder" and words[1] in WITHOUT_MODEL and "…" not in "".join(words)
    }
    assert len(printed) > len(WITHOUT_MODEL)
    ended = {command: desk.run(*words) for command, words in [*printed.items()][:: one_in(4)]}
    assert {command: ran.err for command, ran in ended.items() if ran.code not in {0, 1}} == {}
