"""Find imports that a candidate adds although its project does not declare them as dependencies."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING

from adacoder.privacy.access import Access
from adacoder.project import below
from adacoder.pytext import parsed
from adacoder.settings.pyproject import declared_dependencies, normalised
from adacoder.source.importing.installed import InstalledModules
from adacoder.source.importing.project_files import project_files
from adacoder.source.text import apply_edits

if TYPE_CHECKING:
    from collections.abc import Sequence, Set
    from pathlib import Path

    from adacoder.domain import Edit, Target
    from adacoder.privacy.private_names import Wishes

_SCRIPT = re.compile(r"^# /// script\b", re.MULTILINE)
"""Matches inline script metadata. Scripts with such metadata declare their own dependencies, and are not checked."""
_RECORD_BYTES = 128 * 1024
"""Maximum bytes of a distribution's RECORD file. Longer files are not read."""


def undeclared(
    target: Target, edits: Sequence[Edit], workspace: Path, folders: Sequence[Path], wishes: Wishes
) -> tuple[str, ...]:
    """Return a warning for each third-party module that is imported by `edits` but is not a declared dependency.

    A module is not reported if other files of the project import it. `folders` are the folders of the user's
    interpreter. Nothing is reported if dependencies may be declared outside pyproject.toml.
    """
    if not any("import" in edit.text for edit in edits) or _SCRIPT.search(target.text):
        return ()
    added = _imported(apply_edits(target.text, edits)) - _imported(target.text) - sys.stdlib_module_names
    declared = declared_dependencies(target.module.path.parent, target.module.top) if added else None
    if declared is None:
        return ()
    own, texts = {*target.module.name.split(".")}, [target.text]
    for path, text in project_files(target.module.path, workspace, Access.around(target.module, workspace, wishes)):
        own.update(below(workspace, path).with_suffix("").parts)
        texts.append(text)
    modules = {module for module in added - own if not any(map(_import_of(module).search, texts))}
    providers = _providers(modules, declared, InstalledModules(folders)) if modules else {}
    return tuple(
        f"The candidate imports '{module}'{'' if normalised(name) == normalised(module) else f' ({name})'}, "
        "which pyproject.toml does not declare as a dependency."
        for module, name in sorted(providers.items())
    )


def _providers(modules: set[str], declared: Set[str], installed: InstalledModules) -> dict[str, str]:
    """Map modules to the installed distributions that contain them.

    Modules in a `declared` distribution are left out.
    """
    found = installed.distributions()
    known = [installed.modules_of(found[name]) for name in declared & found.keys()]
    if not all(known):
        return {}
    absent = {_family(name) for name in declared - found.keys()}
    wanted = {normalised(each): each for each in modules.difference(*known)}
    wanted = {name: each for name, each in wanted.items() if name not in declared and _family(name) not in absent}
    providers: dict[str, str] = {}
    for name in sorted(found.keys() - declared, key=lambda name: name not in wanted):
        if len(providers) == len(wanted):
            break
        if _family(name) not in absent:
            provided = installed.modules_of(found[name], _RECORD_BYTES)
            providers |= {each: found[name].stem.partition("-")[0] for each in provided.intersection(wanted.values())}
    return providers


def _import_of(module: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t\f]*(?:from|import)\b[^\n]*\b{module}\b", re.MULTILINE)


def _family(distribution: str) -> str:
    """Return the first part of a distribution's name.

    For example, `opencv-python` and `opencv-python-headless` provide the same module.
    """
    return distribution.partition("-")[0]


def _imported(text: str) -> frozenset[str]:
    """Return the top-level modules that `text` imports by absolute imports; empty if `text` does not parse."""
    tree = parsed(text)
    names = set[str]()
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module.partition(".")[0])
    return frozenset(names)
