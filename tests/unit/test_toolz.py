"""Real code: every function of toolz with doctests is blanked and written again from three dressings of its source."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import toolz

from adacoder.__main__ import main
from adacoder.domain import Target
from adacoder.pytext import dedent
from adacoder.source.locate import functions, locate
from standin_ollama import Script, StandIn

pytestmark = pytest.mark.isolation

PACKAGE = Path(toolz.__file__).parent
MODEL = "qwen2.5-coder:7b"
VERIFIED = 57
"""Of toolz 1.2.0's functions with doctests those with an example that is not skipped, shows an output and uses them."""
FUNCTIONS = 65

Dressing = Callable[[Target], str]


def fenced(target: Target) -> str:
    return f"Here is the function:\n\n```python\n{dedent(target.source)}\n```\n\nIt does what the docstring says."


def whole_module(target: Target) -> str:
    return f"```python\n{target.text}```"


def body_only(target: Target) -> str:
    return target.body.of(target.text).strip("\n")


DRESSINGS: tuple[Dressing, ...] = (fenced, whole_module, body_only)


def with_doctests() -> list[Target]:
    files = sorted(path for path in PACKAGE.rglob("*.py") if "tests" not in path.relative_to(PACKAGE).parts)
    found = [target for path in files for target in functions(path.read_text("utf-8"), path, PACKAGE.parent)]
    return [target for target in found if target.examples]


class Workspace:
    """A copy of toolz in which one function at a time loses its body."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(PACKAGE, folder / "toolz", ignore=shutil.ignore_patterns("__pycache__", "tests"))
        (folder / "pyproject.toml").touch()

    def blank(self, target: Target) -> tuple[Path, str]:
        """Take the body of `target` away, and return the copy of its file with the text that is left."""
        path = self.folder / target.module.path.relative_to(PACKAGE.parent)
        indent = target.indent + "    "
        left = target.text[: target.body.start] + f"\n{indent}pass" + target.text[target.body.end :]
        path.write_text(left, encoding="utf-8", newline="")
        return path, left

    def restore(self, target: Target) -> None:
        path = self.folder / target.module.path.relative_to(PACKAGE.parent)
        path.write_text(target.text, encoding="utf-8", newline="")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def generate(path: Path, target: Target, host: str, *options: str) -> int:
    """`adacoder generate --write` in this process; its exit code."""
    place = f"{path}::{target.qualname}"
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(main(["generate", place, "--write", "--model", MODEL, "--host", host, *options]))
    code = ended.value.code
    assert isinstance(code, int)
    return code


def test_toolz_has_the_functions_that_the_figures_speak_of() -> None:
    found = with_doctests()
    assert (len(found), sum(bool(target.deciding) for target in found)) == (FUNCTIONS, VERIFIED)


@pytest.mark.parametrize("dressing", DRESSINGS, ids=lambda dressing: dressing.__name__)
def test_every_function_with_an_example_that_decides_is_written_back(
    dressing: Dressing,
    workspace: Workspace,
    capsys: pytest.CaptureFixture[str],
    record_property: Callable[[str, object], None],
) -> None:
    verified = 0
    problems: list[str] = []
    for original in with_doctests():
        path, blanked = workspace.blank(original)
        reply = Script(dressing(original), token=32)
        with StandIn(lambda _, reply=reply: reply).in_thread() as standin:
            code = generate(path, original, standin.host)
        written = path.read_text(encoding="utf-8")
        if code == 0:
            verified += 1
            problems += differences(original, written, path)
        elif written != blanked:
            problems.append(f"{original.qualname}: written without being verified")
        if bool(original.deciding) != (code == 0):
            problems.append(f"{original.qualname}: exit code {code}\n{capsys.readouterr().err}")
        workspace.restore(original)
    record_property("figure", f"toolz, {dressing.__name__}: {verified} of {FUNCTIONS} verified and written")
    assert problems == []
    assert verified == VERIFIED


def differences(original: Target, written: str, path: Path) -> Iterator[str]:
    """What is not as it was: the text around the function, and the function itself but for its layout."""
    result = locate(written, path, path.parents[1], qualname=original.qualname)
    before = original.text[: original.body.start], original.text[original.body.end :]
    after = written[: result.body.start], written[result.body.end :]
    if before != after:
        yield f"{original.qualname}: the file changed around the body"
    if ast.dump(ast.parse(written)) != ast.dump(ast.parse(original.text)):
        yield f"{original.qualname}: the function is another"


def test_a_wrong_answer_is_never_written(workspace: Workspace, record_property: Callable[[str, object], None]) -> None:
    verified, touched = 0, []
    for original in with_doctests():
        path, blanked = workspace.blank(original)
        with StandIn(lambda _: "    return None").in_thread() as standin:
            verified += generate(path, original, standin.host, "--max-iterations", "1") == 0
        if path.read_text(encoding="utf-8") != blanked:
            touched.append(original.qualname)
        workspace.restore(original)
    record_property("figure", f"toolz, return None: {verified} of {FUNCTIONS} verified, {len(touched)} files touched")
    assert (verified, touched) == (0, [])
