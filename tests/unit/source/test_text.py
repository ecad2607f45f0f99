"""Files are read and written without losing a byte. Edits and positions."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adacoder.domain import Edit, TargetError
from adacoder.pytext import Lines
from adacoder.source.text import FileError, PositionEncoding, apply_edits, offset_at, position_at, read, write

ENCODINGS: list[PositionEncoding] = ["utf-8", "utf-16", "utf-32"]
TEXTS = st.text(alphabet=st.sampled_from("ab\t\f\n\r\x1c\u2028é€😀\ud800"), max_size=40)


@pytest.mark.parametrize(
    ("data", "encoding", "bom"),
    [
        (b"x = 1\n", "utf-8", False),
        (b"\xef\xbb\xbfx = '\xc3\xa9'\r\n", "utf-8", True),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "iso-8859-1", False),
        (b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = '\x80'", "cp1252", False),
        (b"", "utf-8", False),
        (b"#!/usr/bin/python\r# coding: latin-1\rx = '\xe9'\r", "iso-8859-1", False),
    ],
)
def test_what_was_read_is_written_byte_for_byte(data: bytes, encoding: str, bom: bool, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(data)
    file = read(path)
    assert (file.encoding, file.bom) == (encoding, bom)
    write(file, file.text, path.parent)
    assert path.read_bytes() == data
    write(file, file.text + "# end", path.parent)
    assert path.read_bytes() == data + b"# end"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\xff\xfe\x00", "not Python text"),
        (b"# coding: nonsense\n", "not Python text"),
        (b"# coding: hex\n", "not Python text"),
        (b"\xef\xbb\xbf# coding: latin-1\n", "not Python text"),
        (b"a\0b", "NUL"),
        (b"# coding: utf-7\nx = '+AGE-'\n", "could not be written back byte for byte in utf-7: convert it to UTF-8"),
    ],
)
def test_what_is_no_python_text_is_refused(data: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(data)
    with pytest.raises(TargetError, match=says):
        read(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="There is no file"):
        read(tmp_path / "none.py")
    with pytest.raises(TargetError, match="is a directory"):
        read(tmp_path)
    with pytest.raises(TargetError, match="not a regular file"):
        read(Path(os.devnull))


def test_a_file_that_changed_meanwhile_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text("x = 1\n", encoding="utf-8")
    file = read(path)
    path.write_text("x = 2\n", encoding="utf-8")
    with pytest.raises(FileError, match="changed in the meantime"):
        write(file, "x = 3\n", tmp_path)
    assert path.read_text(encoding="utf-8") == "x = 2\n"
    write(read(path), "x = 3\n", tmp_path)
    assert path.read_text(encoding="utf-8") == "x = 3\n"


def test_a_character_without_bytes_in_the_files_encoding_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"# coding: latin-1\n")
    with pytest.raises(FileError, match="iso-8859-1, which has no '€'"):
        write(read(path), "# coding: latin-1\nx = '€'\n", tmp_path)
    assert path.read_bytes() == b"# coding: latin-1\n"


def test_mode_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "m.py", tmp_path / "link.py"
    path.write_text("x = 1\n", encoding="utf-8")
    path.chmod(0o751)
    link.symlink_to(path)
    write(read(link), "x = 2\n", tmp_path)
    assert link.is_symlink()
    assert path.read_text(encoding="utf-8") == "x = 2\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link.py", "m.py"]


@pytest.mark.usefixtures("not_root")
@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_read_only_file_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text("x = 1\n", encoding="utf-8")
    path.chmod(0o444)
    with pytest.raises(FileError, match="cannot be written"):
        write(read(path), "x = 2\n", tmp_path)
    assert path.read_text(encoding="utf-8") == "x = 1\n"


@given(TEXTS, st.data())
def test_edits_replace_what_they_name_and_nothing_else(text: str, data: st.DataObject) -> None:
    points = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=4, max_size=4)))
    assume(points[0] < points[2])  # two insertions at one position keep their order
    edits = [Edit(points[2], points[3], "SECOND"), Edit(points[0], points[1], "FIRST")]
    first, second, third = text[: points[0]], text[points[1] : points[2]], text[points[3] :]
    assert apply_edits(text, edits) == f"{first}FIRST{second}SECOND{third}"


@pytest.mark.parametrize("edits", [[Edit(0, 3, ""), Edit(2, 4, "")], [Edit(0, 9, "")], [Edit(2, 1, "")]])
def test_edits_that_overlap_or_leave_the_text_are_refused(edits: list[Edit]) -> None:
    with pytest.raises(ValueError, match="overlaps"):
        apply_edits("abcdef", edits)


@given(TEXTS, st.sampled_from(ENCODINGS), st.data())
def test_a_position_leads_back_to_its_offset(text: str, encoding: PositionEncoding, data: st.DataObject) -> None:
    lines = Lines(text)
    offset = data.draw(st.integers(0, len(text)))
    line, character = position_at(text, offset, encoding)
    between = text[offset - 1 : offset + 1] == "\r\n"  # positions that no editor uses
    assert offset_at(lines, line, character, encoding) == (lines.end(line) if between else offset)


@given(TEXTS, st.sampled_from(ENCODINGS), st.integers(-3, 20), st.integers(-3, 99))
def test_any_position_leads_into_its_line(text: str, encoding: PositionEncoding, line: int, character: int) -> None:
    lines = Lines(text)
    offset = offset_at(lines, line, character, encoding)
    if 0 <= line < len(lines):
        assert lines.starts[line] <= offset <= lines.end(line)
        assert position_at(text, offset, encoding)[1] <= max(character, 0)
    else:
        assert offset == (0 if line < 0 else len(text))


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 6), ("utf-16", 3), ("utf-32", 2)])
def test_characters_are_counted_in_the_encodings_units(encoding: PositionEncoding, character: int) -> None:
    assert position_at("\né😀x", 3, encoding) == (1, character)


def test_positions_beyond_an_end_are_that_end() -> None:
    lines = Lines("ab\r\ncd")
    assert offset_at(lines, 0, 99, "utf-16") == 2
    assert offset_at(lines, 9, 0, "utf-16") == 6
    assert offset_at(Lines("😀b"), 0, 1, "utf-16") == 0
