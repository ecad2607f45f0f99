"""Measure the time from the cancellation of a request until the connection to the model server is closed.

A real language server and a real command line run with a stand-in for Ollama over real HTTP. The output is one JSON
line with the median and the worst time in milliseconds. The cases differ in the moment at which the user cancels:

* `queued here`: the request waits for another request of the same editor. It has no connection yet, so the time until
  its answer is measured;
* `queued there`: the request waits in the model server's queue, behind another program's request;
* `loading`: the model is being loaded;
* `between tokens`: the reply has begun, and the next token is slow;
* `writing`: tokens arrive all the time;
* `command line`: the user presses Ctrl-C in a terminal, between tokens.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from measuring import Figure, Report

from integration.lsp.client import Client, ResponseError  # modules in tests/
from integration.lsp.texts import STUB, UNENDING, told_of
from support.commandline import HEEDING
from support.standins.ollama import Model, Script, StandIn

CODER, OTHER = "qwen2.5-coder:7b", "other:7b"
TARGET_MS = 50
FOREVER = 3600.0
REQUEST_CANCELLED = -32800
LOADING = Script("def initials(name):\n", load=FOREVER)
WRITING = Script("def initials(name):\n" + "    name = name.strip()\n" * 20_000, pause=0.005)

Case = Callable[[Path], Awaitable[float]]
"""A function that cancels a request in a workspace, and returns the seconds from the user's action to the request's
end.
"""


def request_cancelled(reply: Script, when: str) -> Case:
    """Return a case in which an editor cancels its request at the model server's event `when`."""

    async def case(folder: Path) -> float:
        async with StandIn([reply]) as standin, editing(folder, standin) as editor:
            number, answer = await editor.begin("adacoder/run", editor.run_params("names.py", "initials"))
            await standin.until(when)
            began = time.perf_counter()
            await editor.cancel(number)
            await standin.until("disconnected 1")
            seconds = time.perf_counter() - began
            await is_refused(answer)
        return seconds

    return case


async def queued_there(folder: Path) -> float:
    """Cancel a request that waits in the model server's queue."""
    async with (
        StandIn([UNENDING, UNENDING], models=(Model(CODER), Model(OTHER))) as standin,
        editing(folder, standin) as other,
        editing(folder, standin) as editor,
    ):
        first, its_answer = await other.begin("adacoder/run", other.run_params("names.py", "initials"))
        await standin.until("first byte 1")
        second, answer = await editor.begin("adacoder/run", editor.run_params("names.py", "initials"))
        await standin.until("request 2")
        began = time.perf_counter()
        await editor.cancel(second)
        await standin.until("disconnected 2")
        seconds = time.perf_counter() - began
        await is_refused(answer)
        await other.cancel(first)
        await is_refused(its_answer)
    return seconds


async def queued_here(folder: Path) -> float:
    """Cancel a request that waits for another request of the same editor."""
    async with StandIn([UNENDING]) as standin, editing(folder, standin) as editor:
        await editor.write("other.py", STUB)
        first, its_answer = await editor.begin("adacoder/run", editor.run_params("other.py", "initials"))
        await standin.until("first byte 1")
        await editor.execute("generate", {"uri": editor.uri("names.py"), "qualifiedName": "initials"})
        await editor.until(lambda: "1 ahead" in str(editor.all("$/progress")))
        began = time.perf_counter()
        await editor.notify("window/workDoneProgress/cancel", editor.all("window/workDoneProgress/create")[-1])
        await editor.until(lambda: editor.messages)
        seconds = time.perf_counter() - began
        await editor.cancel(first)
        await is_refused(its_answer)
    return seconds


async def command_line(folder: Path) -> float:
    """Press Ctrl-C while `adacoder generate` waits for the next token."""
    (folder / "names.py").write_text(STUB, encoding="utf-8")
    async with StandIn([UNENDING]) as standin:
        process = await asyncio.create_subprocess_exec(
            *(*HEEDING, sys.executable, "-m", "adacoder", "generate", "names.py::initials"),
            *("--model", CODER, "--host", standin.host),
            cwd=folder,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await standin.until("first byte 1")
        began = time.perf_counter()
        process.send_signal(signal.SIGINT)
        await standin.until("disconnected 1")
        seconds = time.perf_counter() - began
        assert await process.wait() == 130
    return seconds


CASES: dict[str, Case] = {
    "queued_here": queued_here,
    "queued_there": queued_there,
    "loading": request_cancelled(LOADING, "load 1"),
    "between_tokens": request_cancelled(UNENDING, "first byte 1"),
    "writing": request_cancelled(WRITING, "first byte 1"),
    "command_line": command_line,
}


@asynccontextmanager
async def editing(folder: Path, standin: StandIn) -> AsyncIterator[Client]:
    """Start an editor, and open the file with the target."""
    async with Client.started(folder, told_of(standin)) as editor:
        await editor.write("names.py", STUB)
        yield editor


async def is_refused(answer: asyncio.Future[object]) -> None:
    """Wait for the answer to a request, and expect the error `cancelled`."""
    (result,) = await asyncio.gather(answer, return_exceptions=True)
    if not (isinstance(result, ResponseError) and result.code == REQUEST_CANCELLED):
        raise SystemExit(f"the request was not cancelled: {result}")


async def measure(rounds: int) -> Report:
    """Run every case once in each round."""
    samples: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(rounds):
        for name, case in CASES.items():
            with tempfile.TemporaryDirectory() as folder:
                samples[name].append(await case(Path(folder)) * 1000)
    worst = max(max(values) for values in samples.values())
    slowest = max(statistics.median(values) for values in samples.values())
    medians = {f"{name}_ms": round(statistics.median(values), 2) for name, values in samples.items()}
    return Report(
        n=rounds,
        figures={
            "slowest_median_ms": Figure(slowest, at_most=TARGET_MS),
            "worst_ms": Figure(worst, at_most=TARGET_MS),
        },
        medians=medians,
        remarks={"worst_of_each_ms": {name: round(max(values), 2) for name, values in samples.items()}},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    report = asyncio.run(measure(parser.parse_args().rounds))
    print(json.dumps({"benchmark": "cancel", **report.json()}))


if __name__ == "__main__":
    main()
