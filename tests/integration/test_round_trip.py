"""Functions of real packages lose their bodies, and get them back from replies in any form."""

from __future__ import annotations

import ast
import importlib.util
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import toolz

from adacoder.__main__ import main
from adacoder.domain import Reply, Target
from adacoder.pytext import dedent, normalize
from adacoder.replies.extract import extract
from adacoder.source.locate import functions, locate
from adacoder.source.splice import splice
from support.dressings import DRESSINGS, Dressing, body_in_its_indentation, fenced, whole_module
from support.standins.ollama import Script, StandIn

PACKAGE = Path(toolz.__file__).parent
MODEL = "qwen2.5-coder:7b"
VERIFIED = 57
"""Number of functions of toolz 1.2.0 that have an example that runs them and shows an output."""
FUNCTIONS = 65
MODULES = (
    "toolz.dicttoolz",
    "toolz.functoolz",
    "toolz.itertoolz",
    "toolz.recipes",
    "toolz.sandbox.core",
    "toolz.sandbox.parallel",
    "sortedcontainers.sorteddict",
    "sortedcontainers.sortedlist",
    "sortedcontainers.sortedset",
    "_pydecimal",
    "difflib",
    "doctest",
    "pickletools",
    "statistics",
)
"""Modules with doctests: all of toolz and sortedcontainers, and large ones of the standard library."""


@cache
def with_doctests(path: Path) -> tuple[Target, ...]:
    root = path.parents[1] if path.is_relative_to(PACKAGE) else path.parent
    found = functions(path.read_text("utf-8"), path, root)
    return tuple(one.target for one in found if one.target.examples)


def always(reply: Script) -> Callable[[object], Script]:
    return lambda _: reply


def file_of(module: str) -> Path:
    """Return the file of a module without importing the module."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    return Path(str(spec.origin))


def toolz_targets() -> list[Target]:
    files = sorted(path for path in PACKAGE.rglob("*.py") if "tests" not in path.relative_to(PACKAGE).parts)
    return [target for path in files for target in with_doctests(path)]


def blanked(target: Target) -> str:
    """Return the module's text, with `...` as the target's body."""
    return f"{target.text[: target.body.start]}\n{target.indent}    ...{target.text[target.body.end :]}"


def problem(original: Target, stub: Target, dressing: Dressing) -> str | None:
    """Return the difference after a function lost its body and got it back; None if there is none."""
    before, after = original.text[: original.body.start], original.text[original.body.end :]
    written = splice(stub, extract(Reply(dressing(original)), stub)).text
    name = f"{original.qualname}, {dressing.__name__}"
    if not (written.startswith(before) and written.endswith(after)):
        return f"{name}: the file changed around the body"
    function = before[original.definition.start :] + written[len(before) : len(written) - len(after)]
    return None if _tree(function) == _tree(original.source) else f"{name}: the function is another"


def _tree(function: str) -> str:
    try:
        return ast.dump(ast.parse(dedent(normalize(function))))
    except SyntaxError:
        return ""


def test_there_are_at_least_ten_dressings_and_all_that_has_doctests() -> None:
    assert len(DRESSINGS) >= 10
    found = toolz_targets()
    assert (len(found), sum(target.has_wants for target in found)) == (FUNCTIONS, VERIFIED)


@pytest.mark.parametrize("module", MODULES)
def test_every_function_comes_back_in_every_dressing(
    module: str, one_in: Callable[[int], int], record_property: Callable[[str, object], None]
) -> None:
    path = file_of(module)
    problems: list[str] = []
    tried = 0
    chosen = [*enumerate(with_doctests(path))][:: one_in(3)]
    for number, original in chosen:
        stub = locate(blanked(original), path, original.module.root, qualname=original.qualname)
        dressings = DRESSINGS[number % one_in(14) :: one_in(14)]
        found = [problem(original, stub, dressing) for dressing in dressings]
        problems += [each for each in found if each is not None]
        tried += len(dressings)
    record_property("figure", f"{module}: {len(chosen)} functions, {tried} replies")
    assert problems == []
    assert tried


def test_another_function_is_told_from_the_original() -> None:
    path = file_of("toolz.recipes")
    for original in with_doctests(path):
        stub = locate(blanked(original), path, original.module.root, qualname=original.qualname)
        assert problem(original, stub, fenced) is None
        assert problem(original, stub, lambda target: fenced(target).replace("return", "yield")) is not None
        assert problem(original, stub, lambda _: "I cannot do this.") is not None


class Workspace:
    """A copy of toolz in which one function at a time loses its body."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(PACKAGE, folder / "toolz", ignore=shutil.ignore_patterns("__pycache__", "tests"))
        (folder / "pyproject.toml").touch()

    def blank(self, target: Target) -> tuple[Path, str]:
        """Remove the body of `target`. Return the copy of its file, with the remaining text."""
        path = self.folder / target.module.path.relative_to(PACKAGE.parent)
        left = blanked(target)
        path.write_text(left, encoding="utf-8", newline="")
        return path, left

    def restore(self, target: Target) -> None:
        path = self.folder / target.module.path.relative_to(PACKAGE.parent)
        path.write_text(target.text, encoding="utf-8", newline="")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def generate(path: Path, target: Target, host: str, *options: str) -> int:
    """Run `adacoder generate --write` in this process. Return the exit code."""
    place = f"{path}::{target.qualname}"
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(main(["generate", place, "--write", "--model", MODEL, "--host", host, *options]))
    code = ended.value.code
    assert isinstance(code, int)
    return code


WAYS = (fenced, whole_module, body_in_its_indentation)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With `--all`, try every form of reply for each function, otherwise one form."""
    if "turn" in metafunc.fixturenames:
        metafunc.parametrize("turn", range(len(WAYS)) if metafunc.config.getoption("all") else [0])


@pytest.mark.isolation
def test_every_function_with_an_example_that_shows_an_output_is_written_back(
    turn: int,
    workspace: Workspace,
    capsys: pytest.CaptureFixture[str],
    one_in: Callable[[int], int],
    record_property: Callable[[str, object], None],
) -> None:
    verified = 0
    problems: list[str] = []
    tried = toolz_targets()[:: one_in(4)]
    for number, original in enumerate(tried, turn):
        path, blanked = workspace.blank(original)
        reply = Script(WAYS[number % len(WAYS)](original), token=32)
        with StandIn(always(reply)).in_thread() as standin:
            code = generate(path, original, standin.host)
        written = path.read_text(encoding="utf-8")
        if code == 0:
            verified += 1
            problems += differences(original, written, path)
        elif written != blanked:
            problems.append(f"{original.qualname}: written without being verified")
        if original.has_wants != (code == 0):
            problems.append(f"{original.qualname}: exit code {code}\n{capsys.readouterr().err}")
        workspace.restore(original)
    record_property("figure", f"toolz, turn {turn}: {verified} of {len(tried)} verified and written")
    assert problems == []
    assert verified == sum(target.has_wants for target in tried)


def differences(original: Target, written: str, path: Path) -> Iterator[str]:
    """Return the differences: in the text around the function, or in the function apart from its layout."""
    result = locate(written, path, path.parents[1], qualname=original.qualname)
    before = original.text[: original.body.start], original.text[original.body.end :]
    after = written[: result.body.start], written[result.body.end :]
    if before != after:
        yield f"{original.qualname}: the file changed around the body"
    if ast.dump(ast.parse(written)) != ast.dump(ast.parse(original.text)):
        yield f"{original.qualname}: the function is another"


@pytest.mark.isolation
def test_a_wrong_answer_is_never_written(
    workspace: Workspace, one_in: Callable[[int], int], record_property: Callable[[str, object], None]
) -> None:
    verified, touched = 0, []
    tried = toolz_targets()[:: one_in(5)]
    for original in tried:
        path, blanked = workspace.blank(original)
        with StandIn(lambda _: "    return None").in_thread() as standin:
            verified += generate(path, original, standin.host, "--max-iterations", "1") == 0
        if path.read_text(encoding="utf-8") != blanked:
            touched.append(original.qualname)
        workspace.restore(original)
    record_property("figure", f"toolz, return None: {verified} of {len(tried)} verified, {len(touched)} files touched")
    assert (verified, touched) == (0, [])
