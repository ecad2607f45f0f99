"""What a model is shown besides the task: the module's own pieces, and types of the project's other files."""

from __future__ import annotations

import subprocess
import sys
import warnings
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import jedi
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adacoder.domain import TargetError
from adacoder.source.context import Piece, pieces
from adacoder.source.locate import locate

SHOP = '''"""A shop."""

from models import Order as Ordered
import os

try:
    from typing import Self
except ImportError:
    Self = None
if TYPE_CHECKING:
    from models import Basket

LIMIT = 3
TOKEN = "{secret}"
OTHER = {{"a": 1}}


def helper(x: int) -> int:
    """Help with x.

    More.
    """
    return x


def unrelated(y, key="{secret}"):
    return y


class Base:
    """What all have."""

    kind: str = "base"
    if os.sep:
        pass
    else:
        unlikely = 1

    def __init__(self):
        self.items = []

    def count(self) -> int:
        return len(self.items)

    @helper
    def sized(
        self,
        size: int = 1,
    ):
        """How big it is."""
        return size

    def target(self, order: Ordered, basket: "Basket", path: os.PathLike, native: native.Thing) -> None:
        """Use helper up to LIMIT.

        >>> Base().target(None)
        """
        self.secret_body = 1
'''.format(secret="x" * 100)
MODELS = '''class Order:
    """What was ordered."""

    first: int = 1

    def __init__(self, number):
        self.number = number


Basket = list[Order]
'''

ORDER = '''class Order:
    """What was ordered."""
    first: int = 1
    # self.number
    def __init__(self, number):
        ...'''


def shown(folder: Path, **overlays: str) -> tuple[Piece, ...]:
    path = folder / "shop.py"
    path.write_text(SHOP, encoding="utf-8")
    (folder / "models.py").write_text(MODELS, encoding="utf-8")
    target = locate(SHOP, path, folder, qualname="Base.target")
    return pieces(target, {folder / f"{name}.py": text for name, text in overlays.items()})


def test_pieces_come_ranked_and_without_the_targets_own_body(tmp_path: Path) -> None:
    found = shown(tmp_path)
    assert [piece.kind for piece in found] == [
        *("imports", "class", "mentioned", "mentioned", "type", "type", "module", "module", "module")
    ]
    text = "\n".join(piece.text for piece in found)
    assert "secret_body" not in text
    assert "return len" not in text
    assert 'def helper(x: int) -> int:\n    """Help with x."""' in text
    assert found[0].text.split("\n") == [
        *("from models import Order as Ordered", "import os", "from typing import Self", "from models import Basket")
    ]
    types = [piece.text for piece in found if piece.kind == "type"]
    assert types == [
        f"# from models\n{ORDER}",
        "# from models\nBasket = list[Order]",
    ]
    class_piece = found[1].text
    assert class_piece.startswith('class Base:\n    """What all have."""\n    kind: str = "base"\n    # self.items')
    assert "def count(self) -> int:" in class_piece
    assert "def target" not in class_piece
    assert "unlikely" not in class_piece
    assert (
        '    @helper\n    def sized(\n        self,\n        size: int = 1,\n    ):\n        """How big it is."""'
    ) in class_piece


def test_long_strings_are_not_shown(tmp_path: Path) -> None:
    text = "\n".join(piece.text for piece in shown(tmp_path))
    assert "xxxx" not in text
    assert 'TOKEN = "…"' in text
    assert 'OTHER = {"a": 1}' in text
    assert 'def unrelated(y, key="…")' in text


def test_open_files_are_read_as_they_are_open(tmp_path: Path) -> None:
    text = "\n".join(piece.text for piece in shown(tmp_path, models=MODELS.replace("What was", "All that was")))
    assert "All that was ordered." in text


def test_the_same_texts_give_the_same_pieces(tmp_path: Path) -> None:
    assert shown(tmp_path) == shown(tmp_path)


def test_a_file_that_jedi_cannot_read_gives_what_its_lines_show(tmp_path: Path) -> None:
    text = 'import os\nx = (\n\ndef f(a: Missing):\n    """Doc."""\n\ndef g(: pass\n'
    target = locate(text, tmp_path / "m.py", tmp_path, qualname="f")
    assert pieces(target)[0] == Piece("imports", "import os")


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_endings_do_not_matter(ending: str, tmp_path: Path) -> None:
    expected = shown(tmp_path)
    target = locate(SHOP.replace("\n", ending), tmp_path / "shop.py", tmp_path, qualname="Base.target")
    assert pieces(target) == expected


def test_a_class_that_the_docstring_mentions_is_shown_with_what_it_has(tmp_path: Path) -> None:
    text = MODELS + 'def f(x):\n    """Like Order."""\n'
    (order, _) = pieces(locate(text, tmp_path / "m.py", tmp_path, qualname="f"))
    assert (order.kind, "# self.number" in order.text) == ("mentioned", True)


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet=st.sampled_from("class def(x):=\n\t \"'.@,"), max_size=60), st.booleans())
def test_whatever_surrounds_it_a_function_has_pieces(text: str, below: bool) -> None:
    own = 'def own(a: Order, b: "x.Y"):\n    """Doc."""\n    hidden = 1\n'
    text = f"{text}\n{own}" if not below else f"{own}\n{text}"
    try:
        target = locate(text, Path("/nowhere/m.py"), Path("/nowhere"), qualname="own")
    except TargetError:
        return
    assert all("hidden" not in piece.text for piece in pieces(target))


def test_without_jedi_there_is_less_to_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = shown(tmp_path)

    def fails(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr(jedi, "Script", fails)
    assert shown(tmp_path) == tuple(piece for piece in whole if piece.kind != "type")


def test_nothing_of_the_users_text_stays_on_disk(tmp_path: Path) -> None:
    assert any(piece.kind == "type" for piece in shown(tmp_path))
    assert not Path(jedi.settings.cache_directory).exists()


def test_nothing_is_started_and_no_binary_module_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **_: loaded.append(args))
    (tmp_path / f"native{EXTENSION_SUFFIXES[0]}").write_bytes(b"no library")
    monkeypatch.setattr("sys.path", [*sys.path, str(tmp_path)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jedi warns of what it does not load
        assert any(piece.kind == "type" for piece in shown(tmp_path))
    assert "native" not in sys.modules
    assert not loaded


def test_the_projects_own_interpreter_is_never_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    interpreter = tmp_path / ".venv" / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text(f"#!/bin/sh\ntouch {started}\n", encoding="utf-8")
    interpreter.chmod(0o755)
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n", encoding="utf-8")
    assert any(piece.kind == "type" for piece in shown(tmp_path))
    assert not started.exists()
