"""Implement the tools. They use the same checks and requests as the command line and the editors."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from adacoder.agents.questions import question
from adacoder.aside import aside
from adacoder.changed import Changed, not_passed, notes
from adacoder.checks import Checks
from adacoder.domain import AdaCoderError, Candidate, Difference, Outcome, Status, Target, TargetError
from adacoder.mcp import tool_words as words
from adacoder.mcp.answers import (
    ChangedSince,
    Refusal,
    Result,
    different,
    judged,
    of_file,
    of_path,
    shown,
    since,
    with_altered,
    with_brief,
    with_code,
    with_question,
)
from adacoder.mcp.exchange import Caller
from adacoder.mcp.workplace import OpenFile, Workplace
from adacoder.models.errors import ModelError
from adacoder.project import python_files
from adacoder.revisions import read_at
from adacoder.sandbox.environment.choice import Choice, choose
from adacoder.sandbox.unavailable import IsolationRefused
from adacoder.service import Service, from_reply
from adacoder.source.changes import Altered, ChangeResult, Why, alterations
from adacoder.source.context import pieces
from adacoder.source.locate import Documented, counterpart, documented, functions, locate
from adacoder.source.text import apply_edits, write
from adacoder.task import Mode, Task

_MOST_CALLS = 16
"""Maximum number of calls that run at the same time."""
_FEW = 8
"""Up to this number of docstrings, each check imports the module again.

For more docstrings, processes that share one import are faster.
"""
_MOST_JOBS = 4
_MOST_CANDIDATES = 50
"""Maximum number of stored candidates. The tool `insert_verified` can only insert stored candidates."""
_BEAT_SECONDS = 5.0
_BEATS = 9
"""Number of times that `generate` waits for a job before it answers that the job is still running."""
_BEATS_BEFORE_QUESTION = 2
"""Maximum number of waits after which `generate` still asks the user a question.

After more waits, the next call asks the question, because agents limit the duration of a call.
"""
_LONGEST_CONTEXT = 2000
_LONGEST_DOCSTRING = 1500


@dataclass(frozen=True, slots=True)
class GenerateJob:
    """A running or finished request for a function."""

    place: tuple[str, str]
    """Path and name of the function, as the agent wrote them."""
    opened: OpenFile
    target: Target
    task: asyncio.Task[Outcome]


@dataclass(frozen=True, slots=True)
class InPlace:
    """A candidate that was evaluated in a file, with the Outcome."""

    opened: OpenFile
    candidate: Candidate
    outcome: Outcome
    altered: Altered
    """The differences between the file's examples and the examples in HEAD."""


class Tools:
    """The tools that one agent can call.

    Processes, candidates and jobs are kept for later calls.
    """

    def __init__(self, root: Path, *values: Mapping[str, object]) -> None:
        """Create the tools. The arguments are passed to `Workplace`."""
        self._place = Workplace(root, *values)
        self._service = Service()
        self._candidates: dict[str, Candidate] = {}
        self._jobs: dict[str, GenerateJob] = {}
        self._numbers = count(1)
        self._running = 0

    async def call(self, name: str, arguments: dict[str, str], caller: Caller) -> tuple[Result, bool]:
        """Call a tool. Return its result, and True if the result is an error."""
        tools: dict[str, Callable[..., Awaitable[Result]]] = {
            "check_examples": self._check,
            "verify_candidate": self._verify,
            "behaviour_diff": self._compare,
            "generate": self._generate,
            words.WRITES: self._insert,
        }
        more: dict[str, Any] = {"caller": caller} if name == "generate" else {}
        self._running += 1
        try:
            if self._running > _MOST_CALLS:
                raise Refusal("busy", "Too many calls are running.", "Wait for the other results, then call again.")
            return await tools[name](**arguments, **more), False
        except Refusal as refusal:
            return refusal.result, True
        except IsolationRefused:
            return _no_isolation().result, True
        except AdaCoderError as error:
            place = self._place.root / arguments.get("path", "")
            return of_file(of_path(place, self._place.root, "not_run", str(error)), words.NEXT), False
        finally:
            self._running -= 1

    async def close(self) -> None:
        """End all jobs and processes."""
        for job in self._jobs.values():
            job.task.cancel()
        await asyncio.gather(*(job.task for job in self._jobs.values()), return_exceptions=True)
        await self._service.close()

    async def _check(self, path: str = "", name: str | None = None, base: str = "") -> Result:
        if base:
            return await self._since(base, path, name)
        opened = await self._opened(path)
        try:
            named = [] if name is None else [await aside(OpenFile.find, opened, name)]
        except Refusal:
            if broken := await self._unparsed(opened):
                return broken
            raise
        found, others = (named, 0) if named else await aside(_with_examples, opened)
        outcomes = await self._checked(opened, found)
        has_run = any(each.verdict for each in outcomes)  # if an example ran, the file parses
        if not has_run and (broken := await self._unparsed(opened)):
            return broken
        counts = {} if name else {"without_examples": others}
        return await self._told(opened, outcomes, words.NEXT, is_named=name is not None, counts=counts)

    async def _unparsed(self, opened: OpenFile) -> Result | None:
        """If a file does not parse, return a result that says so. Otherwise return None."""
        texts = {opened.file.path: opened.file.text}
        broken = await self._service.unparsed(texts, opened.settings, opened.project)
        why = broken.get(opened.file.path)
        return (
            None if why is None else of_file(of_path(opened.file.path, self._place.root, "unparsed", why), words.NEXT)
        )

    async def _since(self, base: str, path: str, name: str | None) -> Result:
        """Check everything that changed since a commit. Also run the commit's examples on the new code."""
        top = await asyncio.to_thread(self._place.inside, path)
        if not await asyncio.to_thread(os.path.exists, top):
            raise Refusal(
                "not_python", f"There is no file '{path}'.", "Call again with the path of a file or a folder."
            )
        if name is not None:
            await aside(OpenFile.find, await self._opened(path), name)  # raises Refusal if there is no such name
        files = await asyncio.to_thread(lambda: list(python_files(top)) if top.is_dir() else [top])
        changed, checks = Changed(base, keeps=True), Checks()
        found, python = ChangedSince(), None
        try:
            for file in await changed.differing(top, files, {".py"}):
                try:
                    opened = await self._opened(str(file))
                except Refusal as refusal:
                    found.others.append(of_path(file, self._place.root, "unreadable", str(refusal)))
                    continue
                await self._check_changes(found, changed, checks, opened, name)
                python = python or await _python(opened)
        finally:
            await checks.close()
        if any(isinstance(outcome.trouble, IsolationRefused) for outcome, _ in found.checked):
            raise _no_isolation()
        found.folders_left_out = len(changed.skipped)
        weakened = await changed.weakened()
        found.others += [of_path(each.path, self._place.root, "weakened", each.what) for each in weakened]
        return await asyncio.to_thread(since, found, self._place.root, python)

    async def _check_changes(
        self, found: ChangedSince, changed: Changed, checks: Checks, opened: OpenFile, name: str | None
    ) -> None:
        """Check the changed functions of a file. With `name`, check only this function. Add the outcomes to `found`."""
        changes = await changed.compare(opened.file, opened.folder, every_function=False)
        wanted = [each for each in changes.changes if name in (None, each.now.target.qualname)]
        tasks = (changed.check(checks, _task(opened, each.now.target), each) for each in wanted)
        checked = await asyncio.gather(*tasks)
        found.checked += checked
        found.without_examples += len(changes.bare) if name is None else 0
        if not any(outcome.verdict for outcome, _ in checked):  # the file may not parse
            texts = {opened.file.path: opened.file.text}
            broken = await checks.unparsed(texts, opened.settings, opened.project)
            found.others += [of_path(path, self._place.root, "unparsed", why) for path, why in broken.items()]

    async def _checked(self, opened: OpenFile, found: list[Documented]) -> list[Outcome]:
        """Check docstrings. If there are many, use separate processes that import the module only once."""
        checks, once = (self._service, False) if len(found) <= _FEW else (Checks(), True)
        try:
            tasks = (checks.check(_task(opened, each.target), each.unreadable, once=once) for each in found)
            return list(await asyncio.gather(*tasks))
        finally:
            if once:
                await checks.close()

    async def _verify(self, path: str, name: str, code: str) -> Result:
        found = await self._judged(path, name, code)
        result = await self._told(found.opened, [found.outcome], words.NEXT_FOR_CANDIDATE)
        return {**with_altered(result, found.altered), "candidate": self._kept(found.candidate, path, name)}

    async def _insert(self, path: str, name: str, code: str = "", candidate: str = "") -> Result:
        start = self._candidates.get(candidate) or code
        if not start or (code and candidate):
            return {"verdict": "not_run", "next": words.UNKNOWN_CANDIDATE, "written": False}
        found = await self._judged(path, name, start)
        opened, outcome = found.opened, found.outcome
        result = await self._told(opened, [outcome], words.NEXT_AFTER_INSERT)
        if outcome.status is not Status.VERIFIED or not outcome.edits:
            return {**result, "written": False}
        try:  # without `await` up to the result, so that a cancellation cannot hide that the file was written
            write(opened.file, apply_edits(opened.file.text, outcome.edits), self._place.root)
        except AdaCoderError as error:
            told = await self._told(opened, [_not_run(outcome.target, error)], words.NEXT_AFTER_INSERT)
            return {**told, "written": False}
        return {**with_altered(result, found.altered), "written": True}

    async def _compare(self, path: str, name: str, base: str = "HEAD", code: str = "") -> Result:
        opened = await self._opened(path)
        target = await self._function(opened, name)
        now = target
        try:
            before = (await read_at(base, opened.file.path)).text
            then = await aside(counterpart, target, before, opened.folder)
            if then is None:
                raise TargetError("The earlier version of the file does not have this function.")
            if code:
                outcome = await self._evaluated(opened, target, await aside(from_reply, code, target))
                if outcome.verdict is None or not (outcome.verdict.edits or outcome.stands):
                    outcome = replace(outcome, status=Status.ERROR)  # without a result, nothing can be compared
                    return await self._told(opened, [outcome], words.NEXT_OF_DIFFERENCES)
                now = await aside(_placed, target, outcome, opened.folder)
            found = await self._service.compare(_task(opened, now), then)
        except IsolationRefused:
            raise
        except AdaCoderError as error:
            return await self._told(opened, [_not_run(target, error)], words.NEXT_OF_DIFFERENCES)
        return await asyncio.to_thread(different, found, await _python(opened), words.NEXT_OF_DIFFERENCES)

    async def _generate(self, path: str, name: str, job: str = "", *, caller: Caller) -> Result:
        number = job or await self._begun(path, name)
        begun = self._jobs.get(number)
        if begun is None or begun.place != (path, name):
            return {"verdict": "not_run", "next": words.UNKNOWN_JOB}
        try:
            for beat in range(1, _BEATS + 1):
                done, _ = await asyncio.wait({begun.task}, timeout=_BEAT_SECONDS)
                if done:
                    break
                caller.report(beat, _BEATS, "The model writes the function.")
        except asyncio.CancelledError:
            begun.task.cancel()
            await asyncio.wait({begun.task})
            self._jobs.pop(number, None)
            raise
        running: Result = {"verdict": "running", "next": words.NEXT_FOR_GENERATED["running"], "job": number}
        if not begun.task.done():
            return running
        if begun.task.cancelled():  # another call has cancelled this job
            self._jobs.pop(number, None)
            return {"verdict": "not_run", "next": words.UNKNOWN_JOB}
        if beat > _BEATS_BEFORE_QUESTION and caller.can_ask and _has_question(begun.task):
            return running
        self._jobs.pop(number, None)
        try:
            return await self._generated(begun, caller)
        except asyncio.CancelledError:  # the call was cancelled before the user answered
            self._jobs[number] = begun
            raise

    async def _begun(self, path: str, name: str) -> str:
        """Start a job, or find a finished job for the same function and text. Return the job's number."""
        opened = await self._opened(path)
        for number, begun in self._jobs.items():
            is_same = begun.place == (path, name) and begun.opened.file.data == opened.file.data
            if is_same and begun.task.done() and not begun.task.cancelled():
                return number
        target = await self._function(opened, name)
        done = [each for each, begun in self._jobs.items() if begun.task.done()]  # no call has fetched their results
        while done and len(self._jobs) >= _MOST_JOBS:
            del self._jobs[done.pop(0)]
        if len(self._jobs) >= _MOST_JOBS:
            raise Refusal("busy", "Too many jobs are running.", "Call generate with a running job, then call again.")
        number = f"j{next(self._numbers)}"
        work = asyncio.create_task(self._written(_task(opened, target)))
        self._jobs[number] = GenerateJob((path, name), opened, target, work)
        return number

    async def _written(self, task: Task) -> Outcome:
        outcome = await self._service.perform(Mode.GENERATE, task)
        asks = task.settings.cross_check and outcome.status is Status.VERIFIED
        return await self._service.cross_checked(task, outcome) if asks else outcome

    async def _generated(self, job: GenerateJob, caller: Caller) -> Result:
        outcome, altered = job.task.result(), Altered()
        if outcome.status is Status.VERIFIED and outcome.candidate is not None:
            outcome, altered = await self._with_earlier_examples(job.opened, outcome, outcome.candidate)
        result = with_altered(await self._told(job.opened, [outcome], words.NEXT_FOR_GENERATED), altered)
        if outcome.candidate is None or not outcome.candidate.function:
            if isinstance(outcome.trouble, ModelError):
                brief = await aside(_brief, job.opened, job.target)
                return with_brief({**result, "next": words.NO_MODEL}, brief)
            return result
        result = {**result, "candidate": self._kept(outcome.candidate, *job.place)}
        if (difference := _difference(outcome)) is not None:
            result = await _asked(result, difference, caller)
        return with_code(result, outcome.candidate.text)

    async def _judged(self, path: str, name: str, start: Candidate | str) -> InPlace:
        """Evaluate a candidate in the current text of the file. `start` is a Candidate or code."""
        opened = await self._opened(path)
        target = await self._function(opened, name)
        if isinstance(start, Candidate):  # the docstring of a stored candidate may be old, so it is ignored
            candidate, outcome = start, await self._service.recheck(replace(_task(opened, target), start=start))
        else:
            candidate = await aside(from_reply, start, target)
            outcome = await self._evaluated(opened, target, candidate)
        altered = Altered()
        if outcome.status is Status.VERIFIED:
            outcome, altered = await self._with_earlier_examples(opened, outcome, candidate)
        return InPlace(opened, candidate, outcome, altered)

    async def _with_earlier_examples(
        self, opened: OpenFile, outcome: Outcome, candidate: Candidate
    ) -> tuple[Outcome, Altered]:
        """If HEAD has other examples of the function, also run these. Add notes about failures to the outcome.

        Failures do not change the status, because the user may have changed the examples on purpose.
        """
        target = outcome.target
        then = None
        with suppress(AdaCoderError):  # the file may be missing in HEAD
            then = await aside(counterpart, target, (await read_at("HEAD", opened.file.path)).text, opened.folder)
        altered = Altered() if then is None else await aside(alterations, then.examples, target.examples)
        if then is None or not altered:
            return outcome, altered
        earlier = _task(opened, replace(target, examples=then.examples))
        lost = not_passed(await self._service.recheck(replace(earlier, start=candidate)))
        told = notes(ChangeResult(Why.CHANGED, altered, lost), "HEAD")
        return replace(outcome, notes=(*outcome.notes, *told)), altered

    async def _evaluated(self, opened: OpenFile, target: Target, candidate: Candidate) -> Outcome:
        if await aside(_has_other_docstring, candidate, target):
            return Outcome(Status.FAILED, target, words.OTHER_DOCSTRING, candidate)
        return await self._service.recheck(replace(_task(opened, target), start=candidate))

    async def _opened(self, path: str) -> OpenFile:
        return await asyncio.to_thread(self._place.open, path)

    async def _function(self, opened: OpenFile, name: str) -> Target:
        """Return the function `name`.

        Raises:
            Refusal: the function does not exist, or doctest cannot read its examples.
        """
        found = await aside(OpenFile.find, opened, name)
        if found.unreadable is not None or not found.target.is_function:
            message = f"'{name}' is not a function with readable examples."
            raise Refusal("no_such_function", message, "Call check_examples with this name to see the reason.")
        return found.target

    async def _told(self, opened: OpenFile, outcomes: list[Outcome], then: Mapping[str, str], **more: Any) -> Result:
        """Return the result for these outcomes.

        Raises:
            Refusal: the examples did not run, because this machine cannot isolate them.
        """
        if any(isinstance(each.trouble, IsolationRefused) for each in outcomes):
            raise _no_isolation()
        python = None
        with suppress(AdaCoderError):  # without an interpreter, the outcomes contain the reason
            python = await _python(opened)
        return await asyncio.to_thread(judged, outcomes, self._place.root, python, then, **more)

    def _kept(self, candidate: Candidate, path: str, name: str) -> str:
        """Store a candidate for `insert_verified`. Return the candidate's id."""
        known = sha256(f"{path}\0{name}\0{candidate!r}".encode(errors="backslashreplace")).hexdigest()[:12]
        self._candidates.pop(known, None)
        self._candidates[known] = candidate
        if len(self._candidates) > _MOST_CANDIDATES:
            del self._candidates[next(iter(self._candidates))]
        return known


def _has_question(task: asyncio.Task[Outcome]) -> bool:
    return task.exception() is None and _difference(task.result()) is not None


def _difference(outcome: Outcome) -> Difference | None:
    """Return a difference about which to ask the user, or None."""
    found = None if outcome.cross_check is None else outcome.cross_check.found
    return None if found is None else question(found.differs)


async def _asked(result: Result, difference: Difference, caller: Caller) -> Result:
    """Ask the user which of two outputs is right.

    If the client cannot ask the user, the result asks the agent to do so.
    """
    call, here, there = (shown(each) for each in (difference.call, difference.here, difference.there))
    if here == there:  # both outputs are masked as secrets
        return result
    message = f"Two programs pass the examples, but differ for {call}. Which output is right?"
    answer = await caller.ask(message, (here, there, words.RAISES))
    return with_question(result, call, (here, there, words.RAISES), answer)


def _no_isolation() -> Refusal:
    return Refusal(
        "no_isolation",
        "Nothing on this machine can isolate the examples, so they did not run.",
        "Report this to the user, and name `adacoder doctor`. Do not run the examples in another way.",
    )


def _task(opened: OpenFile, target: Target) -> Task:
    return Task(target, opened.settings, opened.project)


def _not_run(target: Target, error: AdaCoderError) -> Outcome:
    return Outcome(Status.ERROR, target, str(error), trouble=error)


async def _python(opened: OpenFile) -> Choice:
    return await asyncio.to_thread(choose, opened.settings.interpreter, opened.file.path.parent, opened.folder)


def _with_examples(opened: OpenFile) -> tuple[list[Documented], int]:
    """Return the docstrings with examples. Also count the functions without examples."""
    text, path = opened.file.text, opened.file.path
    found = [each for each in documented(text, path, opened.folder) if each.target.examples or each.unreadable]
    starts = {each.target.docstring_span.start for each in found}
    others = (each.target.docstring_span.start for each in functions(text, path, opened.folder))
    return found, sum(start not in starts for start in others)


def _has_other_docstring(candidate: Candidate, target: Target) -> bool:
    found = functions(candidate.text, target.module.path, target.module.root)
    return any(each.target.name == target.name and each.target.docstring != target.docstring for each in found)


def _placed(target: Target, outcome: Outcome, folder: Path) -> Target:
    """Return the function `target` as it is after the candidate was inserted."""
    edits = outcome.verdict.edits if outcome.verdict else ()
    return locate(apply_edits(target.text, edits), target.module.path, folder, qualname=target.qualname)


def _brief(opened: OpenFile, target: Target) -> dict[str, str]:
    """Return all that an agent needs to write the function."""
    access = _task(opened, target).access()
    around = sorted(pieces(target, None, access)[:20], key=lambda piece: piece.position)
    return {
        "signature": shown(target.signature),
        "docstring": shown(target.docstring, _LONGEST_DOCSTRING, _LONGEST_DOCSTRING),
        "context": shown("\n\n".join(piece.text for piece in around), _LONGEST_CONTEXT, _LONGEST_CONTEXT),
        "rules": words.RULES,
    }
