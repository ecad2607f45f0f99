"""`adacoder check --junit FILE`: write the results in the XML format that continuous integration systems read.

Each file is a suite, and each docstring is a case. A case is skipped if its examples prove nothing or are all skipped.
It fails instead if the user named this docstring.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from adacoder import report
from adacoder.cli.findings import Checked, NotChecked, kind_of, module_and_name, told
from adacoder.cli.output import shown_path
from adacoder.domain import Status
from adacoder.visible import visible

_NO_CHARACTERS = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}
"""Escapes for characters that XML excludes, except those that `visible` escapes."""
_KINDS = {
    Status.PARTIAL: "failure",
    Status.FAILED: "failure",
    Status.DENIED: "error",
    Status.UNVERIFIED: "skipped",
    Status.ERROR: "error",
    Status.CANCELLED: "error",
}
"""Names of the XML elements for cases that did not pass."""
_COUNTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def as_junit(all_found: Sequence[Checked], left: Sequence[NotChecked], seconds: float) -> bytes:
    """Return the report. `left` has the files and folders that were not checked."""
    suites: dict[Path, list[ET.Element]] = {}
    for found in all_found:
        suites.setdefault(found.outcome.target.module.path, []).append(_case(found))
    root = ET.Element("testsuites", name="adacoder check", time=f"{seconds:.3f}")
    for path, cases in suites.items():
        root.append(_suite(str(shown_path(path)), cases))
    if left:
        root.append(_suite("adacoder check", [_not_checked(each) for each in left]))
    _count(root, [case for suite in root for case in suite])
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _suite(name: str, cases: Sequence[ET.Element]) -> ET.Element:
    seconds = sum(float(case.attrib["time"]) for case in cases)
    suite = ET.Element("testsuite", name=_visible(name), time=f"{seconds:.3f}")
    _count(suite, cases)
    suite.extend(cases)
    return suite


def _count(element: ET.Element, cases: Sequence[ET.Element]) -> None:
    element.set("tests", str(len(cases)))
    for name, kind in _COUNTS.items():
        element.set(name, str(sum(case.find(kind) is not None for case in cases)))


def _case(found: Checked) -> ET.Element:
    outcome = found.outcome
    module, name = module_and_name(outcome.target)
    case = ET.Element(
        "testcase",
        classname=_visible(module),
        name=_visible(name),
        file=_visible(str(shown_path(outcome.target.module.path))),
        line=str(outcome.target.text.count("\n", 0, outcome.target.docstring_span.start) + 1),
        time=f"{outcome.seconds:.3f}",
    )
    kind = _kind(found)
    if kind is not None:
        message = " ".join(filter(None, [outcome.reason, *(outcome.notes if found.change else ())]))
        ended = ET.SubElement(case, kind, message=_visible(message))
        if kind != "skipped":
            ended.set("type", kind_of(found))
            ended.text = _visible("\n".join(told(outcome)) or outcome.reason or "")
    ET.SubElement(case, "system-out").text = _visible(report.summary(outcome))
    return case


def _kind(found: Checked) -> str | None:
    """Return the name of the XML element for a case that did not pass; None if it passed."""
    kind = _KINDS.get(found.outcome.status)
    if found.fails:
        return "failure" if kind in (None, "skipped") else kind
    is_told = found.change is not None and found.outcome.status is not Status.ERROR
    return "skipped" if kind and is_told else kind


def _not_checked(left: NotChecked) -> ET.Element:
    name = left.reason if left.path is None else str(shown_path(left.path))
    case = ET.Element("testcase", classname="adacoder", name=_visible(name), time="0.000")
    kind = "skipped" if left.is_skipped else "failure" if left.fails else "error"
    ended = ET.SubElement(case, kind, message=_visible(left.reason))
    if not left.is_skipped:
        ended.set("type", kind)
    return case


def _visible(text: str) -> str:
    """Escape control characters, and other characters that XML excludes."""
    return visible(text).translate(_NO_CHARACTERS)
