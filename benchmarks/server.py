"""The language server beside others: how soon it answers, how long a keystroke takes, and what it keeps in memory.

AdaCoder, jedi-language-server and ruff's server are started anew each round, in a new order each round, by the same
client over stdio, and open the same generated module of 5,000 lines. Prints one JSON line a figure; figures are ratios
of the medians over all rounds:

* `initialize`: from the start of the process to the answer to `initialize`, over jedi-language-server's;
* `first_action`: from the start to the first code actions in that module, over jedi-language-server's;
* `keystroke`: from a change of one character to the code actions asked for right after it, over ruff's; `keystroke_p95`
  the 95th percentile over ruff's; `keystroke_generating` and its `_p95` the same while a function is being generated;
* `memory`: resident memory of the server once it has read the module, over jedi-language-server's.

Nothing is waited for without end: a server that does not answer is killed, and its figures are skipped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import psutil
from measuring import Figure

from integration.lsp.client import FULL, SERVER, Client, ResponseError  # the path above leads to it
from support.standins.ollama import Script, StandIn  # likewise

OURS, JEDI, RUFF = "adacoder", "jedi-language-server", "ruff"
NAME = "tracked.py"
KEYS = 40
"""Keystrokes a server and round; those before are for warming up."""
WARM = 5
MOST_SECONDS = 120.0
"""For all that one server does in a round."""
SETTLE_SECONDS = 1.0
"""Between a server's first answers and the keystrokes: what it does in the background comes to rest."""

LINES = 5000
PART = '''

def padded_{n}(name: str, width: int = {n}) -> str:
    """The name, padded with spaces to a width.

    >>> padded_{n}("ada", 4)
    'ada '
    """
    if len(name) >= width:
        return name
    missing = width - len(name)
    return name + " " * missing
'''
"""Nothing in it is worth a linter's while: what is compared is the way to the answer."""
STUB = '''

def initials(name: str) -> str:
    """The initials of a name, in capitals.

    >>> initials("ada lovelace")
    'AL'
    """
'''

WRITING = Script("```python\ndef initials(name: str) -> str:\n" + "    name = name.strip()\n" * 50_000, pause=0.01)
"""A reply that is being written for as long as keystrokes are measured."""

_chance = random.Random(0)


def command(name: str) -> Sequence[str] | None:
    """How a server is started, from the environment of this script; None: it is not installed."""
    if name == OURS:
        return SERVER
    program = shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    return None if program is None else (program, "server") if name == RUFF else (program,)


def module() -> str:
    """A module of 5,000 lines; its target stands at two thirds of it."""
    parts = [PART.format(n=n) for n in range(LINES // PART.count("\n"))]
    middle = len(parts) * 2 // 3
    return "".join(["# Names.\n", *parts[:middle], STUB, *parts[middle:]])


@dataclass
class Sample:
    """What one server took in one round: seconds, and bytes."""

    initialize: float
    first_action: float
    memory: float
    keystrokes: list[float] = field(default_factory=list)
    generating: list[float] = field(default_factory=list)
    """Keystrokes while a function is being generated."""


@asynccontextmanager
async def started(name: str, folder: Path, standin: StandIn) -> AsyncIterator[Client]:
    """A client with a server that has been told nothing yet, and is killed in the end."""
    program = command(name)
    assert program is not None
    settings = {"model": "qwen2.5-coder:7b", "ollama": {"host": standin.host}}
    client = await Client.spawned(folder, settings, program)
    client.answers |= {
        "client/registerCapability": lambda _: None,
        "workspace/applyEdit": lambda _: {"applied": True},  # to make it in this process would let all else here wait
        "window/showMessageRequest": lambda _: None,
    }
    try:
        yield client
    finally:
        await client.kill()


async def round_of(name: str, folder: Path, text: str) -> Sample:
    """One server, from its start on."""
    line = text[: text.index("def initials")].count("\n")
    async with StandIn(lambda _: WRITING) as standin:
        began = time.perf_counter()
        async with started(name, folder, standin) as client:
            await client.initialize(FULL)
            initialized = time.perf_counter() - began
            uri = await client.open(NAME)
            await actions(client, uri, line)
            acted = time.perf_counter() - began
            found = Sample(initialized, acted, 0.0)
            if name != JEDI:  # it takes more than a second for each, and no figure is made of them
                await asyncio.sleep(SETTLE_SECONDS)
                found.keystrokes = await keystrokes(client, uri, line)
            if name == OURS:
                found.generating = await while_generating(client, standin, uri, line)
        async with started(name, folder, standin) as client:
            await client.initialize(FULL)
            document = {"uri": await client.open(NAME)}
            at = {"line": 0, "character": 0}
            with suppress(ResponseError):  # answered or refused: by then the module has been read
                await client.request("textDocument/hover", {"textDocument": document, "position": at})
            found.memory = float(psutil.Process(client.process.pid).memory_info().rss)
    return found


async def while_generating(client: Client, standin: StandIn, uri: str, line: int) -> list[float]:
    """Keystrokes in another function than the one that is being generated."""
    answer = await client.execute("generate", {"uri": uri, "qualifiedName": "initials"})
    if not answer["accepted"]:
        raise SystemExit(f"It was not generated: {answer['reason']}")
    await asyncio.wait_for(standin.until("first byte 1"), 30)
    found = await keystrokes(client, uri, line)
    if not (await client.execute("status"))["jobs"]:
        raise SystemExit(f"The generation did not last: {client.messages}")
    await client.execute("cancel")
    return found


async def keystrokes(client: Client, uri: str, line: int) -> list[float]:
    """Seconds of each keystroke, from the change to the answer."""
    document = client.documents[uri]
    taken: list[float] = []
    for number in range(WARM + KEYS):
        await asyncio.sleep(0.02)
        document.version += 1
        at = {"line": 0, "character": 2}
        typed = "x" * (1 - number % 2)
        change = {"range": {"start": at, "end": {**at, "character": 2 + number % 2}}, "text": typed}
        identifier = {"uri": uri, "version": document.version}
        began = time.perf_counter()
        await client.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]})
        await actions(client, uri, line)
        taken.append(time.perf_counter() - began)
    return taken[WARM:]


async def actions(client: Client, uri: str, line: int) -> Any:
    """The code actions at a line."""
    at = {"line": line, "character": 4}
    context = {"diagnostics": [], "triggerKind": 1}
    params = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": context}
    return await client.request("textDocument/codeAction", params)


async def measure(rounds: int) -> Mapping[str, list[Sample]]:
    """All servers once a round. One that fails, or takes too long, has fewer samples."""
    names = [name for name in (OURS, JEDI, RUFF) if command(name) is not None]
    samples: dict[str, list[Sample]] = {name: [] for name in names}
    text = module()
    for _ in range(rounds):
        _chance.shuffle(names)
        for name in names:
            with tempfile.TemporaryDirectory() as made:
                folder = Path(made)
                (folder / NAME).write_text(text, encoding="utf-8")
                (folder / "pyproject.toml").touch()
                try:
                    async with asyncio.timeout(MOST_SECONDS):
                        samples[name].append(await round_of(name, folder, text))
                except (TimeoutError, ResponseError, ConnectionError, asyncio.CancelledError) as error:
                    print(f"{name} was given up: {error!r}", file=sys.stderr)
    return samples


def p95(values: Sequence[float]) -> float:
    """The 95th percentile."""
    return sorted(values)[math.ceil(0.95 * len(values)) - 1]


@dataclass(frozen=True)
class Asked:
    """A figure that is asked for: a quantity of ours over one of another server's."""

    name: str
    ours: str
    """The member of `Sample`."""
    theirs: str
    other: str
    at_most: float
    is_p95: bool = False

    def line(self, samples: Mapping[str, list[Sample]]) -> dict[str, Any]:
        """The figure as a line of the output."""
        over = _summed(samples.get(OURS, []), self.ours, is_p95=self.is_p95)
        under = _summed(samples.get(self.other, []), self.theirs, is_p95=self.is_p95)
        if over is None or under is None:
            missing = self.other if under is None else OURS
            figure = Figure(None, at_most=self.at_most, skipped=f"{missing} is not installed, or did not answer")
            return {"figure": self.name, **figure.json()}
        scale, unit = (1e-6, "mb") if self.name == "memory" else (1e3, "ms")
        told = {f"ours_{unit}": round(over * scale, 3), f"theirs_{unit}": round(under * scale, 3)}
        n = len(samples[OURS])
        return {"figure": self.name, "n": n, "over": self.other, **Figure(over / under, self.at_most).json(), **told}


def _summed(samples: Sequence[Sample], member: str, *, is_p95: bool) -> float | None:
    """The median over all rounds, or the 95th percentile."""
    values: list[float] = []
    for sample in samples:
        value = getattr(sample, member)
        values += value if isinstance(value, list) else [value]
    if not values:
        return None
    return p95(values) if is_p95 else statistics.median(values)


FIGURES = (
    Asked("initialize", "initialize", "initialize", JEDI, 0.90),
    Asked("first_action", "first_action", "first_action", JEDI, 0.25),
    Asked("keystroke", "keystrokes", "keystrokes", RUFF, 0.25),
    Asked("keystroke_p95", "keystrokes", "keystrokes", RUFF, 0.5, is_p95=True),
    Asked("keystroke_generating", "generating", "keystrokes", RUFF, 0.25),
    Asked("keystroke_generating_p95", "generating", "keystrokes", RUFF, 0.5, is_p95=True),
    Asked("memory", "memory", "memory", JEDI, 0.55),
)


def main() -> int:
    """Measure, and print the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--strict", action="store_true", help="Fail if a target is missed.")
    options = parser.parse_args()
    samples = asyncio.run(measure(options.rounds))
    lines = [figure.line(samples) for figure in FIGURES]
    for line in lines:
        print(json.dumps({"benchmark": "server", **line}))
    return 1 if options.strict and not all(line.get("met") for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
