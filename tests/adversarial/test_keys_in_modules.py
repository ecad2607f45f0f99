"""A module with a key runs as usual, but no model and no recording gets the key.

Imports do not reveal names in files outside the workspace either.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from adacoder.domain import Module
from adacoder.sandbox.environment.imports_ahead import ImportsAhead
from adacoder.sandbox.program import Program
from adacoder.source.imports import ImportIndex
from adacoder.source.locate import locate
from support.commandline import MODEL, Desk
from support.standins.ollama import StandIn

TOKEN = "ghp_" + "a1B2c3D4e5" * 4
KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
KEYS = f'''"""Keys of the test system, such as {TOKEN}.

-----BEGIN PRIVATE KEY-----
{KEY}
{KEY}
-----END PRIVATE KEY-----
"""

SHORT = "{TOKEN}"
HEADER = f"Bearer {TOKEN}"
PEM = """-----BEGIN PRIVATE KEY-----
{KEY}
-----END PRIVATE KEY-----
"""


def signed(text, key=SHORT):
    """Sign with {TOKEN}."""
    return text + key[:3]
'''
MODULE = f'''"""See {TOKEN}."""

from keys import HEADER, PEM, SHORT, signed  # not {TOKEN}

OWN = "{TOKEN}"  # {TOKEN}
# once {TOKEN}


def greeting(name):
    """A greeting that is signed: SHORT, HEADER, PEM and signed are mentioned.

    >>> greeting("Ada")
    'Hello, Ada!ghp'
    """
    pass
'''
GOOD = '```python\ndef greeting(name):\n    return signed(f"Hello, {name}!")\n```\n'
TELLING = "```python\ndef greeting(name):\n    return SHORT + OWN + PEM\n```\n"


def told(desk: Desk, *replies: str) -> tuple[str, str]:
    """Return everything that the model and the recording get, except the model's own replies."""
    desk.write(KEYS, "keys.py")
    desk.write(MODULE, "mod.py")
    with StandIn(list(replies)).in_thread() as standin:
        ran = desk.run(
            *("generate", "mod.py", "--model", MODEL, "--host", standin.host, "--isolation", "none"),
            *("--strategy", "adacoder", "--max-iterations", len(replies) - 1 and 1, "--record", "talk.txt"),
        )
        asked = json.dumps(standin.requests)
    assert ran.code == 0, ran.err
    header = (desk.folder / "talk.txt").read_text("utf-8")
    return asked, header


def test_the_module_runs_and_the_keys_are_not_told(desk: Desk) -> None:
    asked, recorded = told(desk, GOOD)
    for text in (asked, recorded):
        assert "signed" in text
        assert TOKEN not in text
        assert KEY not in text


def test_what_a_candidate_gets_hold_of_is_not_told_to_the_planner(desk: Desk) -> None:
    asked, _ = told(desk, TELLING, "1. Sign it.", GOOD)
    assert "but gave" in asked
    assert TOKEN not in asked
    assert KEY not in asked


def test_what_stands_in_the_function_itself_is_the_authors_to_show(desk: Desk) -> None:
    text = f'def masked(text):\n    """Mask tokens.\n\n    >>> masked("{TOKEN}")\n    \'ghp_*\'\n    """\n    pass\n'
    desk.write(text, "mod.py")
    with StandIn(["```python\ndef masked(text):\n    return text[:4] + '*'\n```"]).in_thread() as standin:
        ran = desk.run("generate", "mod.py", "--model", MODEL, "--host", standin.host, "--isolation", "none")
        assert TOKEN in json.dumps(standin.requests)
    assert ran.code == 0


ELSEWHERE = "import windermere\nfrom windermere import Thirlmere\n\nclass Ullswater: ...\n"


TARGET = 'import linked.names\nimport file\n\n\ndef f(x):\n    """X.\n\n    >>> f(1)\n    1\n    """\n'


@pytest.mark.parametrize(("aim", "is_read"), [("elsewhere", False), ("ws/.secrets", False), ("ws/inner", True)])
def test_what_is_imported_ahead_is_not_learned_elsewhere(tmp_path: Path, aim: str, is_read: bool) -> None:
    ws = tmp_path / "ws"
    ws.mkdir()
    where = tmp_path / aim
    where.mkdir(parents=True)
    (where / "names.py").write_text(ELSEWHERE, encoding="utf-8")
    (where / "__init__.py").touch()
    (ws / "linked").symlink_to(where)
    (ws / "file.py").symlink_to(where / "names.py")
    program = Program(Module(ws / "mod.py", "mod", ws), TARGET, "f", 5, 10)
    assert ("import windermere" in asyncio.run(ImportsAhead(ws).of(program)).statements) is is_read


@pytest.mark.parametrize(("aim", "is_read"), [("elsewhere", False), ("env/lib/python3.11/site-packages/real", True)])
def test_what_is_installed_is_not_learned_elsewhere(tmp_path: Path, aim: str, is_read: bool) -> None:
    packages = tmp_path / "env/lib/python3.11/site-packages"
    where = tmp_path / aim
    for folder in (packages, where, tmp_path / "ws"):
        folder.mkdir(parents=True, exist_ok=True)
    (where / "notes.py").write_text("Thirlmere5 = 1\ndef Thirlmere(): ...\n", encoding="utf-8")
    (packages / "Thirlmere.py").symlink_to(where / "notes.py")
    target = locate(TARGET, tmp_path / "ws/mod.py", tmp_path / "ws", qualname="f")
    index = ImportIndex(target, tmp_path / "ws", [tmp_path / "env/lib"])
    found = index.import_for("Thirlmere", "Thirlmere()")
    assert (found == "from Thirlmere import Thirlmere") is is_read
