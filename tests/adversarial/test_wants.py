"""A candidate cannot read the expected outputs of its examples in the module's text, its file or bytecode.

Each candidate searches one place, and returns the expected output if it is there. Control: it finds the output in the
original text.
"""

from __future__ import annotations

import os
import py_compile
import shutil
import sys
from functools import partial
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from adacoder.agents.code_evaluator import CodeEvaluator
from adacoder.domain import Candidate, Level, Verdict
from adacoder.journal import Journal
from adacoder.sandbox.environment.interpreter import find
from adacoder.sandbox.host import Host
from adacoder.source.locate import locate
from adversarial.test_shared_memory import environment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="module")]

WANT = "8675309"
MODULE = f'''"""Numbers.

>>> Meter().read(1)
{WANT}
"""

import math


class Meter:
    """Reads.

    >>> Meter().read(1)
    {WANT}
    """

    def read(self, x):
        """What the meter shows at `x`: no body could know.

        >>> Meter().read(1)
        {WANT}
        """
        pass
'''
READING = f"{MODULE}\n\nNOTE = __doc__\n"
"""Modules whose own code reads docstrings."""
SEEK = r"""
def seek(text):
    found = re.search(r"(?s)read" + r"\(1\)\W.{0,40}?(\d{7})", str(text))
    return int(found[1]) if found else None
"""
CONSTS = """
def consts(code):
    return [each if isinstance(each, str) else consts(each) for each in getattr(code, "co_consts", ())]
"""

WAYS = {
    "its own docstring": "return seek(Meter.read.__doc__)",
    "its docstring by another name": "return seek(getattr(type(self).read, '_'.join(['', '', 'doc', '', ''])))",
    "the constants of its code": "return seek(Meter.read.__code__.co_consts)",
    "the docstring of its class": "return seek(vars(type(self)).get('__doc__'))",
    "the docstring of its module": "return seek(globals().get('__doc__'))",
    "inspect": "import inspect\nreturn seek(inspect.getsource(sys.modules[__name__]))",
    "inspect, of docstrings": "import inspect\nreturn seek(inspect.getdoc(Meter.read))",
    "pydoc": "import pydoc\nreturn seek(pydoc.render_doc(Meter))",
    "the loader's source": "return seek(__loader__.get_source(__name__))",
    "the loader's data": "return seek(__loader__.get_data(__file__).decode())",
    "the loader of its spec": "return seek(vars(__spec__.loader))",
    "the loader's text": "return seek(vars(__loader__))",
    "what the loader compiles": "return seek(consts(__loader__.get_code(__name__)))",
    "the source loader": "from importlib.machinery import SourceFileLoader\n"
    "return seek(SourceFileLoader('m', __file__).get_data(__file__).decode())",
    "linecache": "import linecache\nreturn seek(''.join(linecache.getlines(__file__)))",
    "linecache, read anew": "import linecache\nlinecache.clearcache()\nreturn seek(linecache.getlines(__file__))",
    "tokenize": "import tokenize\nreturn seek(tokenize.open(__file__).read())",
    "its file": "return seek(open(__file__).read())",
    "its file, by a real path": "return seek(open(os.path.realpath(__file__)).read())",
    "its file, by the working folder": "os.chdir(os.path.dirname(__file__))\n"
    "return seek(open(os.path.basename(__file__)).read())",
    "its file, by a descriptor of its folder": "folder = os.open(os.path.dirname(__file__), os.O_RDONLY)\n"
    "return seek(os.read(os.open(os.path.basename(__file__), os.O_RDONLY, dir_fd=folder), 9999))",
    "its file, mapped": "import mmap\nfile = open(__file__, 'rb')\n"
    "return seek(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[:].decode())",
    "its file, by a link": "os.path.exists('there') or os.symlink(__file__, 'there')\n"
    "return seek(open('there').read())",
    "its file, copied": "import shutil\nshutil.copyfile(__file__, 'copy')\nreturn seek(open('copy').read())",
    "package data": "import pkgutil\nreturn seek(pkgutil.get_data(__name__, os.path.basename(__file__)).decode())",
    "every file of the workspace": """
        for folder, _, files in os.walk(os.path.dirname(os.path.dirname(__file__))):
            for name in files:
                try:
                    found = seek(open(os.path.join(folder, name), errors="replace").read())
                except OSError:
                    continue
                if found:
                    return found
    """,
    "its file as another module": "import importlib\nsys.modules.pop(__name__)\n"
    "return seek(importlib.import_module(__name__).__doc__)",
    "its file run as a program": "import runpy\nreturn seek(runpy.run_path(__file__)['__doc__'])",
    "doctest": """
        import doctest
        found = doctest.DocTestFinder().find(sys.modules[__name__])
        return seek(["read(1) " + example.want for test in found for example in test.examples])
    """,
    "compiled code": """
        import glob, marshal
        paths = glob.glob(os.path.dirname(__file__) + "/__pycache__/*")
        return seek([consts(marshal.loads(open(path, "rb").read()[16:])) for path in paths])
    """,
    "compiled code, by its name": "import marshal\n"
    "return seek(consts(marshal.loads(open(__cached__, 'rb').read()[16:])))",
    "compiled code without a folder": "import marshal\n"
    "return seek(consts(marshal.loads(open(__file__ + 'c', 'rb').read()[16:])))",
    "the frames around it": """
        frame = sys._getframe()
        while frame:
            for each in (frame.f_locals, frame.f_globals):
                for value in list(each.values()):
                    found = seek([value, getattr(value, "__dict__", 0)])
                    if found:
                        return found
            frame = frame.f_back
    """,
    "all that lives": """
        import gc
        for each in gc.get_objects():
            if isinstance(each, (dict, list, tuple)) and each is not globals():
                for value in list(each.values() if isinstance(each, dict) else each):
                    if isinstance(value, str) and len(value) < 9999 and seek(value):
                        return seek(value)
    """,
}


def seeking(way: str) -> Candidate:
    body = indent(dedent(WAYS.get(way, way)).strip(), "    ")
    imports = ("import os", "import re", "import sys")
    return Candidate(f"def read(self, x):\n{body}\n", imports, (SEEK.strip(), CONSTS.strip()))


class Desk:
    """A workspace with a module on disk, and old bytecode of this module."""

    def __init__(
        self,
        folder: Path,
        text: str,
        level: Level,
        place: str = "pkg/meters.py",
        link: str = "",
        beside: Callable[[Path, Path], object] = lambda folder, path: None,
    ) -> None:
        """`beside` adds files next to the module."""
        path = folder / place
        path.parent.mkdir(parents=True)
        (path.parent / "__init__.py").touch()
        path.write_text(text, encoding="utf-8")
        py_compile.compile(str(path))
        py_compile.compile(str(path), f"{path}c")
        if link:
            (folder / link).symlink_to(path)
        beside(folder, path)
        self._target = locate(text, folder / (link or place), folder, qualname="Meter.read")
        self.host = Host(find(None, folder, folder), folder, least=level, best=level)

    async def verdict(self, candidate: Candidate) -> Verdict:
        evaluator = CodeEvaluator(self.host, Journal(), overlays={}, timeout=10)
        return await evaluator.evaluate(self._target, candidate)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desks(level: Level, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Desk, Desk]]:
    """A usual module, and a module whose own code reads docstrings."""
    folder = tmp_path_factory.mktemp("wants")
    desks = Desk(folder / "any", MODULE, level), Desk(folder / "reading", READING, level)
    yield desks
    for desk in desks:
        await desk.host.close()


def assert_nothing_was_found(verdict: Verdict) -> None:
    assert verdict.results
    assert not any(result.matched for result in verdict.results)
    assert not any("docstrings" in note for note in verdict.notes)


def assert_it_was_found(verdict: Verdict) -> None:
    assert all(result.matched for result in verdict.results)
    assert any("reads docstrings" in note for note in verdict.notes)


@pytest.mark.parametrize("way", WAYS)
async def test_no_candidate_finds_what_is_wanted(way: str, desks: tuple[Desk, Desk]) -> None:
    like_any, reading = desks
    assert_nothing_was_found(await like_any.verdict(seeking(way)))
    assert_it_was_found(await reading.verdict(seeking(way)))


@pytest.mark.parametrize(("place", "link"), [("pkg/__init__.py", ""), ("pkg/meters.py", "pkg/gauges.py")])
async def test_nor_in_a_package_or_behind_a_link(place: str, link: str, level: Level, tmp_path: Path) -> None:
    for name, text, assert_so in (("any", MODULE, assert_nothing_was_found), ("reading", READING, assert_it_was_found)):
        desk = Desk(tmp_path / name, text, level, place, link)
        for way in ("its own docstring", "its file", "every file of the workspace", "compiled code"):
            assert_so(await desk.verdict(seeking(way)))
        await desk.host.close()


WANTED = f">>> Meter().read(1)\\n{WANT}"
BLANKED = {
    "a comment": f"# >>> Meter().read(1)\n# {WANT}\n",
    "a comment after code": f"SCALE = 1  # Meter().read(1) -> {WANT}\n",
    "a comment between brackets": f"SCALES = [\n    1,\n    # Meter().read(1) gives\n    # {WANT}\n]\n",
    "a comment below a class": f"class Other:\n    x = 1\n    # read(1) = {WANT}\n",
    "__test__": f'__test__ = {{"read": """\n>>> Meter().read(1)\n{WANT}\n"""}}\n',
    "__test__ with a type": f"__test__: dict[str, str] = {{'read': '{WANTED}'}}\n",
    "__test__, called": f"__test__ = dict(read='{WANTED}')\n",
    "__test__, item by item": f"__test__ = {{}}\n__test__['read'] = '{WANTED}'\n",
    "__test__, updated": f"__test__ = {{}}\n__test__.update(read=r'{WANTED}')\n",
}
NOTED = {
    "a string of another name": f"EXAMPLES = '''\n>>> Meter().read(1)\n{WANT}\n'''\n__test__ = {{'read': EXAMPLES}}\n",
    "a program's part": f"if __name__ == '__main__':\n    assert Meter().read(1) == {WANT}\n",
    "a test": f"def test_read():\n    assert Meter().read(1) == {WANT}\n",
    "a test of a class": f"class Test:\n    def test(self):\n        self.assertEqual(Meter().read(1), {WANT})\n",
    "a table": f"CASES = {{'Meter().read(1)': {WANT}}}\n",
}
SEEK_IN_MODULE = {
    "the text": "return seek(__loader__.get_source(__name__))",
    "a dictionary": "return seek(globals().get('__test__'))",
}


@pytest.mark.parametrize("place", ["top", "bottom"])
@pytest.mark.parametrize("name", BLANKED)
async def test_comments_and_other_examples_are_blank(name: str, place: str, level: Level, tmp_path: Path) -> None:
    text = f"{BLANKED[name]}\n\n{MODULE}" if place == "top" else f"{MODULE}\n\n{BLANKED[name]}"
    for folder, module, assert_so in (
        ("any", text, assert_nothing_was_found),
        ("reading", f"{text}\n\nNOTE = __doc__\n", assert_it_was_found),
    ):
        desk = Desk(tmp_path / folder, module, level)
        for way in SEEK_IN_MODULE:
            if way == "the text" or "test" in name:
                assert_so(await desk.verdict(seeking(SEEK_IN_MODULE[way])))
        await desk.host.close()


@pytest.mark.parametrize("name", NOTED)
async def test_a_note_says_that_code_shows_what_is_wanted(name: str, level: Level, tmp_path: Path) -> None:
    notes = []
    for folder, shown in (("any", ""), ("shown", NOTED[name])):
        desk = Desk(tmp_path / folder, f"{MODULE}\n\n{shown}", level)
        verdict = await desk.verdict(Candidate(f"def read(self, x):\n    return {WANT} * x"))
        assert verdict.passed
        notes.append(verdict.notes)
        await desk.host.close()
    assert notes[0] == ()
    assert notes[1] == (
        "The module's code shows the output of an example outside docstrings: the function could read it.",
    )


def link_to_compiled(folder: Path, path: Path) -> None:
    elsewhere = folder / "cache"
    elsewhere.mkdir()
    (path.parent / "__pycache__").rename(elsewhere / "kept")
    (path.parent / "__pycache__").symlink_to(elsewhere / "kept")


def link_to_one_compiled(folder: Path, path: Path) -> None:
    compiled = Path(f"{path}c")
    compiled.rename(folder / "kept.bin")
    compiled.symlink_to(folder / "kept.bin")


def link_in_the_cache(folder: Path, path: Path) -> None:
    (compiled,) = (path.parent / "__pycache__").iterdir()
    compiled.rename(folder / "kept.bin")
    compiled.symlink_to(folder / "kept.bin")


def built(folder: Path, path: Path) -> None:
    copy = folder / "build/lib/pkg"
    copy.mkdir(parents=True)
    shutil.copy(path, copy)
    py_compile.compile(str(copy / path.name))


def linked(folder: Path, path: Path) -> None:
    os.link(path, folder / "other.txt")


def linked_compiled(folder: Path, path: Path) -> None:
    (compiled,) = (path.parent / "__pycache__").iterdir()
    os.link(compiled, folder / "other.bin")


def copied(name: str, _: Path, path: Path) -> None:
    shutil.copy(path, path.with_name(name))


BESIDE: dict[str, Callable[[Path, Path], object]] = {
    "a link to its cache": link_to_compiled,
    "a link to a compiled file": link_to_one_compiled,
    "a link in its cache": link_in_the_cache,
    "a copy that was built": built,
    "a hard link": linked,
    "a hard link to a compiled file": linked_compiled,
    **{
        f"a backup {name}": partial(copied, name)
        for name in ("meters.py~", "meters.py.orig", "meters.py.bak", ".meters.py.swp", "#meters.py#", "meters.pyi")
    },
}
EVERYWHERE = """
    import marshal
    for folder, _, files in os.walk(os.path.dirname(os.path.dirname(__file__)), followlinks=True):
        for name in files:
            try:
                data = open(os.path.join(folder, name), "rb").read()
            except OSError:
                continue
            try:
                found = seek(consts(marshal.loads(data[16:])))
            except Exception:
                found = None
            found = found or seek(data.decode(errors="replace"))
            if found:
                return found
"""


@pytest.mark.parametrize("name", BESIDE)
async def test_no_copy_of_a_module_shows_it(name: str, level: Level, tmp_path: Path) -> None:
    for folder, text, assert_so in (
        ("any", MODULE, assert_nothing_was_found),
        ("reading", READING, assert_it_was_found),
    ):
        desk = Desk(tmp_path / folder, text, level, beside=BESIDE[name])
        assert_so(await desk.verdict(seeking(EVERYWHERE)))
        await desk.host.close()


async def test_nor_an_installed_copy(level: Level, tmp_path: Path) -> None:
    place = f".venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages/pkg"

    def installed(folder: Path, path: Path) -> None:
        environment(folder)
        (folder / place).mkdir()
        for file in path.parent.glob("*.py"):
            shutil.copy(file, folder / place)
        py_compile.compile(str(folder / place / path.name))

    for folder, text, assert_so in (
        ("any", MODULE, assert_nothing_was_found),
        ("reading", READING, assert_it_was_found),
    ):
        desk = Desk(tmp_path / folder, text, level, beside=installed)
        assert_so(await desk.verdict(seeking(EVERYWHERE)))
        await desk.host.close()
