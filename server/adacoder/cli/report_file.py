"""Write a report of `adacoder check` completely or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from adacoder.domain import AdaCoderError


class ReportFile:
    """A file that is first written under another name and then replaced."""

    def __init__(self, path: Path) -> None:
        """Create a temporary file next to `path`.

        Raises:
            AdaCoderError: the file cannot be written there.
        """
        self._path = Path(os.path.abspath(path))  # noqa: PTH100  # resolve() would follow the links
        self._draft = self._path.with_name(f".{self._path.name[:100]}.{token_hex(8)}")
        if self._path.is_dir():
            raise AdaCoderError(f"The report cannot be written to {path}, which is a folder: name a file.")
        try:
            self._draft.touch(exist_ok=False)
        except OSError as error:
            raise self._refusal(error) from None

    def write(self, report: bytes) -> None:
        """Replace the file by the report.

        Raises:
            AdaCoderError: the report cannot be written.
        """
        try:
            self._draft.write_bytes(report)
            self._draft.replace(self._path)
        except OSError as error:
            raise self._refusal(error) from None

    def close(self) -> None:
        """Remove the temporary file, unless `write` has renamed it."""
        with suppress(OSError):
            self._draft.unlink(missing_ok=True)

    def _refusal(self, error: OSError) -> AdaCoderError:
        why = error.strerror or "the system refuses"
        return AdaCoderError(f"The report cannot be written to {self._path} ({why}): name another file.")
