"""A recording contains no key, in any member and any encoding, and no name of its user.

Users are asked to send recordings. So each test searches its recording for private text. It also replays the recording,
because masked texts must still be recognised.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from adacoder.models.recording.format import read
from support.commandline import MODEL, Desk, Ran
from support.standins.ollama import StandIn

CHANCE = random.Random(11)
_LETTERS = string.ascii_letters + string.digits
KEYS = {
    "AWS": "AKIA" + "".join(CHANCE.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", k=16)),
    "GitHub": "ghp_" + "".join(CHANCE.choices(_LETTERS, k=36)),
    "Anthropic": "sk-ant-api03-" + "".join(CHANCE.choices(_LETTERS, k=93)) + "AA",
    "of the environment": "".join(CHANCE.choices(_LETTERS, k=28)),
}
HARMLESS = "windermere"
SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "percent": lambda text: "".join(f"%{ord(each):02X}" for each in text),
    "percent twice": lambda text: quote("".join(f"%{ord(each):02X}" for each in text)),
    "hexadecimal": lambda text: text.encode().hex(),
    "base64": lambda text: base64.b64encode(f"k:{text}".encode()).decode(),
    "escapes": lambda text: "".join(f"\\u{ord(each):04x}" for each in text),
}
PLACES = {
    "the reply": ("See {key} for more.\n\n```python\ndef f(x):\n    return x\n```\n", ""),
    "a comment of it": ("```python\ndef f(x):\n    return x  # {key}\n```\n", ""),
    "the module": ("```python\ndef f(x):\n    return x\n```\n", "# {key}\n"),
    "another docstring": ("```python\ndef f(x):\n    return x\n```\n", 'def g():\n    r"""See {key}."""\n\n\n'),
    "an error": ("```python\ndef f(x):\n    raise ValueError(r'{key}')\n```\n", ""),
    "an output": ("```python\ndef f(x):\n    return r'{key}'\n```\n", ""),
    "printed": ("```python\ndef f(x):\n    print(r'{key}')\n    return 7\n```\n", ""),
    "a header": ("```python\ndef f(x):\n    return {{'Authorization': r'Bearer {key}'}}\n```\n", ""),
    "a query": ("```python\ndef f(x):\n    return r'https://x.example/?key={key}&n=1'\n```\n", ""),
    "a key of a dictionary": ("```python\ndef f(x):\n    return {{r'{key}': 1}}\n```\n", ""),
}
MODULE = '''{above}def f(x):
    """Give it back.

    >>> f(1)
    1
    """
'''
REPLAY = ("generate", "mod.py::f", "--model", "replay:talk.txt", "--isolation", "none", "--max-iterations", 0)


@pytest.fixture
def node() -> str:
    """Return the name of the machine."""
    return "thirlmere.lakes.example"


@pytest.fixture
def home(desk: Desk, node: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the home folder of a user whose name and key are known."""
    folder = desk.folder / "home" / "zelda"
    folder.mkdir(parents=True)
    for name, value in {
        **dict.fromkeys(("LOGNAME", "USER"), "zelda"),
        "HOME": str(folder),
        "ACME_API_KEY": KEYS["of the environment"],
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("platform.node", lambda: node)
    return folder


def recorded(desk: Desk, reply: str, above: str = "") -> tuple[Ran, str]:
    desk.write(MODULE.format(above=above), "mod.py")
    with StandIn([reply]).in_thread() as standin:
        ran = desk.run(
            *("generate", "mod.py::f", "--model", MODEL, "--host", standin.host, "--isolation", "none"),
            *("--max-iterations", 0, "--record", "talk.txt"),
        )
    return ran, (desk.folder / "talk.txt").read_text("utf-8")


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("place", PLACES)
def test_no_key_is_recorded(place: str, desk: Desk) -> None:
    reply, above = PLACES[place]
    written = [spelled(key) for key in KEYS.values() for spelled in SPELLINGS.values()]
    told = " ".join([HARMLESS, *written])
    _, text = recorded(desk, reply.format(key=told), above.format(key=told))
    assert HARMLESS in text  # the path of the file is recorded
    for each in (*KEYS.values(), *written):
        assert each not in text
        assert json.dumps(each)[1:-1] not in text
    replayed = desk.run(*REPLAY)
    assert replayed.code in (0, 1)
    assert "is not the one recorded" not in replayed.err


@pytest.mark.usefixtures("home")
def test_nobody_is_named_and_the_same_is_masked_in_the_same_way(desk: Desk) -> None:
    told = "/home/zelda/x by Zelda on thirlmere and thirlmere.lakes.example, ~zelda, zelda@x.example"
    reply, _ = PLACES["an error"]
    spelled = " ".join([*(each(told) for each in SPELLINGS.values()), *KEYS.values()])
    _, text = recorded(desk, reply.format(key=spelled), "# zelda wrote this on thirlmere\n")
    for name in ("zelda", "Zelda", "thirlmere"):
        for each in SPELLINGS.values():
            assert each(name) not in text
    assert "<user> wrote this on <host>" in text
    (desk.folder / "talk.txt").unlink()
    assert recorded(desk, reply.format(key=spelled), "# zelda wrote this on thirlmere\n")[1] == text


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("node", ["localhost"])
def test_a_word_that_is_the_name_of_no_one_stays(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "root")
    reply, _ = PLACES["the reply"]
    _, text = recorded(desk, reply.format(key="root of localhost, and max"))
    assert "root of localhost, and max" in text


@pytest.mark.usefixtures("home")
def test_a_recording_of_another_user_is_replayed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    reply, _ = PLACES["the reply"]
    ran, _ = recorded(desk, reply.format(key=KEYS["AWS"]), "# for zelda\n")
    assert ran.code == 0
    assert read(desk.folder / "talk.txt").exchanges
    assert desk.run(*REPLAY).code == 0
    monkeypatch.setenv("LOGNAME", "eva")
    desk.write(MODULE.format(above="# for eva\n"), "mod.py")
    assert desk.run(*REPLAY).code == 0
