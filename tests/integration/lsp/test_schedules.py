"""Run random schedules of edits, jobs, wishes, inline completions, and answers to the server's questions.

No text of the user and no result may be lost. The server runs in this process, behind its protocol. A stand-in for the
Service ends requests and returns verdicts as the schedule says. In some schedules the text is a cell of a notebook,
or the editor shows the model's growing reply. `--all` runs 2,100 schedules.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from pygls.workspace import TextDocument

from adacoder.conclusion import conclude
from adacoder.domain import Attempt, Candidate, Example, ExampleResult, Failure, FailureKind, Outcome, Verdict
from adacoder.lsp import snapshot
from adacoder.lsp.jobs import job
from adacoder.lsp.jobs.results import Results
from adacoder.lsp.stdio import create
from adacoder.source.splice import splice
from adacoder.task import Mode, Task

ENCODINGS = ("utf-8", "utf-16", "utf-32")
WIDTHS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
ENDS = ("\n", "\r\n", "\r")
NOISE = ("x", "é", "𝔐", "\n", "\r\n", "\r", "\f", "\v", "\x1c", "\x85", "\u2028", "# 𝔐é\n", "y = 1\n", "    z\n", " ")
STEPS, PATIENCE = 14, 60.0
NAMES = ("f0", "f1")


class ViolationError(AssertionError):
    """The server lost something, or broke another rule."""


class Slow:
    """A Service whose requests end when the schedule says so."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.gates: list[asyncio.Event] = []
        self.verified: list[str] = []
        """Bodies that the Service has verified."""

    async def perform(self, mode: Mode, task: Task) -> Outcome:
        if mode is Mode.CHECK:
            return await self.recheck(replace(task, start=Candidate(task.target.source)))
        gate = asyncio.Event()
        self.gates.append(gate)
        with task.journal.step("Programmer", "write", "writing") as step:
            for end in range(4):
                step.moved("def"[:end])
            await gate.wait()
            step.moved("def f")
        body = f'return "BODY {task.target.name} {self._rng.randrange(10**9)}"'
        candidate = Candidate(f"def {task.target.name}(x):\n    {body}")
        outcome = self._judged(task, candidate, self._rng.choice(["verified", "verified", "unverified", "partial"]))
        if outcome.status == "verified":
            self.verified.append(body)
        return replace(outcome, strategy="adacoder")

    async def recheck(self, task: Task) -> Outcome:
        assert task.start is not None
        await asyncio.sleep(self._rng.choice([0, 0.001]))
        return self._judged(task, task.start, "verified")

    @staticmethod
    def most_rounds(mode: Mode, settings: object) -> int:
        return 1

    async def close(self) -> None:
        """Do nothing, because nothing has to end."""

    def _judged(self, task: Task, candidate: Candidate, status: str) -> Outcome:
        example = Example("f(1)\n", "1\n", 0)
        results = [ExampleResult(example, matched=True, entered=True)] if status != "unverified" else []
        failure = Failure(FailureKind.WRONG_OUTPUT, "It is wrong.") if status == "partial" else None
        target = replace(task.target, examples=(example,) * (1 if status == "verified" else 2))
        placed = splice(task.target, candidate).edits
        verdict = Verdict(failure, True, True, imports=True, results=tuple(results), edits=placed)
        return replace(conclude(target, Attempt(candidate, verdict), 1), target=task.target)


@dataclass
class Session:
    """An editor with a server, and a user who acts at random."""

    rng: random.Random
    folder: Path
    encoding: str
    text: str
    version: int = 1
    uri: str = ""
    notebook: str = ""
    """URI of the notebook; empty if the text is a file."""
    above: str = "import os\n"
    """Text of the cell above."""
    written: int = 0
    """Number of messages that show a growing reply."""
    sent: list[dict[str, Any]] = field(default_factory=list)
    """The server's requests without an answer yet."""
    answers: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    jobs: dict[str, str] = field(default_factory=dict)
    landed: str = ""
    """All texts that the server's edits have inserted."""
    accepted: int = 0
    """Number of inline completions that the user has accepted."""
    asked: bool = False
    """True if the user has inserted a kept result, and so has seen the text that it replaces."""

    async def begin(self) -> None:
        """Start the server and open the document."""
        self.server = create()
        self.service = Slow(self.rng)
        self.server._service = self.service  # type: ignore[assignment]  # a stand-in
        self.server.protocol.set_writer(self)
        self.has_versions = self.rng.random() < 0.7
        name = self.rng.choice(["Visual Studio Code", "Neovim"])
        edit = {"documentChanges": True} if self.has_versions else {}
        capabilities = {
            "general": {"positionEncodings": [self.encoding]},
            "window": {"workDoneProgress": self.rng.random() < 0.5, "showMessage": {}},
            "workspace": {"applyEdit": True, "configuration": False, "workspaceEdit": edit},
            "experimental": {"adacoder": {"writing": self.rng.random() < 0.7}},
        }
        root = {"rootUri": self.folder.as_uri(), "clientInfo": {"name": name}, "capabilities": capabilities}
        options = {"preview": self.rng.random() < 0.3}
        await self.ask("initialize", {"processId": None, "initializationOptions": options, **root})
        self.uri = (self.folder / "a.py").as_uri()
        item = {"uri": self.uri, "languageId": "python", "version": 1, "text": self.text}
        if self.rng.random() < 0.7:
            self.tell("textDocument/didOpen", {"textDocument": item})
            return
        self.notebook = (self.folder / "a.ipynb").as_uri()
        above, self.uri = (f"vscode-notebook-cell:{self.notebook.partition(':')[2]}#W{number}" for number in (0, 1))
        items = [{**item, "uri": above, "text": self.above}, {**item, "uri": self.uri}]
        cells = [{"kind": 2, "document": each["uri"]} for each in items]
        about = {"uri": self.notebook, "notebookType": "jupyter-notebook", "version": 1, "cells": cells}
        self.tell("notebookDocument/didOpen", {"notebookDocument": about, "cellTextDocuments": items})

    def write(self, data: bytes) -> None:
        """Receive the server's output."""
        message = json.loads(data.partition(b"\r\n\r\n")[2])
        if "method" not in message:
            self.answers.pop(message["id"]).set_result(message.get("result", message.get("error")))
        elif "id" in message:
            self.sent.append(message)
        else:
            self.written += message["method"] == "adacoder/writing"

    def close(self) -> None:
        """Do nothing. pygls closes its writers."""

    def send(self, **message: Any) -> None:
        self.server.protocol.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def tell(self, method: str, params: Any) -> None:
        self.send(method=method, params=params)

    async def ask(self, method: str, params: Any) -> Any:
        number = len(self.jobs) + self.rng.randrange(10**9)
        self.answers[number] = answer = asyncio.get_running_loop().create_future()
        self.send(id=number, method=method, params=params)
        return await asyncio.wait_for(answer, PATIENCE)

    async def command(self, name: str, **argument: Any) -> Any:
        params = {"command": f"adacoder.server.{name}", "arguments": [argument]}
        return await self.ask("workspace/executeCommand", params)

    async def step(self) -> None:
        """Perform one random action."""
        often = [self.type, self.answer]
        rarely = [self.type_above, self.choose]
        do = self.rng.choice([*often, *often, *rarely, self.generate, self.end_one, self.accept, self.accept])
        await do()
        await asyncio.sleep(self.rng.choice([0, 0, 0.001, 0.004]))

    async def type(self) -> None:
        """Replace a part of the text."""
        if not self.has_versions:
            self.let_edits_be_made()  # without versions, an editor applies edits before the next key
        cut = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n|.", self.text, re.DOTALL))]
        start, end = sorted((self.rng.choice(cut), self.rng.choice(cut)))
        if self.rng.random() < 0.85 or end - start > 12:
            end = start
        new = "".join(self.rng.choices(NOISE, k=self.rng.randrange(1, 4)))
        at = {"start": self.position(start), "end": self.position(end)}
        if self.rng.random() < 0.1:
            at = {"start": at["end"], "end": at["start"]}
        self.text = self.text[:start] + new + self.text[end:]
        self.version += 1
        self.changed(self.uri, {"range": at, "text": new} if self.rng.random() < 0.95 else {"text": self.text})
        self.compare()

    async def type_above(self) -> None:
        """Write a line into the cell above, if there is one. This moves the text in its module."""
        if self.notebook:
            if not self.has_versions:
                self.let_edits_be_made()
            self.above += self.rng.choice(["y = 1\n", "# 𝔐\n", "%time\n"])
            self.changed(self.uri.replace("#W1", "#W0"), {"text": self.above})

    def changed(self, uri: str, *changes: dict[str, Any]) -> None:
        """Report changes of the file or cell."""
        document = {"uri": uri, "version": self.version}
        if not self.notebook:
            self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
            return
        change = {"cells": {"textContent": [{"document": document, "changes": changes}]}}
        about = {"uri": self.notebook, "version": self.version}
        self.tell("notebookDocument/didChange", {"notebookDocument": about, "change": change})

    async def accept(self) -> None:
        """Accept the first inline completion at the end of a docstring, if it is for the current text."""
        for match in re.finditer('é𝔐."""', self.text):
            version, place = self.version, self.position(match.end())
            params = {"textDocument": {"uri": self.uri}, "position": place, "context": {"triggerKind": 2}}
            items = await self.ask("textDocument/inlineCompletion", params)
            if version != self.version:
                return
            if items:
                self.accepted += 1
                self.insert([{"range": items[0]["range"], "newText": items[0]["insertText"]}])
                command = items[0]["command"]
                name, argument = command["command"].rpartition(".")[2], command["arguments"][0]
                answer = asyncio.ensure_future(self.command(name, **argument))
                await self.type()  # the user types before the answer arrives
                await answer
                return

    async def generate(self) -> None:
        """Start generating a function. If it has a body, the user gives this body up."""
        name = self.rng.choice(NAMES)
        if not is_stub(self.text, name):
            return
        wish = self.rng.choice([{}, {"wish": "use bisect"}, {"wish": ""}])
        answer = await self.command("generate", uri=self.uri, qualifiedName=name, **wish)
        if answer["accepted"]:
            self.jobs[answer["jobId"]] = ""

    async def end_one(self) -> None:
        """End or cancel a random request."""
        if self.jobs and self.rng.random() < 0.1:
            await self.command("cancel", jobId=self.rng.choice(list(self.jobs)))
        elif self.service.gates:
            self.rng.choice(self.service.gates).set()

    async def choose(self) -> None:
        """Insert a job's kept result, if there is one."""
        if self.jobs and self.rng.random() < 0.5:
            self.asked = True
            await self.command("insert", jobId=self.rng.choice(list(self.jobs)))

    async def answer(self) -> None:
        """Answer a question of the server: yes, no, an error, or never."""
        if self.sent:
            self.reply(self.sent.pop(self.rng.randrange(len(self.sent))))

    def let_edits_be_made(self) -> None:
        """Answer all requests to apply edits."""
        for message in [each for each in self.sent if each["method"] == "workspace/applyEdit"]:
            self.sent.remove(message)
            self.reply(message)

    def reply(self, message: dict[str, Any]) -> None:
        """Answer a request of the server at random."""
        how = self.rng.random()
        if message["method"] == "workspace/applyEdit":
            if how < 0.7:
                self.send(id=message["id"], result={"applied": self.apply(message["params"]["edit"])})
            elif how < 0.8:
                self.send(id=message["id"], result={"applied": False})
            elif how < 0.9:
                self.send(id=message["id"], error={"code": -32603, "message": "no"})
        elif message["method"] == "window/showMessageRequest" and how < 0.8:
            title = self.rng.choice(["Show difference", "Insert", None])
            self.asked |= title == "Insert"
            self.send(id=message["id"], result=title and {"title": title})
        elif how < 0.8:
            self.send(id=message["id"], result=None)

    def apply(self, edit: dict[str, Any]) -> bool:
        """Apply an edit if it is for the current version, and check its position."""
        if "documentChanges" in edit:
            (change,) = edit["documentChanges"]
            if change["textDocument"]["version"] != self.version:
                return False
            made = change["edits"]
        else:
            (made,) = edit["changes"].values()
        self.insert(made)
        return True

    def insert(self, made: list[dict[str, Any]]) -> None:
        """Apply edits, check their positions, and report the new text."""
        before = self.text
        ends = [(each["range"]["start"], each["range"]["end"], each["newText"]) for each in made]
        spans = [(self.offset(start), self.offset(end), new) for start, end, new in ends]
        for start, end, new in sorted(spans, reverse=True):
            if before[start:end].strip() and not self.asked:
                raise ViolationError(f"lost {before[start:end]!r} of {before!r}")
            self.text = self.text[:start] + new + self.text[end:]
        for body, name in re.findall(r'(return "BODY (\w+) \d+")', "".join(new for _, _, new in spans)):
            above = self.text.partition(body)[0]
            is_below = re.search(r'"[^"\r\n]*(?:\r\n|\r|\n)\s*\Z', above) and re.findall(r"def[ \t\f]+(\w+)", above)[
                -1:
            ] == [name]
            if not is_below and not self.asked:
                raise ViolationError(f"{body} stands in the wrong place: {self.text!r}")
        self.landed += "".join(new for _, _, new in spans)
        self.version += 1
        self.changed(self.uri, {"text": self.text})

    async def finish(self) -> None:
        """Let everything end. Check that nothing is lost."""
        async with asyncio.timeout(PATIENCE):
            while (await self.command("status"))["jobs"]:
                for gate in self.service.gates:
                    gate.set()
                await self.answer()
                await asyncio.sleep(0.001)
        self.compare()
        kept = [
            result.candidate.function
            for result in self.server.state.results.of(snapshot.Uri(self.uri))
            if result.candidate
        ]
        for body in self.service.verified:
            if body not in self.landed and not any(body in each for each in kept):
                raise ViolationError(f"{body} is lost")
        for job_id in self.jobs:
            await self.command("discard", jobId=job_id)
        if self.server.state.results.of(snapshot.Uri(self.uri)):
            raise ViolationError("what is discarded is kept")
        await self.server.close()

    def compare(self) -> None:
        """Check that server and editor have the same text."""
        mirror = self.server.workspace.text_documents[self.uri].source
        if mirror != self.text:
            raise ViolationError(f"the mirror has {mirror!r}, the editor {self.text!r}")

    # positions, computed without the server's code

    def position(self, offset: int) -> dict[str, int]:
        lines = re.split(r"\r\n|\r|\n", self.text[:offset])
        codec, width = WIDTHS[self.encoding]
        return {"line": len(lines) - 1, "character": len(lines[-1].encode(codec)) // width}

    def offset(self, position: dict[str, int]) -> int:
        starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", self.text))]
        codec, width = WIDTHS[self.encoding]
        start = starts[position["line"]]
        units = self.text[start:].encode(codec)[: position["character"] * width]
        return start + len(units.decode(codec))


def is_stub(text: str, name: str) -> bool:
    """Return True if a function has only a docstring and comments, even if Python cannot parse the text."""
    _, *below = re.split(rf"def[ \t\f]+{name}\b", text)
    if not below:
        return False
    own = re.split(r"[\r\n](?=\w)", below[0])[0].split('"""', 2)
    return len(own) > 2 and not re.search(r"[\r\n][ \t\f]+[^\s#]", own[2])


def module(rng: random.Random) -> str:
    """Return a module of two functions without bodies among random text, with one kind of line end."""
    end = rng.choice(ENDS)
    noise = [f"# {''.join(rng.choices('aé𝔐' + chr(12) + chr(0x2028) + chr(0x1C), k=3))}\n" for _ in range(2)]
    stubs = [f'def {name}(x):\n    """Doc of {name}, é𝔐."""\n\n\n' for name in NAMES]
    return (
        "".join(part for pair in zip(noise, stubs, strict=True) for part in pair).replace("\n", end) + f"LAST = 1{end}"
    )


async def scheduled(seed: int, folder: Path) -> None:
    """Run one schedule."""
    rng = random.Random(seed)
    session = Session(rng, folder, ENCODINGS[seed % 3], module(rng))
    await session.begin()
    try:
        for _ in range(STEPS):
            await session.step()
        await session.finish()
    finally:
        with suppress(Exception):
            await session.server.close()


async def all_of(seeds: Iterable[int], folder: Path) -> None:
    """Run schedules one after the other."""
    for seed in seeds:
        await scheduled(seed, folder)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waits for editors that never answer, and for pauses in typing."""
    monkeypatch.setattr(job, "_EDITING", 0.05)
    monkeypatch.setattr(job, "_STILL", 0.002)
    monkeypatch.setattr("adacoder.lsp.connection.client._SHOWING", 0.05)


@pytest.mark.usefixtures("impatient")
async def test_no_schedule_loses_anything(
    tmp_path: Path, one_in: Callable[[int], int], record_property: Callable[[str, object], None]
) -> None:
    seeds = range(2100)[:: one_in(60)]
    for seed in seeds:
        try:
            await scheduled(seed, tmp_path)
        except (ViolationError, TimeoutError) as error:
            raise AssertionError(f"schedule {seed}: {error!r}") from error
    record_property("figure", f"{len(seeds)} schedules lose nothing")


class _PythonsLines(TextDocument):
    """A pygls document that ends lines where Python does."""


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("broken", ["the mirror", "the look at the text", "what is kept"])
async def test_what_is_broken_shows(tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    match broken:
        case "the mirror":
            monkeypatch.setattr(snapshot, "Document", _PythonsLines)
        case "the look at the text":

            async def blind(self: Any, outcome: Any, until: float) -> Any:
                version = self.client.workspace.text_documents[self.snapshot.uri].version
                self.snapshot = replace(self.snapshot, version=version)
                return outcome

            monkeypatch.setattr(job.JobWork, "_brought_up_to_date", blind)
            monkeypatch.setattr(job.JobWork, "_current", lambda self: self.snapshot)
        case _:
            monkeypatch.setattr(Results, "keep", lambda self, result: None)
    with pytest.raises((ViolationError, IndexError, ValueError)):
        await all_of(range(300), tmp_path)


class Calm(random.Random):
    """A predictable schedule: every result is verified, and the editor applies every edit."""

    def random(self) -> float:
        return 0.5

    def choice(self, seq: Any) -> Any:
        return seq[0]


@pytest.mark.parametrize(("seconds", "is_inserted"), [(0.2, False), (60.0, True)])
async def test_a_result_does_not_wait_for_ever_for_a_pause_in_typing(
    tmp_path: Path, seconds: float, is_inserted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is kept when the time is over. If the user pauses before, it is inserted."""
    monkeypatch.setattr(job, "_TYPING", seconds)
    session = Session(Calm(), tmp_path, "utf-16", 'def f0(x):\n    """Doc."""\n')
    await session.begin()
    job_id = (await session.command("generate", uri=session.uri, qualifiedName="f0"))["jobId"]
    for _ in range(60):  # a key every 20 ms, for longer than a pause
        for gate in session.service.gates:
            gate.set()
        session.text, session.version = session.text + "#", session.version + 1
        session.changed(session.uri, {"text": session.text})
        await asyncio.sleep(0.02)
    async with asyncio.timeout(PATIENCE):
        while (await session.command("status"))["jobs"]:
            session.let_edits_be_made()
            await asyncio.sleep(0.01)
    (kept,) = (await session.ask("adacoder/kept", {}))["items"] or [None]
    journal = await session.command("journal", jobId=job_id)
    await session.server.close()
    assert (session.landed != "", kept is None) == (is_inserted, is_inserted)
    assert is_inserted or "the text changes faster than the examples run" in journal["summary"]
