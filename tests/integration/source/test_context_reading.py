"""Every process reads a project for a model in the same way, without running any of it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.surroundings import HOSTILE, MODELS, SHAPES, SHOP, SQUARE, TYPES, Project, new_project, whole

project = pytest.fixture(new_project)

SHOW = """
import sys
from pathlib import Path
from adacoder.source.context import pieces
from adacoder.source.locate import functions
folder = Path(sys.argv[1])
for path in sorted(folder.rglob("*.py")):
    for target in (one.target for one in functions(path.read_text(encoding="utf-8"), path, folder)):
        print(*pieces(target), sep="\\n")
"""


def test_the_same_texts_give_the_same_bytes(project: Project) -> None:
    project.write(shapes=SHAPES, models=MODELS, shop_types=TYPES, shop=SHOP, square=SQUARE.format(base="Shape"))

    def shown(seed: str) -> bytes:
        command = [sys.executable, "-c", SHOW, str(project.folder)]
        return subprocess.run(
            command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout

    first = shown("1")
    assert b"class Shape" in first
    assert shown("2") == first


def test_the_projects_own_interpreter_is_never_started(project: Project) -> None:
    started = project.folder / "started"
    interpreter = project.folder / ".venv" / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text(f"#!/bin/sh\ntouch {started}\n", encoding="utf-8")
    interpreter.chmod(0o755)
    (project.folder / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n", encoding="utf-8")
    project.write(models=MODELS)
    assert "class Order" in whole(project.pieces("f", HOSTILE))
    assert not started.exists()
    subprocess.run([interpreter], check=True)
    assert started.exists()
