"""Measure how long an editor waits for answers while requests run on a module of 5,000 lines.

A real language server runs over stdio, with a stand-in for Ollama over real HTTP. Each case measures:

* `stall`: the delay of a task that is due every millisecond in the server's event loop;
* `wait`: the time until a cheap message is answered, such as a request for code actions. The editor sends one every few
  milliseconds.

The cases are:

* `first`: the first request to a server;
* `passing` and `failing`: whole generations. The failing one needs repairs and plans;
* `applied`: a generation that is inserted while the user types. This forces a second evaluation;
* `fix`, `repair`, `check` and `suggest`: the requests of these names;
* `writing`: a model that writes 200 tokens a second. `shown` is the longest time until a token reaches the editor;
* `typing`: a user who types, without any request;
* `idle`: nothing, to show the noise of the machine.

The output is one JSON line with the longest stall and the longest wait of each case, as the median over all rounds and
as the worst.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from measuring import Figure, Report

from integration.lsp.client import FULL, Client  # modules in tests/
from support.standins.ollama import Script, StandIn

LINES = 5000
TARGET_MS = 20
SHOWN_MS = 100
TICK = 0.001
WORTH_TELLING = 0.002
"""Minimum delay of a tick that is recorded, in seconds."""
PAUSE = 0.005
"""Seconds between two cheap messages of the editor."""
TYPING = 0.05
"""Seconds between two changes of the text by the typing user."""
TYPED = 12
"""Number of changes by typing. The result can be inserted only when typing has ended."""
FOLDER, NAME = "parcels", "tracked.py"

HEAD = '''"""Orders, parcels and their way: as large as modules become that many people work on."""

from __future__ import annotations

import argparse
import asyncio
import base64
import bisect
import collections
import contextlib
import csv
import dataclasses
import datetime as dt
import decimal
import functools
import hashlib
import heapq
import io
import itertools
import json
import logging
import math
import operator
import os
import pathlib
import random
import re
import shutil
import statistics
import string
import tempfile
import textwrap
import time
import urllib.parse
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from typing import Any, Generic, NamedTuple, TypeVar

from parcels import rates
from parcels.rates import RATES, Rate

try:
    import tomllib
except ImportError:
    tomllib = None

T = TypeVar("T")
log = logging.getLogger(__name__)

'''
PART = '''
LIMIT_{n} = {n} * 4 + 1
NAMES_{n} = {{"ada": {n}, "grace": LIMIT_{n}, "zoë": None, "key": "value of {n}"}}


def grouped_{n}(rows: Iterable[Mapping[str, Any]], key: str, *, most: int = LIMIT_{n}) -> dict[str, list[Any]]:
    """The rows by what they have under `key`, at most `most` a group.

    >>> grouped_{n}([{{"a": 1}}, {{"a": 2}}, {{"a": 1}}], "a")
    {{1: [{{'a': 1}}, {{'a': 1}}], 2: [{{'a': 2}}]}}
    """
    found: dict[str, list[Any]] = defaultdict(list)
    for number, row in enumerate(rows):
        if key not in row:
            log.warning("row %d of %s has no %r", number, NAMES_{n}, key)
            continue
        if len(found[row[key]]) < most:
            found[row[key]].append(row)
    return {{name: values for name, values in sorted(found.items(), key=lambda each: str(each[0])) if values}}


@dataclass(frozen=True)
class Parcel{n}(Generic[T]):
    """A parcel on its way, of the kind {n}."""

    number: str
    weight: float = 0.0
    stops: tuple[str, ...] = ()
    more: dict[str, T] = field(default_factory=dict)

    @property
    def is_heavy(self) -> bool:
        """Whether it weighs more than most.

        >>> Parcel{n}("x", 3.0).is_heavy
        False
        """
        return self.weight > LIMIT_{n} and not self.number.startswith(("_", "-"))

    @functools.lru_cache(maxsize=None)
    def price(self, zone: int = 1) -> decimal.Decimal:
        """What it costs to send, by its weight and zone."""
        rate = RATES.get(zone, Rate("none", 0.0))
        base = decimal.Decimal(str(round(self.weight * rate.factor, 2)))
        try:
            return base + decimal.Decimal(str(math.fsum(len(stop) / 10 for stop in self.stops)))
        except (ArithmeticError, ValueError) as error:
            raise RuntimeError(f"{{self.number!r}} has no price: {{error}}") from error

    def moved(self, *stops: str, at: dt.datetime | None = None) -> Parcel{n}[T]:
        """The parcel after more stops."""
        when = (at or dt.datetime(2024, 1, 1, tzinfo=dt.UTC)).isoformat()
        seen = [stop.strip().title() for stop in stops if stop and not re.fullmatch(r"\\\\W*", stop)]
        more = {{**self.more, **{{f"{{stop}}@{{when}}": index for index, stop in enumerate(seen)}}}}
        with contextlib.suppress(KeyError):
            del more["lost"]
        return replace(self, stops=(*self.stops, *seen), more=more)


'''
STUB = '''def initials(name: str) -> str:
    """The initials of a name, in capitals.

    >>> initials("ada lovelace")
    'AL'
    >>> initials("Åsa öberg")
    'ÅÖ'
    """
'''
BODY = '    return "".join(word[0] for word in name.split()).upper()\n'
MISSING = '    return "".join(word[0] for word in split(name)).upper() + unicodedata.name("A")[9:9] + nowhere()\n'
RATES = '''"""Rates by zone."""

from dataclasses import dataclass


@dataclass
class Rate:
    name: str
    factor: float = 1.0


RATES = {zone: Rate(f"zone {zone}", zone / 2) for zone in range(5)}
'''

GOOD = f"```python\n{STUB}{BODY}```"
WRONG = f"```python\n{STUB}{MISSING}```"
PLAN = "1. Split the name into words.\n2. Take the first letter of each.\n3. Join them in capitals."
NUMBERED = [f"    # {number:04}\n" for number in range(400)]
"""Lines of a reply. Each line is one token."""
SUGGESTED = "```python\n>>> initials(\"grace hopper\")\n'GH'\n>>> initials(\"zoë\")\n'Z'\n```"


def module(body: str = "") -> str:
    """Return a module of 5,000 lines, with the target two thirds down."""
    head = HEAD.count("\n")
    number = (LINES - head) // PART.count("\n")
    parts = [PART.format(n=n) for n in range(number)]
    middle = number * 2 // 3
    return HEAD + "".join(parts[:middle]) + STUB + body + "\n" + "".join(parts[middle:])


# Code that runs in the server


def serve(told: str) -> None:
    """Run the language server. Record each delay of its event loop in the file `told`."""
    from adacoder.lsp import stdio

    run = stdio.run

    async def watched(work: Awaitable[Any]) -> Any:
        watching = asyncio.ensure_future(watch(file.write))
        try:
            return await work
        finally:
            watching.cancel()

    file = Path(told).open("w", encoding="utf-8", buffering=1)  # noqa: SIM115  # It stays open until the process ends.
    stdio.run = lambda work: run(watched(work))  # type: ignore[assignment]
    sys.exit(stdio.serve())


async def watch(tell: Callable[[str], object]) -> None:
    """Wake up every millisecond. Report the due time and the delay of each late tick."""
    due = time.monotonic() + TICK
    queued = waited_for_a_processor()
    while True:
        await asyncio.sleep(due - time.monotonic())
        late, queued_before, queued = time.monotonic() - due, queued, waited_for_a_processor()
        if late > WORTH_TELLING:
            tell(f"{due} {late} {min(late, queued - queued_before)}\n")
        due = time.monotonic() + TICK


def waited_for_a_processor() -> float:
    """Return the seconds for which this thread was ready to run, but all processors were busy."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:  # noqa: PTH123  # called every millisecond
            return int(file.read().split()[1]) / 1e9
    except OSError:
        return 0.0


# Code that runs in the editor


@dataclass(frozen=True)
class Growing(Script):
    """A reply of numbered lines, with the time at which each line was sent."""

    text: str = "".join(["```python\n", STUB, *NUMBERED, BODY, "```"])
    pause: float = 0.005
    sent: list[float] = field(default_factory=list)

    def tokens(self, text: str) -> list[str]:
        return text.splitlines(keepends=True)

    async def goes_on(self) -> None:
        """Record the time. The stand-in calls this before each token except the first."""
        self.sent.append(time.monotonic())

    def longest(self, told: Iterable[tuple[float, str]]) -> float:
        """Return the longest time from sending a numbered line until a notification in `told` shows it."""
        first = self.tokens(self.text).index(NUMBERED[0]) - 1
        times = []
        for number, line in enumerate(NUMBERED):
            seen = next((at for at, text in told if line.rstrip() in text), None)
            if seen is None:
                raise SystemExit(f"The line {line.strip()!r} was never shown.")
            times.append(seen - self.sent[first + number])
        return max(times)


class Received(list[Any]):
    """Messages from the server. `writing` has the arrival times of messages that show a growing reply."""

    def __init__(self) -> None:
        super().__init__()
        self.writing: list[tuple[float, str]] = []

    def append(self, message: Any) -> None:
        super().append(message)
        if message["method"] == "adacoder/writing" and "lines" in message["params"]:
            self.writing.append((time.monotonic(), "\n".join(message["params"]["lines"])))


class Editor:
    """An editor that has the module open. Its server records delays of the event loop."""

    def __init__(self, client: Client, told: Path, standin: StandIn) -> None:
        self.client = client
        self.standin = standin
        self._told = told
        self._numbers = count(1)
        self._uri = ""
        self._received = client.received = Received()
        self.shown: float | None = None
        """The longest time until a part of the model's reply was shown, in seconds, for the case `writing`."""
        # a second process makes the edit, because the edit would delay all messages here
        client.answers["workspace/applyEdit"] = lambda _: {"applied": True}

    @classmethod
    @asynccontextmanager
    async def started(cls) -> AsyncIterator[Editor]:
        """Start an editor with a new server."""
        with tempfile.TemporaryDirectory() as name:
            folder, told = Path(name) / "project", Path(name) / "stalls"
            (folder / FOLDER).mkdir(parents=True)
            (folder / FOLDER / "__init__.py").write_text("", encoding="utf-8")
            (folder / FOLDER / "rates.py").write_text(RATES, encoding="utf-8")
            command = (sys.executable, __file__, "--serve", str(told))
            async with StandIn([]) as standin:
                settings = {"model": "qwen2.5-coder:7b", "ollama": {"host": standin.host}}
                capabilities = {**FULL, "experimental": {"adacoder": {"writing": True}}}
                async with Client.started(
                    folder, settings, command=command, capabilities=capabilities, is_forked=False
                ) as client:
                    yield cls(client, told, standin)

    async def open(self, body: str = "") -> None:
        """Open `text`, which the server has not seen before."""
        for uri in list(self.client.documents):
            await self.client.close(uri)
        self._uri = await self.client.write(f"{FOLDER}/{NAME}", f"# {next(self._numbers)}\n{module(body)}")

    async def run(self, mode: str, replies: list[str], *, status: str, apply: bool = False) -> None:
        """Run a whole request, which must end with `status`."""
        self.standin.replies = lambda _: replies.pop(0) if replies else PLAN
        parameters = self.client.run_params(self._uri, "initials", mode=mode, apply=apply)
        _, answering = await self.client.begin("adacoder/run", parameters)
        answer = await answering
        if (answer["status"], answer["applied"]) != (status, apply):
            raise SystemExit(f"{mode} ended otherwise: {json.dumps(answer)[:3000]}")

    async def write(self) -> None:
        """Run a request for which the model writes a long reply."""
        reply = Growing()
        self._received.writing.clear()
        self.standin.replies = lambda _: reply
        await self.client.run(self._uri, "initials", apply=False)
        self.shown = reply.longest(self._received.writing)

    async def type(self) -> None:
        """Type a few characters in another function of the module."""
        line = await self._line_of("at: dt.datetime | None")
        for number in range(TYPED):
            await asyncio.sleep(TYPING)
            document = self.client.documents[self._uri]
            document.version += 1
            at = {"line": line, "character": 0}
            change = {"range": {"start": at, "end": {**at, "character": number % 2}}, "text": " " * (1 - number % 2)}
            identifier = {"uri": self._uri, "version": document.version}
            params = {"textDocument": identifier, "contentChanges": [change]}
            await self.client.notify("textDocument/didChange", params)

    async def ask(self, waits: list[float], work: asyncio.Future[None]) -> None:
        """Send cheap messages until `work` is done. Append the answer time of each to `waits`."""
        line = await self._line_of("def initials")
        at = {"line": line, "character": 0}
        for number in count():
            if work.done():
                return
            await asyncio.sleep(PAUSE)
            context = {"diagnostics": [], "triggerKind": number % 2 + 1}
            params = {"textDocument": {"uri": self._uri}, "range": {"start": at, "end": at}, "context": context}
            began = time.monotonic()
            if number % 3 == 0:
                await self.client.request("textDocument/codeAction", params)
            else:
                await self.client.execute("status")
            waits.append(time.monotonic() - began)

    async def _line_of(self, what: str) -> int:
        """Return the number of the first line that contains `what`. Call this before any timing, because it is slow."""
        text = self.client.text(self._uri)
        return text[: text.index(what)].count("\n")

    def stalls(self, since: float) -> Iterator[tuple[float, float]]:
        """Yield the length of each stall after `since`, and how long all processors were busy in the meantime."""
        for line in self._told.read_text(encoding="utf-8").splitlines():
            due, late, queued = map(float, line.split())
            if due >= since:
                yield late, queued


Work = Callable[[Editor], Awaitable[None]]


@dataclass(frozen=True)
class Case:
    """Work to measure, while cheap messages are sent."""

    work: Work
    body: str = ""
    """Body of the target in the module."""
    typed_in: bool = False
    asked: bool = True


def request(mode: str, *replies: str, status: str, apply: bool = False) -> Work:
    """Return a coroutine that runs a whole request, in which the model answers with `replies`."""
    return lambda editor: editor.run(mode, list(replies), status=status, apply=apply)


def pause(_: Editor) -> Awaitable[None]:
    return asyncio.sleep(1.0)


FIRST = "first"
CASES = {
    FIRST: Case(request("generate", GOOD, status="verified")),
    "passing": Case(request("generate", GOOD, status="verified")),
    "failing": Case(request("generate", WRONG, PLAN, WRONG, PLAN, GOOD, status="verified")),
    "applied": Case(request("generate", GOOD, status="verified", apply=True), typed_in=True),
    "fix": Case(request("fix", PLAN, GOOD, status="verified"), MISSING),
    "repair": Case(request("repair", status="failed"), MISSING),
    "check": Case(request("check", status="verified"), BODY),
    "suggest": Case(request("suggestExamples", SUGGESTED, status="unverified"), BODY),
    "writing": Case(Editor.write),
    "typing": Case(pause, typed_in=True),
    "idle": Case(pause, asked=False),
}


async def watched(editor: Editor, case: Case) -> dict[str, float]:
    """Return the longest stall and wait of a case, in milliseconds."""
    await editor.open(case.body)
    await editor.client.execute("status")
    await asyncio.sleep(0.2)
    waits: list[float] = [0.0]
    began = time.monotonic()
    work = asyncio.ensure_future(case.work(editor))
    others = [editor.ask(waits, work)] if case.asked else []
    others += [editor.type()] if case.typed_in else []
    await asyncio.gather(work, *others)
    await asyncio.sleep(5 * TICK)
    stalls = [*editor.stalls(began), (0.0, 0.0)]
    shown, editor.shown = editor.shown, None
    found = {
        **({} if shown is None else {"shown": shown}),
        "stall": max(late for late, _ in stalls),
        "own_stall": max(late - queued for late, queued in stalls),
        "wait": max(waits),
    }
    return {what: seconds * 1000 for what, seconds in found.items()}


async def measure(rounds: int, names: list[str]) -> Report:
    """Run every case once in each round.

    The case `first` needs a new server, so each round starts one.
    """
    samples: dict[str, list[dict[str, float]]] = {}
    for _ in range(rounds):
        async with Editor.started() as editor:
            for name in dict.fromkeys([FIRST, *names]):
                samples.setdefault(name, []).append(await watched(editor, CASES[name]))
    found = {
        f"{name}_{what}_ms": [sample[what] for sample in taken] for name, taken in samples.items() for what in taken[0]
    }
    medians = {key: round(statistics.median(values), 2) for key, values in found.items()}
    figures = {
        f"longest_{what}_ms": Figure(
            max(value for key, value in medians.items() if key.endswith(f"_{what}_ms") and "own" not in key),
            at_most=TARGET_MS,
        )
        for what in ("stall", "wait")
    }
    if "writing_shown_ms" in medians:
        figures["writing_shown_ms"] = Figure(medians["writing_shown_ms"], at_most=SHOWN_MS)
    worst = {key: round(max(values), 2) for key, values in found.items()}
    return Report(n=rounds, figures=figures, medians=medians, remarks={"worst_of_each_ms": dict(worst)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve)
    report = asyncio.run(measure(arguments.rounds, arguments.cases))
    line = {"benchmark": "blocking", "lines": LINES, "processors": os.cpu_count(), **report.json()}
    print(json.dumps(line))


if __name__ == "__main__":
    main()
