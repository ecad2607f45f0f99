"""The store of results: how the latest jobs ended, and the results that can still be inserted.

Everything about a job that has ended is read here: its answer, its journal, its candidates, and its kept result. Kept
results also come from earlier servers, so they have their own limit. The store writes them to files if `restore` has
named some.

A kept result belongs to a function, known by its name and parameters, not to a text. When the result is inserted, the
function is found in the current text and the result is evaluated there again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from adacoder.domain import JSON, AdaCoderError, Candidate, Edit, Outcome, Status, Target, TargetError
from adacoder.journal import Evaluated
from adacoder.source.signature import same_parameters
from adacoder.source.text import apply_edits
from adacoder.task import Mode

if TYPE_CHECKING:
    from adacoder.lsp.snapshot import Snapshot, Uri

MOST_KEPT = 32
"""Maximum number of kept results."""
_MOST_ENDED = 64
"""Maximum number of ended jobs."""
_CANDIDATES = 4
"""Maximum number of earlier candidates that another candidate must differ from."""


@dataclass(frozen=True, slots=True)
class EndedJob:
    """A job that has ended, with its Outcome."""

    id: str
    uri: Uri
    mode: Mode | None
    """None: it inserted the kept result of another job."""
    outcome: Outcome
    folder: Path
    """Its workspace folder."""
    answer: Mapping[str, JSON]
    """The answer to `adacoder/run`."""

    @property
    def candidate(self) -> Candidate | None:
        """The candidate that it wrote, if that could be inserted."""
        return self.outcome.candidate if self.outcome.edits and self.mode not in (None, Mode.CHECK) else None

    def markdown(self) -> str:
        """Its journal as a document."""
        from adacoder.report.journal_document import journal

        return journal(self.outcome, self.folder)


@dataclass(frozen=True, slots=True)
class EndedBatch:
    """The end of a batch of jobs."""

    id: str
    answer: Mapping[str, JSON]
    jobs: tuple[EndedJob, ...]
    """Its jobs in order."""

    def markdown(self) -> str:
        """The journals of its jobs as one document."""
        return "\n\n".join(job.markdown() for job in self.jobs)


class ResultFiles(Protocol):
    """Files that let kept results outlive the server."""

    def save(self, result: KeptResult) -> None:
        """Write a result."""

    def remove(self, job_id: str) -> None:
        """Remove the result of a job."""


class Results:
    """The results of one server's jobs. Threads may read it."""

    def __init__(self, dropped: Callable[[str], None] = lambda job_id: None) -> None:
        """`dropped` is called with the job id of each result that is no longer kept."""
        self._dropped = dropped
        self._ended: dict[str, EndedJob | EndedBatch] = {}
        """By id, the oldest first."""
        self._kept: dict[str, KeptResult] = {}
        """By the id of the job, the oldest first."""
        self._files: ResultFiles | None = None

    # Ended jobs

    def end(self, ended: EndedJob | EndedBatch) -> None:
        """Store the end of a job, or of a batch in place of the previous batch.

        If there are too many, forget the oldest insertion, else the oldest end. An end is never forgotten at once.
        """
        if isinstance(ended, EndedBatch):
            self._ended = {key: each for key, each in self._ended.items() if isinstance(each, EndedJob)}
        self._ended[ended.id] = ended
        if len(self._ended) > _MOST_ENDED:
            insertions = (each.id for each in self._jobs() if each.mode is None and each is not ended)
            del self._ended[next(insertions, next(iter(self._ended)))]

    def ended(self, job_id: str | None) -> EndedJob | EndedBatch | None:
        """The end of a job or batch, if it is stored."""
        return self._ended.get(job_id or "")

    def last(self, uri: Uri | None = None, qualname: str | None = None) -> str | None:
        """The id of the last job, insertions excluded. The arguments limit the search to a document or a function."""
        for job in reversed([*self._jobs()]):
            is_of_document = uri in (None, job.uri)
            if job.mode and is_of_document and qualname in (None, job.outcome.target.qualname):
                return job.id
        return None

    def candidates(self, target: Target) -> tuple[Candidate, ...]:
        """The latest candidates for a function with the parameters of `target`, the latest last."""
        kept = [each for each in self.of_file(target.module.path) if each.qualname == target.qualname]
        found = [(each.signature, each.candidate) for each in reversed(kept)]
        found += [(job.outcome.target.signature, job.candidate) for job in self._jobs() if _same(job, target)]
        fitting = [each for signature, each in found if each and same_parameters(signature, target.signature)]
        latest_first = dict.fromkeys(reversed(fitting))
        return tuple(reversed([*latest_first][:_CANDIDATES]))

    def _jobs(self) -> Iterator[EndedJob]:
        return (each for each in list(self._ended.values()) if isinstance(each, EndedJob))

    # Kept results

    def restore(self, files: ResultFiles, results: Sequence[KeptResult]) -> None:
        """Keep the results read from `files`, and from now on store all kept results there."""
        found, self._kept = self._kept, {}
        for result in results:
            self.keep(result)
        self._files = files
        for result in found.values():
            self.keep(result)

    def keep(self, result: KeptResult) -> None:
        """Keep a result. It replaces an equal result for the same function."""
        same = [each.job_id for each in self.of_file(result.path) if each.equals(result)]
        for job_id in (*same, result.job_id):
            self.drop(job_id)
        self._kept[result.job_id] = result
        if self._files is not None:
            self._files.save(result)
        while len(self._kept) > MOST_KEPT:
            self.drop(next(iter(self._kept)))

    def kept(self, job_id: str | None) -> KeptResult | None:
        """The kept result of a job."""
        return self._kept.get(job_id or "")

    def demanded(self, job_id: str | None) -> KeptResult:
        """The kept result of a job.

        Raises:
            AdaCoderError: the job has no kept result.
        """
        if (result := self.kept(job_id)) is None:
            raise AdaCoderError("No result of that job is kept: it was inserted or discarded, or is too old.")
        return result

    def of_file(self, path: Path) -> Sequence[KeptResult]:
        """The kept results for functions of a file, the latest first."""
        return [each for each in self.latest() if each.path == path]

    def latest(self) -> list[KeptResult]:
        """All kept results, the latest first."""
        return [*reversed(list(self._kept.values()))]

    def drop(self, job_id: str) -> None:
        """Stop keeping the result of a job."""
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
    """The function's text when the result was found."""
    written: str
    """The function's text with the result in it."""
    candidate: Candidate | None
    """None: the result is examples for the docstring."""
    additions: tuple[Edit, ...]
    """The edits that add such examples, as offsets in `source`."""
    score: str
    """Its evidence, for a title: `2/2 examples`, `unverified`."""
    reach: tuple[int, ...]
    """Its rank (see `reach_of`), as shown to the user."""
    evaluated: tuple[str, ...] = ()
    """Texts of all candidates of its job, in the order of the journal, including repeated ones."""

    @classmethod
    def of(cls, outcome: Outcome, job_id: str, uri: Uri) -> KeptResult | None:
        """The result that an Outcome leaves to be inserted, or None."""
        target, edits = outcome.target, edits_of(outcome)
        if not edits:
            return None
        start = target.definition.start
        inside = tuple(
            Edit(edit.start - start, edit.end - start, edit.text) for edit in edits if edit.end >= target.header.end
        )
        return cls(
            job_id,
            uri,
            target.module.path,
            target.qualname,
            target.signature,
            target.source,
            edited(target.source, inside),
            outcome.candidate,
            inside,
            score_of(outcome),
            reach_of(outcome),
            tuple(step.details.code for step in outcome.steps if isinstance(step.details, Evaluated)),
        )

    @property
    def name(self) -> str:
        """The function's own name."""
        return self.qualname.rpartition(".")[2]

    @property
    def what(self) -> str:
        """Description of the result, for titles."""
        return f"AdaCoder's {'result' if self.candidate else 'examples'} for '{self.name}'"

    def json(self) -> dict[str, JSON]:
        """The result as sent to a client."""
        return {"jobId": self.job_id, "uri": self.uri, "qualifiedName": self.qualname, "title": self.title}

    @property
    def title(self) -> str:
        """Description of the result with its evidence."""
        return f"{self.what} ({self.score})"

    def fits(self, target: Target) -> bool:
        """True if it can be inserted into `target` and is not there yet."""
        if (self.path, self.qualname) != (target.module.path, target.qualname) or target.source == self.written:
            return False
        if self.candidate is None:
            return target.source == self.source
        return same_parameters(self.signature, target.signature)

    def function_in(self, snapshot: Snapshot) -> Target:
        """Its function in a text.

        Raises:
            AdaCoderError: the function is not there, or the result does not fit it.
        """
        target = snapshot.find(qualname=self.qualname)
        if not self.fits(target):
            raise TargetError(f"'{self.name}' now has other parameters, or already has that body.")
        return target

    def in_module(self, target: Target) -> str:
        """The text of the function's module with the result in it."""
        from adacoder.source.splice import splice

        if self.candidate is None:
            return target.text.replace(self.source, self.written, 1)
        return apply_edits(target.text, splice(target, self.candidate).edits)

    def additions_in(self, target: Target) -> tuple[Edit, ...]:
        """The edits that add its examples to a docstring."""
        start = target.definition.start
        return tuple(Edit(start + each.start, start + each.end, each.text) for each in self.additions)

    def nth(self, number: object) -> str:
        """The text of the `number`-th candidate that its job evaluated, counted from 1.

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
        """True if both would write the same text into the same function."""
        mine, theirs = ((each.qualname, each.candidate, each.written) for each in (self, other))
        return mine == theirs


def edits_of(outcome: Outcome) -> tuple[Edit, ...]:
    """The edits that insert an Outcome's candidate, even if only some examples passed."""
    if outcome.status is Status.PARTIAL and outcome.verdict is not None:
        return outcome.verdict.edits
    return outcome.edits


def read_reply(text: str, target: Target) -> Candidate:
    """The candidate in a text of any origin."""
    from adacoder.service import from_reply

    return from_reply(text, target)


def score_of(outcome: Outcome) -> str:
    """Short form of the evidence for titles and messages, such as `2/3 examples`."""
    if outcome.candidate is None:
        return "not reviewed"
    is_told = outcome.status in (Status.VERIFIED, Status.PARTIAL)
    return f"{outcome.passed}/{outcome.total} examples" if is_told else "unverified"


def reach_of(outcome: Outcome) -> tuple[int, ...]:
    """Rank of an Outcome, for comparison: the rank of its status and, if partial, the number of passed examples."""
    if outcome.status is Status.PARTIAL:
        return (0, outcome.passed)
    return (2 if outcome.status is Status.VERIFIED else 1,)


def edited(text: str, edits: Sequence[Edit]) -> str:
    """Return `text` with the edits made, which must not overlap."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text
