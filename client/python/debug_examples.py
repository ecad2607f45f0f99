"""Run the examples of one docstring or page with Python's own doctest, so that a debugger can step through them.

Nothing is isolated here. The VS Code extension starts this program only under a debugger, and only after the user
has agreed. It quotes the arguments of `main` as in a URL, because VS Code would replace variables such as `${file}`.
"""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import os
import re
import sys
from types import ModuleType
from urllib.parse import unquote

FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*$", re.MULTILINE)
"""Matches the end of a Markdown fence, which doctest would read as output."""
FOREIGN = ("ALLOW_BYTES", "ALLOW_UNICODE", "FLOAT_CMP", "IGNORE_OUTPUT", "IGNORE_WARNINGS", "NUMBER", "REMOTE_DATA")
"""Options that other doctest runners define. They are accepted here, but have no effect."""


class FencedParser(doctest.DocTestParser):
    """Parses examples that are inside Markdown fences, too."""

    def parse(self, string: str, name: str = "<string>") -> list[str | doctest.Example]:
        """Parse `text`, without the lines that close fences."""
        return super().parse(FENCE.sub("", string), name)


def main(folder: str, root: str, path: str, module: str, qualname: str, setup: str, env: str, *options: str) -> int:
    """Run the examples in `folder`, and return the exit code.

    Args:
        folder: the folder in which the examples run.
        root: the folder from which modules are imported.
        path: the file with the examples.
        module: the name of the module; empty for a page.
        qualname: the qualified name of the function or class; `__doc__` for a page or a module.
        setup: statements to run before the examples.
        env: environment variables, as `NAME=VALUE` and separated by NUL characters.
        options: the names of doctest's options that are on for all examples.
    """
    os.chdir(folder)
    sys.path[:] = [root, *(each for each in sys.path if each != os.path.dirname(os.path.abspath(__file__)))]
    for each in filter(None, env.split("\0")):
        name, _, os.environ[name] = each.partition("=")
        if name == "PYTHONPATH":
            sys.path[1:1] = [os.path.join(folder, place) for place in filter(None, os.environ[name].split(":"))]
    for name in FOREIGN:
        doctest.register_optionflag(name)
    test = docstring(loaded(path, module), qualname) if module else page(path)
    if test is None or not test.examples:
        print(f"doctest finds no examples of '{qualname}' in {path}.")
        return 2
    exec(setup, test.globs)
    flags = 0
    for option in options:
        flags |= doctest.OPTIONFLAGS_BY_NAME.get(option, 0)
    return 1 if doctest.DocTestRunner(verbose=True, optionflags=flags).run(test).failed else 0


def page(path: str) -> doctest.DocTest:
    """Return the examples of a page."""
    with open(path, encoding="utf-8-sig") as stream:
        text = stream.read()
    return FencedParser().get_doctest(text, {"__name__": "__main__"}, os.path.basename(path), path, 0)


def docstring(module: ModuleType, qualname: str) -> doctest.DocTest | None:
    """Return the examples of one docstring; None if doctest finds none."""
    if qualname.startswith("__test__."):
        key = qualname.partition(".")[2]
        return FencedParser().get_doctest(module.__test__[key], dict(vars(module)), qualname, module.__file__, None)
    found = module
    for part in [] if qualname == "__doc__" else qualname.split("."):
        found = inspect.getattr_static(found, part, None)
        found = getattr(found, "__func__", found)  # the function of a static method or class method
    finder = doctest.DocTestFinder(parser=FencedParser(), recurse=False)
    return next(iter(finder.find(found, f"{module.__name__}.{qualname}", module)), None)


def loaded(path: str, name: str) -> ModuleType:
    """Import the module, so that breakpoints in its file work.

    If its name imports another file, load it by its path. For example, `my-script.py` gets the name `my_script`.
    """
    found = importlib.util.find_spec(name)
    if found is not None and found.origin is not None and _is_same(found.origin, path):
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _is_same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


if __name__ == "__main__":
    sys.exit(main(*map(unquote, sys.argv[1:])))
