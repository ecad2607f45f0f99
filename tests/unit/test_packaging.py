"""Files for other package managers have the version and dependencies of `pyproject.toml`."""

from __future__ import annotations

import re
import tomllib

import pytest

from adacoder import __version__
from support.paths import ROOT


@pytest.mark.parametrize(
    ("file", "version", "dependencies"),
    [
        ("PKGBUILD", r"^pkgver=(.+)$", r"^depends=\(python ([^)]+)\)"),
        ("default.nix", r'version = "(.+)";', r"dependencies = .*\[([^]]+)\]"),
    ],
)
def test_version_and_dependencies_agree(file: str, version: str, dependencies: str) -> None:
    text = (ROOT / "packaging" / file).read_text(encoding="utf-8")
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert re.findall(version, text, re.MULTILINE) == [__version__]
    (named,) = re.findall(dependencies, text, re.MULTILINE)
    assert named.replace("python-", "").split() == sorted(re.split("[<>=]", each)[0] for each in needed)


def test_the_formula_names_the_version() -> None:
    text = (ROOT / "packaging" / "adacoder.rb").read_text(encoding="utf-8")
    assert re.findall(r"adacoder-([\d.]+)\.tar", text) == re.findall(r'^  version "(.+)"$', text, re.MULTILINE)
    assert f'version "{__version__}"' in text
