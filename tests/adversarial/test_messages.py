"""Foreign text is shown, but neither a terminal, a reader of the server's log nor an editor obeys it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adversarial.texts import FORMS, HONEST, HOSTILE, LINKS, is_link, legible, obeyed, strings, unseen
from integration.lsp.client import Client
from support.standins.ollama import Ending, Model, Script, StandIn

pytestmark = pytest.mark.isolation


def toml(text: str) -> str:
    """Write a text as a TOML string."""
    return '"' + "".join(char if char.isalnum() else f"\\U{ord(char):08x}" for char in text) + '"'


ALL = set(range(len(FORMS)))
BODY = f"    print({HOSTILE!r} + {LINKS!r} + {HONEST!r})\n"
STUB = 'def f(x):\n    """What x is.\n\n    >>> f(1)\n    1\n    """\n'
PRINTS = STUB + BODY
RAISES = f"{STUB}    raise ValueError({HOSTILE!r} + {LINKS!r} + {HONEST!r})\n"
BREAKS = f"raise ValueError({HOSTILE!r})\n\n\n{STUB}    return 1\n"
KEYS = f"[tool.adacoder]\n{toml(HOSTILE + LINKS)} = 1\nstrategy = {toml(HOSTILE)}\n"
REPLY = f"{HOSTILE}{LINKS}{HONEST}\n```python\n{PRINTS}```\n{HOSTILE}"
FILE = "m\x1b[2J\u202e\x9b\r\x07[one](command:evil).py"
PLAIN = "m.py"
HERE = Path(__file__).parents[1]
UNREACHABLE = "127.0.0.1:1"


def on_terminal(folder: Path, *command: str, host: str = UNREACHABLE, **environment: str) -> bytes:
    """Return the bytes that a terminal receives."""
    ours, theirs = pty.openpty()
    python = [sys.executable, *(("-m", "adacoder") if command[0] != "-c" else ())]
    process = subprocess.Popen(
        [*python, *command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "300", "OLLAMA_HOST": host, **environment},
    )
    os.close(theirs)
    sent = b""
    try:
        while part := os.read(ours, 4096):
            sent += part
    except OSError:
        pass  # Linux reports a closed terminal as an error
    finally:
        os.close(ours)
    assert process.wait(120) in (0, 1, 2)
    return sent


def test_the_traps_would_be_seen(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes((HOSTILE + HONEST).encode())
    script = "import sys; sys.stdout.buffer.write(open('text', 'rb').read())"
    sent = on_terminal(tmp_path, "-c", script)
    # names of only layout characters are recognised by their marks
    assert len(obeyed(sent)) >= len({form[0] for form in FORMS if form[0] not in "\r\x1b"})
    assert legible(sent.decode()) == set()
    for form in FORMS:
        assert obeyed(f"{form}<0>".encode()), form
    assert obeyed(HONEST.encode()) == set()
    assert is_link(LINKS)


@pytest.mark.parametrize("text", [PRINTS, RAISES, BREAKS], ids=["prints", "raises", "breaks its module"])
def test_what_a_function_gives_when_it_is_checked(text: str, tmp_path: Path) -> None:
    (tmp_path / PLAIN).write_text(text, encoding="utf-8")
    sent = on_terminal(tmp_path, "check", PLAIN, "-v")
    assert obeyed(sent) == set()
    assert legible(sent.decode()) == ALL
    assert (HONEST in sent.decode()) == (text is not BREAKS)


def test_the_name_of_a_file_and_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / f"d{FILE}"
    folder.mkdir()
    (folder / FILE).write_text(PRINTS, encoding="utf-8")
    (folder / f"unreadable{FILE}").symlink_to(f"nowhere{FILE}")
    for command in (["check"], ["check", FILE], ["check", f"{FILE}::g"], ["generate", f"unreadable{FILE}"], ["doctor"]):
        sent = on_terminal(folder, *command)
        assert obeyed(sent) == set(), command
        assert r"\x1b[2J\u202e\x9b\r\x07" in sent.decode(), command


def test_the_keys_of_a_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(KEYS, encoding="utf-8")
    (tmp_path / PLAIN).write_text(f"{STUB}    return x\n", encoding="utf-8")
    for command in (["check", PLAIN], ["doctor"], ["fix", PLAIN]):
        sent = on_terminal(tmp_path, *command)
        assert obeyed(sent) == set(), command
        assert legible(sent.decode()), command


@pytest.mark.parametrize(
    "command",
    [
        [HOSTILE],
        ["check", f"--{HOSTILE}"],
        ["check", HOSTILE],
        ["check", f"m.py::{HOSTILE}"],
        ["check", "m.py", "--isolation", HOSTILE],
        ["check", "m.py", "--interpreter", HOSTILE],
        ["generate", "m.py", "--model", f"replay:{HOSTILE}"],
        ["generate", "m.py", "--host", f"http://{HOSTILE}"],
        ["generate", "m.py", "--strategy", HOSTILE],
        ["apply", "m.py", "--reply", HOSTILE],
        ["serve", HOSTILE],
    ],
    ids=lambda command: " ".join(command).encode("unicode_escape").decode()[:30],
)
def test_what_was_typed_or_pasted(command: list[str], tmp_path: Path) -> None:
    (tmp_path / PLAIN).write_text(STUB, encoding="utf-8")
    sent = on_terminal(tmp_path, *command)
    assert obeyed(sent) == set()
    assert legible(sent.decode())


@pytest.mark.parametrize("command", [["generate", PLAIN], ["demo", "--model", "qwen2.5-coder:7b"]], ids=" ".join)
def test_what_a_model_writes_is_seen_on_a_terminal(command: list[str], tmp_path: Path) -> None:
    (tmp_path / PLAIN).write_text(STUB, encoding="utf-8")
    reply = REPLY.replace("def f(x)", "def timestamp(seconds)") if command[0] == "demo" else REPLY
    with StandIn(lambda _: reply).in_thread() as server:
        sent = on_terminal(tmp_path, *command, "--host", server.host)
    assert obeyed(sent) == set()
    assert legible(sent.decode())


def test_a_diff_on_a_terminal(tmp_path: Path) -> None:
    text = f'"""{LINKS} {HONEST}"""\n\n\n{STUB}'
    (tmp_path / PLAIN).write_text(text, encoding="utf-8")
    code = f"{STUB}    # \u202e\x1b[2J\n    return x  # {HONEST}\n"
    (tmp_path / "reply").write_text(f"```python\n{code}```", encoding="utf-8")
    sent = on_terminal(tmp_path, "apply", PLAIN, "--reply", "reply")
    assert obeyed(sent) == set()
    assert r"\u202e\x1b[2J" in sent.decode()
    # `patch` must get the change itself
    piped = subprocess.run(
        [sys.executable, "-m", "adacoder", "apply", PLAIN, "--reply", "reply"], cwd=tmp_path, capture_output=True
    )
    assert f"+    # \u202e\x1b[2J\n+    return x  # {HONEST}\n".encode() in piped.stdout


@pytest.mark.parametrize(
    "answers",
    [
        {"/api/tags": Script(body=json.dumps({"models": [{"name": f"a{HOSTILE}:7b"}, {"name": LINKS}]}))},
        {"/api/version": Script(body=json.dumps({"version": HOSTILE}))},
        {"/api/show": Script(status=500, body=HOSTILE)},
        {"/api/ps": Script(body=json.dumps({"models": [{"name": "qwen2.5-coder:7b", "expires_at": HOSTILE}]}))},
    ],
    ids=["names of models", "version", "error", "loaded"],
)
def test_what_a_server_says(answers: Mapping[str, Script], tmp_path: Path) -> None:
    (tmp_path / PLAIN).write_text(STUB, encoding="utf-8")
    replies = [Script(ending=Ending.ERROR, error=HOSTILE)] * 9
    with StandIn(replies, instead=answers).in_thread() as server:
        for command in (["doctor"], ["generate", PLAIN]):
            assert obeyed(on_terminal(tmp_path, *command, host=server.host)) == set(), command


CRASHING = f"""
import sys
from adacoder import __main__
from adacoder.cli import commands

def run(arguments, serve_agent):
    print("Crashing", {HOSTILE!r}, file=sys.stderr)
    sys.stdout.writelines([{HOSTILE!r}, "\\n"])
    if "line" in arguments:
        from adacoder.cli.terminal import complain, console, moving_line
        line = moving_line(console(stderr=True))
        line.show("[link=https://evil.example]" + {HOSTILE!r})
        complain({HOSTILE!r})
        print({HOSTILE!r})
    raise RuntimeError({HOSTILE!r})

commands.run = run
__main__.main(sys.argv[1:])
"""


@pytest.mark.parametrize("meanwhile", ["nothing", "line"])
def test_a_crash(meanwhile: str, tmp_path: Path) -> None:
    sent = on_terminal(tmp_path, "-c", CRASHING, meanwhile)
    assert b"RuntimeError" in sent
    assert obeyed(sent) == set()
    assert legible(sent.decode()) == ALL
    assert b"\x1b]8" not in sent


LOGGING = f"""
import logging
from adacoder.__main__ import main
from adacoder.lsp import stdio

stdio.serve_stdio = lambda _: logging.getLogger("one").warning({HOSTILE!r})
main(["serve"])
"""


def test_the_log_of_a_language_server(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", LOGGING], cwd=tmp_path, capture_output=True, check=False)
    assert legible(ran.stderr.decode()) == ALL
    assert obeyed(ran.stderr) == set()


def settings(standin: StandIn, **more: Any) -> dict[str, Any]:
    return {"model": "qwen2.5-coder:7b", "ollama": {"host": standin.host}, **more}


def check_all(client: Client, *answers: Any) -> None:
    """Check that everything the editor received is harmless and has lines of readable length."""
    for member, text in strings([*client.received, *answers]):
        assert unseen(text) == set(), (member, text)
        assert not is_link(text), (member, text)
    for method in ("window/showMessage", "window/logMessage"):
        for params in client.all(method):
            assert "\n" not in params["message"]
            assert len(params["message"]) <= 1000


@pytest.mark.parametrize("text", [PRINTS, RAISES, BREAKS], ids=["prints", "raises", "breaks its module"])
async def test_an_editor_is_told_what_a_function_gives(text: str, tmp_path: Path) -> None:
    async with Client.started(tmp_path) as editor:
        uri = await editor.write(PLAIN, text)
        answer = await editor.run(PLAIN, "f", mode="check")
        await editor.execute("check", {"uri": uri, "qualifiedName": "f"})
        _, told = await editor.told()
        check_all(editor, answer, await editor.execute("journal"), await editor.actions(uri, "def f"))
    assert legible(json.dumps(answer["failure"]).replace("\\\\", "\\"))
    assert legible(told) == legible(answer["summary"]) != set()


async def test_an_editor_is_told_what_a_model_wrote_and_gets_it_as_it_is(tmp_path: Path) -> None:
    code = f"{STUB}    # \u202e\x1b[2J {LINKS}\n    return x\n"
    async with StandIn([f"{HOSTILE}\n```python\n{code}```"]) as standin, Client.started(tmp_path) as editor:
        editor.settings = settings(standin)
        uri = await editor.write(PLAIN, STUB)
        answer = await editor.run(PLAIN, "f")
        check_all(editor, answer, await editor.execute("journal"))
        assert editor.text(uri) == code
        assert answer["edits"][0]["newText"].count("\u202e\x1b[2J") == 1


async def test_an_editor_is_told_why_what_nothing_verified_did_not_go_in(tmp_path: Path) -> None:
    stub = STUB.replace(">>> f(1)\n    1\n", "")
    async with (
        StandIn([f"```python\n{stub}    return {LINKS!r}\n```"] * 3) as standin,
        Client.started(tmp_path) as editor,
    ):
        editor.settings = settings(standin, unverified="insert")
        editor.answers["workspace/applyEdit"] = lambda _: {"applied": False, "failureReason": HOSTILE + LINKS}
        uri = await editor.write(PLAIN, stub)
        answer = await editor.run(PLAIN, "f")
        assert "did not make the edit" in answer["failureReason"]
        difference = await editor.execute("difference", {"jobId": answer["jobId"]})
        check_all(editor, answer, difference, await editor.actions(uri, "def "))
        assert legible(answer["failureReason"])


async def test_an_editor_is_warned_of_a_projects_keys(tmp_path: Path) -> None:
    many = "".join(f"key{number} = 1\n" for number in range(90))
    (tmp_path / "pyproject.toml").write_text(f"{KEYS}{json.dumps('x' * 100_000)} = 1\n{many}", encoding="utf-8")
    async with Client.started(tmp_path) as editor:
        await editor.write(PLAIN, PRINTS)
        answer = await editor.run(PLAIN, "f", mode="check")
        check_all(editor, answer, await editor.execute("doctor", {"probe": False}))
        assert legible("".join(text for _, text in editor.messages))
        assert len(editor.messages) <= 50


async def test_an_editor_is_told_of_files_and_servers(tmp_path: Path) -> None:
    folder = tmp_path / f"d{FILE}"
    folder.mkdir()
    entries = [{"name": f"a{HOSTILE}:7b"}, {"name": LINKS}, {"name": "x" * 1_000_000}]
    tags = Script(body=json.dumps({"models": entries}))
    async with StandIn(instead={"/api/tags": tags}, models=[Model("b")]) as standin, Client.started(folder) as editor:
        editor.settings = settings(standin, model=f"missing{HOSTILE}{LINKS}")
        uri = await editor.write(FILE, PRINTS)
        answers = [
            await editor.run(FILE, "f", mode="check"),
            await editor.run(FILE, "f", mode="fix"),
            await editor.run(FILE, HOSTILE + LINKS, mode="check"),
            await editor.execute("check", {"uri": uri, "qualifiedName": HOSTILE + LINKS}),
            await editor.execute("models"),
            await editor.execute("doctor", {"probe": False}),
        ]
        check_all(editor, *answers, await editor.actions(uri, "def f"))
        assert all(len(text) <= 4000 for _, text in strings(answers[-2:]))
    assert legible(json.dumps(answers).replace("\\\\", "\\"))
