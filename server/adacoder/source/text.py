"""A user's file and its text: reading and writing without losing a byte, edits, and positions.

Offsets in AdaCoder are code points; editors count in UTF-8, UTF-16 or UTF-32 units of one line. Only here are the two
turned into each other.
"""

from __future__ import annotations

import codecs
import io
import os
import tempfile
import tokenize
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from adacoder.domain import AdaCoderError, Edit, TargetError
from adacoder.pytext import Lines

PositionEncoding = Literal["utf-8", "utf-16", "utf-32"]
"""The units that characters of a position are counted in (LSP `PositionEncodingKind`)."""


class FileError(AdaCoderError):
    """A file cannot be written; it is as it was."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of Python text as it was read."""

    path: Path
    text: str
    """Line endings as they are in the file; no byte order mark."""
    encoding: str
    """As the coding cookie or byte order mark says; `utf-8` where neither does."""
    bom: bool
    data: bytes
    """The bytes that were read."""

    def encode(self, text: str) -> bytes:
        """`text` as bytes of this file.

        Raises:
            FileError: the file's encoding has no bytes for a character of `text`.
        """
        try:
            data = text.encode(self.encoding)
        except UnicodeEncodeError as error:
            character = text[error.start]
            raise FileError(
                f"{self.path} is written in {self.encoding}, which has no {character!r}: change its coding line."
            ) from None
        return codecs.BOM_UTF8 + data if self.bom else data


def read(path: Path) -> SourceFile:
    """The Python file at `path`.

    Raises:
        TargetError: there is no such file, or it is no Python text.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise TargetError(f"There is no file {path}: check the path.") from None
    except IsADirectoryError:
        raise TargetError(f"{path} is a directory: name a Python file in it.") from None
    except OSError as error:
        raise TargetError(f"{path} cannot be read ({error.strerror}): check its permissions.") from None
    bom = data.startswith(codecs.BOM_UTF8)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        encoding = "utf-8" if bom else encoding
        text = data[3 * bom :].decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        raise TargetError(f"{path} is no Python text: its bytes do not fit its encoding.") from None
    if "\0" in text:
        raise TargetError(f"{path} is no Python text: it holds NUL characters.")
    return SourceFile(path, text, encoding, bom, data)


def write(file: SourceFile, text: str) -> None:
    """Make `text` the whole content of `file`, or leave the file as it is: never something in between.

    Raises:
        FileError: the file has changed since it was read, or cannot be written.
    """
    data = file.encode(text)
    path = file.path.resolve()
    try:
        if path.read_bytes() != file.data:
            raise FileError(f"{file.path} changed in the meantime and was left as it is: run the command again.")
        _replace(path, data)
    except OSError as error:
        raise FileError(f"{file.path} cannot be written ({error.strerror}): check its permissions.") from None


def _replace(path: Path, data: bytes) -> None:
    mode = path.stat().st_mode
    if not os.access(path, os.W_OK):
        raise PermissionError(13, "it is read-only")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        temporary.chmod(mode & 0o7777)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """`text` with `edits`, all of whose offsets are in `text`, applied at once.

    Raises:
        ValueError: edits overlap, or lie outside `text`.
    """
    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if not done <= edit.start <= edit.end <= len(text):
            raise ValueError(f"{edit} overlaps another edit or lies outside the text")
        parts += [text[done : edit.start], edit.text]
        done = edit.end
    return "".join([*parts, text[done:]])


def position_at(lines: Lines, offset: int, encoding: PositionEncoding) -> tuple[int, int]:
    """The 0-based line and character of `offset`."""
    line = lines.line_at(offset)
    return line, _units(lines.text[lines.starts[line] : offset], encoding)


def offset_at(lines: Lines, line: int, character: int, encoding: PositionEncoding) -> int:
    """The offset of a 0-based position; beyond the end of a line it is that end, beyond the text the text's end.

    A character in the middle of a code point belongs to that code point's start.
    """
    if line >= len(lines):
        return len(lines.text)
    start, end = lines.starts[line], lines.end(line)
    if encoding == "utf-32" or lines.text[start:end].isascii():
        return min(start + character, end)
    units = 0
    for offset in range(start, end):
        units += _units(lines.text[offset], encoding)
        if units > character:
            return offset
    return end


def _units(text: str, encoding: PositionEncoding) -> int:
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(character > "\uffff" for character in text)
