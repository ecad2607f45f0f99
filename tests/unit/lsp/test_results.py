"""The store of results has either all parts of an ended job or none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from adacoder.domain import Candidate, Edit, Outcome, Status
from adacoder.lsp.jobs.results import MOST_KEPT, EndedBatch, EndedJob, KeptResult, Results
from adacoder.lsp.snapshot import Uri
from adacoder.source.locate import locate
from adacoder.task import Mode

FOLDER = Path("/project")
FILE = FOLDER / "demo v2.py"
URI = Uri(FILE.as_uri())
HEADER = "def f(x):"


def outcome(body: str = "return x", header: str = HEADER, name: str = "f") -> Outcome:
    text = header.replace(" f", f" {name}") + '\n    """Twice."""\n'
    target = locate(text, FILE, FOLDER, qualname=name)
    end = len(text)
    edits = (Edit(end, end, f"    {body}\n"),)
    return Outcome(Status.UNVERIFIED, target, candidate=Candidate(f"{header}\n    {body}"), edits=edits)


def ended(job_id: str, found: Outcome | None = None, mode: Mode | None = Mode.GENERATE) -> EndedJob:
    found = found or outcome()
    return EndedJob(job_id, URI, mode, found, FOLDER, {"jobId": job_id})


def kept(job_id: str, body: str = "return x") -> KeptResult:
    result = KeptResult.of(outcome(body), job_id, URI)
    assert result is not None
    return result


def bodies(candidates: Sequence[Candidate]) -> list[str]:
    return [each.function.rpartition("\n    ")[2] for each in candidates]


@pytest.mark.parametrize("displacing", [None, Mode.CHECK])
def test_the_answer_and_the_journal_of_a_job_go_together(displacing: Mode | None) -> None:
    results = Results()
    results.end(ended("first"))
    for number in range(1000):
        results.end(ended(f"{number}", mode=displacing))
        last = results.last(URI)
        known = results.ended(last)
        assert known is not None, "the id that it names is known"
        assert (known.answer["jobId"], known.markdown()[:1]) == (last, "#")
    assert (results.ended("first") is not None) is (displacing is None), "insertions are forgotten first"
    assert results.ended("999") is not None
    assert len(list(results._jobs())) == 64


def test_the_end_of_an_insertion_can_be_asked_for_after_many_jobs() -> None:
    results = Results()
    for number in range(64):
        results.end(ended(f"{number}"))
    for insertion in ("one", "other"):
        results.end(ended(insertion, mode=None))
        assert results.ended(insertion) is not None
    assert results.ended("one") is None, "an older insertion is forgotten"
    assert [results.ended(f"{number}") is None for number in (0, 1)] == [True, False]


def test_the_last_job_is_looked_for_by_document_and_function() -> None:
    results = Results()
    assert results.last() is None
    results.end(ended("f"))
    results.end(ended("g", outcome(name="g")))
    results.end(ended("insertion", mode=None))
    assert (results.last(), results.last(URI), results.last(Uri(URI.replace("%20", " ")))) == ("g", "g", "g")
    assert (results.last(URI, "f"), results.last(None, "f"), results.last(URI, "h")) == ("f", "f", None)
    assert results.last(Uri((FOLDER / "other.py").as_uri())) is None
    assert results.ended("insertion") is not None


def test_a_batch_has_all_its_jobs_and_replaces_the_previous_batch() -> None:
    results = Results()
    jobs = tuple(ended(f"{number}") for number in range(100))
    results.end(EndedBatch("old", {"summary": "old"}, jobs))
    results.end(EndedBatch("new", {"summary": "new"}, jobs))
    assert results.ended("old") is None
    batch = results.ended("new")
    assert batch is not None
    assert batch.markdown().count("# demo v2.py::f\n") == 100
    assert results.last() is None, "a batch is no job on a function"


def test_another_candidate_differs_from_those_that_were_written() -> None:
    results = Results()
    results.end(ended("check", outcome("return 0"), Mode.CHECK))
    results.end(ended("insertion", outcome("return 0"), None))
    for number, body in enumerate("123451"):
        results.end(ended(f"{number}", outcome(f"return {body}")))
    target = outcome().target
    assert bodies(results.candidates(target)) == ["return 3", "return 4", "return 5", "return 1"]
    assert results.candidates(outcome(name="g").target) == ()
    assert results.candidates(outcome(header="def f(y):").target) == (), "other parameters"
    results.keep(kept("of an earlier server", "return 9"))
    assert "return 9" not in bodies(results.candidates(target)), "four later ones are known"
    alone = Results()
    alone.keep(kept("of an earlier server", "return 9"))
    assert bodies(alone.candidates(target)) == ["return 9"]


def test_an_equal_result_is_kept_once_and_the_oldest_goes_first() -> None:
    dropped = list[str]()
    results = Results(dropped.append)
    results.keep(kept("a"))
    results.keep(kept("b"))
    assert (dropped, [each.job_id for each in results.latest()]) == (["a"], ["b"])
    for number in range(MOST_KEPT):
        results.keep(kept(f"{number}", f"return {number}"))
    assert dropped == ["a", "b"]
    assert (results.kept("b"), results.kept(None)) == (None, None)
    assert len(results.of(URI)) == MOST_KEPT
    assert results.of(Uri((FOLDER / "other.py").as_uri())) == []


class Written:
    """Stands for the files of kept results, and only records calls."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def save(self, result: KeptResult) -> None:
        self.done.append(f"save {result.job_id}")

    def remove(self, job_id: str) -> None:
        self.done.append(f"remove {job_id}")


def test_results_of_earlier_servers_come_first_and_later_ones_are_written() -> None:
    results, files = Results(), Written()
    results.keep(kept("early", "return 1"))
    results.restore(files, [kept("restored", "return 2")])
    assert [each.job_id for each in results.latest()] == ["early", "restored"]
    results.drop("restored")
    results.drop("unknown")
    assert files.done == ["save early", "remove restored"]
