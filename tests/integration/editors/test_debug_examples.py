"""The program that VS Code's debugger runs: doctest on one docstring or page, with each installed Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from support.evaluating import other_pythons

PROGRAM = Path(__file__).parents[3] / "client/python/debug_examples.py"
PYTHONS = [Path(sys.executable), *other_pythons()]
MODULE = '''"""A shop.

>>> plus(1)
2
"""

from . import rates


def plus(x):
    """Add one.

    >>> plus(1)
    2
    >>> plus(...)
    3
    """
    return x if x is ... else x + rates.STEP


class Stack:
    """A stack.

    >>> Stack().size
    1
    """

    @property
    def size(self):
        """Its size.

        >>> Stack().size  # doctest: +NUMBER
        0
        """
        return 0

    @staticmethod
    def made():
        """Make one.

        >>> np.size  # doctest: +ELLIPSIS
        'a...'
        """

    def plain(self):
        """Without examples."""
'''


def debug(folder: Path, path: str, qualname: str, *more: str, module: str = "", python: Path = PYTHONS[0]) -> str:
    """Run the program. Return its exit code and its output."""
    more = (*more, "", "")[: max(len(more), 2)]  # no setup statements and no variables
    arguments = map(quote, (str(folder), str(folder), str(folder / path), module, qualname, *more))
    ran = subprocess.run([python, str(PROGRAM), *arguments], capture_output=True, text=True, check=False)
    return f"{ran.returncode} {ran.stdout}{ran.stderr}"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/__init__.py").touch()
    (tmp_path / "shop/rates.py").write_text("STEP = 1\n")
    (tmp_path / "shop/prices.py").write_text(MODULE)
    return tmp_path


@pytest.mark.parametrize("python", PYTHONS, ids=str)
def test_only_the_examples_of_the_docstring_run(python: Path, shop: Path) -> None:
    ends = {
        name: debug(shop, "shop/prices.py", name, module="shop.prices", python=python)
        for name in ("__doc__", "plus", "Stack", "Stack.size", "Stack.plain", "Stack.none")
    }
    assert {name: end[0] for name, end in ends.items()} == {
        "__doc__": "0",
        "plus": "1",
        "Stack": "1",
        "Stack.size": "0",
        "Stack.plain": "2",
        "Stack.none": "2",
    }, ends
    assert f'File "{shop}/shop/prices.py", line 15, in shop.prices.plus' in ends["plus"]
    assert "finds no examples of 'Stack.plain'" in ends["Stack.plain"]


def test_statements_and_options_of_the_settings_hold(shop: Path) -> None:
    setup = "class np:\n    size = 'abc'"
    place = ("shop/prices.py", "Stack.made")
    assert debug(shop, *place, setup, module="shop.prices")[0] == "0"
    assert debug(shop, *place, module="shop.prices")[0] == "1"
    (shop / "dots.py").write_text('"""\n>>> 12\n1...\n"""\n')
    assert debug(shop, "dots.py", "__doc__", "", "", "ELLIPSIS", module="dots")[0] == "0"
    assert debug(shop, "dots.py", "__doc__", module="dots")[0] == "1"
    (shop / "variables.py").write_text('"""\n>>> SHOP\n\'a=b\'\n"""\nimport os\nSHOP = os.environ.get("SHOP")\n')
    assert debug(shop, "variables.py", "__doc__", "", "SHOP=a=b\0B=", module="variables")[0] == "0"
    assert debug(shop, "variables.py", "__doc__", module="variables")[0] == "1"


@pytest.mark.parametrize(
    ("path", "module"), [("my-script.py", "my_script"), ("random.py", "random"), ("${file}.py", "a")]
)
def test_a_file_whose_name_leads_elsewhere_is_loaded_by_its_path(path: str, module: str, tmp_path: Path) -> None:
    (tmp_path / path).write_text('"""\n>>> __file__\n>>> HERE\n1\n"""\nimport random\nHERE = 1\n')
    end = debug(tmp_path, path, "__doc__", module=module)
    assert end.count(f"{tmp_path}/{path}") >= 1, end
    assert "Expecting:\n    1\nok" in end


@pytest.mark.parametrize("python", PYTHONS, ids=str)
def test_a_page_runs_from_top_to_bottom(python: Path, shop: Path) -> None:
    page = "\ufeff```python\n>>> from shop.prices import plus\n>>> plus(1)\n2\n```\n\n~~~\n>>> plus(2)\n{}\n~~~\n"
    (shop / "README.md").write_text(page.format(3), encoding="utf-8")
    assert debug(shop, "README.md", "__doc__", python=python)[0] == "0"
    (shop / "README.md").write_text(page.format(4), encoding="utf-8")
    end = debug(shop, "README.md", "__doc__", python=python)
    assert (end[0], 'README.md", line 8, in README.md' in end) == ("1", True)


def test_fences_and_strings_in_dunder_test_are_read(shop: Path) -> None:
    text = '"""\n```python\n>>> 1 + 1\n2\n```\n"""\n__test__ = {"more": ">>> 1 + 1\\n3\\n"}\n'
    (shop / "fenced.py").write_text(text)
    assert debug(shop, "fenced.py", "__doc__", module="fenced")[0] == "0"
    end = debug(shop, "fenced.py", "__test__.more", module="fenced")
    assert (end[0], "Got:\n    2" in end) == ("1", True)
