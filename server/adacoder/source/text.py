"""Read and write a user's file without losing a byte, and convert the positions of editors.

AdaCoder counts characters as code points, and editors count UTF-8, UTF-16 or UTF-32 units. Only this module converts
between these units.
"""

from __future__ import annotations

import codecs
import os
import stat
import tokenize
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Literal

from adacoder.domain import AdaCoderError, Edit, TargetError
from adacoder.privacy.access import AccessDenied, leads_out, read_regular
from adacoder.pytext import Lines, line_number

PositionEncoding = Literal["utf-8", "utf-16", "utf-32"]
"""The unit of a position's character offset (LSP `PositionEncodingKind`)."""

LONGEST = 1_000_000
"""Maximum characters of a text or bytes of a file. The limit is small because the whole text is read whenever the
cursor moves."""


class FileError(AdaCoderError):
    """A file cannot be written. The file is unchanged."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The content of a Python file when it was read."""

    path: Path
    text: str
    """The text with the file's line endings, without a byte order mark."""
    encoding: str
    """The encoding from the coding cookie or byte order mark, else `utf-8`."""
    bom: bool
    data: bytes
    """The bytes that were read."""

    def encode(self, text: str) -> bytes:
        """Encode `text` with the file's encoding and byte order mark.

        Raises:
            FileError: the encoding cannot represent a character of `text`.
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
    """Read the Python file at `path`.

    Raises:
        TargetError: the file does not exist, cannot be read, is too long, is not Python text, or cannot be written back
            byte for byte.
    """
    try:
        status = path.stat()
        mode = status.st_mode
        if stat.S_ISDIR(mode):
            raise TargetError(f"{path} is a directory: name a Python file in it.")
        if not stat.S_ISREG(mode):
            raise TargetError(f"{path} is not a regular file: name a Python file.")
        must_be_short(path, status.st_size)
        data = read_regular(path, most=LONGEST)
    except AccessDenied:
        raise TargetError(f"{path} was replaced while it was read: run the command again.") from None
    except FileNotFoundError:
        raise TargetError(f"There is no file {path}: check the path.") from None
    except OSError as error:
        raise TargetError(f"{path} cannot be read ({error.strerror}): check its permissions.") from None
    return decoded(path, data)


def decoded(path: Path, data: bytes) -> SourceFile:
    """Decode the bytes `data` of the Python file at `path`.

    Raises:
        TargetError: the file is not Python text, or cannot be written back byte for byte.
    """
    bom = data.startswith(codecs.BOM_UTF8)
    try:
        # As in Python's tokenizer, the coding cookie may be on the second line, after any line ending.
        encoding, _ = tokenize.detect_encoding(iter(data.splitlines(keepends=True)).__next__)
        encoding = "utf-8" if bom else encoding
        text = data[3 * bom :].decode(encoding)
        is_lossless = text.encode(encoding) == data[3 * bom :]
    except (SyntaxError, UnicodeError, LookupError) as error:
        line = _undecodable_line(data, error)
        raise TargetError(f"{path} is not Python text: its bytes do not fit its encoding (line {line}).") from None
    if (at := text.find("\0")) >= 0:
        line = line_number(text, at) + 1
        raise TargetError(f"{path} is not Python text: it holds NUL characters (line {line}).")
    if not is_lossless:
        raise TargetError(f"{path} could not be written back byte for byte in {encoding}: convert it to UTF-8.")
    return SourceFile(path, text, encoding, bom, data)


def _undecodable_line(data: bytes, error: Exception) -> int:
    """Return the 1-based line of the undecodable bytes, or of the coding cookie that names an unknown encoding."""
    if not isinstance(error, UnicodeDecodeError):
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as found:
            error = found
    if isinstance(error, UnicodeDecodeError):
        return error.object.count(b"\n", 0, error.start) + 1
    return 1 if b"coding" in data.partition(b"\n")[0] else 2


def must_be_short(path: Path, size: int) -> None:
    """Raise an error if a text is too long to read. `size` is its number of characters or bytes.

    Raises:
        TargetError: the text is too long.
    """
    if size > LONGEST:
        raise TargetError(f"{path} has more than {LONGEST:,} characters: move the function into a smaller file.")


def write(file: SourceFile, text: str, workspace: Path) -> None:
    """Atomically replace the content of `file` by `text`.

    Symbolic links are followed if they stay in `workspace`. Hard links to the file keep the old content.

    Raises:
        FileError: the file has changed since it was read, is outside the workspace, or cannot be written.
    """
    data = file.encode(text)
    if leads_out(file.path, workspace):
        real = os.path.realpath(file.path)
        raise FileError(f"{file.path} leads out of the workspace, to {real}, which was left as it is: name that file.")
    path = Path(os.path.realpath(file.path))
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            # Another program may replace the folder's path. From here on, only the open folder is used.
            if os.path.realpath(path.parent) != str(path.parent) or not os.path.samestat(
                os.fstat(folder), path.parent.stat()
            ):
                raise FileError(f"{file.path} was moved in the meantime and was left as it is: run the command again.")
            if not os.access(path, os.W_OK):
                raise PermissionError(13, "it is read-only")
            _replace(file, path.name, data, folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise FileError(f"{file.path} cannot be written ({error.strerror}): check its permissions.") from None


def _replace(file: SourceFile, name: str, data: bytes, folder: int) -> None:
    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(handle, "rb") as stream:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode) or stream.read(len(file.data) + 1) != file.data:
            raise FileError(f"{file.path} changed in the meantime and was left as it is: run the command again.")
    temporary = f".{name}.{token_hex(4)}"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            os.fchmod(handle, mode & 0o7777)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Apply `edits`, whose offsets all refer to `text`.

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


def common_ends(one: Sequence[object], other: Sequence[object]) -> tuple[int, int]:
    """Return the length of the common prefix of two sequences, and the length of their common suffix.

    The two ends do not overlap.
    """
    head = _common_prefix(one, other)
    return head, _common_prefix(one[head:][::-1], other[head:][::-1])


def _common_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    differing = (index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))


def range_of(edit: Edit, text: str, encoding: PositionEncoding) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the positions of an edit's start and end in `text`."""
    return position_at(text, edit.start, encoding), position_at(text, edit.end, encoding)


def position_at(text: str, offset: int, encoding: PositionEncoding) -> tuple[int, int]:
    r"""Return the 0-based line and character of `offset`.

    An offset between `\r` and `\n` counts as the end of the line.
    """
    inside_terminator = text.startswith("\r\n", offset - 1) and offset > 0
    end = offset - inside_terminator
    start = max(text.rfind("\n", 0, end), text.rfind("\r", 0, end)) + 1
    return line_number(text, offset), _units(text[start:end], encoding)


def offset_at(lines: Lines, line: int, character: int, encoding: PositionEncoding) -> int:
    """Return the offset of a 0-based position.

    A position outside the text or a line counts as the nearest end. A position inside a code point counts as the start
    of the code point.
    """
    if line < 0:
        return 0
    if line >= len(lines):
        return len(lines.text)
    character = max(character, 0)
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
