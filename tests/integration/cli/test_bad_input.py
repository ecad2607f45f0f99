"""Bad input of each kind gives one clear line and an exit code, and writes nothing. A similar good input works."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from adacoder.sandbox.isolation.locks import Locks
from adacoder.sandbox.probe import PROBER
from support.commandline import GOOD_REPLY, MODEL, SOLVED, STUB, WRONG_REPLY, Desk, Ran
from support.standins.ollama import Body, Ending, Model, Script, StandIn

pytestmark = pytest.mark.isolation

GENERATE = ("generate", "shapes.py::hypotenuse", "--write", "--model", MODEL)
UNTOUCHED = "shapes.py"


@dataclass(frozen=True)
class Run:
    """A run of the command line: files, arguments, and the model's reply."""

    arguments: tuple[str, ...] = GENERATE
    text: str | bytes | None = STUB
    reply: str | Script = GOOD_REPLY
    installed: str = MODEL
    serves: bool = True
    between: Callable[[Path], None] = lambda path: None
    """Text that replaces the file while the model thinks."""

    def on(self, desk: Desk) -> Ran:
        """Run the command, and assert that the file is unchanged."""
        path = desk.folder / UNTOUCHED
        if self.text is not None:
            path.write_bytes(self.text if isinstance(self.text, bytes) else self.text.encode())
        with self._server(path) as host:
            return desk.run(*self.arguments, *(["--host", host] if host else []))

    @contextmanager
    def _server(self, path: Path) -> Iterator[str | None]:
        if not self.serves or self.arguments[0] in ("check", "apply"):
            yield None
            return

        def reply(_: Body) -> str | Script:
            self.between(path)
            return self.reply

        with StandIn(reply, models=[Model(self.installed)]).in_thread() as standin:
            yield standin.host


def asking(*arguments: str) -> tuple[str, ...]:
    return (GENERATE[0], *arguments, *GENERATE[2:])


NO_EXAMPLES = STUB.replace("    >>> hypotenuse(3, 4)\n    5.0\n    >>> hypotenuse(5, 12)\n    13.0\n", "")
UNDEFINED_HELPER = STUB.replace(">>> hypotenuse(3, 4)", ">>> rounded(hypotenuse(3, 4))").replace(
    ">>> hypotenuse(5, 12)", ">>> rounded(hypotenuse(5, 12))"
)
ENDLESS = "```python\ndef hypotenuse(a, b):\n    while True:\n        pass\n```"
CONTROL = Run()


def changed(path: Path) -> None:
    path.write_text(f"{path.read_text('utf-8')}\n\n# Written meanwhile.\n", encoding="utf-8")


BAD: dict[str, tuple[Run, int, str]] = {
    "no such file": (Run(asking("nowhere.py::f")), 2, "There is no file "),
    "a directory": (Run(asking("."), text=None), 2, "is a directory: name a Python file in it."),
    "a function in a directory": (Run(asking(".::f"), text=None), 2, "is a directory: name a Python file in it."),
    "bytes that are no text": (Run(text=b"\x89PNG\r\n\x1a\n\0\0\0\xff"), 2, "is not Python text"),
    "text with NUL": (Run(text=b"def f():\n    '''Doc.'''\n\0"), 2, "is not Python text"),
    "an unknown encoding": (Run(text=b"# coding: klingon\n"), 2, "is not Python text"),
    "an unknown name": (Run(asking("shapes.py::hypotenus")), 2, "did you mean 'hypotenuse'?"),
    "no function at the cursor": (Run(asking("shapes.py:1")), 2, "There is no function at line 1"),
    "line 0": (Run(asking("shapes.py:0")), 2, "the first line of a file is line 1"),
    "no name after the colons": (Run(asking("shapes.py::")), 2, "write PATH::NAME"),
    "no docstring": (Run(text="def hypotenuse(a, b):\n    pass\n"), 2, "'hypotenuse' has no docstring"),
    "no stub in the file": (Run(asking("shapes.py"), text=SOLVED), 2, "no body yet"),
    "no examples": (Run(text=NO_EXAMPLES), 1, "has no >>> examples"),
    "an example with an undefined helper": (Run(text=UNDEFINED_HELPER), 1, "'rounded', which nothing defines"),
    "Ollama not running": (Run(serves=False), 2, "start it with `ollama serve`"),
    "a host that is none": (Run((*GENERATE, "--host", "ftp://x"), serves=False), 2, "is not an address"),
    "a model that is not installed": (Run(installed="other:1b"), 2, f"run `ollama pull {MODEL}`"),
    "an empty reply": (Run(reply=""), 1, "hypotenuse"),
    "prose": (Run(reply="Of course! That is easy."), 1, "hypotenuse"),
    "another function": (Run(reply="```python\ndef other(x, y, z):\n    return x\n```"), 1, "hypotenuse"),
    "a wrong function": (Run(reply=WRONG_REPLY), 1, "gave 7.0 instead of 5.0"),
    "a function that never ends": (Run((*GENERATE, "--timeout", "1"), reply=ENDLESS), 1, "was still running"),
    "a server that breaks off": (Run(reply=Script("```python\ndef", ending=Ending.BREAK)), 2, "no usable reply"),
    "an unknown strategy": (Run((*GENERATE, "--strategy", "magic")), 2, "adacoder, auto, direct"),
    "no such interpreter": (Run((*GENERATE, "--interpreter", "no/python")), 2, "There is no Python interpreter at "),
    "no such recording": (
        Run((*GENERATE[:3], "--model", "replay:no.txt"), serves=False),
        2,
        "no.txt is not a recorded",
    ),
    "a record that cannot be": (Run((*GENERATE, "--record", "no/talk.txt")), 2, "cannot be recorded"),
    "too many iterations": (Run((*GENERATE, "--max-iterations", "99")), 2, "a whole number from 0 to 50"),
    "iterations in words": (Run((*GENERATE, "--max-iterations", "two")), 2, "'--max-iterations'"),
    "no time": (Run((*GENERATE, "--timeout", "0")), 2, "a number from 0.1 to 600"),
    "an unknown isolation": (Run((*GENERATE, "--isolation", "prayer")), 2, "'prayer' is not one of"),
    "an unknown option": (Run((*GENERATE, "--fast")), 2, "No such option '--fast'"),
    "two forms": (Run((*GENERATE, "--json")), 2, "--write, --diff and --json cannot be combined"),
    "unverified without write": (
        Run(("generate", "shapes.py::hypotenuse", "--allow-unverified"), serves=False),
        2,
        "needs --write",
    ),
    "no place": (Run(("generate",), serves=False), 2, "Missing argument"),
    "an unknown command": (Run(("create",), serves=False), 2, "No such command 'create'"),
    "a reply that is not there": (Run(("apply", "shapes.py", "--reply", "no.txt")), 2, "no.txt"),
    "no reply": (Run(("apply", "shapes.py")), 2, "Missing option '--reply'"),
    "nothing to check there": (Run(("check", "nowhere.py")), 2, "There is no file "),
    "an option beside JSON": (Run(("check", "--json", "-v")), 2, "--verbose and --json cannot be combined"),
    "no such command": (Run((*GENERATE, "--interpreter", "nopython")), 2, "no Python interpreter 'nopython' on PATH"),
    "a file that changed meanwhile": (Run(between=changed), 2, "changed in the meantime and was left as it is"),
}
SINGLE_ROUND = ("--max-iterations", "0")


@pytest.mark.parametrize(("run", "code", "line"), BAD.values(), ids=BAD)
def test_bad_input_gets_one_clear_line(run: Run, code: int, line: str, desk: Desk) -> None:
    if code == 1:
        run = replace(run, arguments=(*run.arguments, *SINGLE_ROUND))
    ran = run.on(desk)
    assert ran.code == code
    assert line in ran.error_lines[-1]
    if code == 2:
        assert sum("round" not in shown for shown in ran.error_lines) == 1, "beside progress there is one line"
    assert ran.out == ""
    path = desk.folder / UNTOUCHED
    if run.between is changed:
        assert path.read_text("utf-8").endswith("# Written meanwhile.\n")
        assert "return" not in path.read_text("utf-8")
    elif run.text is not None:
        assert path.read_bytes() == (run.text if isinstance(run.text, bytes) else run.text.encode())


def test_the_control_is_written(desk: Desk) -> None:
    ran = CONTROL.on(desk)
    assert ran.code == 0
    assert (desk.folder / UNTOUCHED).read_text("utf-8") == SOLVED


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (NO_EXAMPLES, ("--allow-unverified",)),
        (UNDEFINED_HELPER.replace('"""Shapes."""\n', '"""Shapes."""\n\nrounded = round\n').replace("5.0", "5"), ()),
        (f"{STUB}\n\ndef broken(:\n    return\n", ()),
    ],
    ids=["no examples, and allowed", "the helper is defined", "a syntax error elsewhere"],
)
def test_what_looks_like_it_and_works(text: str, options: tuple[str, ...], desk: Desk) -> None:
    text = text.replace("13.0", "13") if "rounded = " in text else text
    ran = Run((*GENERATE, *options), text=text).on(desk)
    assert ran.code == (1 if options else 0), ran.err
    assert "return (a * a + b * b) ** 0.5" in (desk.folder / UNTOUCHED).read_text("utf-8")


@pytest.mark.usefixtures("not_root")
def test_a_read_only_file_is_not_written(desk: Desk) -> None:
    path = desk.write(STUB)
    path.chmod(0o444)
    ran = replace(CONTROL, text=None).on(desk)
    assert ran.code == 2
    assert "cannot be written" in ran.error_lines[-1]
    assert path.read_text("utf-8") == STUB
    path.chmod(0o644)
    assert replace(CONTROL, text=None).on(desk).code == 0


def test_bad_input_with_json_prints_no_object_without_a_function(desk: Desk) -> None:
    ran = desk.run("generate", "nowhere.py::f", "--json")
    assert (ran.code, ran.out, len(ran.error_lines)) == (2, "", 1)


def test_what_could_not_run_with_json_is_an_object_and_a_line(desk: Desk) -> None:
    desk.write(STUB)
    ran = desk.run("generate", "shapes.py::hypotenuse", "--json", "--model", MODEL)
    (result,) = ran.objects
    assert (ran.code, result["status"], len(ran.error_lines)) == (2, "error", 1)
    assert ran.error_lines[0] == result["reason"]


def test_what_stops_every_function_is_told_once(desk: Desk) -> None:
    desk.write(STUB + STUB.partition("\n\n\n")[2].replace("hypotenuse", "longest"))
    ran = desk.run("generate", "shapes.py", "--json", "--model", MODEL)
    assert [result["status"] for result in ran.objects] == ["error", "error"]
    assert (ran.code, len(ran.error_lines)) == (2, 1)


def nothing_isolates(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a machine without bubblewrap and Landlock."""
    monkeypatch.setenv("PATH", str(empty))
    monkeypatch.setattr(PROBER, "locks", lambda: Locks(0, os.uname().machine))


def test_without_isolation_nothing_runs_unless_that_is_accepted(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    path = desk.write(SOLVED)
    nothing_isolates(desk.folder, monkeypatch)
    refused = desk.run("check", path)
    accepted = desk.run("check", path, "--isolation", "none")
    assert (refused.code, refused.out) == (2, "")
    (line,) = refused.error_lines
    assert "install bubblewrap" in line
    assert "--isolation none" in line
    assert accepted.code == 0
    assert "isolation none" in accepted.out
