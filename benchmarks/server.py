"""Compare AdaCoder's language server with jedi-language-server and ruff's: start-up, keystrokes and memory.

Each round starts all servers in a new order, with the same client and the same open module of 5,000 lines. The module
is this Python's decimal arithmetic, because generated code would be too uniform. Two functions are added at its end.
The client types in the body of the second one, and requests code actions.

The output is one JSON line for each figure, the ratio of AdaCoder's median to another server's:

* `initialize`: from the start of the process to the answer to `initialize`, over jedi-language-server's;
* `first_action`: from the start to the first code actions, over jedi-language-server's;
* `keystroke`: from a change of one character to the code actions after it, over ruff's. `keystroke_p95` is the ratio of
  the 95th percentiles;
* `keystroke_generating` and `keystroke_generating_p95`: the same while AdaCoder generates a function;
* `memory`: resident memory of the server and its children after the first code actions, over jedi-language-server's.

The function at the cursor has a failed example, so each key removes or restores a diagnostic of AdaCoder. The client
also requests code lenses. All servers have bytecode files, as after an installation. A server that does not answer is
killed, and has no figures.
"""

from __future__ import annotations

import _pydecimal
import argparse
import ast
import asyncio
import compileall
import inspect
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
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import psutil
from measuring import Figure

import adacoder
from integration.lsp.client import FULL, SERVER, Client, ResponseError  # modules in tests/
from support.standins.ollama import Script, StandIn

Place: TypeAlias = dict[str, int]
"""A position in a text, as the language server protocol writes it."""

OURS, JEDI, RUFF = "adacoder", "jedi-language-server", "ruff"
NAME = "tracked.py"
KEYS = 40
"""Number of keystrokes for each server and round, after the warm-up."""
WARM = 5
MOST_SECONDS = 120.0
"""Timeout for a server in a round."""
SETTLE_SECONDS = 1.0
"""Pause between first answers and keystrokes, in which the server's background work can end."""

LINES = 5000
TAIL = '''

def initials(name: str) -> str:
    """The initials of a name, in capitals.

    >>> initials("ada lovelace")
    'AL'
    """


def shouted(name: str) -> str:
    """The name, so that it is heard; its example fails.

    >>> shouted("ada")
    'ADA!'
    """
    return str(name).upper()
'''
"""The function to generate, and the function with the cursor."""
CURSOR = "str(name).upper()"
SHOWING = {
    **FULL,
    "workspace": {**FULL["workspace"], "codeLens": {"refreshSupport": True}},
    "textDocument": {**FULL["textDocument"], "publishDiagnostics": {"versionSupport": True}, "codeLens": {}},
}
"""Capabilities of an editor that shows diagnostics and code lenses."""

WRITING = Script("```python\ndef initials(name: str) -> str:\n" + "    name = name.strip()\n" * 50_000, pause=0.01)
"""A reply that the model writes while keystrokes are measured."""

_chance = random.Random(0)


def command(name: str) -> Sequence[str] | None:
    """Return the command that starts a server; None if it is not installed."""
    if name == OURS:
        return SERVER
    program = shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    return None if program is None else (program, "server") if name == RUFF else (program,)


def module() -> str:
    """Return the text of the module. Cut the last methods of its class `Context`, to limit its length."""
    text = inspect.getsource(_pydecimal)
    lines = text.splitlines(keepends=True)
    tree = ast.parse(text)
    context = next(each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == "Context")
    end = context.end_lineno or 0
    starts = [each.lineno - 1 for each in context.body if isinstance(each, ast.FunctionDef)]
    first = next(start for start in reversed(starts) if end - start >= len(lines) - LINES)
    return "".join([*lines[:first], *lines[end:], TAIL])


@dataclass
class Sample:
    """Times in seconds and memory in bytes of one server in one round."""

    initialize: float
    first_action: float
    memory: float
    keystrokes: list[float] = field(default_factory=list)
    generating: list[float] = field(default_factory=list)
    """Seconds of each keystroke while a function is being generated."""


@asynccontextmanager
async def started(name: str, folder: Path, standin: StandIn) -> AsyncIterator[Client]:
    """Start a client with a new server. Kill the server at the end."""
    program = command(name)
    assert program is not None
    settings = {"model": "qwen2.5-coder:7b", "ollama": {"host": standin.host}}
    client = await Client.spawned(folder, settings, program)
    client.answers |= {
        "client/registerCapability": lambda _: None,
        "workspace/applyEdit": lambda _: {"applied": True},  # otherwise the edit would delay all messages
        "window/showMessageRequest": lambda _: None,
    }
    try:
        yield client
    finally:
        await client.kill()


async def round_of(name: str, folder: Path, text: str) -> Sample:
    """Start a server, and measure it."""
    async with StandIn(lambda _: WRITING) as standin:
        began = time.perf_counter()
        async with started(name, folder, standin) as client:
            await client.initialize(SHOWING)
            initialized = time.perf_counter() - began
            uri = await client.open(NAME)
            at = client.position(text, text.index(CURSOR))
            await client.request("textDocument/codeAction", at_place(uri, at))
            found = Sample(initialized, time.perf_counter() - began, resident(client))
            if name != JEDI:  # No figure uses jedi's keystrokes, which take more than a second each.
                await asyncio.sleep(SETTLE_SECONDS)
                if name == OURS:
                    await show_failure(client, uri)
                found.keystrokes = await keystrokes(client, uri, at)
            if name == OURS:
                found.generating = await while_generating(client, standin, uri, at)
    return found


def resident(client: Client) -> float:
    """Return the resident memory in bytes of a server and its child processes."""
    server = psutil.Process(client.process.pid)
    return float(sum(each.memory_info().rss for each in [server, *server.children(recursive=True)]))


async def show_failure(client: Client, uri: str) -> None:
    """Make the example fail, and wait for its diagnostic."""
    await client.run(uri, "shouted", mode="check", apply=False)
    await client.until(lambda: any(each["diagnostics"] for each in client.all("textDocument/publishDiagnostics")))


async def while_generating(client: Client, standin: StandIn, uri: str, at: Place) -> list[float]:
    """Return the times of keystrokes while another function is being generated."""
    answer = await client.execute("generate", {"uri": uri, "qualifiedName": "initials"})
    if not answer["accepted"]:
        raise SystemExit(f"It was not generated: {answer['reason']}")
    await asyncio.wait_for(standin.until("first byte 1"), 30)
    found = await keystrokes(client, uri, at)
    if not (await client.execute("status"))["jobs"]:
        raise SystemExit(f"The generation did not last: {client.messages}")
    await client.execute("cancel")
    return found


async def keystrokes(client: Client, uri: str, at: Place) -> list[float]:
    """Return the seconds of each keystroke, from the change to the code actions."""
    document = client.documents[uri]
    has_lenses = "codeLensProvider" in client.capabilities
    taken: list[float] = []
    for number in range(WARM + KEYS):
        await asyncio.sleep(0.02)
        document.version += 1
        end = {**at, "character": at["character"] + number % 2}
        change = {"range": {"start": at, "end": end}, "text": "x" * (1 - number % 2)}
        identifier = {"uri": uri, "version": document.version}
        began = time.perf_counter()
        await client.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]})
        _, acted = await client.begin("textDocument/codeAction", at_place(uri, at))
        lenses = [await client.begin("textDocument/codeLens", {"textDocument": {"uri": uri}})] if has_lenses else []
        await acted
        taken.append(time.perf_counter() - began)
        await asyncio.gather(*(answer for _, answer in lenses))
    return taken[WARM:]


def at_place(uri: str, at: Place) -> dict[str, Any]:
    """Return the parameters of a request for the code actions at a position."""
    context = {"diagnostics": [], "triggerKind": 1}
    return {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": context}


async def measure(rounds: int) -> Mapping[str, list[Sample]]:
    """Measure all servers once in each round. A server that fails or is too slow has fewer samples."""
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
    """Return the 95th percentile."""
    return sorted(values)[math.ceil(0.95 * len(values)) - 1]


@dataclass(frozen=True)
class Asked:
    """A figure with its target: AdaCoder's quantity divided by another server's."""

    name: str
    ours: str
    """Name of the attribute of `Sample` that is measured for AdaCoder."""
    theirs: str
    """Name of the attribute of `Sample` that is measured for the other server."""
    other: str
    at_most: float
    is_p95: bool = False

    def line(self, samples: Mapping[str, list[Sample]]) -> dict[str, Any]:
        """Return the figure as a line of the output."""
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
    """Return the median or the 95th percentile of a quantity over all rounds; None if no round measured it."""
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--strict", action="store_true", help="Fail if a target is missed.")
    options = parser.parse_args()
    compileall.compile_dir(str(Path(adacoder.__file__).parent), quiet=1)
    samples = asyncio.run(measure(options.rounds))
    lines = [figure.line(samples) for figure in FIGURES]
    for line in lines:
        print(json.dumps({"benchmark": "server", **line}))
    return 1 if options.strict and not all(line.get("met") for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
