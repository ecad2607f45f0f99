"""Run generate, cancel, window, ladder and wedge with a real server, and print the results.

ADACODER_OLLAMA or ADACODER_OPENAI gives the address of the server, and ADACODER_MODELS its models, separated by commas.
For a ladder, the last model should be the best. Without an address, a server starts with the model file of
ADACODER_GGUF. Without this file, servers start with the models of `models.py`, whose replies are known.

usage: PYTHONPATH=tests python tests/real/drive.py [REPLIES]    number of replies to end early; 200 by default
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adacoder.domain import Ended, Message, Reply
from adacoder.models.backend import Session
from adacoder.models.backends import open_model
from adacoder.models.base import Ask
from adacoder.models.errors import ContextOverflow, ModelError, NothingCame
from adacoder.models.window import estimate_chat, lower_estimate
from adacoder.settings import Settings
from real.servers import WINDOW, has_llama_server, llama_cpp_python, llama_server, served

MODULE = '''
def slug(text: str) -> str:
    """Return the words of `text` in lower case, joined by hyphens.

    >>> slug("A  Tale of Two")
    'a-tale-of-two'
    """
    raise NotImplementedError
'''
_REPLIES = 200
_PATIENCE = 600.0
"""Time limit of a command in seconds."""
_LONG_WAIT = 10.0
"""Seconds between two short replies that are worth a message."""
_ASKED = (
    Message("system", "You write Python."),
    Message("user", "Write the function `slug(text)`, in one code block."),
)


@dataclass
class Lane:
    """A server and its results."""

    server: str
    """Name of the server."""
    settings: Settings
    """Settings with its address and the ids of its models."""
    failures: list[str] = field(default_factory=list)

    def says(self, what: str, said: str, *, good: bool = True) -> None:
        """Print a result. `good`: it is as expected."""
        print(f"{'✓' if good else '✗'} {self.server}: {what}: {said}", flush=True)
        if not good:
            self.failures.append(what)

    def run(self, *arguments: str, models: Sequence[str] | None = None) -> subprocess.Popen[str]:
        """Start `adacoder` with this server and `models`, by default all of them."""
        where = ["--host", self.settings.host] if self.settings.host else ["--base-url", str(self.settings.base_url)]
        chosen = [part for model in models or self.settings.models for part in ("--model", model)]
        command = [sys.executable, "-m", "adacoder", arguments[0], *where, *chosen, *arguments[1:]]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def generated(
        self, folder: Path, *arguments: str, models: Sequence[str] | None = None
    ) -> tuple[int, str, dict[str, Any]]:
        """Run `adacoder generate` to its end. Return its exit code, its last message, and its JSON."""
        module = folder / "slugs.py"
        module.write_text(MODULE, encoding="utf-8")
        with self.run("generate", str(module), "--json", *arguments, models=models) as process:
            out, err = process.communicate(timeout=_PATIENCE)
        return process.returncode, err.strip().splitlines()[-1] if err.strip() else "", json.loads(out or "{}")

    async def ask(
        self,
        messages: tuple[Message, ...] = _ASKED,
        *,
        lines: int | None = None,
        session: Session | None = None,
        most: int = 200,
    ) -> Reply:
        """Return a reply of the last model. End it early once it has `lines` lines."""
        model = await open_model(self.settings.models[-1], self.settings, session or Session(), lambda _: None)
        try:
            enough = lambda text: lines is not None and text.count("\n") >= lines  # noqa: E731
            return await model.reply(Ask(messages, enough=enough, max_tokens=most))
        finally:
            await model.close()


def generate(lane: Lane, folder: Path) -> None:
    """Run generate with each model alone."""
    for model in lane.settings.models:
        code, said, outcome = lane.generated(folder, models=[model])
        lane.says(f"generate with {model}", _told(code, said, outcome), good=code in (0, 1))


def ladder(lane: Lane, folder: Path) -> None:
    """Run generate with all models. All but the last get one round."""
    if len(lane.settings.models) > 1:
        code, said, outcome = lane.generated(folder, "--rounds-per-model", "1")
        lane.says("ladder", _told(code, said, outcome), good=code in (0, 1))


def cancel(lane: Lane, folder: Path) -> None:
    """Press Ctrl-C during a reply, and measure how long the next reply must wait."""
    module = folder / "slugs.py"
    module.write_text(MODULE, encoding="utf-8")
    for after in (1.0, 2.0, 4.0):
        with lane.run("generate", str(module)) as process:
            time.sleep(after)
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            process.communicate(timeout=_PATIENCE)
            took = time.monotonic() - began
        began = time.monotonic()
        asyncio.run(lane.ask())
        ended = (
            f"ended with {process.returncode} in {took:.1f} s; the next reply came in {time.monotonic() - began:.1f} s"
        )
        lane.says(f"Ctrl-C after {after:g} s", ended, good=process.returncode in (0, 1, 130) and took < 5)


def window(lane: Lane, folder: Path) -> None:
    """Send a prompt that no window of this size can hold, and one that nearly fills it."""
    try:
        asyncio.run(lane.ask((Message("user", "word " * 2 * lane.settings.context_tokens),)))
    except (ContextOverflow, NothingCame) as error:
        lane.says("a prompt beyond the window", str(error))
    else:
        lane.says("a prompt beyond the window", "a reply came", good=False)


def figures(lane: Lane, folder: Path) -> None:
    """Compare counts, times and measures of one prompt, read to its end and ended early."""

    async def replies() -> list[Reply]:
        session = Session()
        asked = (*_ASKED[:1], Message("user", f"{MODULE * 8}\n{_ASKED[1].content}"))
        lasts = ("Plan.", "Write it.", "Write it again.")
        ends = (1, None, 1)
        return [
            await lane.ask(
                (*asked[:1], replace(asked[1], content=f"{asked[1].content}\n{last}")), lines=end, session=session
            )
            for last, end in zip(lasts, ends, strict=True)
        ]

    stopped, whole, again = asyncio.run(replies())
    for what, reply in (("ended early", stopped), ("whole", whole), ("ended early, later", again)):
        counts = f"{reply.tokens.prompt} read, of them {reply.tokens.cached} cached, {reply.tokens.completion} written"
        about = "about " if reply.tokens.estimated else ""
        lane.says(f"figures of a reply that is {what}", f"{about}{counts}; {reply.ended.value}; {_times(reply)}")
    asked = (*_ASKED[:1], Message("user", f"{MODULE * 8}\n{_ASKED[1].content}\nWrite it."))
    bounds = f"at least {lower_estimate(asked)}, at most {estimate_chat(asked)}"
    if whole.tokens.estimated:
        lane.says("measures", f"{bounds}; the server counts nothing in streams")
    else:
        holds = lower_estimate(asked) <= whole.tokens.prompt <= estimate_chat(asked)
        lane.says("measures", f"{bounds}, counted {whole.tokens.prompt}", good=holds)


def wedge(lane: Lane, folder: Path, count: int) -> None:
    """End many short replies early. None may be lost, and none may wait long."""

    async def replies() -> tuple[int, float, list[str]]:
        session, slowest, lost, stopped = Session(), 0.0, [], 0
        for number in range(count):
            began = time.monotonic()
            try:
                reply = await lane.ask((*_ASKED, Message("user", str(number))), lines=1 + number % 3, session=session)
                stopped += reply.ended is Ended.STOPPED_EARLY
            except ModelError as error:
                lost.append(str(error))
            slowest = max(slowest, time.monotonic() - began)
        return stopped, slowest, lost

    stopped, slowest, lost = asyncio.run(replies())
    said = f"{stopped} of {count} replies ended early, {len(lost)} lost, the slowest took {slowest:.1f} s"
    lane.says("wedge", "; ".join([said, *lost[:1]]), good=not lost and slowest < _LONG_WAIT)


def fixed(lane: Lane, folder: Path) -> None:
    """Check the known results of the models of `models.py`."""
    expected: Mapping[str, Callable[[int, dict[str, Any]], bool]] = {
        "right": lambda code, outcome: code == 0 and outcome["rounds"] == 1,
        "wrong": lambda code, outcome: code == 1 and outcome["rounds"] == 6,
        "thinks": lambda code, outcome: code == 0 and outcome["rounds"] == 1,
        "steps": lambda code, outcome: code == 1,
        "circles": lambda code, outcome: code == 1,
    }
    for name, holds in expected.items():
        model = f"openai:{name}"
        if model in lane.settings.models:
            code, said, outcome = lane.generated(folder, models=[model])
            lane.says(name, _told(code, said, outcome), good=holds(code, outcome))
    if {"openai:wrong", "openai:right"} <= {*lane.settings.models}:
        code, said, outcome = lane.generated(folder, "--rounds-per-model", "1", models=["openai:wrong", "openai:right"])
        lane.says("wrong, then right", _told(code, said, outcome), good=code == 0)


def _told(code: int, said: str, outcome: Mapping[str, object]) -> str:
    if not outcome:
        return f"exit {code}: {said}"
    reason = f" ({outcome['reason']})" if outcome["reason"] else ""
    return (
        f"exit {code}, {outcome['status']}{reason} in {outcome['rounds']} rounds, {outcome['modelCalls']} calls,"
        f" {outcome['seconds']} s, tokens {json.dumps(outcome['tokens'])}"
    )


def _times(reply: Reply) -> str:
    if reply.time is None:
        return "no times"
    times = ("queue", "load", "prompt", "generation")
    return ", ".join(f"{name} {getattr(reply.time, name):.2f} s" for name in times)


def drive(lane: Lane, count: int, *, own: bool) -> list[str]:
    """Run all steps. Return the failures."""
    with tempfile.TemporaryDirectory() as folder:
        for step in (fixed,) if own else (generate, ladder):
            step(lane, Path(folder))
        cancel(lane, Path(folder))
        window(lane, Path(folder))
        figures(lane, Path(folder))
        wedge(lane, Path(folder), count)
    return lane.failures


@contextmanager
def _lanes() -> Iterator[Iterator[tuple[Lane, bool]]]:
    """Yield the servers to test, and whether they are our own."""
    names = [name.strip() for name in os.environ.get("ADACODER_MODELS", "").split(",") if name.strip()]
    host, url = os.environ.get("ADACODER_OLLAMA"), os.environ.get("ADACODER_OPENAI")
    if (host or url) and not names:
        raise SystemExit("Name the models to ask in ADACODER_MODELS, with commas between them.")
    given = [
        *(
            [Lane(f"Ollama at {host}", Settings(models=tuple(f"ollama:{name}" for name in names), host=host))]
            if host
            else ()
        ),
        *([Lane(url, Settings(models=tuple(f"openai:{name}" for name in names), base_url=url))] if url else ()),
    ]
    if given:
        yield ((lane, False) for lane in given)
    elif file := os.environ.get("ADACODER_GGUF"):
        yield _of_file(Path(file))
    else:
        yield _own()


def _of_file(model: Path) -> Iterator[tuple[Lane, bool]]:
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), model) as (name, url):
        yield Lane(name, Settings(models=(f"openai:{name}",), base_url=url, context_tokens=WINDOW)), False


def _own() -> Iterator[tuple[Lane, bool]]:
    from real.models import make

    with tempfile.TemporaryDirectory() as folder:
        files = make(Path(folder))
        with llama_cpp_python(Path(folder), files) as url:
            # The last one answers the questions that are not about a certain model.
            ids = tuple(f"openai:{name}" for name in (*(name for name in files if name != "right"), "right"))
            yield Lane("llama-cpp-python", Settings(models=ids, base_url=url, context_tokens=WINDOW)), True
        if has_llama_server():
            for name, path in files.items():
                with llama_server(Path(folder), path) as url:
                    yield Lane(f"llama-server, {name}", Settings(models=(f"openai:{name}",), base_url=url)), True


if __name__ == "__main__":
    # the starting program may ignore this signal, and then our commands would too
    signal.signal(signal.SIGINT, signal.default_int_handler)
    replies = int(sys.argv[1]) if len(sys.argv) > 1 else _REPLIES
    with _lanes() as lanes:
        wrong = [f"{lane.server}: {what}" for lane, own in lanes for what in drive(lane, replies, own=own)]
    print("\n".join(["", *(f"✗ {one}" for one in wrong)]) if wrong else "\nAll as it must be.")
    sys.exit(bool(wrong))
