"""Checks: the examples of docstrings, run on texts as they stand. No model, and nothing of what a model's reply takes.

A part of `service`, by itself because whoever only checks is not to wait until all of that is imported.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from adacoder.agents.code_evaluator import CodeEvaluator
from adacoder.domain import AdaCoderError, Attempt, Candidate, Outcome, Status, Target, conclude
from adacoder.privacy.access import Access
from adacoder.pytext import dedent, normalize
from adacoder.sandbox.host import Host, turns_for_all
from adacoder.sandbox.interpreter import Interpreter, find

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from adacoder.journal import Journal
    from adacoder.privacy.names import Wishes
    from adacoder.settings import Settings
    from adacoder.source.locate import Documented

_MOMENT_SECONDS = 1.0
"""How long the interpreter that was found for a folder is taken for granted."""


@dataclass(frozen=True, slots=True)
class Project:
    """What surrounds a Target at the moment of a request."""

    folder: Path
    """The workspace folder, absolute."""
    overlays: Mapping[Path, str] = field(default_factory=dict)
    """Whole texts of open files, by path, which may differ from what is on disk."""


class Checks:
    """Runs checks. Keeps evaluator hosts between them."""

    def __init__(self) -> None:
        self._hosts: dict[tuple[Interpreter, Path, object, Wishes], Host] = {}
        self._interpreters: dict[tuple[Path | None, Path, Path], tuple[Interpreter, float]] = {}
        self._turns = turns_for_all()
        self._preparing = asyncio.Lock()
        """Keeps checks in the order in which they were asked for, so that none waits for those behind it."""

    async def check(
        self,
        documented: Documented,
        settings: Settings,
        project: Project,
        journal: Journal,
        *,
        once: bool = False,
        covers: bool = False,
    ) -> Outcome:
        """Run the examples of a docstring on the text as it stands; what fails in doctest fails here.

        A function is `verified` only if one of them runs it and shows an output. `once`: the project's modules do not
        change any more, so that each is imported once for all of its docstrings. `covers`: where all passed, run them
        once more, and tell what none of them reached.
        """
        journal.begin_round()
        target = documented.target
        try:
            async with self._preparing:
                await asyncio.to_thread(require, target, settings, project)
                evaluator = await self._evaluator(target, settings, project, journal, covers=covers)
            verdict = await evaluator.evaluate_as_it_stands(documented, once=once)
            outcome = conclude(target, Attempt(current(target), verdict), journal.round)
        except AdaCoderError as error:
            outcome = Outcome(Status.ERROR, target, str(error))
        return replace(outcome, steps=journal.steps, seconds=journal.seconds)

    async def close(self) -> None:
        """End every process that was kept warm."""
        hosts = list(self._hosts.values())
        self._hosts.clear()
        await asyncio.gather(*(host.close() for host in hosts))

    async def _evaluator(
        self, target: Target, settings: Settings, project: Project, journal: Journal, *, covers: bool = False
    ) -> CodeEvaluator:
        interpreter = await self._interpreter(target, settings, project)
        allowed = access(target, settings, project, *interpreter.added)
        overlays = await asyncio.to_thread(readable, project.overlays, allowed)
        host = self._host(interpreter, settings, project)
        return CodeEvaluator(host, journal, overlays=overlays, timeout=settings.timeout, covers=covers)

    def _host(self, interpreter: Interpreter, settings: Settings, project: Project) -> Host:
        key = (interpreter, project.folder, settings.isolation, settings.wishes)
        host = self._hosts.get(key)
        if host is None:
            host = self._hosts[key] = Host(
                interpreter, project.folder, least=settings.isolation, turns=self._turns, wishes=settings.wishes
            )
        return host

    async def _interpreter(self, target: Target, settings: Settings, project: Project) -> Interpreter:
        """As `find`, which looks at many files: so it is not asked for every function of a file, and never waited for
        by the event loop."""
        if not settings.trusted:
            raise AdaCoderError("This workspace is not trusted, so nothing of it is run: trust it in the editor.")
        key = (settings.interpreter, target.module.path.parent, project.folder)
        found, until = self._interpreters.get(key, (None, 0.0))
        if found is None or time.monotonic() >= until:
            found = await asyncio.to_thread(find, *key)
            self._interpreters[key] = (found, time.monotonic() + _MOMENT_SECONDS)
        return found


def access(target: Target, settings: Settings, project: Project, *others: Path) -> Access:
    """What may be read for a request; with `others`, what may be shown to the code that it runs."""
    return Access.around(target.module, project.folder, settings.wishes, *others)


def require(target: Target, settings: Settings, project: Project) -> None:
    """Raise AdaCoderError if the target's file may not be read."""
    access(target, settings, project).require(target.module.path)


def readable(overlays: Mapping[Path, str], allowed: Access) -> dict[Path, str]:
    """The texts of those open files that may be read for the request: of a private one it is no less so."""
    return {path: text for path, text in overlays.items() if allowed.refusal(path) is None}


def current(target: Target) -> Candidate:
    """The function as it stands in the text: where `fix`, `check` and repair begin."""
    return Candidate(function=dedent(normalize(target.source)))
