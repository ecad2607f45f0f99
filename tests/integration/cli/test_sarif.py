"""`adacoder check --sarif FILE` writes a report for code scanning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commandline import Desk

pytestmark = pytest.mark.isolation

MIXED = '''
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
    >>> wrong() + 1
    3
    """
    return "\x1b[2J"
'''


def test_each_failure_is_a_result_at_its_line(desk: Desk) -> None:
    desk.write(MIXED, "a b.py")
    desk.write("def broken(:\n    pass\n", "broken.py")
    assert desk.run("check", "--sarif", "out.sarif").code == 2
    text = Path("out.sarif").read_text("utf-8")
    (run,) = json.loads(text)["runs"]
    places = [each["locations"][0]["physicalLocation"] for each in run["results"]]
    assert [(place["artifactLocation"]["uri"], place["region"]["startLine"]) for place in places] == [
        ("a%20b.py", 12),
        ("a%20b.py", 14),
    ]
    assert [each["ruleId"] for each in run["results"]] == ["wrong_output"] * 2
    assert run["tool"]["driver"]["rules"] == [{"id": "wrong_output"}]
    assert "\\u001b" not in text
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (trouble,) = invocation["toolExecutionNotifications"]
    assert trouble["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "broken.py"


def test_a_run_without_failures_has_no_results(desk: Desk) -> None:
    desk.write(MIXED.partition("def wrong")[0], "a.py")
    assert desk.run("check", "--sarif", "out.sarif", "--junit", "out.xml").code == 0
    (run,) = json.loads(Path("out.sarif").read_text("utf-8"))["runs"]
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]
    assert Path("out.xml").exists()


def test_a_report_that_cannot_be_written_ends_the_run_first(desk: Desk) -> None:
    desk.write(MIXED, "a.py")
    ran = desk.run("check", "--sarif", "nowhere/out.sarif")
    assert ran.code == 2
    assert "cannot be written" in ran.err
    assert ran.out == ""
