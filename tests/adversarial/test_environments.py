"""Confined code reads only a repository's environment, its base Python, and packages in folders of known tools.

Each trick has two controls. An unconfined process can read the target of the trick. A confined process can read it if
the same link leads to a permitted place.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adacoder.sandbox.environment.interpreter import find
from adacoder.sandbox.environment.real_paths import real
from adacoder.sandbox.unavailable import SandboxError
from support.evaluating import Workspace, workspace
from support.layouts import (
    PACKAGES,
    VERSION,
    configure,
    environment,
    installation,
    installed_in_place,
    linked,
    package,
    project,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from adacoder.domain import Level

pytestmark = pytest.mark.isolation

_READ = """\
def f(*places):
    \"\"\"
    >>> f({open!r})
    ['open']
    >>> f({places})
    []
    \"\"\"
    found = []
    for place in places:
        try:
            with open(place) as file:
                found.append(file.read(100))
        except OSError:
            pass
    return found
"""
_USE = "from {name} import ONE\n\ndef f(x):\n    '''\n    >>> f(1)\n    2\n    '''\n    return x + ONE\n"


@dataclass(frozen=True)
class Scene:
    """A home folder with a cloned repository, and private files next to it."""

    home: Path
    copied: Path
    """A base Python of the scene's own."""

    @property
    def workspace(self) -> Path:
        return self.home / "work/cloned"

    @property
    def venv(self) -> Path:
        return self.workspace / ".venv"

    @property
    def packages(self) -> Path:
        return self.venv / "lib" / VERSION / "site-packages"

    @property
    def private(self) -> Path:
        """A private folder of the user. Its names do not look secret."""
        return self.home / "private"

    @property
    def notes(self) -> Path:
        return self.private / "notes.txt"

    @property
    def key(self) -> Path:
        return self.home / ".ssh/id_test"


@pytest.fixture(scope="session")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the base Python."""
    folder = tmp_path_factory.mktemp("python").resolve() / "copied"
    installation(folder)
    return folder


@pytest.fixture
def scene(tmp_path: Path, copied: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    found = Scene(tmp_path.resolve() / "me", copied)
    monkeypatch.setenv("HOME", str(found.home))
    for file in (found.notes, found.key):
        file.parent.mkdir(parents=True)
        file.write_text("private", encoding="utf-8")
    (found.private / "tool.py").touch()
    found.workspace.mkdir(parents=True)
    (found.workspace / "open.txt").write_text("open", encoding="utf-8")
    environment(found.venv)
    return found


@pytest.fixture
async def cloned(scene: Scene, level: Level) -> AsyncIterator[Workspace]:
    """Open the cloned repository as a workspace. Tests may change its environment afterwards."""
    async with workspace(scene.workspace, level, best=level) as opened:
        yield opened


async def assert_unseen(cloned: Workspace, *places: Path) -> None:
    """Check that confined code can read none of `places`, although this process can."""
    for place in places:
        assert place.read_text(encoding="utf-8")
    names = ", ".join(repr(str(place)) for place in places)
    try:
        verdict = await cloned.evaluate(_READ.format(open=str(cloned.folder / "open.txt"), places=names))
    except SandboxError as refusal:  # some hidden files are needed to start Python
        if "pyvenv.cfg" not in str(refusal):
            raise
        return
    assert verdict.failure is None, verdict.failure
    assert verdict.passed


async def assert_used(cloned: Workspace, name: str = "installed") -> None:
    """Check that the package can be imported from the first evaluation on."""
    for _ in range(2):
        verdict = await cloned.evaluate(_USE.format(name=name))
        assert verdict.passed, verdict.failure


def _part(name: str, target: Callable[[Scene], object]) -> Callable[[Scene], list[Path]]:
    def trick(scene: Scene) -> list[Path]:
        place = scene.venv / name
        if place.is_dir() and not place.is_symlink():
            place.rmdir()
        place.unlink(missing_ok=True)
        place.symlink_to(str(target(scene)))
        inner = ("notes.txt", "id_test", "private/notes.txt", scene.notes.relative_to("/"), "passwd", ".")
        file = next(found for found in (place / each for each in inner) if found.is_file())
        return [file, scene.notes, scene.key]

    return trick


def _proc(scene: Scene) -> list[Path]:
    """Link a folder of the environment to /proc."""
    (scene.venv / "share").symlink_to("/proc")
    return [scene.venv / f"share/{os.getpid()}/comm", scene.notes]


def _chain(scene: Scene) -> list[Path]:
    """Link a folder of the environment through many links out of the workspace."""
    (scene.venv / "one").symlink_to("two")
    (scene.venv / "two").symlink_to(scene.workspace / "three")
    (scene.workspace / "three").symlink_to("../../private")
    (scene.venv / "share").symlink_to("one")
    return [scene.venv / "share/notes.txt", scene.notes]


def _nested(scene: Scene) -> list[Path]:
    (scene.venv / "share/a").mkdir(parents=True)
    (scene.venv / "share/a/b").symlink_to(scene.private)
    (scene.venv / "share/a/c").symlink_to(scene.notes)
    return [scene.venv / "share/a/b/notes.txt", scene.venv / "share/a/c"]


def _library(scene: Scene) -> list[Path]:
    scene.packages.rmdir()
    scene.packages.parent.rmdir()
    (scene.private / "site-packages").mkdir()
    scene.packages.parent.symlink_to(scene.private)
    return [scene.packages.parent / "notes.txt", scene.notes]


def _all_packages(scene: Scene) -> list[Path]:
    scene.packages.rmdir()
    scene.packages.symlink_to(scene.private)
    return [scene.packages / "notes.txt", scene.notes]


def _one_package(scene: Scene) -> list[Path]:
    (scene.packages / "pkg").symlink_to(scene.private)
    (scene.packages / "one.py").symlink_to(scene.notes)
    return [scene.packages / "pkg/notes.txt", scene.packages / "one.py", scene.notes]


def _like_a_cache(scene: Scene) -> list[Path]:
    """Link packages to folders that have the names of caches."""
    places = [scene.private / name for name in ("archive-v0/x", "pkgs/x-1.0-0", "packages/x", "uv/x")]
    for number, place in enumerate(places):
        place.mkdir(parents=True)
        (place / "notes.txt").write_text("private", encoding="utf-8")
        (scene.packages / f"pkg{number}").symlink_to(place)
    return [place / "notes.txt" for place in places]


def _whole_prefix(scene: Scene) -> list[Path]:
    """Give the environment a base Python that is a folder with a `lib` and other files."""
    (scene.private / "lib" / VERSION).mkdir(parents=True)
    (scene.private / "bin").mkdir()
    configure(scene.venv, scene.private / "bin")
    return [scene.notes]


def _program_with_a_python(scene: Scene) -> list[Path]:
    """Give the environment a base Python that is a program's folder, with a Python and secrets in it."""
    linked(scene.copied, scene.private, hard=True)
    (scene.private / "etc").mkdir()
    (scene.private / "etc/program.conf").write_text("private", encoding="utf-8")
    configure(scene.venv, scene.private / "bin")
    (scene.venv / "etc").symlink_to(scene.private / "etc")
    return [scene.notes, scene.private / "etc/program.conf", scene.venv / "etc/program.conf"]


def _root_of_a_system(scene: Scene) -> list[Path]:
    """Give the environment a base Python that is a copy of a system's disk. Its `lib` is a link, as usual."""
    linked(scene.copied, scene.private / "usr", hard=True)
    for name in ("bin", "lib"):
        (scene.private / name).symlink_to(f"usr/{name}")
    (scene.private / "share").mkdir()
    (scene.private / "share/keys").write_text("private", encoding="utf-8")
    configure(scene.venv, scene.private / "bin")
    return [scene.notes, scene.private / "share/keys"]


def _own_installation(scene: Scene) -> list[Path]:
    """Include a base Python in the repository. One of its folders leads out of the repository."""
    fake = scene.workspace / "fake"
    linked(scene.copied, fake, hard=True)
    (fake / "share").symlink_to(scene.private)
    (fake / "include").symlink_to(scene.key.parent)
    configure(scene.venv, fake / "bin")
    (scene.venv / "bin/python3").unlink()
    (scene.venv / "bin/python3").symlink_to(fake / "bin/python3")
    return [fake / "share/notes.txt", fake / "include/id_test", scene.notes, scene.key]


def _second_environment(scene: Scene) -> list[Path]:
    """Put a second environment between the executable and its base Python.

    One of its folders leads out of the repository.
    """
    other = scene.workspace / "other"
    environment(other)
    (other / "share").symlink_to(scene.private)
    (scene.venv / "bin/python3").unlink()
    (scene.venv / "bin/python3").symlink_to(other / "bin/python3")
    configure(scene.venv, other / "bin")
    return [other / "share/notes.txt", scene.notes]


def _anothers_environment(scene: Scene) -> list[Path]:
    """Put another project's environment between the executable and its base Python."""
    other = scene.home / "work/other/.venv"
    environment(other)
    (other / "share").mkdir()
    (other / "share/notes.txt").write_text("private", encoding="utf-8")
    (scene.venv / "bin/python3").unlink()
    (scene.venv / "bin/python3").symlink_to(other / "bin/python3")
    configure(scene.venv, other / "bin")
    return [other / "share/notes.txt"]


def _pth(*lines: str) -> Callable[[Scene], list[Path]]:
    def trick(scene: Scene) -> list[Path]:
        (scene.workspace / "link").symlink_to(scene.private)
        (scene.home / "everything.py").touch()
        (scene.key.parent / "__init__.py").touch()
        text = "".join(line.format(home=scene.home, key=scene.key.parent) + "\n" for line in lines)
        (scene.packages / "x.pth").write_text(text, encoding="utf-8")
        return [scene.notes, scene.key, scene.workspace / "link/notes.txt"]

    return trick


def _installed_in_place(scene: Scene) -> list[Path]:
    installed_in_place(scene.packages, scene.private, "one", hook=True)
    installed_in_place(scene.packages, scene.key.parent, "two", hook=False)
    return [scene.notes, scene.key]


def _inside_a_project(scene: Scene) -> list[Path]:
    """Add a folder of secrets in another project to the modules, with a `.pth` file."""
    other = scene.home / "work/other"
    project(other)
    (other / ".aws").mkdir()
    (other / ".aws/tool.py").touch()
    (other / ".aws/notes.txt").write_text("private", encoding="utf-8")
    (scene.packages / "x.pth").write_text(f"{other / '.aws'}\n{other}\n", encoding="utf-8")
    return [other / ".aws/notes.txt", other / "sibling/.env"]


def _secrets_of_an_environment(scene: Scene) -> list[Path]:
    """Put files with secret names into an environment outside the workspace."""
    other = scene.home / ".virtualenvs/other"
    scene.venv.rename(scene.home / "unused")
    packages = environment(other)
    scene.venv.symlink_to(other)
    package(packages)
    places = [other / name for name in ("share/a/b/.env", "share/.ssh/id_rsa", "include/server.key")]
    places += [packages / "installed/.env", packages / ".env", other / "lib/.netrc"]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("private", encoding="utf-8")
    return [*places, scene.venv / "share/a/b/.env", scene.venv / "lib" / VERSION / "site-packages/.env"]


def _hidden_in_the_workspace(scene: Scene) -> list[Path]:
    """Link folders of the environment to hidden files of the workspace."""
    (scene.workspace / ".git").mkdir()
    (scene.workspace / ".git/config").write_text("private", encoding="utf-8")
    (scene.venv / "share").symlink_to("../.git")
    (scene.venv / "etc").symlink_to(".ssh")
    (scene.venv / ".ssh").mkdir()
    (scene.venv / ".ssh/id").write_text("private", encoding="utf-8")
    return [scene.venv / "share/config", scene.workspace / ".git/config", scene.venv / "etc/id", scene.venv / ".ssh/id"]


TRICKS: dict[str, Callable[[Scene], list[Path]]] = {
    **{f"{name} to keys": _part(name, lambda s: s.key.parent) for name in ("include", "share", "etc", "lib64")},
    **{f"{name} to notes": _part(name, lambda s: s.private) for name in ("include", "share", "etc", "lib64")},
    "a part by a relative path": _part("share", lambda _: "../../../private"),
    "a part to all of the home": _part("share", lambda s: s.home),
    "a part to the whole disk": _part("etc", lambda _: "/"),
    "a part to the whole disk, by a process": _part("etc", lambda _: "/proc/self/root"),
    "a part by the home's parent": _part("include", lambda s: s.home / ".." / s.home.name / "private"),
    "the configuration": _part("pyvenv.cfg", lambda s: s.notes),
    "a part to the system's configuration": _part("etc", lambda _: "/etc"),
    "processes": _proc,
    "a chain": _chain,
    "inside a part": _nested,
    "the library": _library,
    "all packages": _all_packages,
    "one package": _one_package,
    "names of caches": _like_a_cache,
    "home of no installation": _whole_prefix,
    "home of a program's own Python": _program_with_a_python,
    "home of a system's copy": _root_of_a_system,
    "an installation that comes along": _own_installation,
    "a second environment": _second_environment,
    "an environment of another project": _anothers_environment,
    ".pth to keys": _pth("{key}"),
    ".pth to notes": _pth("{home}/private"),
    ".pth to the home": _pth("{home}", "/", "{home}/..", "~", "$HOME"),
    ".pth by a link": _pth("../../../../link"),
    ".pth by a relative path": _pth("../../../../../../private", "../../../../../../.ssh"),
    "installed in place": _installed_in_place,
    "inside another project": _inside_a_project,
    "secrets of an environment": _secrets_of_an_environment,
    "hidden in the workspace": _hidden_in_the_workspace,
}


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS.keys())
async def test_nothing_private_is_shown(trick: Callable[[Scene], list[Path]], scene: Scene, cloned: Workspace) -> None:
    await assert_unseen(cloned, *trick(scene))


@pytest.mark.parametrize("place", ["work/cloned/.venv", "envs/elsewhere"])
async def test_a_part_that_becomes_a_link_after_it_was_judged(place: str, scene: Scene, level: Level) -> None:
    venv = scene.home / place
    if venv != scene.venv:
        environment(venv)
    (venv / "share").mkdir()
    (venv / "share/notes.txt").write_text("open", encoding="utf-8")
    interpreter = find(venv / "bin/python", scene.workspace, scene.workspace)
    assert venv / "share" in interpreter.folders
    (venv / "share/notes.txt").unlink()
    (venv / "share").rmdir()
    (venv / "share").symlink_to(scene.private)
    async with workspace(scene.workspace, level, interpreter, level) as cloned:
        await assert_unseen(cloned, venv / "share/notes.txt", scene.notes)


async def test_an_environment_as_venv_makes_it(scene: Scene, cloned: Workspace) -> None:
    package(scene.packages)
    (scene.venv / "share").mkdir()
    (scene.venv / "share/open.txt").write_text("open", encoding="utf-8")
    await assert_used(cloned)
    for place in ("share/open.txt", f"lib64/{VERSION}/site-packages/installed/inner.py"):
        text = _READ.format(open=str(scene.workspace / "open.txt"), places="")
        text += f"\nassert open({str(scene.venv / place)!r}).read()\n"
        assert (await cloned.evaluate(text)).passed


@pytest.mark.parametrize("hard", [True, False], ids=["hard links", "symbolic links"])
async def test_packages_that_uv_links_from_its_cache(hard: bool, scene: Scene, cloned: Workspace) -> None:
    cache = scene.home / ".cache/uv"
    package(cache / "archive-v0/PNC00_Jn0iHibYke")
    package(cache / "archive-v0/ZT64XFetFm9gFRyp", "unused")
    (cache / "CACHEDIR.TAG").touch()
    (cache / "archive-v0/ZT64XFetFm9gFRyp/unused/notes.txt").write_text("private", encoding="utf-8")
    linked(cache / "archive-v0/PNC00_Jn0iHibYke", scene.packages, hard=hard)
    await assert_used(cloned)
    await assert_unseen(cloned, cache / "archive-v0/ZT64XFetFm9gFRyp/unused/notes.txt")


async def test_packages_that_virtualenv_links_from_its_data(scene: Scene, cloned: Workspace) -> None:
    image = scene.home / ".cache/virtualenv/wheel/3.11/image/1/SymlinkPipInstall/installed-1.0-py3-none-any"
    package(image)
    for entry in image.iterdir():
        (scene.packages / entry.name).symlink_to(entry)
    await assert_used(cloned)


async def test_packages_that_pdm_links_from_its_cache_or_adds_to_the_path(scene: Scene, cloned: Workspace) -> None:
    cache = scene.home / ".cache/pdm/packages"
    for name in ("installed", "other"):
        package(cache / f"{name}-1.0-py3-none-any.whl.cache", name)
    (scene.packages / "installed").symlink_to(cache / "installed-1.0-py3-none-any.whl.cache/installed")
    (scene.packages / "other.pth").write_text(f"{cache}/other-1.0-py3-none-any.whl.cache\n", encoding="utf-8")
    await assert_used(cloned)
    await assert_used(cloned, "other")


@pytest.mark.parametrize("hard", [True, False], ids=["hard links", "symbolic links"])
async def test_an_environment_of_conda(hard: bool, scene: Scene, level: Level) -> None:
    conda = scene.home / "miniconda3"
    package(conda / f"pkgs/installed-1.0-0/lib/{VERSION}/{PACKAGES}")
    linked(scene.copied, conda / "pkgs/python-3-0", hard=True)
    for name in ("python-3-0", "installed-1.0-0"):
        (conda / "pkgs" / name / "info").mkdir()
        (conda / "pkgs" / name / "info/index.json").write_text("{}", encoding="utf-8")
    (conda / "conda-meta").mkdir()
    made = conda / "envs/made"
    for name in ("python-3-0", "installed-1.0-0"):
        for part in ("bin", "lib"):
            if (conda / "pkgs" / name / part).is_dir():
                linked(conda / "pkgs" / name / part, made / part, hard=hard)
    (made / "bin" / VERSION).unlink()  # conda copies the executable, because it changes paths in it
    os.link(scene.copied / "bin" / VERSION, made / "bin" / VERSION)
    for name in ("python", "python3"):
        (made / "bin" / name).unlink()
        (made / "bin" / name).symlink_to(VERSION)
    (made / "conda-meta").mkdir()
    (conda / "envs/private").mkdir()
    (conda / "envs/private/notes.txt").write_text("private", encoding="utf-8")
    interpreter = find(made / "bin/python", scene.workspace, scene.workspace)
    async with workspace(scene.workspace, level, interpreter, level) as cloned:
        await assert_used(cloned)
        await assert_unseen(cloned, conda / "envs/private/notes.txt")
        text = f"import sys\ndef f():\n    '''\n    >>> f()\n    {str(made)!r}\n    '''\n    return sys.prefix\n"
        assert (await cloned.evaluate(text)).passed


async def test_an_environment_on_a_python_of_pyenv(scene: Scene, cloned: Workspace) -> None:
    versions = scene.home / ".pyenv/versions"
    linked(scene.copied, versions / "3.11.7", hard=True)
    (versions / "3.11").symlink_to("3.11.7")
    (versions / "3.11.7/notes.txt").write_text("private", encoding="utf-8")
    scene.venv.rename(scene.home / "unused")
    package(environment(scene.venv, versions / "3.11/bin/python3", versions / "3.11/bin"))
    await assert_used(cloned)
    await assert_unseen(cloned, versions / "3.11.7/notes.txt")


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="this system has no Python of its own")
async def test_the_python_of_debian_and_an_environment_on_it(scene: Scene, level: Level) -> None:
    systems = Path("/usr/bin/python3")
    version = real(systems).name
    text = "def f(x):\n    '''\n    >>> f(1)\n    2\n    '''\n    return x + 1\n"
    interpreter = find(systems, scene.workspace, scene.workspace)
    async with workspace(scene.workspace, level, interpreter, level) as opened:
        assert (await opened.evaluate(text)).passed
    scene.venv.rename(scene.home / "unused")
    package(environment(scene.venv, systems, version=version))
    async with workspace(scene.workspace, level, best=level) as cloned:
        await assert_used(cloned)


async def test_an_environment_on_a_store_of_links(scene: Scene, cloned: Workspace) -> None:
    store = scene.home / "nix/store"
    names = ("python", "env", "installed")
    python, farm, installed = (store / f"{letter * 32}-{name}" for letter, name in zip("abc", names, strict=True))
    linked(scene.copied, python, hard=True)
    package(installed / "lib" / VERSION / "site-packages")
    (farm / "bin").mkdir(parents=True)
    (farm / "bin/python3").symlink_to(python / "bin/python3")
    (farm / "lib" / VERSION).mkdir(parents=True)
    for entry in (python / "lib" / VERSION).iterdir():
        (farm / "lib" / VERSION / entry.name).symlink_to(entry)
    (scene.home / ".nix-profile").symlink_to(farm)
    profile = scene.home / ".nix-profile/bin"
    scene.venv.rename(scene.home / "unused")
    packages = environment(scene.venv, profile / "python3", profile)
    for entry in (installed / "lib" / VERSION / "site-packages").iterdir():
        (packages / entry.name).symlink_to(entry)
    await assert_used(cloned)


@pytest.mark.parametrize("hook", [True, False], ids=["by a hook", "by a path"])
async def test_a_sibling_that_is_installed_in_place(hook: bool, scene: Scene, cloned: Workspace) -> None:
    sibling = scene.home / "work/sibling"
    modules = project(sibling, source="" if hook else "src")
    installed_in_place(scene.packages, sibling, hook=hook)
    await assert_used(cloned, "sibling")
    await assert_unseen(cloned, modules / "sibling/.env")


async def test_a_project_that_pip_fetched_into_the_environment(scene: Scene, cloned: Workspace) -> None:
    modules = project(scene.venv / "src/fetched", "fetched")
    (scene.packages / "fetched.pth").write_text(f"{modules}\n", encoding="utf-8")
    await assert_used(cloned, "fetched")


@pytest.mark.parametrize("place", [".virtualenvs/mine", ".cache/pypoetry/virtualenvs/mine-py3", "envs/mine"])
async def test_an_environment_that_lies_elsewhere(place: str, scene: Scene, cloned: Workspace) -> None:
    scene.venv.rename(scene.home / "unused")
    package(environment(scene.home / place))
    scene.venv.symlink_to(scene.home / place)
    await assert_used(cloned)


async def test_a_home_folder_that_is_reached_by_a_link(scene: Scene, level: Level) -> None:
    package(scene.packages)
    sibling = scene.home / "work/sibling"
    project(sibling, source="src")
    alias = scene.home.parent / "alias"
    alias.symlink_to(scene.home)
    installed_in_place(scene.packages, alias / "work/sibling", hook=False)
    (scene.workspace / ".env").write_text("private", encoding="utf-8")
    interpreter = find(alias / "work/cloned/.venv/bin/python", scene.workspace, scene.workspace)
    async with workspace(scene.workspace, level, interpreter, level) as cloned:
        await assert_used(cloned)
        await assert_used(cloned, "sibling")
        await assert_unseen(cloned, scene.workspace / ".env", sibling / "src/sibling/.env")
