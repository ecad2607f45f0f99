"""`adacoder check --junit FILE` writes a report for systems that read JUnit's XML."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from support.commandline import Desk

pytestmark = pytest.mark.isolation

MIXED = '''"""Numbers.

>>> 1 + 1
3
"""


def right():
    """
    >>> right()
    1
    """
    return 1


def wrong():
    """
    >>> wrong()
    1
    """
    return "<\\x1b[2J\\x00&\\ufffe"


def skipped():
    """
    >>> skipped()  # doctest: +SKIP
    1
    """


def unused():
    """
    >>> 1 + 1
    2
    """
'''


def cases(root: ET.Element) -> dict[str, list[str]]:
    return {
        case.attrib["name"]: [each.tag for each in case if each.tag != "system-out"] for case in root.iter("testcase")
    }


def test_a_file_is_a_suite_and_a_docstring_a_case(desk: Desk) -> None:
    desk.write(MIXED, "numbers_.py")
    desk.write('def f():\n    """\n    >>> f()\n    1\n    """\n    return 1\n', "sub/other.py")
    ran = desk.run("check", "--junit", "report.xml")
    assert ran.code == 1
    assert ran.out.splitlines()[-1].startswith("Failed: 2 of 6 docstrings")
    root = ET.parse(desk.folder / "report.xml").getroot()
    assert root.tag == "testsuites"
    assert [(suite.attrib["name"], suite.attrib["tests"]) for suite in root] == [
        ("numbers_.py", "5"),
        ("sub/other.py", "1"),
    ]
    counts = {name: root.attrib[name] for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "6", "failures": "2", "errors": "0", "skipped": "2"}
    assert cases(root) == {
        "numbers_": ["failure"],
        "right": [],
        "wrong": ["failure"],
        "skipped": ["skipped"],
        "unused": ["skipped"],
        "f": [],
    }
    case = next(case for case in root.iter("testcase") if case.attrib["name"] == "wrong")
    assert (case.attrib["classname"], case.attrib["file"], case.attrib["line"]) == ("numbers_", "numbers_.py", "17")
    failure = case.find("failure")
    assert failure is not None
    assert failure.attrib["type"] == "wrong_output"
    assert failure.attrib["message"].startswith("The example on line 18 gave")
    assert "Failed example:\n    wrong()\nExpected:\n    1\nGot:\n    '<\\x1b[2J\\x00&\\ufffe'" in str(failure.text)
    reasons = [skipped.attrib["message"] for skipped in root.iter("skipped")]
    assert reasons[0] == "All examples of 'skipped' are skipped, so nothing could be verified."
    assert "'unused'" in reasons[1]
    assert not list(desk.folder.glob(".report*"))


def test_what_proves_nothing_fails_if_it_was_asked_for(desk: Desk) -> None:
    desk.write(MIXED, "numbers_.py")
    for name, kind, code in (("unused", ["failure"], 1), ("right", [], 0)):
        assert desk.run("check", f"numbers_.py::{name}", "--junit", "report.xml").code == code
        assert cases(ET.parse("report.xml").getroot()) == {name: kind}


def test_what_cannot_be_read_is_an_error_and_an_empty_report_is_one_too(desk: Desk) -> None:
    (desk.folder / "broken.py").write_bytes(b"\xff\xfe\0")
    ran = desk.run("check", "--json", "--junit", "report.xml")
    assert ran.code == 2
    assert [(result["target"], result["status"]) for result in ran.objects] == [("broken.py", "error")]
    root = ET.parse("report.xml").getroot()
    assert (root.attrib["tests"], root.attrib["errors"]) == ("1", "1")
    assert "broken.py is not Python text" in next(root.iter("error")).attrib["message"]
    (desk.folder / "broken.py").unlink()
    assert desk.run("check", "--junit", "report.xml", "--allow-empty").code == 0
    assert ET.parse("report.xml").getroot().attrib["tests"] == "0"


def test_a_module_that_fails_has_its_reason_in_every_case(desk: Desk) -> None:
    one = 'def {0}():\n    """\n    >>> {0}()\n    1\n    """\n    return 1\n\n\n'
    desk.write("import nowhere\n\n\n" + one.format("f") + one.format("g"), "a.py")
    assert desk.run("check", "--junit", "report.xml").code == 1
    failures = list(ET.parse("report.xml").getroot().iter("failure"))
    assert len(failures) == 2
    assert all("No module named 'nowhere'" in str(failure.text) for failure in failures)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("nowhere/report.xml", "No such file or directory"),
        ("a.py/report.xml", "Not a directory"),
        ("folder", "which is a folder"),
    ],
)
def test_where_no_report_can_be_written_nothing_is_run(place: str, why: str, desk: Desk) -> None:
    desk.write(MIXED, "a.py")
    (desk.folder / "folder").mkdir()
    ran = desk.run("check", "--junit", place)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.error_lines
    assert line.startswith("The report cannot be written to ")
    assert why in line


def test_a_report_takes_its_place_at_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write(MIXED, "a.py")
    report = desk.folder / "report.xml"
    report.write_text("the one before", encoding="utf-8")

    def full(path: Path, data: bytes) -> int:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        ran = desk.run("check", "--junit", "report.xml")
    assert ran.code == 2
    assert "No space left on device" in ran.err
    assert report.read_text("utf-8") == "the one before"
    assert sorted(path.name for path in desk.folder.iterdir()) == ["a.py", "pyproject.toml", "report.xml"]
    desk.run("check", "--junit", "report.xml")
    assert report.read_text("utf-8").startswith("<?xml")
