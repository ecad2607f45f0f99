"""What a model is shown besides the task: the module's own pieces, and types of the project's other files."""

from __future__ import annotations

from pathlib import Path

from adacoder.source.context import Piece, pieces
from adacoder.source.locate import locate

SHOP = '''"""A shop."""

from models import Order as Ordered
import os

LIMIT = 3
TOKEN = "{secret}"
OTHER = {{"a": 1}}


def helper(x: int) -> int:
    """Help with x.

    More.
    """
    return x


def unrelated(y):
    return y


class Base:
    """What all have."""

    kind: str = "base"

    def __init__(self):
        self.items = []

    def count(self) -> int:
        return len(self.items)

    def target(self, order: Ordered, path: os.PathLike) -> None:
        """Use helper up to LIMIT.

        >>> Base().target(None)
        """
        secret_body = 1
'''.format(secret="x" * 100)
MODELS = '''class Order:
    """What was ordered."""

    def __init__(self, number): ...
'''


def shown(folder: Path, **overlays: str) -> tuple[Piece, ...]:
    path = folder / "shop.py"
    path.write_text(SHOP, encoding="utf-8")
    (folder / "models.py").write_text(MODELS, encoding="utf-8")
    target = locate(SHOP, path, folder, qualname="Base.target")
    return pieces(target, {folder / f"{name}.py": text for name, text in overlays.items()})


def test_pieces_come_ranked_and_without_the_targets_own_body(tmp_path: Path) -> None:
    found = shown(tmp_path)
    assert [piece.kind for piece in found] == [
        *("imports", "class", "mentioned", "mentioned", "type", "module", "module", "module")
    ]
    text = "\n".join(piece.text for piece in found)
    assert "secret_body" not in text
    assert "return len" not in text
    assert 'def helper(x: int) -> int:\n    """Help with x."""' in text
    assert 'class Order:\n    """What was ordered."""' in text
    class_piece = found[1].text
    assert class_piece.startswith('class Base:\n    """What all have."""\n    kind: str = "base"\n    # self.items')
    assert "def count(self) -> int:" in class_piece
    assert "def target" not in class_piece


def test_long_strings_are_not_shown(tmp_path: Path) -> None:
    text = "\n".join(piece.text for piece in shown(tmp_path))
    assert "xxxx" not in text
    assert 'TOKEN = "…"' in text
    assert 'OTHER = {"a": 1}' in text


def test_open_files_are_read_as_they_are_open(tmp_path: Path) -> None:
    text = "\n".join(piece.text for piece in shown(tmp_path, models=MODELS.replace("What was", "All that was")))
    assert "All that was ordered." in text


def test_the_same_texts_give_the_same_pieces(tmp_path: Path) -> None:
    assert shown(tmp_path) == shown(tmp_path)


def test_a_file_that_jedi_cannot_read_gives_what_its_lines_show(tmp_path: Path) -> None:
    text = 'import os\nx = (\n\ndef f(a: Missing):\n    """Doc."""\n\ndef g(: pass\n'
    target = locate(text, tmp_path / "m.py", tmp_path, qualname="f")
    assert pieces(target)[0] == Piece("imports", "import os")


def test_the_projects_own_interpreter_is_never_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    interpreter = tmp_path / ".venv" / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text(f"#!/bin/sh\ntouch {started}\n", encoding="utf-8")
    interpreter.chmod(0o755)
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n", encoding="utf-8")
    assert any(piece.kind == "type" for piece in shown(tmp_path))
    assert not started.exists()
