"""A project is read for a model as it is open in the editor: within limits, reproducibly, and without running it."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import jedi
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parso.cache import parser_cache

from adacoder.domain import TargetError
from adacoder.source.context import Piece, pieces
from adacoder.source.locate import locate
from support.surroundings import HOSTILE, MODELS, SHAPES, SHOP, SQUARE, TYPES, Project, new_project, of, whole

project = pytest.fixture(new_project)


def test_open_files_are_read_as_they_are_open(project: Project) -> None:
    project.write(models="class Old: ...\n")
    text = 'from models import Order\ndef f(order: Order):\n    """Doc."""\n'
    assert "class Order" not in whole(project.pieces("f", text))
    assert "class Order" in whole(project.pieces("f", text, models=MODELS))


def test_open_files_need_not_be_saved(project: Project) -> None:
    text = 'from models import Order\ndef f(order: Order):\n    """Doc."""\n'
    assert "class Order" in whole(project.pieces("f", text, models=MODELS))


def test_changes_on_disk_are_seen_at_once(project: Project) -> None:
    text = 'from models import Order\ndef f(order: Order):\n    """Doc."""\n'
    project.write(models=MODELS)
    before = (project.folder / "models.py").stat()
    assert "What was ordered." in whole(project.pieces("f", text))
    project.write(models="\n\n" + MODELS.replace("What was", "All that"))
    os.utime(project.folder / "models.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "All that ordered." in whole(project.pieces("f", text))


def test_a_file_too_long_to_read_is_left_out(project: Project) -> None:
    text = 'from models import Order\ndef f(order: Order):\n    """Doc."""\n'
    project.write(models=MODELS + "#" * 400_000)
    assert [piece.kind for piece in project.pieces("f", text)] == ["imports"]
    project.write(models=MODELS + "#" * 100_000)
    assert [piece.kind for piece in project.pieces("f", text)] == ["imports", "signature"]


def test_no_more_than_so_much_is_read_of_many_files(project: Project) -> None:
    for number in range(20):
        project.write(**{f"m{number}": f"class C{number}: ...\n" + "# x\n" * 20_000})
    imports = "".join(f"from m{number} import C{number}\n" for number in range(20))
    names = ", ".join(f"c{number}: C{number}" for number in range(20))
    found = project.pieces("f", f'{imports}def f({names}):\n    """Doc."""\n')
    assert len(of(found, "signature")) == 3


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_endings_do_not_matter(ending: str, project: Project) -> None:
    project.write(models=MODELS)
    expected = project.pieces("Base.target", SHOP)
    target = locate(SHOP.replace("\n", ending), project.folder / "shop.py", project.folder, qualname="Base.target")
    positions = [piece.position for piece in expected]
    assert [piece.text for piece in pieces(target)] == [piece.text for piece in expected]
    assert [piece.position for piece in pieces(target)] == positions


def test_a_broken_file_gives_what_its_lines_show(project: Project) -> None:
    found = project.pieces("f", 'import os\nx = (\n\ndef f(a: Missing):\n    """Doc."""\n\ndef g(: pass\n')
    assert found[0] == Piece("imports", "import os")


def test_a_broken_file_of_the_project_gives_what_its_lines_show(project: Project) -> None:
    project.write(models="x = (\n\n" + MODELS + "\nclass Last(: pass\n")
    found = project.pieces("f", 'from models import Order\ndef f(order: Order):\n    """Doc."""\n')
    assert "class Order" in whole(found)


SNIPPETS = [
    "def",
    "class",
    "import",
    "from",
    "as",
    "@",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    "=",
    ".",
    ",",
    "#",
    "'",
    '"',
]
SNIPPETS += ['"' * 3, "\\", "\n", "    ", "\t", "\f", "\r", "\x00", "self.x", "é", ""]


@given(
    st.lists(
        st.tuples(st.integers(0, 10_000), st.integers(0, 60), st.sampled_from(SNIPPETS)),
        min_size=1,
        max_size=8,
    )
)
def test_a_mutilated_module_never_raises(changes: list[tuple[int, int, str]]) -> None:
    text = SHOP + SHAPES + TYPES
    for start, length, inserted in changes:
        start %= len(text)
        text = text[:start] + inserted + text[start + length :]
    path = Path("/nowhere/shop.py")
    for qualname in ("Base.target", "Shape.area", "helper"):
        try:
            target = locate(text, path, path.parent, qualname=qualname)
        except TargetError:
            continue
        assert all(piece.text for piece in pieces(target, {path.parent / "models.py": text}))


@settings(max_examples=40)
@given(st.text(alphabet=st.sampled_from("class def(x):=\n\t \"'.@,"), max_size=60), st.booleans())
def test_whatever_surrounds_it_a_function_has_pieces(text: str, below: bool) -> None:
    own = 'def own(a: Order, b: "x.Y"):\n    """Doc."""\n    hidden = 1\n'
    text = f"{text}\n{own}" if not below else f"{own}\n{text}"
    try:
        target = locate(text, Path("/nowhere/m.py"), Path("/nowhere"), qualname="own")
    except TargetError:
        return
    assert all("hidden" not in piece.text for piece in pieces(target))


def test_requests_at_the_same_time_do_not_disturb_each_other(project: Project) -> None:
    project.write(shapes=SHAPES, models=MODELS)
    targets = [
        project.target("Base.target", SHOP),
        project.target("Square.area", SQUARE.format(base="Shape"), "square.py"),
    ] * 8
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(pieces, targets)) == [pieces(target) for target in targets]


def test_without_jedi_there_is_less_to_show(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(models=MODELS)
    everything = [piece.text for piece in project.pieces("Base.target", SHOP)]

    def fails(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr(jedi, "Script", fails)
    less = [piece.text for piece in project.pieces("Base.target", SHOP)]
    assert less == [text for text in everything if not text.startswith("# from models")]


# behaviour of jedi that AdaCoder must prevent


def hostile(project: Project) -> Path:
    """Write a project that leaves a file behind if any of its code runs."""
    mark = project.folder / "ran"
    text = f"from pathlib import Path\nPath({str(mark)!r}).touch()\nclass Thing: ...\n"
    project.write(gi=text, models=MODELS)
    (project.folder / f"native{EXTENSION_SUFFIXES[0]}").write_bytes(b"no library")
    return mark


def left_alone(project: Project) -> None:
    """Read the same project with jedi alone."""
    where = jedi.Project(project.folder, sys_path=[str(project.folder)], smart_sys_path=False)
    path = project.folder / "shop.py"
    script = jedi.Script(HOSTILE, path=path, project=where, environment=jedi.InterpreterEnvironment())
    for column in (9, 19, 29):
        script.goto(5, column, follow_imports=True)


def test_nothing_of_the_project_is_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = hostile(project)
    monkeypatch.syspath_prepend(project.folder)
    assert "class Order" in whole(project.pieces("f", HOSTILE))
    assert not mark.exists()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jedi warns of files that it cannot load
        left_alone(project)
    assert mark.exists()
    sys.modules.pop("gi")


def test_the_process_imports_as_usual_meanwhile(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile(project)
    usual = sys.path
    seen: list[bool] = []

    class Finder:
        """An import finder that records the state of `sys.path`."""

        def find_spec(self, name: str, *_: object) -> None:
            if name == "models":
                seen.append(sys.path is usual)

    monkeypatch.setattr("sys.meta_path", [Finder(), *sys.meta_path])
    assert "class Order" in whole(project.pieces("f", HOSTILE))
    assert seen == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jedi warns of files that it cannot load
        left_alone(project)
    assert seen == [False]


def test_nothing_of_the_users_text_is_kept(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile(project)
    cache = project.folder / "cache"
    monkeypatch.setattr(jedi.settings, "cache_directory", str(cache))

    def kept() -> list[Path]:
        return [path for trees in parser_cache.values() for path in trees if path.is_relative_to(project.folder)]

    assert "class Order" in whole(project.pieces("f", HOSTILE))
    assert (cache.exists(), kept()) == (False, [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jedi warns of files that it cannot load
        left_alone(project)
    assert cache.exists()
    assert kept()
    parser_cache.clear()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes among files here")
def test_a_pipe_among_the_files_keeps_nobody_waiting(project: Project) -> None:
    project.write(models=MODELS)
    os.mkfifo(project.folder / "models.pyi")
    os.mkfifo(project.folder / "gi.py")
    assert "class Order" in whole(project.pieces("f", HOSTILE))


def test_nothing_is_started(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile(project)
    started: list[object] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **_: started.append(args))
    assert "class Order" in whole(project.pieces("f", HOSTILE))
    assert not started


def test_a_module_whose_name_is_no_files_is_left_out(project: Project) -> None:
    project.write(models=MODELS)
    name = "a" * 300
    text = f"from {name} import Thing\nfrom models import Order\ndef f(x: Thing, order: Order):\n    'Doc.'\n"
    shown = whole(project.pieces("f", text))
    assert "class Order" in shown
    assert f"# from {name}" not in shown


def test_modules_that_import_all_of_each_other_end(project: Project) -> None:
    everything = "".join(f"from m{index} import *\n" for index in range(40))
    modules = {f"m{index}": everything for index in range(40)}
    project.write(**modules, found=f"from m0 import *\n{MODELS}")
    text = "from {} import Order\ndef f(order: Order):\n    'Doc.'\n"
    assert "class Order" not in whole(project.pieces("f", text.format("m0")))
    assert "class Order" in whole(project.pieces("f", text.format("found")))
