"""The current text of a project's files runs, saved or not, however modules are found and whatever bytecode exists.

Bytecode runs only if it was written well after its source.
"""

from __future__ import annotations

import asyncio
import importlib.util
import marshal
import os
import sys
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import Status
from adacoder.sandbox.environment.interpreter import find
from support.concluding import concluded
from support.evaluating import Workspace, until, workspace
from support.layouts import BASE_PYTHON

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from adacoder.domain import Level

USES = '''{imports}


def f(x):
    """It.

    >>> f(1)
    3
    """
    return x + RATE
'''
FROM_SHOP = "from shop.prices import RATE"
RIGHT, WRONG = "RATE = 2\n", "RATE = 9\n"

FINDER = """
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location, spec_from_loader

PROJECT = {project!r}
FILES = {{"shop": "/lib/code/__init__.py", "shop.prices": "/lib/code/prices.py"}}

class Finder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname in FILES:
            return cls.spec(fullname, PROJECT + FILES[fullname])

    @classmethod
    def spec(cls, fullname, file):
        return spec_from_file_location(fullname, file)
"""
"""A finder for a package that is in a folder of another name."""

BY_HOOK = {
    "appended": "sys.meta_path.append(Finder)",
    "in front": "sys.meta_path.insert(0, Finder)",
    "an instance": "sys.meta_path.append(Finder())",
    "of another name": """
FILES["shop.prices"] = "/lib/code/other.py"
sys.meta_path.insert(0, Finder)
""",
    "a loader that reads by itself": """
class Reads:
    def __init__(self, file): self.file = file
    def create_module(self, spec): return None
    def exec_module(self, module):
        with open(self.file) as file: exec(compile(file.read(), self.file, "exec"), vars(module))

def spec(fullname, file):
    return spec_from_loader(fullname, Reads(file), origin=file, is_package="__init__" in file)

def located(fullname, file):
    found = spec(fullname, file)
    found.has_location = True
    if found.submodule_search_locations is not None: found.submodule_search_locations.append(PROJECT + "/lib/code")
    return found

Finder.spec = located
sys.meta_path.append(Finder)
""",
    "a loader that says it lies elsewhere": """
def spec(fullname, file):
    found = spec_from_file_location(fullname, file)
    found.origin = __file__
    return found

Finder.spec = spec
sys.meta_path.append(Finder)
""",
    "a lazy loader": """
from importlib.util import LazyLoader

def spec(fullname, file):
    inside = [PROJECT + "/lib/code"] if fullname == "shop" else None
    loader = LazyLoader(SourceFileLoader(fullname, file))
    return spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=inside)

Finder.spec = spec
sys.meta_path.append(Finder)
""",
    "one that asks all the others": """
class Asks:
    def find_spec(self, fullname, path=None, target=None):
        for finder in sys.meta_path:
            if finder is not self and hasattr(finder, "find_spec"):
                found = finder.find_spec(fullname, path, target)
                if found is not None: return found

sys.meta_path[:0] = [Asks()]
sys.meta_path.append(Finder)
""",
    "a path hook": """
class Entry:
    def __init__(self, entry):
        if entry != "shop-finder": raise ImportError
    def find_spec(self, fullname, target=None): return Finder.find_spec(fullname)

sys.path_hooks.append(Entry)
sys.path.append("shop-finder")
""",
    "imported at the start": """
sys.meta_path.append(Finder)
import shop.prices
""",
    "put among the modules": """
from importlib.util import module_from_spec
for name in FILES:
    spec = Finder.find_spec(name)
    sys.modules[name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
sys.modules["shop"].prices = sys.modules["shop.prices"]
sys.meta_path.append(Finder)
""",
    "a namespace made by hand": """
import types
sys.modules["shop"] = module = types.ModuleType("shop")
module.__path__ = [PROJECT + "/lib/code"]
""",
    "a namespace made by hand, and filled": """
import types
sys.modules["shop"] = module = types.ModuleType("shop")
module.__path__ = [PROJECT + "/lib/code"]
import shop.prices
""",
    "an extended path": """
import pkgutil
sys.path.append(PROJECT + "/lib/spread")
""",
}
"""Lines of a `.pth` file that lead to the package."""


@dataclass(frozen=True)
class Shop:
    """A project with its own environment."""

    ws: Workspace

    @property
    def folder(self) -> Path:
        return self.ws.folder

    @property
    def packages(self) -> Path:
        return packages(self.folder)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    async def status(self, imports: str = FROM_SHOP, **overlays: str) -> Status:
        """Return the status of `f`. The second evaluation may run in a template that has imported modules."""
        unsaved = {self.folder / name.replace("__", "/"): text for name, text in overlays.items()}
        unsaved = {path.with_suffix(".py"): text for path, text in unsaved.items()}
        statuses = set()
        for _ in range(2):
            statuses.add((await concluded(self.ws, USES.format(imports=imports), overlays=unsaved)).status)
            await until(lambda: all(keeper._boot.done() for keeper in self.ws.host()._templates._keepers))
        (status,) = statuses
        return status


def packages(folder: Path) -> Path:
    return folder / f".venv/lib/python3.{sys.version_info.minor}/site-packages"


@asynccontextmanager
async def shop(folder: Path, level: Level) -> AsyncIterator[Shop]:
    base = find(BASE_PYTHON, folder, folder).path
    packages(folder).mkdir(parents=True)
    (folder / ".venv/bin").mkdir()
    (folder / ".venv/bin/python").symlink_to(base)
    (folder / ".venv/pyvenv.cfg").write_text(f"home = {base.parent}\n", encoding="utf-8")
    made = Shop(Workspace(folder))
    made.write("lib/code/__init__.py", "")
    made.write("lib/code/prices.py", WRONG)
    made.write("lib/code/other.py", WRONG)
    made.write("lib/spread/shop/__init__.py", "__path__ = [__file__[:-len('spread/shop/__init__.py')] + 'code']\n")
    async with workspace(folder, level, find(None, folder, folder), best=level) as ws:
        yield Shop(ws)


def hook(made: Shop, how: str) -> None:
    """Install a finder, as setuptools does for an editable install of packages in folders of other names."""
    text = FINDER.format(project=str(made.folder)) + how
    (made.packages / "__editable___shop_finder.py").write_text(text, encoding="utf-8")
    (made.packages / "__editable__.shop-1.0.pth").write_text("import __editable___shop_finder\n", encoding="utf-8")


@pytest.mark.parametrize("how", BY_HOOK)
async def test_whatever_finds_a_module_its_unsaved_text_runs(
    how: str, level: Level, tmp_path_factory: pytest.TempPathFactory
) -> None:
    name = "lib__code__other" if how == "of another name" else "lib__code__prices"
    async with shop(tmp_path_factory.mktemp("shop"), level) as made:
        hook(made, BY_HOOK[how])
        assert await made.status() is Status.FAILED  # with the saved text
        assert await made.status(**{name: RIGHT}) is Status.VERIFIED
        assert await made.status(**{name: WRONG + "\n"}) is Status.FAILED
        made.write(f"{name.replace('__', '/')}.py", RIGHT)
        assert await made.status() is Status.VERIFIED  # with the newly saved text
        assert await made.status(**{name: WRONG}) is Status.FAILED


HOOKS_OF_SETUPTOOLS = [how for how, text in BY_HOOK.items() if "Finder" in text and how != "put among the modules"]


@pytest.mark.parametrize("how", HOOKS_OF_SETUPTOOLS)
async def test_a_module_that_only_a_hook_finds_is_not_kept_in_memory(
    how: str, level: Level, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """No package above the module belongs to the project, so only the module's file shows that it is the project's."""
    imports = "from prices_of_shop import RATE"
    async with shop(tmp_path_factory.mktemp("shop"), level) as made:
        hook(made, f'FILES["prices_of_shop"] = "/lib/code/prices.py"\n{BY_HOOK[how]}')
        assert await made.status(imports) is Status.FAILED
        assert await made.status(imports, lib__code__prices=RIGHT) is Status.VERIFIED
        assert await made.status(imports, lib__code__prices=WRONG + "\n") is Status.FAILED


async def test_the_unsaved_text_of_a_package_found_under_another_name(
    level: Level, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with shop(tmp_path_factory.mktemp("shop"), level) as made:
        hook(made, BY_HOOK["appended"])
        assert await made.status("from shop import RATE") is Status.FAILED
        unsaved = made.folder / "lib/code/__init__.py"
        for text, status in ((RIGHT, Status.VERIFIED), (WRONG, Status.FAILED)):
            outcome = await concluded(made.ws, USES.format(imports="from shop import RATE"), overlays={unsaved: text})
            assert outcome.status is status


@pytest.mark.parametrize("what", ["a package", "a file", "a tree of links", "a path"])
async def test_links_and_paths_lead_to_the_unsaved_text_too(
    what: str, level: Level, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with shop(tmp_path_factory.mktemp("shop"), level) as made:
        imports = FROM_SHOP
        if what == "a package":
            (made.packages / "shop").symlink_to(made.folder / "lib/code")
        elif what == "a file":
            (made.packages / "linked_prices.py").symlink_to(made.folder / "lib/code/prices.py")
            imports = "from linked_prices import RATE"
        elif what == "a tree of links":
            (made.folder / "build/links/shop").mkdir(parents=True)
            for name in ("__init__.py", "prices.py"):
                (made.folder / "build/links/shop" / name).symlink_to(made.folder / "lib/code" / name)
            (made.packages / "easy.pth").write_text(f"{made.folder / 'build/links'}\n", encoding="utf-8")
        else:
            (made.packages / "easy.pth").write_text(f"{made.folder / 'lib/code'}\n", encoding="utf-8")
            imports = "from prices import RATE"
        assert await made.status(imports) is Status.FAILED
        assert await made.status(imports, lib__code__prices=RIGHT) is Status.VERIFIED
        assert await made.status(imports, lib__code__prices=WRONG) is Status.FAILED


IN_THE_PROJECT = {
    "a hook of the project's own": """
import sys
from importlib.util import spec_from_file_location
class Finder:
    def find_spec(self, fullname, path=None, target=None):
        if fullname == "shop": return spec_from_file_location("shop", __file__[:-6] + "lib/code/prices.py")
sys.meta_path.insert(0, Finder())
from shop import RATE
""",
    "a file loaded by its path": """
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("anything", __file__[:-6] + "lib/code/prices.py")
module = module_from_spec(spec)
spec.loader.exec_module(module)
RATE = module.RATE
""",
    "a loader of files": """
from importlib.machinery import SourceFileLoader
RATE = SourceFileLoader("anything", __file__[:-6] + "lib/code/prices.py").load_module().RATE
""",
}


@pytest.mark.parametrize("how", IN_THE_PROJECT)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_what_the_project_itself_finds_is_unsaved_too(
    how: str, level: Level, tmp_path_factory: pytest.TempPathFactory
) -> None:
    imports = IN_THE_PROJECT[how]
    async with shop(tmp_path_factory.mktemp("shop"), level) as made:
        assert await made.status(imports) is Status.FAILED
        assert await made.status(imports, lib__code__prices=RIGHT) is Status.VERIFIED
        assert await made.status(imports, lib__code__prices=WRONG) is Status.FAILED


def compiled(source: Path, text: str, kind: str) -> bytes:
    """Return a `.pyc` that belongs to `source` but was compiled from `text`."""
    body = marshal.dumps(compile(text, str(source), "exec"))
    if kind == "time":
        state = source.stat()
        stamp = int(state.st_mtime).to_bytes(4, "little") + (state.st_size & 0xFFFFFFFF).to_bytes(4, "little")
        return importlib.util.MAGIC_NUMBER + bytes(4) + stamp + body
    flags = {"unchecked": 0b01, "checked": 0b11}[kind]
    stamp = importlib.util.source_hash(source.read_bytes())
    return importlib.util.MAGIC_NUMBER + flags.to_bytes(4, "little") + stamp + body


def plant(source: Path, text: str, kind: str) -> Path:
    """Write a `.pyc` file for `source`, and return its path."""
    place = Path(importlib.util.cache_from_source(str(source)))
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(compiled(source, text, kind))
    return place


def just_placed(source: Path) -> None:
    source.chmod(0o600)
    source.chmod(0o644)


@pytest.mark.parametrize("kind", ["unchecked", "checked", "time"])
async def test_what_was_compiled_at_once_never_runs_in_place_of_its_source(
    kind: str, level: Level, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with shop(tmp_path_factory.mktemp("shop"), level) as made:
        hook(made, BY_HOOK["appended"])
        plant(made.folder / "lib/code/prices.py", RIGHT, kind)
        own = made.write("goods/prices.py", WRONG)
        plant(own, RIGHT, kind)
        init = made.write("goods/__init__.py", WRONG)
        plant(init, RIGHT, kind)
        link = made.packages / "linked_goods"
        link.symlink_to(made.folder / "goods")
        for source in (made.folder / "lib/code/prices.py", own, init):
            just_placed(source)
        for imports in (
            FROM_SHOP,
            "from goods.prices import RATE",
            "from goods import RATE",
            "from linked_goods import RATE",
        ):
            assert await made.status(imports) is Status.FAILED
        for source in (own, init):
            source.write_text(RIGHT, encoding="utf-8")
            plant(source, WRONG, kind)
            just_placed(source)
        for imports in ("from goods.prices import RATE", "from goods import RATE", "from linked_goods import RATE"):
            assert await made.status(imports) is Status.VERIFIED


async def test_what_was_compiled_later_runs_if_its_times_prove_it(
    level: Level, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with shop(tmp_path_factory.mktemp("shop"), level) as made:
        kinds = ("time", "unchecked", "checked", "unpacked", "longer", "replaced", "touched", "broken")
        sources = {kind: made.write(f"{kind}_prices.py", WRONG) for kind in kinds}
        await asyncio.sleep(1.1)
        planted = {
            kind: plant(source, RIGHT, kind if kind in {"unchecked", "checked"} else "time")
            for kind, source in sources.items()
        }
        a_day_ahead = time.time_ns() + 86400 * 10**9
        os.utime(planted["unpacked"], ns=(a_day_ahead, a_day_ahead))
        sources["longer"].write_text(f"{WRONG}\n", encoding="utf-8")
        was = sources["replaced"].stat()
        sources["replaced"].unlink()
        made.write("replaced_prices.py", "RATE = 7\n")
        os.utime(sources["replaced"], ns=(was.st_atime_ns, was.st_mtime_ns))
        os.utime(sources["touched"])
        planted["broken"].write_bytes(planted["broken"].read_bytes()[:20])
        statuses = {kind: await made.status(f"from {kind}_prices import RATE") for kind in kinds}
        assert statuses == {kind: Status.VERIFIED if kind == "time" else Status.FAILED for kind in kinds}


async def test_what_lies_beside_its_source_does_not_run_either(
    level: Level, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with shop(tmp_path_factory.mktemp("shop"), level) as made:
        own = made.write("goods.py", WRONG)
        own.with_suffix(".pyc").write_bytes(compiled(own, RIGHT, "unchecked"))
        assert await made.status("from goods import RATE") is Status.FAILED
        assert await made.status("from goods import RATE", goods=RIGHT) is Status.VERIFIED
        own.unlink()
        assert await made.status("from goods import RATE", goods=WRONG) is Status.FAILED  # a text that was never saved
        # without a source, the bytecode replaces no text
        assert await made.status("from goods import RATE") is Status.VERIFIED


async def test_installed_packages_keep_what_was_compiled(
    level: Level, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with shop(tmp_path_factory.mktemp("shop"), level) as made:
        source = made.packages / "installed_prices.py"
        source.write_text(WRONG, encoding="utf-8")
        assert await made.status("from installed_prices import RATE") is Status.FAILED
        plant(source, RIGHT, "time")
        os.utime(source.parent)
        assert await made.status(
            "def late():\n    from installed_prices import RATE\n    return RATE\n\nRATE = late()"
        ) is (Status.VERIFIED)
