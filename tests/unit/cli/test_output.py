"""Diffs that `patch` and `git apply` accept."""

from __future__ import annotations

from pathlib import Path

import pytest

from adacoder.cli.output import unified_diff
from adacoder.source.text import SourceFile, read


def file(folder: Path, data: bytes) -> SourceFile:
    path = folder / "m.py"
    path.write_bytes(data)
    return read(path)


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (b"a = 1\n", "a = 2\n", ["@@ -1 +1 @@", "-a = 1", "+a = 2"]),
        (b"a = 1", "a = 1\nb = 2\n", ["-a = 1", "\\ No newline at end of file", "+a = 1", "+b = 2"]),
        (b"a = 1\n", "a = 2", ["-a = 1", "+a = 2", "\\ No newline at end of file"]),
        (b"a = 1\r\nb = 2\r\n", "a = 1\r\nb = 3\r\n", [" a = 1\r", "-b = 2\r", "+b = 3\r"]),
        (b"\xef\xbb\xbfa = 1\nb = 2\n", "a = 1\nb = 3\n", [" \ufeffa = 1", "-b = 2", "+b = 3"]),
        (b"a = '\x0c'\nb = 2\n", "a = '\x0c'\nb = 3\n", [" a = '\x0c'", "-b = 2", "+b = 3"]),
    ],
    ids=["plain", "no newline before", "no newline after", "CRLF", "byte order mark", "form feed"],
)
def test_a_diff_keeps_what_ends_a_line_and_a_file(before: bytes, after: str, lines: list[str], tmp_path: Path) -> None:
    diff = unified_diff(file(tmp_path, before), after, Path("pkg") / "m.py")
    assert diff.startswith("--- a/pkg/m.py\n+++ b/pkg/m.py\n@@ ")
    assert diff.endswith("\n".join(lines) + "\n")


def test_a_file_elsewhere_is_named_by_its_whole_path(tmp_path: Path) -> None:
    found = file(tmp_path, b"a = 1\n")
    assert unified_diff(found, "a = 2\n", found.path).startswith(f"--- {found.path}\n+++ {found.path}\n")


def test_what_does_not_change_has_no_diff(tmp_path: Path) -> None:
    assert unified_diff(file(tmp_path, b"a = 1\n"), "a = 1\n", Path("m.py")) == ""
