"""Store the latest ended jobs, and the results that can still be inserted (kept results).

Kept results are counted separately from jobs, because some come from an earlier run of the server.

A kept result belongs to a function with a certain name and parameters. If the file has several functions of that name,
the result belongs to the function whose text is unchanged. If several have this text, they are counted from above.
Before the result is inserted, it is evaluated again in the current text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from adacoder.domain import JSON, AdaCoderError, Candidate, Edit, Outcome, Status, Target, TargetError
from adacoder.journal import Evaluated
from adacoder.lsp.from_proto import UNNAMED
from adacoder.lsp.snapshot import renamed
from adacoder.pytext import line_number
from adacoder.report.step_words import brief_score
from adacoder.source.locate import starts
from adacoder.source.notebook import alone
from adacoder.source.signature import same_parameters
from adacoder.source.text import apply_edits
from adacoder.task import Mode

if TYPE_CHECKING:
    from adacoder.lsp.snapshot import Snapshot, Uri

MOST_KEPT = 32
"""Maximum number of kept results."""
_MOST_ENDED = 64
"""Maximum number of ended jobs."""
_MOST_WISHES = 200
_VERIFIED = 2
"""Rank of a verified result. `reach_of` defines the ranks."""
_CANDIDATES = 4
"""Maximum number of earlier candidates. A new candidate must differ from each of them."""


@dataclass(frozen=True, slots=True)
class EndedJob:
    """Record of a job that has ended."""

    id: str
    uri: Uri
    mode: Mode | None
    """The mode of the job, or None if the job inserted the kept result of another job."""
    outcome: Outcome
    folder: Path
    """The workspace folder of the job."""
    answer: Mapping[str, JSON]
    """The answer for a client that waits for the job with `adacoder/run`."""

    @property
    def candidate(self) -> Candidate | None:
        """The candidate that the job wrote, or None if nothing can be inserted."""
        return self.outcome.candidate if self.outcome.edits and self.mode not in (None, Mode.CHECK) else None

    def markdown(self) -> str:
        """Return the job's journal as a Markdown document."""
        from adacoder.report.journal_document import journal

        return journal(self.outcome, self.folder)


@dataclass(frozen=True, slots=True)
class EndedBatch:
    """Record of a batch of jobs that has ended."""

    id: str
    answer: Mapping[str, JSON]
    jobs: tuple[EndedJob, ...]
    """The jobs in the order in which they ran."""

    def markdown(self) -> str:
        """Return the journals of all jobs as one Markdown document."""
        return "\n\n".join(job.markdown() for job in self.jobs)


class ResultFiles(Protocol):
    """Storage for kept results that survives a restart."""

    def save(self, result: KeptResult) -> None:
        """Write a kept result."""

    def remove(self, job_id: str) -> None:
        """Remove the kept result of a job."""


class Results:
    """Store for ended jobs and kept results. Other threads may read from this store."""

    def __init__(self, dropped: Callable[[str], None] = lambda job_id: None) -> None:
        """Create an empty store. `dropped` is called with the job id of each result that is no longer kept."""
        self._dropped = dropped
        self._ended: dict[str, EndedJob | EndedBatch] = {}
        """Ended jobs and batches by id, the oldest first."""
        self._kept: dict[str, KeptResult] = {}
        """Kept results by the id of their job, the oldest first."""
        self._files: ResultFiles | None = None
        self._wishes: dict[tuple[Uri, str, int], str] = {}
        """The latest instructions of the user for each function.

        The key is the document, the function's name, and the number of functions of that name above the function.
        """

    # Ended jobs

    def end(self, ended: EndedJob | EndedBatch) -> None:
        """Store an ended job or batch.

        Only the latest batch is stored. If there are too many jobs, remove the oldest. Jobs that inserted a kept result
        are removed before other jobs.
        """
        if isinstance(ended, EndedBatch):
            self._ended = {key: each for key, each in self._ended.items() if isinstance(each, EndedJob)}
        self._ended[ended.id] = ended
        if len(self._ended) > _MOST_ENDED:
            insertions = (each.id for each in self._jobs() if each.mode is None and each is not ended)
            del self._ended[next(insertions, next(iter(self._ended)))]

    def renew(self, ended: EndedJob) -> None:
        """Replace the record of a job, if it is still stored."""
        if ended.id in self._ended:
            self._ended[ended.id] = ended

    def ended(self, job_id: str | None) -> EndedJob | EndedBatch | None:
        """Return an ended job or batch, or None if it is not stored."""
        return self._ended.get(job_id or "")

    def last(self, uri: Uri | None = None, qualname: str | None = None) -> str | None:
        """Return the id of the last job on a document or function. Ignore jobs that only inserted a kept result."""
        for job in reversed([*self._jobs()]):
            is_of_document = uri in (None, job.uri)
            if job.mode and is_of_document and qualname in (None, job.outcome.target.qualname):
                return job.id
        return None

    def candidates(self, target: Target) -> tuple[Candidate, ...]:
        """Return the latest candidates for the function `target`, the latest last.

        Candidates for other parameters are left out.
        """
        path, name = target.module.path, target.qualname
        kept = [each for each in self.latest() if (each.path, each.qualname) == (path, name)]
        found = [(each.signature, each.candidate) for each in reversed(kept)]
        found += [(job.outcome.target.signature, job.candidate) for job in self._jobs() if _same(job, target)]
        fitting = [each for signature, each in found if each and same_parameters(signature, target.signature)]
        latest_first = dict.fromkeys(reversed(fitting))
        return tuple(reversed([*latest_first][:_CANDIDATES]))

    @property
    def has_wishes(self) -> bool:
        """True if instructions for any function are stored."""
        return bool(self._wishes)

    def wish(self, uri: Uri, qualname: str, above: int, wish: str | None) -> str:
        """Return the user's instructions for a function, or an empty string.

        If `wish` is None, return the previous instructions. Otherwise store and return `wish`. `above` is the number of
        functions of the same name above the function.
        """
        key = (uri, qualname, above)
        latest = self._wishes.pop(key, "") if wish is None else wish
        if latest:
            self._wishes[key] = latest
            if len(self._wishes) > _MOST_WISHES:
                del self._wishes[next(iter(self._wishes))]
        else:
            self._wishes.pop(key, None)
        return latest

    def _jobs(self) -> Iterator[EndedJob]:
        return (each for each in list(self._ended.values()) if isinstance(each, EndedJob))

    # Kept results

    def restore(self, files: ResultFiles, results: Sequence[KeptResult]) -> None:
        """Add `results`, which were read from `files`. From now on, also write kept results to `files`."""
        found, self._kept = self._kept, {}
        for result in results:
            self.keep(result)
        self._files = files
        for result in found.values():
            self.keep(result)

    def keep(self, result: KeptResult) -> None:
        """Keep a result. A previous result that would insert the same text is replaced."""
        same = [each.job_id for each in self.of(result.uri) if each.equals(result)]
        for job_id in (*same, result.job_id):
            self.drop(job_id)
        self._kept[result.job_id] = result
        if self._files is not None:
            self._files.save(result)
        while len(self._kept) > MOST_KEPT:
            self.drop(next(iter(self._kept)))

    def kept(self, job_id: str | None) -> KeptResult | None:
        """Return the kept result of a job, or None."""
        return self._kept.get(job_id or "")

    def demanded(self, job_id: str | None) -> KeptResult:
        """Return the kept result of a job.

        Raises:
            AdaCoderError: the job has no kept result.
        """
        if job_id is None:
            raise AdaCoderError(UNNAMED)
        if (result := self.kept(job_id)) is None:
            raise AdaCoderError("No result of that job is kept: it was inserted or discarded, or is too old.")
        return result

    def of(self, uri: Uri) -> Sequence[KeptResult]:
        """Return the kept results for functions of a document, the latest first."""
        return [each for each in self.latest() if each.uri == uri]

    def latest(self) -> list[KeptResult]:
        """Return all kept results, the latest first."""
        return [*reversed(list(self._kept.values()))]

    def moved(self, old: str, new: str, path_of: Callable[[Uri], Path | None]) -> None:
        """Update kept results and instructions after the file or folder `old` was renamed to `new`.

        `path_of` converts a URI to a path.
        """
        self._wishes = {
            (renamed(uri, old, new) or uri, qualname, above): wish
            for (uri, qualname, above), wish in self._wishes.items()
        }
        for result in self.latest():
            if (uri := renamed(result.uri, old, new)) is not None:
                self._kept[result.job_id] = result = replace(result, uri=uri, path=path_of(uri) or result.path)
                if self._files is not None:
                    self._files.save(result)

    def drop(self, job_id: str) -> None:
        """Stop keeping the result of a job, and delete its file."""
        if self._kept.pop(job_id, None) is None:
            return
        if self._files is not None:
            self._files.remove(job_id)
        self._dropped(job_id)


def _same(job: EndedJob, target: Target) -> bool:
    mine = job.outcome.target
    return (mine.module.path, mine.qualname) == (target.module.path, target.qualname)


@dataclass(frozen=True, slots=True)
class KeptResult:
    """A result that can still be inserted."""

    job_id: str
    uri: Uri
    path: Path
    qualname: str
    signature: str
    source: str
    """Text of the function before the insertion."""
    written: str
    """Text of the function after the insertion."""
    candidate: Candidate | None
    """The code to insert. None if the result consists of examples for the docstring."""
    additions: tuple[Edit, ...]
    """Edits inside the function. Their offsets count from the start of `source`."""
    score: str
    """Short score, such as `2/2 examples` or `unverified`."""
    reach: tuple[int, ...]
    """Rank of the result when it was shown to the user. `reach_of` defines the ranks."""
    evaluated: tuple[str, ...] = ()
    """The texts of all candidates that the job evaluated, in order. A text may occur twice."""
    module: int | None = None
    """Hash of the module's text when the result was found. None for a result from a file."""
    above: int = 0
    """Number of functions above in the document that had the same name and text."""

    @classmethod
    def of(cls, outcome: Outcome, job_id: str, uri: Uri) -> KeptResult | None:
        """Return the result in an Outcome, or None if the Outcome has no edits."""
        target, edits = outcome.target, edits_of(outcome)
        if not edits:
            return None
        start = target.definition.start
        inside = tuple(
            Edit(edit.start - start, edit.end - start, edit.text)
            for edit in edits
            if target.header.end <= edit.end <= target.definition.end
        )
        return cls(
            job_id,
            uri,
            target.module.path,
            target.qualname,
            target.signature,
            target.source,
            apply_edits(target.source, inside),
            outcome.candidate,
            inside,
            score_of(outcome),
            reach_of(outcome),
            tuple(step.details.code for step in outcome.steps if isinstance(step.details, Evaluated)),
            _without_blank_lines(target.text),
            _equals_above(target),
        )

    @property
    def name(self) -> str:
        """Name of the function without its class."""
        return self.qualname.rpartition(".")[2]

    @property
    def kind(self) -> str:
        """`result` for code, `examples` for examples."""
        return "result" if self.candidate else "examples"

    @property
    def what(self) -> str:
        """Short description for titles and file names."""
        return f"AdaCoder's {self.kind} for '{self.name}'"

    def json(self) -> dict[str, JSON]:
        """Describe the result to a client."""
        return {"jobId": self.job_id, "uri": self.uri, "qualifiedName": self.qualname, "title": self.title}

    @property
    def title(self) -> str:
        """Short description with the score."""
        return f"{self.what} ({self.score})"

    def is_verified_in(self, text: str) -> bool:
        """Return whether the result was verified by this server in the module text `text`. Blank lines are ignored."""
        return self.candidate is not None and self.reach == (_VERIFIED,) and self.module == _without_blank_lines(text)

    def fits(self, target: Target) -> bool:
        """Return whether the result matches the function `target` and was not inserted yet."""
        if (self.path, self.qualname) != (target.module.path, target.qualname) or target.source == self.written:
            return False
        own = alone(target)
        if target.source == self.source and own.text.count(self.source) == 1:  # usual, and needs no parser
            return True
        if (start := self._start_in(own.text)) is not None:
            return start == own.definition.start
        return self.candidate is not None and same_parameters(self.signature, target.signature)

    def function_in(self, snapshot: Snapshot) -> Target:
        """Find the function of this result in a snapshot.

        If several functions have its name, return the function whose text is unchanged. If several have this text, they
        are counted from above.

        Raises:
            AdaCoderError: the function does not exist, or no longer matches the result.
        """
        code = snapshot.code
        start = self._start_in(code)
        target = (
            snapshot.find(qualname=self.qualname) if start is None else snapshot.find(line=line_number(code, start))
        )
        if not self.fits(target):
            raise TargetError(f"'{self.name}' now has other parameters, or already has that body.")
        return target

    def _start_in(self, code: str) -> int | None:
        """Return the offset of the function in a document if its text is unchanged, or None."""
        same = starts(code, self.qualname, self.source) if self.source in code else []
        return same[min(self.above, len(same) - 1)] if same else None

    def edits_in(self, target: Target) -> tuple[Edit, ...]:
        """Return the edits that insert the result into `target`."""
        from adacoder.source.splice import splice

        return self.additions_in(target) if self.candidate is None else splice(target, self.candidate).edits

    def additions_in(self, target: Target) -> tuple[Edit, ...]:
        """Return the edits that add the suggested examples to the docstring of `target`."""
        start = target.definition.start
        return tuple(Edit(start + each.start, start + each.end, each.text) for each in self.additions)

    def nth(self, number: object) -> str:
        """Return the text of a candidate by its number.

        Candidates are numbered from 1 in the order of their evaluation.

        Raises:
            AdaCoderError: the candidate does not exist.
        """
        count = len(self.evaluated)
        if not count:
            raise AdaCoderError("Only the result of that job is kept: insert it without 'candidate'.")
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= count:
            raise AdaCoderError(f"'candidate' must be a number from 1 to {count}.")
        return self.evaluated[number - 1]

    def equals(self, other: KeptResult) -> bool:
        """Return whether this result and `other` would insert the same text into the same function."""
        mine, theirs = ((each.qualname, each.candidate, each.written, each.above) for each in (self, other))
        return mine == theirs


def _equals_above(target: Target) -> int:
    """Return the number of functions above `target` in its document that have the same name and text."""
    if target.text.count(target.source) < 2:  # usual, and needs no parser
        return 0
    own = alone(target)
    return starts(own.text, own.qualname, own.source).index(own.definition.start)


def _without_blank_lines(text: str) -> int:
    return hash(tuple(filter(str.strip, text.splitlines())))


def edits_of(outcome: Outcome) -> tuple[Edit, ...]:
    """Return the edits that insert the candidate of an Outcome. The candidate may have passed only some examples."""
    if outcome.status is Status.PARTIAL and outcome.verdict is not None:
        return outcome.verdict.edits
    return outcome.edits


def read_reply(text: str, target: Target) -> Candidate:
    """Read a candidate from a model's reply, or from code that a client sends."""
    from adacoder.service import from_reply

    return from_reply(text, target)


def score_of(outcome: Outcome) -> str:
    """Return a short score for titles and messages, such as `2/3 examples`."""
    if outcome.candidate is None:
        return "not reviewed"
    is_told = outcome.status in (Status.VERIFIED, Status.PARTIAL)
    return brief_score(outcome.passed, outcome.total, outcome.tests) if is_told else "unverified"


def reach_of(outcome: Outcome) -> tuple[int, ...]:
    """Return the rank of an Outcome. A higher tuple is better.

    Verified ranks above unverified, and unverified above partial. Among partial Outcomes, more passed examples rank
    higher.
    """
    if outcome.status is Status.PARTIAL:
        return (0, outcome.passed)
    return (_VERIFIED if outcome.status is Status.VERIFIED else 1,)
