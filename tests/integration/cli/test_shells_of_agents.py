"""The command line in a coding agent's shell. Its sandbox may forbid sending on sockets, as in Codex."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from support.commandline import SOLVED, Desk

SENDTO = {"x86_64": 44, "aarch64": 206}.get(platform.machine())
pytestmark = pytest.mark.skipif(SENDTO is None or sys.platform != "linux", reason="the number of sendto is not known")

CONFINED = f"""
import ctypes, struct, sys, socket
code = [(0x20, 0, 0, 0), (0x15, 0, 1, {SENDTO}), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7fff0000)]
program = b"".join(struct.pack("HBBI", *each) for each in code)
held = ctypes.create_string_buffer(program)
header = struct.pack("HxxxxxxP", len(code), ctypes.addressof(held))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
assert libc.prctl(22, 2, header, 0, 0) == 0  # PR_SET_SECCOMP
try:
    socket.socketpair()[0].send(b"x")
except PermissionError:
    pass
else:
    raise AssertionError("the filter has no effect")
from adacoder.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
NO_AGENT = {name: value for name, value in os.environ.items() if not name.startswith(("CODEX", "CLAUDE", "GEMINI"))}


def confined(desk: Desk, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command line without the system call `sendto`."""
    return subprocess.run(
        [sys.executable, "-c", CONFINED, *arguments],
        cwd=desk.folder,
        env={**NO_AGENT, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_check_ends_where_sending_is_forbidden(desk: Desk) -> None:
    many = "\n\n".join(SOLVED.replace("hypotenuse", f"hypotenuse{number}") for number in range(400))
    desk.write(many)  # long enough to be read in another process
    ran = confined(desk, "check", "shapes.py")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "Nothing on this machine can isolate code (" in ran.stderr
    assert ran.stderr.endswith("`--isolation none`.\n")


@pytest.mark.parametrize(
    "variable", ["CODEX_SANDBOX", "CLAUDECODE", "GEMINI_CLI", "QWEN_CODE_X", "OPENCODE", "AI_AGENT"]
)
def test_an_agent_is_sent_to_the_tool_and_not_to_the_risk(desk: Desk, variable: str) -> None:
    desk.write(SOLVED)
    ran = confined(desk, "check", "shapes.py", **{variable: "1"})
    assert ran.returncode == 2
    assert "Nothing in this shell can isolate code (" in ran.stderr
    assert "call the tool `check_examples` of `adacoder mcp`" in ran.stderr
    assert "none" not in ran.stderr
    advice = confined(desk, "doctor", **{variable: "1"}).stdout
    assert "check_examples" in " ".join(advice.split())
    assert "none`" not in advice


@pytest.mark.isolation
def test_where_isolation_works_an_agent_gets_the_verdict(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_SANDBOX", "1")
    desk.write(SOLVED)
    assert desk.run("check", "shapes.py").code == 0


def test_the_demonstration_names_the_missing_folder(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(desk.folder / "gone"))
    ran = desk.run("demo")
    assert ran.code == 2
    assert ran.error_lines == ["The demonstration needs a folder for temporary files: set TMPDIR to a writable one."]
