"""Find the modules installed in the user's environment from its files, without importing or running any code."""

from __future__ import annotations

import itertools
import os
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.domain import Module
from adacoder.privacy.access import Access
from adacoder.settings.pyproject import normalised
from adacoder.source.importing.project_files import text_of
from adacoder.source.names import bindings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ALIASES: dict[str, tuple[str, ...]] = {
    "F": ("import torch.nn.functional as F",),
    "alt": ("import altair as alt",),
    "da": ("import dask.array as da",),
    "dd": ("import dask.dataframe as dd",),
    "go": ("import plotly.graph_objects as go",),
    "jnp": ("import jax.numpy as jnp",),
    "mpl": ("import matplotlib as mpl",),
    "nn": ("from torch import nn",),
    "np": ("import numpy as np",),
    "nx": ("import networkx as nx",),
    "pa": ("import pyarrow as pa",),
    "pd": ("import pandas as pd",),
    "pl": ("import polars as pl",),
    "plt": ("import matplotlib.pyplot as plt",),
    "px": ("import plotly.express as px",),
    "sa": ("import sqlalchemy as sa",),
    "sm": ("import statsmodels.api as sm",),
    "sns": ("import seaborn as sns",),
    "sp": ("import scipy as sp", "import sympy as sp"),
    "st": ("import streamlit as st", "from hypothesis import strategies as st"),
    "tf": ("import tensorflow as tf",),
    "xr": ("import xarray as xr",),
}
"""Common aliases of third-party modules. Some aliases have several possible imports."""

MEMBERS = {
    "BaseModel": "pydantic",
    "BeautifulSoup": "bs4",
    "DataFrame": "pandas",
    "Series": "pandas",
    "Tensor": "torch",
    "arange": "numpy",
    "asarray": "numpy",
    "linspace": "numpy",
    "ndarray": "numpy",
}
"""Well-known classes and functions of third-party packages, each with its package."""

_ALL = re.compile(r"^__all__\b[^=\n]*=[ \t]*[\[(]([^\])]*)", re.MULTILINE)
_QUOTED = re.compile(r"""["'](\w+)["']""")
_LIBRARIES = ("lib*/python3*/*-packages", "local/lib/python3*/*-packages", "python3*/*-packages")
_RECORDED = re.compile(r"^([^\W\d]\w*)(?:[/.][^\n,]*)?\.(?:py|so|pyd),", re.MULTILINE)
"""Matches a line of a distribution's RECORD file that names a Python module."""
_OF_AN_INSTALLATION = frozenset({"bin", "etc", "include", "lib", "lib64", "share", "Scripts"})
_ENTRIES = 5000
_TEXTS = 200
_TEXT_BYTES = 512 * 1024
_STARS = 4
"""Limits of the search: entries of a folder, number of files, bytes of a file, and depth of nested `import *`."""


class InstalledModules:
    """The modules that are installed in an interpreter's folders. A folder is read when it is needed."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = folders
        self._access = Access(folders)
        self._read: dict[str, frozenset[str] | None] = {}

    @property
    def is_known(self) -> bool:
        """True if any folder with installed modules exists."""
        return bool(self._roots)

    def has(self, module: str) -> bool:
        """Return whether the module with the dotted name `module` is installed."""
        top, _, rest = module.partition(".")
        if top not in self._modules:
            return False
        return not rest or self._place(module) is not None

    def distributions(self) -> Mapping[str, Path]:
        """Map the normalised names of installed distributions to their metadata folders."""
        entries = (entry for root in self._roots for entry in _entries(root))
        found = (Path(entry.path) for entry in entries if entry.name.endswith((".dist-info", ".egg-info")))
        return {normalised(path.stem.partition("-")[0]): path for path in found}

    def modules_of(self, metadata: Path, most: int = _TEXT_BYTES) -> frozenset[str]:
        """Return the top-level modules that a distribution's metadata lists.

        A RECORD file of more than `most` bytes is not read.
        """
        listed = _top_level(metadata, self._access)
        record = None if listed else text_of(metadata / "RECORD", self._access, most=most)
        return frozenset(listed or _RECORDED.findall(record or ""))

    def import_for(self, name: str, taken: frozenset[str] | None) -> str | None:
        """Return the statement that imports `name`; None if `name` is unknown or ambiguous.

        `name` may be an installed module, a common alias or a well-known class or function. `taken` are the attributes
        of `name` that the code uses; None if they are unknown.
        """
        found = [each for each in ALIASES.get(name, ()) if self._is_alias(each, taken)]
        if len(found) == 1:
            return found[0]
        if name in self._modules:
            return self._module_or_member(name, taken)
        if name in MEMBERS and self.offers(MEMBERS[name], name):
            return f"from {MEMBERS[name]} import {name}"
        return None

    def offers(self, module: str, name: str) -> bool:
        """Return whether the text of `module` binds `name` or lists it in `__all__`."""
        return name in (self._names(module) or ())

    def _is_alias(self, statement: str, taken: frozenset[str] | None) -> bool:
        words = statement.split()
        module = f"{words[1]}.{words[3]}" if words[0] == "from" else words[1]
        return self.has(module) and (taken is None or (bool(taken) and self._has_all(module, taken)))

    def _module_or_member(self, name: str, taken: frozenset[str] | None) -> str | None:
        if taken == frozenset():
            return f"from {name} import {name}" if self.offers(name, name) else None
        if taken is None:
            return f"import {name}"
        return f"import {', '.join(self._needed(name, taken))}" if self._has_all(name, taken) else None

    def _has_all(self, module: str, taken: frozenset[str]) -> bool:
        """Return whether a module may have all attributes in `taken`, according to its source text."""
        names = self._names(module)
        if names is None or "__getattr__" in names:
            return True
        first = {path.partition(".")[0] for path in taken}
        return all(name in names or self.has(f"{module}.{name}") for name in first)

    def _needed(self, name: str, taken: frozenset[str]) -> list[str]:
        """Return the modules to import so that the code can use all attributes in `taken`."""
        inside = {self._deepest(name, path) for path in taken if not self.offers(name, path.partition(".")[0])}
        inside = {each for each in inside if not any(other.startswith(f"{each}.") for other in inside)}
        return sorted(inside - {name}) or [name]

    def _deepest(self, module: str, path: str) -> str:
        """Return the longest name of an existing module in a chain, such as `a.b` if `a.b.c` is a function."""
        for part in path.split("."):
            if not self.has(f"{module}.{part}"):
                break
            module = f"{module}.{part}"
        return module

    def _names(self, module: str, depth: int = _STARS) -> frozenset[str] | None:
        """Return the names that a module's text binds; None if the text is unreadable.

        If `__getattr__` is among the names, the module may have other attributes as well.
        """
        if module not in self._read:
            self._read[module] = None  # None ends the recursion if modules import each other.
            self._read[module] = self._names_in_text(module, depth)
        return self._read[module]

    def _names_in_text(self, module: str, depth: int) -> frozenset[str] | None:
        place = self._place(module)
        text = None if place is None or len(self._read) > _TEXTS else _text(place, self._access)
        if place is None or text is None:
            return None
        found = bindings(text, Module(place, module, self._modules[module.partition(".")[0]]))
        stars = [self._names(star, depth - 1) if depth else None for star in sorted(found.stars)]
        known = {name for names in stars if names is not None for name in names if not name.startswith("_")}
        open_ended = {"__getattr__"} if None in stars else set()
        return frozenset(found.origins.keys() | known | _listed(text) | open_ended)

    def _place(self, module: str) -> Path | None:
        top, *rest = module.split(".")
        root = self._modules.get(top)
        if root is None:
            return None
        base = root.joinpath(top, *rest)
        choices = (base / "__init__.py", base.with_name(f"{base.name}.py"), base.with_name(f"{base.name}.pyi"))
        return next((place for place in choices if os.path.isfile(place)), None)  # noqa: PTH113  # Path.is_file() may raise

    @cached_property
    def _modules(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for root in self._roots:
            for entry in _entries(root):
                for name in _provided(entry, self._access):
                    found.setdefault(name, root)
        return found

    @cached_property
    def _roots(self) -> tuple[Path, ...]:
        """The folders with installed packages, without the standard library."""
        own = next((folder.parent for folder in self._folders if folder.name == "pyvenv.cfg"), None)
        alone = own is not None and not _shares_the_systems(own / "pyvenv.cfg", self._access)
        roots: dict[str, Path] = {}  # The keys are real paths, because `lib64` is often a link to `lib`.
        for folder in self._folders:
            libraries = _libraries(folder)
            for root in libraries:
                if not alone or own is None or root.is_relative_to(own):
                    roots.setdefault(os.path.realpath(root), root)
            is_folder = os.path.isdir(folder)  # noqa: PTH112  # Path.is_dir() may raise
            if not libraries and folder.name not in _OF_AN_INSTALLATION and is_folder:
                roots.setdefault(os.path.realpath(folder), folder)
        return tuple(roots.values())


def _libraries(folder: Path) -> list[Path]:
    if folder.name in ("site-packages", "dist-packages"):
        return [folder]
    try:
        return [path for pattern in _LIBRARIES for path in sorted(folder.glob(pattern))]
    except OSError:
        return []


def _shares_the_systems(configuration: Path, access: Access) -> bool:
    text = (_text(configuration, access) or "").lower()
    pairs = (line.partition("=") for line in text.splitlines())
    return any(key.strip() == "include-system-site-packages" and value.strip() == "true" for key, _, value in pairs)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(itertools.islice(entries, _ENTRIES), key=lambda entry: entry.name)
    except OSError:
        return []


def _provided(entry: os.DirEntry[str], access: Access) -> Iterator[str]:
    """Yield the top-level modules of a file or folder in `site-packages`."""
    name, _, ending = entry.name.partition(".")
    if entry.name.endswith(".dist-info"):
        # An editable install has only metadata here, which lists the modules.
        yield from _top_level(Path(entry.path), access)
    elif not name.isidentifier() or name == "__pycache__":
        return
    elif (
        (not ending and entry.is_dir()) or ending == "py" or ending.endswith((".so", ".pyd")) or ending in ("so", "pyd")
    ):
        yield name


def _top_level(metadata: Path, access: Access) -> list[str]:
    text = _text(metadata / "top_level.txt", access) or ""
    return [line for line in text.split() if line.isidentifier()]


def _listed(text: str) -> set[str]:
    """Return the string literals in a module's `__all__`."""
    return {name for listed in _ALL.finditer(text) for name in _QUOTED.findall(listed[1])}


def _text(path: Path, access: Access) -> str | None:
    return text_of(path, access, most=_TEXT_BYTES)
