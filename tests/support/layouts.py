"""Create Python environments and projects on disk, as `venv` and pip do, but without them and without a network."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

BASE_PYTHON = Path(vars(sys)["_base_executable"])
"""The Python from which `venv` creates new environments. typeshed has no `sys._base_executable`, so `vars` is needed.
"""
EXECUTABLE = BASE_PYTHON.resolve()
VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
PACKAGES = "dist-packages" if (Path(sys.base_prefix) / "lib/python3/dist-packages").is_dir() else "site-packages"
"""Name of the folder for installed packages, which is different on Debian."""
_LEFT_OUT = ("test", "tests", "idlelib", "lib2to3", "tkinter", "turtledemo", "ensurepip", "config-*", "__pycache__")


def environment(folder: Path, executable: Path = EXECUTABLE, home: Path | None = None, version: str = VERSION) -> Path:
    """Create a virtual environment as `venv` does. Return its `site-packages`."""
    packages = folder / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "include").mkdir()
    (folder / "lib64").symlink_to("lib")
    for name, target in (("python", "python3"), ("python3", str(executable)), (version, "python3")):
        (folder / "bin" / name).symlink_to(target)
    configure(folder, home or executable.parent)
    return packages


def configure(folder: Path, home: Path) -> None:
    """Write the `pyvenv.cfg` of the environment at `folder`."""
    text = f"home = {home}\ninclude-system-site-packages = false\nversion = {sys.version.split()[0]}\n"
    (folder / "pyvenv.cfg").write_text(text, encoding="utf-8")


def installation(folder: Path) -> Path:
    """Copy the tests' Python to `folder`. Return its executable."""
    executable = folder / "bin" / VERSION
    executable.parent.mkdir(parents=True)
    shutil.copy2(EXECUTABLE, executable)
    (folder / "bin/python3").symlink_to(VERSION)
    (folder / "bin/python").symlink_to("python3")
    library = Path(os.__file__).parent
    ignored = shutil.ignore_patterns(*_LEFT_OUT, "site-packages", "dist-packages")
    shutil.copytree(library, folder / "lib" / VERSION, ignore=ignored, symlinks=False)
    (folder / "lib" / VERSION / PACKAGES).mkdir()
    return executable


def linked(source: Path, folder: Path, *, hard: bool) -> None:
    """Copy a tree of folders. The copied files are hard or symbolic links."""
    for file in sorted(source.rglob("*")):
        place = folder / file.relative_to(source)
        if file.is_dir():
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if hard and not file.is_symlink():
            os.link(file, place)
        else:
            place.symlink_to(file)


def package(folder: Path, name: str = "installed") -> None:
    """Create a package with one module, and the metadata of an installed package."""
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text("from .inner import ONE\n", encoding="utf-8")
    (folder / name / "inner.py").write_text("ONE = 1\n", encoding="utf-8")
    (folder / f"{name}-1.0.dist-info").mkdir()
    (folder / f"{name}-1.0.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n", encoding="utf-8")


def project(folder: Path, name: str = "sibling", *, source: str = "") -> Path:
    """Create a project with a package and a secret file. Return the folder of its modules."""
    (folder / source / name).mkdir(parents=True)
    (folder / source / name / "__init__.py").write_text("ONE = 1\n", encoding="utf-8")
    (folder / source / name / ".env").write_text("private", encoding="utf-8")
    (folder / "pyproject.toml").write_text(f"[project]\nname = '{name}'\nversion = '1.0'\n", encoding="utf-8")
    return folder / source


def installed_in_place(packages: Path, folder: Path, name: str = "sibling", *, hook: bool) -> None:
    """Install the project in `folder` in editable mode, as pip and setuptools do.

    If `hook` is True, the `.pth` file installs an import hook. Otherwise it adds the project's `src` to `sys.path`.
    """
    (packages / f"{name}-1.0.dist-info").mkdir()
    told = f'{{"url": "file://{folder}", "dir_info": {{"editable": true}}}}'
    (packages / f"{name}-1.0.dist-info" / "direct_url.json").write_text(told, encoding="utf-8")
    if not hook:
        (packages / f"__editable__.{name}-1.0.pth").write_text(f"{folder / 'src'}\n", encoding="utf-8")
        return
    finder = f"__editable___{name}_1_0_finder"
    (packages / f"__editable__.{name}-1.0.pth").write_text(f"import {finder}; {finder}.install()", encoding="utf-8")
    (packages / f"{finder}.py").write_text(_FINDER.format(mapping={name: str(folder / name)}), encoding="utf-8")


_FINDER = """\
import sys
from importlib.util import spec_from_file_location

MAPPING = {mapping!r}


class Finder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname in MAPPING:
            place = MAPPING[fullname]
            return spec_from_file_location(fullname, place + "/__init__.py", submodule_search_locations=[place])
        return None


def install():
    sys.meta_path.append(Finder)
"""
