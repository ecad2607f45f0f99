"""Run the command line in the tests' process on small files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from adacoder.__main__ import main

MODEL = "qwen2.5-coder:7b"

STUB = '''"""Shapes."""


def hypotenuse(a, b):
    """The longest side of a right triangle.

    >>> hypotenuse(3, 4)
    5.0
    >>> hypotenuse(5, 12)
    13.0
    """
    pass
'''
BODY = "    return (a * a + b * b) ** 0.5\n"
SOLVED = STUB.replace("    pass\n", BODY)
WRONG = STUB.replace("    pass\n", "    return float(a + b)\n")
GOOD_REPLY = f"```python\ndef hypotenuse(a, b):\n{BODY}```\n"
WRONG_REPLY = "```python\ndef hypotenuse(a, b):\n    return float(a + b)\n```\n"
LUCKY_REPLY = "```python\ndef hypotenuse(a, b):\n    return float(max(a, b) + 1)\n```\n"
"""A reply that passes both examples of the test's function, but is wrong."""
PLAN = "1. Square both sides.\n2. Take the root of the sum."
HEEDING = ("env", "--default-signal=INT")
"""Prefix for a command that a test ends with SIGINT. Shells let background processes ignore this signal."""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Return the objects that `--json` printed."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error_lines(self) -> list[str]:
        return self.err.splitlines()


@dataclass
class Desk:
    """A workspace, and a command line that runs in the tests' process."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def write(self, text: str, name: str = "shapes.py") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(dedent(text).encode())
        return path

    def run(self, *arguments: object) -> Ran:
        self.capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        shown = self.capsys.readouterr()
        return Ran(code, shown.out, shown.err)


def new_desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Create a Desk in `tmp_path` without a model server."""
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")  # this address has no server
    return Desk(tmp_path, capsys)
