"""`--write` and `--record` change nothing outside the workspace, wherever links lead.

Each form has a twin whose link leads to a place inside the workspace, which is written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from adacoder.cli import output
from adacoder.domain import Edit
from adacoder.source.text import apply_edits
from support.commandline import GOOD_REPLY, MODEL, SOLVED, STUB, Desk, Ran
from support.standins.ollama import StandIn


@pytest.fixture
def ws(desk: Desk) -> Path:
    """A workspace, with other files next to it."""
    for name in ("ws/pyproject.toml", "ws/common/shapes.py", "out/shapes.py"):
        path = desk.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(STUB if name.endswith(".py") else "", encoding="utf-8")
    return desk.folder / "ws"


def file(ws: Path, aim: Path) -> str:
    (ws / "linked.py").symlink_to(aim / "shapes.py")
    return "linked.py"


def relative(ws: Path, aim: Path) -> str:
    (ws / "deep").mkdir()
    (ws / "deep/linked.py").symlink_to(os.path.relpath(aim / "shapes.py", ws / "deep"))
    return "deep/linked.py"


def chain(ws: Path, aim: Path) -> str:
    (ws / "one.py").symlink_to("two.py")
    (ws / "two.py").symlink_to("three.py")
    (ws / "three.py").symlink_to(aim / "shapes.py")
    return "one.py"


def folder(ws: Path, aim: Path) -> str:
    (ws / "linked").symlink_to(aim)
    return "linked/shapes.py"


def folder_above(ws: Path, aim: Path) -> str:
    (ws / "linked").symlink_to(aim.parent)
    return f"linked/{aim.name}/shapes.py"


def through_a_circle(ws: Path, aim: Path) -> str:
    (ws / "here").symlink_to(".")
    return f"here/here/{folder(ws, aim)}"


FORMS = [file, relative, chain, folder, folder_above, through_a_circle]
Form = Callable[[Path, Path], str]


def write(desk: Desk, path: Path, *options: object) -> Ran:
    with StandIn([GOOD_REPLY]).in_thread() as standin:
        return desk.run(
            *("generate", f"{path}::hypotenuse", "--model", MODEL, "--host", standin.host, "--isolation", "none"),
            *(options or ("--write",)),
        )


def listed(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("form", FORMS)
def test_what_lies_elsewhere_is_not_written(form: Form, ws: Path, desk: Desk) -> None:
    out = desk.folder / "out"
    ran = write(desk, ws / form(ws, out))
    assert (ran.code, len(ran.error_lines)) == (2, 1)
    assert f"leads out of the workspace, to {out / 'shapes.py'}" in ran.err
    assert (out / "shapes.py").read_text("utf-8") == STUB
    assert listed(out) == {"shapes.py"}


@pytest.mark.parametrize("form", FORMS)
def test_what_lies_inside_is_written_where_it_lies(form: Form, ws: Path, desk: Desk) -> None:
    path = ws / form(ws, ws / "common")
    assert write(desk, path).code == 0
    assert (ws / "common/shapes.py").read_text("utf-8") == SOLVED
    assert listed(ws / "common") == {"shapes.py"}
    assert path.resolve() == ws / "common/shapes.py"


def test_a_workspace_that_is_reached_by_a_link_is_written(ws: Path, desk: Desk) -> None:
    (desk.folder / "link").symlink_to(ws)
    assert write(desk, desk.folder / "link/common/shapes.py").code == 0
    assert (ws / "common/shapes.py").read_text("utf-8") == SOLVED


def test_where_the_same_file_is_named_itself_it_is_written(desk: Desk, ws: Path) -> None:
    assert write(desk, desk.folder / "out/shapes.py").code == 0
    assert (desk.folder / "out/shapes.py").read_text("utf-8") == SOLVED
    assert ws.exists()


def _to_a_link(ws: Path, out: Path) -> None:
    (ws / "common/shapes.py").unlink()
    (ws / "common/shapes.py").symlink_to(out / "shapes.py")


def _to_a_linked_folder(ws: Path, out: Path) -> None:
    (ws / "common").rename(ws / "was")
    (ws / "common").symlink_to(out)


def _to_a_pipe(ws: Path, out: Path) -> None:
    (ws / "common/shapes.py").unlink()
    os.mkfifo(ws / "common/shapes.py")


@pytest.mark.parametrize("swap", [_to_a_link, _to_a_linked_folder, _to_a_pipe])
def test_what_becomes_a_link_while_the_model_writes_is_left_alone(
    swap: Callable[[Path, Path], None], ws: Path, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, applying = desk.folder / "out", apply_edits

    def swapped(text: str, edits: Sequence[Edit]) -> str:
        swap(ws, out)
        return applying(text, edits)

    monkeypatch.setattr(output, "apply_edits", swapped)
    ran = write(desk, ws / "common/shapes.py")
    assert ran.code == 2
    assert "out of the workspace" in ran.err or "cannot be written" in ran.err or "meantime" in ran.err
    assert (out / "shapes.py").read_text("utf-8") == STUB
    assert listed(out) == {"shapes.py"}


def test_a_hard_link_outside_keeps_what_it_held(ws: Path, desk: Desk) -> None:
    os.link(ws / "common/shapes.py", desk.folder / "out/same.py")
    assert write(desk, ws / "common/shapes.py").code == 0
    assert (ws / "common/shapes.py").read_text("utf-8") == SOLVED
    assert (desk.folder / "out/same.py").read_text("utf-8") == STUB


def test_the_mode_stays_and_no_others_can_read_it_meanwhile(
    ws: Path, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ws / "common/shapes.py"
    path.chmod(0o640)
    modes, replacing = [], os.replace

    def replaced(source: str, target: str, **options: int) -> None:
        modes.append(stat.S_IMODE(os.stat(source, dir_fd=options.get("src_dir_fd")).st_mode))
        replacing(source, target, **options)

    monkeypatch.setattr(os, "replace", replaced)
    assert write(desk, path).code == 0
    assert modes == [0o640]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("by_folder", [True, False])
def test_nothing_is_recorded_elsewhere(by_folder: bool, is_there: bool, ws: Path, desk: Desk) -> None:
    out = desk.folder / "out/authorized_keys"
    if is_there:
        out.touch()
    (ws / "talks").symlink_to(out.parent) if by_folder else (ws / "talk").symlink_to(out)
    log = ws / "talks" / out.name if by_folder else ws / "talk"
    ran = write(desk, ws / "common/shapes.py", "--record", log)
    assert ran.code == 2
    assert "it leads out of the workspace" in ran.err
    assert out.exists() is is_there
    assert not is_there or out.read_bytes() == b""


@pytest.mark.parametrize("aim", ["ws/common/new.talk", "out/new.talk"])
def test_a_recording_goes_where_the_user_says(aim: str, ws: Path, desk: Desk) -> None:
    (ws / "talk").symlink_to(desk.folder / aim)
    named = ws / "talk" if aim.startswith("ws/") else desk.folder / aim
    assert write(desk, ws / "common/shapes.py", "--record", named).code == 0
    assert "hypotenuse" in (desk.folder / aim).read_text("utf-8")
