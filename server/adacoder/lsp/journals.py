"""The journals of the latest jobs, as documents for an editor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from pathlib import Path

    from adacoder.domain import Outcome

_KEPT = 16
"""Maximum number of journals."""


@dataclass(frozen=True, slots=True)
class _Kept:
    uri: str
    outcome: Outcome
    folder: Path


class Journals:
    """The journals of the latest finished jobs."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        """By job id, the latest last."""

    def keep(self, job_id: str, uri: str, outcome: Outcome, folder: Path) -> None:
        """Keep the journal of a job on a function of `uri`. `folder` is its workspace folder."""
        self._kept[job_id] = _Kept(unquote(uri), outcome, folder)
        while len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]

    def last(self, uri: str | None = None, qualname: str | None = None) -> str | None:
        """The id of the last job. The arguments limit the search to a document or a function."""
        for job_id, kept in reversed(list(self._kept.items())):  # a copy, since threads call this
            if (uri is None or unquote(uri) == kept.uri) and qualname in (None, kept.outcome.target.qualname):
                return job_id
        return None

    def markdown(self, job_id: str) -> str | None:
        """The journal of a job, or None if it is unknown."""
        from adacoder.report.journal_document import journal

        kept = self._kept.get(job_id)
        return None if kept is None else journal(kept.outcome, kept.folder)
