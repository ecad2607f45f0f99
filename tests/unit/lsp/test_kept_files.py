"""Kept results on disk: a result that was written can be read, and nothing else."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adacoder.domain import Candidate, Edit
from adacoder.lsp.jobs.kept_files import KeptFiles
from adacoder.lsp.jobs.results import MOST_KEPT, KeptResult
from adacoder.lsp.snapshot import Uri

SOURCE = 'def f(x):\n    """Twice.\n    """\n    return x\n'
AT = SOURCE.index("    return")
DOCUMENTED = SOURCE.index('    """\n    return')


@pytest.fixture
def place(tmp_path: Path) -> Path:
    file = tmp_path / "a.py"
    file.write_text(SOURCE, encoding="utf-8")
    return file


@pytest.fixture
def files(tmp_path: Path) -> KeptFiles:
    return KeptFiles(tmp_path, tmp_path / "storage")


def result(place: Path, job_id: str = "j", body: str = "    return 2 * x\n", **more: Any) -> KeptResult:
    edits = (Edit(AT, len(SOURCE), body),)
    source = SOURCE[:AT] + body
    candidate = Candidate("def f(x):\n    return 2 * x", ("import math",), ("A = 1",))
    values = {"candidate": candidate, "additions": edits, "written": source, "score": "2/2 examples", "reach": (2,)}
    about = (job_id, Uri(place.as_uri()), place, "f", "def f(x):", SOURCE)
    return KeptResult(*about, **{**values, **more})


def examples(place: Path, text: str = "    >>> f(1)\n    2\n", start: int = DOCUMENTED) -> KeptResult:
    edits = (Edit(start, start, text),)
    written = SOURCE[:start] + text + SOURCE[start:]
    return result(place, candidate=None, additions=edits, written=written, score="not reviewed", reach=(1,))


def test_what_is_written_comes_back_the_oldest_first_and_is_unverified_until_it_ran(
    files: KeptFiles, place: Path
) -> None:
    kept = [result(place, "one", above=1), examples(place)]
    for each in kept:
        files.save(each)
    one, other = files.load()
    assert [one.score, other.score] == ["unverified", "not reviewed"], "no file says that anything is verified"
    assert (one.above, other.above) == (1, 0)
    assert (one.candidate, one.additions, one.written, one.reach) == (
        kept[0].candidate,
        kept[0].additions,
        kept[0].written,
        (2,),
    )
    assert (other.candidate, other.written) == (None, kept[1].written)
    files.remove("one")
    assert [each.job_id for each in files.load()] == ["j"]
    files.clear()
    assert files.load() == []


def test_files_are_of_this_user_alone(files: KeptFiles, place: Path, tmp_path: Path) -> None:
    files.save(result(place))
    folder = tmp_path / "storage" / "kept"
    assert [stat.S_IMODE(each.stat().st_mode) for each in (folder, *folder.iterdir())] == [0o700, 0o600]


def test_workspaces_have_nothing_of_each_other(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    KeptFiles(tmp_path / "one").save(result(place))
    assert KeptFiles(tmp_path / "two").load() == []
    assert len(KeptFiles(tmp_path / "one").load()) == 1


def test_there_are_never_too_many_nor_too_much(files: KeptFiles, place: Path, tmp_path: Path) -> None:
    for number in range(MOST_KEPT + 3):
        files.save(result(place, str(number)))
    assert [each.job_id for each in files.load()] == [str(number) for number in range(3, MOST_KEPT + 3)]
    files.save(result(place, "long", "#" * (1 << 18)))
    assert "long" not in [each.job_id for each in files.load()]
    for number in range(MOST_KEPT):
        files.save(result(place, f"large {number}", f"    return {'#' * 200_000}\n"))
    assert sum(each.stat().st_size for each in (tmp_path / "storage" / "kept").iterdir()) <= 1 << 22
    assert files.load()[-1].job_id == f"large {MOST_KEPT - 1}"


def test_the_result_of_a_file_that_is_gone_is_removed(files: KeptFiles, place: Path, tmp_path: Path) -> None:
    files.save(result(place))
    place.unlink()
    assert files.load() == []
    assert [*(tmp_path / "storage" / "kept").iterdir()] == []


def _changed(**members: object) -> Callable[[Path], object]:
    def change(file: Path) -> None:
        file.write_text(json.dumps({**json.loads(file.read_text(encoding="utf-8")), **members}), encoding="utf-8")

    return change


def _without(key: str) -> Callable[[Path], object]:
    def change(file: Path) -> None:
        members = json.loads(file.read_text(encoding="utf-8"))
        del members[key]
        file.write_text(json.dumps(members), encoding="utf-8")

    return change


def _link(file: Path) -> None:
    file.rename(file.with_name("other"))
    file.symlink_to("other")


def _link_the_folder(file: Path) -> None:
    file.parent.rename(file.parent.with_name("other"))
    file.parent.symlink_to("other")


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


CANDIDATE = {"function": "def f(x): return 1", "imports": [], "definitions": [], "cut": False}
ATTACKS: dict[str, Callable[[Path], object]] = {
    "a link": _link,
    "a hard link": lambda file: os.link(file, file.with_name("other")),
    "a link to the folder": _link_the_folder,
    "a folder that others can write": lambda file: file.parent.chmod(0o777),
    "a file that others can read": lambda file: file.chmod(0o644),
    "a pipe": _pipe,
    "nothing": lambda file: file.write_bytes(b""),
    "half of it": lambda file: file.write_bytes(file.read_bytes()[:-9]),
    "no text": lambda file: file.write_bytes(b"\xff" * 99),
    "something deep": lambda file: file.write_bytes(b"[" * 100_000),
    "no object": lambda file: file.write_text("[1]", encoding="utf-8"),
    "another version": _changed(version=2),
    "another job": _changed(jobId="other"),
    "no file": _changed(uri="untitled:a"),
    "another scheme": _changed(uri="https://example.org/a.py"),
    "an address of no kind": _changed(uri="file://[/a"),
    "a NUL": _changed(uri="file:///a%00b"),
    "a name of no kind": _changed(qualifiedName="f; import os"),
    "half a character": _changed(signature="\ud800"),
    "a candidate of no kind": _changed(candidate="def f(x): return 1"),
    "imports of no kind": _changed(candidate={**CANDIDATE, "imports": "os"}),
    "a cut that is no truth value": _changed(candidate={**CANDIDATE, "cut": 0}),
    "edits outside": _changed(edits=[[0, 10**6, ""]]),
    "edits that end before they begin": _changed(edits=[[5, 1, ""]]),
    "edits of no kind": _changed(edits=[[True, 2, ""]]),
    "evidence of no kind": _changed(reach=["verified"]),
    "evidence without end": _changed(reach=[2] * 9),
    "a number without end": _changed(reach=[10**30]),
    "no evidence": _without("reach"),
    "no source": _without("source"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_another_could_have_put_there_is_left_out_with_one_line(
    attack: str, files: KeptFiles, place: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files.save(result(place))
    (file,) = (tmp_path / "storage" / "kept").iterdir()
    assert len(files.load()) == 1, "the control: untouched it is read"
    ATTACKS[attack](file)
    assert files.load() == []
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("text", "start", "fits"),
    [
        ("    >>> f(1)\n    2\n", DOCUMENTED, True),
        ('    """\n    import os\n    """\n', DOCUMENTED, False),
        ("    import os\n", AT, False),
        ("@cache\n", 0, False),
        ("x = 1\n", len(SOURCE), False),
        ("    return (", AT, False),
        ("", AT, False),
    ],
)
def test_suggested_examples_from_disk_change_a_docstring_and_no_code(
    text: str, start: int, fits: bool, files: KeptFiles, place: Path
) -> None:
    files.save(examples(place, text, start))
    assert bool(files.load()) is fits
