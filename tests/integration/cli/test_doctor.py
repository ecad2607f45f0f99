"""`adacoder doctor`: its output and its exit codes."""

from __future__ import annotations

import os
import pty
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from adacoder.cli import doctor_report
from support.commandline import MODEL, Desk
from support.standins.ollama import Model, StandIn

pytestmark = pytest.mark.isolation
NUMBERS = ", ".join(map(str, range(61, 120)))


def answers(_: object) -> str:
    """Return a reply to the request to count."""
    return NUMBERS


def on_terminal(columns: int, arguments: list[str], environment: Mapping[str, str]) -> str:
    """Return the output of `adacoder` on a terminal of this width, without control sequences."""
    pid, terminal = pty.fork()
    if pid == 0:
        settings = {**environment, "TERM": "xterm", "COLUMNS": str(columns), "NO_COLOR": "1"}
        os.execve(sys.executable, [sys.executable, "-m", "adacoder", *arguments], settings)
    written = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux reports a closed terminal in this way
            break
        if not part:
            break
        written += part
    os.close(terminal)
    os.waitpid(pid, 0)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", written.decode()).replace("\r\n", "\n")


def test_a_mark_and_advice(desk: Desk) -> None:
    ran = desk.run("doctor")
    assert ran.code == 2
    assert "✓ Isolation" in ran.out
    assert "✗ Ollama" in ran.out
    assert "→ No Ollama server answers" in ran.out
    assert ran.error_lines == ["AdaCoder cannot generate here yet. Missing: ollama."]


def test_it_ends_well_where_it_can_generate(desk: Desk) -> None:
    with StandIn(answers).in_thread() as standin:
        ran = desk.run("doctor", "--host", standin.host)
        missing = desk.run("doctor", "--host", standin.host, "--model", "other:1b")
    assert (ran.code, ran.err) == (0, "")
    assert "✗" not in ran.out
    assert "✓ Speed" in ran.out
    assert missing.code == 2
    assert "ollama pull other:1b" in missing.out


def test_without_a_probe_no_model_is_asked(desk: Desk) -> None:
    with StandIn(answers).in_thread() as standin:
        ran = desk.run("doctor", "--no-probe", "--host", standin.host)
        assert standin.requests == []
    assert ran.code == 0
    assert "Speed" not in ran.out


def test_a_model_of_a_ladder_that_is_missing_is_a_remark(desk: Desk) -> None:
    with StandIn(answers, models=[Model(MODEL)]).in_thread() as standin:
        ran = desk.run("doctor", "--host", standin.host, "--model", "other:1b", "--model", MODEL)
    assert (ran.code, ran.err) == (0, "")
    assert "! Model        other:1b, number 1 of 2, is not installed\n" in ran.out
    assert f"✓ Model        {MODEL}, number 2 of 2: " in ran.out


def test_what_lacks_is_named_once(desk: Desk) -> None:
    with StandIn(models=[Model(MODEL)]).in_thread() as standin:
        ran = desk.run("doctor", "--host", standin.host, "--model", "one:1b", "--model", "two:1b")
    assert ran.error_lines == ["AdaCoder cannot generate here yet. Missing: model."]


def test_json(desk: Desk) -> None:
    with StandIn(answers).in_thread() as standin:
        ran = desk.run("doctor", "--json", "--host", standin.host)
    (result,) = ran.objects
    assert (ran.code, ran.err, result["ok"]) == (0, "", True)
    text = f"0.24.0 at {standin.host}, with 1 model: {MODEL}"
    assert {"name": "Ollama", "ok": True, "text": text, "advice": "", "model": None} in result["findings"]
    assert result["findings"][-1]["model"] == f"ollama:{MODEL}"


def test_in_a_file_each_finding_is_a_line(desk: Desk) -> None:
    with StandIn(answers).in_thread() as standin:
        ran = desk.run("doctor", "--host", standin.host)
    assert [line[0] for line in ran.out.splitlines() if not line.startswith(" ")] == list("··✓✓·✓✓✓·✓")


@pytest.mark.parametrize("columns", [80, 120])
def test_on_a_terminal_texts_stand_beside_the_names(columns: int, desk: Desk) -> None:
    with StandIn(answers).in_thread() as standin:
        shown = on_terminal(columns, ["doctor", "--host", standin.host, "--model", "other:1b"], os.environ)
    lines = [line.rpartition("\r")[2] for line in shown.split("\n")]  # the text that stays visible on each line
    first = next(number for number, line in enumerate(lines) if line.startswith("✗ Model"))
    assert lines[first + 1].startswith(f"{' ' * 15}→ The server at ")
    assert lines[first + 2].startswith(" " * 17)
    assert max(len(line) for line in lines if line.count("/") < 5) <= columns, "only a path runs on"


def test_on_a_terminal_it_says_what_it_waits_for(desk: Desk) -> None:
    with StandIn(answers).in_thread() as standin:
        shown = on_terminal(80, ["doctor", "--host", standin.host], os.environ)
    assert "testing isolation" in shown
    assert f"loading {MODEL}" in shown


def test_what_a_server_says_commands_no_terminal(desk: Desk) -> None:
    with StandIn(answers, models=[Model("evil\x1b[2J:7b")]).in_thread() as standin:
        ran = desk.run("doctor", "--no-probe", "--host", standin.host)
    assert "\x1b" not in ran.out
    assert "evil\\x1b[2J:7b" in ran.out


def test_the_widest_name_is_known(desk: Desk, tmp_path: Path) -> None:
    with StandIn(answers).in_thread() as standin:
        (result,) = desk.run("doctor", "--json", "--host", standin.host).objects
    assert max(len(each["name"]) for each in result["findings"]) == doctor_report._NAME_WIDTH
