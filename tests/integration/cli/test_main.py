"""The main program, its help, and its output on a terminal."""

from __future__ import annotations

import importlib.metadata
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import adacoder
from adacoder.cli import commands
from adacoder.cli.place import Place
from adacoder.cli.terminal import visible
from support.commandline import SOLVED, STUB, WRONG, Desk

COMMANDS = ("apply", "check", "demo", "doctor", "fix", "generate", "mcp", "serve")


def test_alone_it_prints_its_help(desk: Desk) -> None:
    ran = desk.run()
    assert (ran.code, ran.err) == (0, "")
    assert all(f"\n  {command} " in ran.out for command in COMMANDS)


def test_it_says_its_version(desk: Desk) -> None:
    assert desk.run("--version").out == f"adacoder {importlib.metadata.version('adacoder')}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, desk: Desk) -> None:
    ran = desk.run(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: adacoder {command}")


@pytest.mark.parametrize("arguments", [["serve"], ["serve", "--stdio"]])
def test_serving_loads_no_library_of_the_command_line(arguments: list[str]) -> None:
    script = f"""
import sys, types
server = types.ModuleType("adacoder.lsp.stdio")
server.serve = lambda: 7
sys.modules["adacoder.lsp.stdio"] = server
from adacoder.__main__ import main
code = main({arguments!r})
print(code, sorted({{"click", "rich", "adacoder.cli"}} & set(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == "7 []\n"


def test_serve_takes_nothing_else(desk: Desk) -> None:
    ran = desk.run("serve", "--tcp")
    assert (ran.code, len(ran.error_lines)) == (2, 1)


def test_it_runs_as_a_module() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "adacoder", "generate", "nowhere.py"], capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith("There is no file ")


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    code = "import sys; from adacoder.__main__ import main; input(); sys.exit(main(['generate', '--help']))"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, errors = process.communicate(b"\n", timeout=60)
    assert errors == b""


@pytest.mark.parametrize(
    ("text", "qualname", "line"),
    [
        ("a.py", None, None),
        ("a.py::f", "f", None),
        ("a.py::A.f", "A.f", None),
        ("a.py:1", None, 0),
        ("a.py:12", None, 11),
        ("a:b.py", None, None),
    ],
)
def test_places(text: str, qualname: str | None, line: int | None) -> None:
    place = Place.parse(text)
    assert (place.qualname, place.line) == (qualname, line)
    assert place.path.is_absolute()


def test_a_file_may_be_called_like_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Place.parse("a.py:3").line == 2
    Path("a.py:3").touch()
    assert Place.parse("a.py:3").line is None


def test_what_commands_a_terminal_is_shown_as_what_it_is() -> None:
    assert visible("a\x1b[2J\rb\x9bc\u202ed\n\te — ü") == "a\\x1b[2J\\rb\\x9bc\\u202ed\n\te — ü"


def on_terminal(folder: Path, *arguments: str, **environment: str) -> bytes:
    """Return the bytes that a terminal receives."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "adacoder", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "TERM": "xterm-256color", **environment},
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
    assert process.wait(60) in (0, 1)
    return sent


@pytest.mark.isolation
def test_there_are_colours_only_on_a_terminal_that_wants_them(tmp_path: Path) -> None:
    (tmp_path / "shapes.py").write_text(SOLVED, encoding="utf-8")
    green = b"\x1b[1;32m"
    assert green in on_terminal(tmp_path, "check", "shapes.py")
    plain = on_terminal(tmp_path, "check", "shapes.py", NO_COLOR="1")
    assert b"Verified 'hypotenuse'" in plain
    assert green not in plain


@pytest.mark.isolation
def test_a_diff_on_a_terminal_is_coloured(tmp_path: Path) -> None:
    (tmp_path / "shapes.py").write_text(STUB, encoding="utf-8")
    (tmp_path / "reply").write_text("def hypotenuse(a, b):\n    return (a*a + b*b) ** .5\n", encoding="utf-8")
    sent = on_terminal(tmp_path, "apply", "shapes.py", "--reply", "reply")
    assert b"\x1b[32m+    return (a*a + b*b) ** .5\x1b[0m" in sent
    assert b"\x1b[31m-    pass\x1b[0m" in sent


@pytest.mark.isolation
def test_a_terminal_sees_the_failures_and_the_demonstration(tmp_path: Path) -> None:
    (tmp_path / "shapes.py").write_text(WRONG, encoding="utf-8")
    assert b"Failed example:" in on_terminal(tmp_path, "check", "shapes.py")
    shown = on_terminal(tmp_path, "demo", OLLAMA_HOST="127.0.0.1:1")
    assert "✓ 4/4 examples passed".encode() in shown
    assert "│".encode() in shown


@pytest.mark.parametrize(
    "place",
    [
        *("models/replay.py", "models/recording/format.py", "models/recording/recorder.py"),
    ],
)
def test_what_sentences_tell_to_type_can_be_typed(place: str) -> None:
    source = (Path(adacoder.__file__).parent / place).read_text(encoding="utf-8")
    named = {word for word in re.findall(r"(?<![-\w`])--[a-z]+(?:-[a-z]+)*", source) if word != "--json"}
    options = {name for parameter in commands.generate.params for name in parameter.opts}
    assert named
    assert named <= options
