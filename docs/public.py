"""Write `public.txt`, the list of all names that users can rely on. stability.md says how they may change."""

from __future__ import annotations

import asyncio
import inspect
import io
import json
import re
import shutil
import tempfile
import threading
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stdout
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints
from unittest.mock import Mock

import click

from adacoder.cli import commands, pytest_plugin
from adacoder.domain import FailureKind, Level, ProjectTestStatus, Status
from adacoder.lsp import features, from_proto
from adacoder.lsp.connection import client, pygls_fixes
from adacoder.lsp.language_server import found
from adacoder.mcp.tool_words import TOOLS
from adacoder.settings import SETTINGS, Settings
from adacoder.strategies import STRATEGIES
from integration.lsp.client import FULL, Client
from integration.lsp.texts import told_of
from support.commandline import GOOD_REPLY, MODEL, SOLVED, STUB, WRONG
from support.repository import commit
from support.standins.ollama import StandIn
from support.standins.server import Script

ROOT = Path(__file__).parents[1]
LISTING = ROOT / "docs" / "public.txt"

_EXIT_CODES = (
    "adacoder 0 verified, 1 not verified, 2 could not run, 130 interrupted",
    "adacoder arena 0 complete, 2 incomplete, 130 interrupted",
    "adacoder check 0 nothing failed, 1 failed or denied, 2 could not run, 130 interrupted",
    "adacoder compare 0 same, 1 different, 2 could not run, 130 interrupted",
    "adacoder hook 0 answered, 1 could not run, 2 go on (only with --agent exit2)",
)
_ENVIRONMENT = """
ALL_PROXY HTTPS_PROXY HTTP_PROXY NO_PROXY SSL_CERT_DIR SSL_CERT_FILE OLLAMA_API_KEY OLLAMA_HOST OPENAI_API_KEY
CONDA_DEFAULT_ENV CONDA_PREFIX PATH PYENV_VERSION VIRTUAL_ENV XDG_CACHE_HOME XDG_STATE_HOME
COLUMNS FORCE_COLOR NO_COLOR TERM TTY_COMPATIBLE
"""
"""Environment variables that AdaCoder, httpx and rich read."""
_WORDS = {
    "result.failure.kind": FailureKind,
    "result.isolation.level": Level,
    "result.status": (*Status, "skipped"),
    "result.tests.status": ProjectTestStatus,
}
_RARE = """
result.coverage.unreached.line result.coverage.unreached.text result.journal.note result.journal.error
result.coverage.branches.line result.coverage.branches.never result.coverage.branches.text
result.failure.test result.failure.explanation result.journal.again result.journal.known result.journal.unread
adacoder/ended.remedies.arguments adacoder/ended.remedies.command adacoder/ended.remedies.model
adacoder/ended.remedies.title adacoder/run.remedies.key adacoder/run.remedies.model
"""
"""Members that occur only with a newer Python, or in rare runs."""
_REPEATED = re.compile(r"adacoder/(?:run|check\.results|evidence\.items\.evidence)\.")
"""Matches members of an answer that are the same as in the object of `--json`."""
_RECORDED = ("codetree-refined", "adacoder-planned", "ldb", "adacoder-repaired")
"""Recordings for the workflows that add members to `journal`."""
_REPLAY = (
    f"generate shop/codes.py::check_digit --strategy {{}} --model replay:{ROOT}/fixtures/strategies/{{}}.conversation"
)
_FILES = {
    "pyproject.toml": "",
    "before.py": SOLVED,
    "now.py": SOLVED,
    "stub.py": STUB,
    "test_before.py": "import before\n\n\ndef test_it():\n    assert before.hypotenuse(6, 8) == 10\n",
}
_TASK = """{"task_id": "HumanEval/1", "entry_point": "f", "prompt": "def f():\\n  'F.'\\n",
"canonical_solution": "  return 1\\n", "test": "def check(candidate):\\n    assert candidate() == 1\\n"}"""
_DECLARED = re.compile(r'_declares\("(\w+)"')


def names() -> list[str]:
    """Return the lines of the list. Those about members of answers are in `members`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    manifest = json.loads((ROOT / "client" / "package.json").read_text(encoding="utf-8"))["contributes"]
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    parser = Mock()
    pytest_plugin.pytest_addoption(parser)
    return [
        f"python {project['requires-python']}",
        *(f"extra {name}" for name in project["optional-dependencies"]),
        *(f"entry-point {name} = {place}" for name, place in project["scripts"].items()),
        *(f"entry-point pytest11 {name} = {place}" for name, place in project["entry-points"]["pytest11"].items()),
        *(f"pytest {call.args[0]}" for call in parser.getgroup().addoption.call_args_list),
        *(f"pre-commit {name}" for name in re.findall(r"^- id: (\S+)", hooks, re.MULTILINE)),
        *(f"vscode command {each['command']}" for each in manifest["commands"]),
        *(f"vscode setting {name}" for group in manifest["configuration"] for name in group["properties"]),
        *(f"strategy {name}" for name in STRATEGIES),
        *(f"code-action {kind}" for kind in features.KINDS),
        *(f"lsp {method}" for method in (*features.NOTIFICATIONS, *features.FEATURES)),
        *(f"capability experimental.adacoder.{name}" for name in _DECLARED.findall(inspect.getsource(client))),
        *_command_line(commands.adacoder, "adacoder"),
        *_settings(),
        *_protocol(),
        *(f"environment {name}" for name in _ENVIRONMENT.split()),
        *(f"exit-codes {codes}" for codes in _EXIT_CODES),
        *(line for tool in TOOLS for line in _tool(tool)),
    ]


def _command_line(command: click.Command, name: str) -> Iterator[str]:
    """Yield the arguments and options of a command and of its subcommands."""
    yield f"cli {name}"
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            spelled = "/".join([*parameter.opts, *parameter.secondary_opts])
            given = parameter.default  # without a default, the value depends on click's version
            default = f" [{given}]" if given and isinstance(given, str | int | float | Path) else ""
            form = "" if parameter.is_flag else f" {_kind(parameter)}"
        else:
            spelled, form, default = parameter.make_metavar(click.Context(command)), "", ""
        many = " ..." if parameter.multiple else ""
        yield f"cli {name} {spelled}{form}{many}{' required' if parameter.required else ''}{default}"
    for inner, each in getattr(command, "commands", {}).items():
        yield from _command_line(each, f"{name} {inner}")


def _kind(option: click.Option) -> str:
    kind: Any = option.type
    if isinstance(kind, click.Choice):
        return "|".join(map(str, kind.choices))
    ends = [getattr(kind, end, None) for end in ("min", "max")]
    bounds = " " + "..".join("" if end is None else f"{end:g}" for end in ends)
    return (option.metavar or kind.name.split()[0]) + bounds * (ends != [None, None])


def _settings() -> Iterator[str]:
    for name, setting in SETTINGS.items():
        values, default = setting.values, getattr(Settings(), name)
        kind = "|".join(values.words) or f"{values.type.__name__}{'[]' if values.is_list else ''}"
        bounds = " {}..{}".format(*values.bounds) if values.bounds else ""
        whose = "" if setting.by_project else ", not in a project"
        yield f"setting {setting.key} {kind}{bounds} [{setting.unset or json.dumps(default)}]{whose}"


def _protocol() -> Iterator[str]:
    """Yield the protocol's commands and requests with their parameters, and its notifications."""
    named = {f"command {features.COMMAND}{name}": handler for name, handler in features.COMMANDS.items()}
    named |= {f"request {pygls_fixes.OWN}{name}": handler for name, handler in features.REQUESTS.items()}
    for name, handler in named.items():
        yield name
        kind = _parameters(handler)
        hints = get_type_hints(kind, vars(from_proto))
        for each in fields(kind) if is_dataclass(kind) else ():
            member = from_proto.MEMBERS.get(each.name, each.name)
            optional = "" if each.default is MISSING else "?"
            words = [hint for hint in (hints[each.name], *get_args(hints[each.name])) if _is_enumeration(hint)]
            yield " ".join([name, f"{member}{optional}", *("|".join(word) for word in words)])
    for notification in (pygls_fixes.ENDED, pygls_fixes.WRITING, pygls_fixes.EVIDENCE):
        yield f"notification {notification}"


def _parameters(handler: str) -> Any:
    """Return the class of the parameters of a handler."""
    _, parameter = inspect.signature(inspect.unwrap(found(handler))).parameters.values()
    return getattr(from_proto, str(parameter.annotation), object)


def _is_enumeration(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, Enum)


def members() -> list[str]:
    """Return the lines for the members of answers. Producing real answers takes some seconds."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        answers = [*_printed(Path(folder)), *asyncio.run(_answered(Path(folder).resolve()))]
    found = {*_RARE.split(), *(f"{place}.{member}" for place, answer in answers for member in _paths(answer))}
    own = (each for each in found if _REPEATED.sub("result.", each) not in found - {each})
    words = (f"{place} = {each}" for place, all_words in _WORDS.items() for each in all_words)
    return [f"json {each}" for each in (*own, *words)]


def _paths(answer: object, place: str = "") -> Iterator[str]:
    """Yield the members of an answer. The members of a member have a dotted path."""
    for each in answer if isinstance(answer, list) else ():
        yield from _paths(each, place)
    is_closed = isinstance(answer, dict) and not place.endswith(("leftOut.", "arguments."))
    for name, each in answer.items() if is_closed else ():
        yield f"{place}{name}"
        yield from _paths(each, f"{place}{name}.")


def _printed(folder: Path) -> Iterator[tuple[str, object]]:
    """Yield the objects that commands print with `--json`."""
    shutil.copytree(ROOT / "fixtures" / "stubs", folder, dirs_exist_ok=True)
    for name, text in _FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    commit(folder)
    (folder / "now.py").write_text(WRONG.replace("(5, 12)\n    13", "(6, 8)\n    10"), encoding="utf-8")
    (folder / "tasks.jsonl").write_text(_TASK.replace("\n", " "), encoding="utf-8")
    with StandIn(lambda _: GOOD_REPLY).in_thread() as server:
        model = f"--model {MODEL} --host {server.host}"
        for line in (
            "result check --coverage --tests before.py",
            "result check --changed --base HEAD now.py",
            *(f"result {_REPLAY.format(name.partition('-')[0], name)}" for name in _RECORDED),
            f"result generate stub.py --cross-check {model}",
            f"result fix now.py {model}",
            "compare compare now.py --against before.py",
            f"doctor doctor --no-probe {model}",
            f"models models --host {server.host}",
            f"rank models tasks.jsonl --rank --strategy direct {model}",
            "strategies strategies",
        ):
            place, *arguments = line.split()
            with redirect_stdout(io.StringIO()) as out:
                commands.run([*arguments, "--json"])
            yield from ((place, json.loads(each)) for each in out.getvalue().splitlines())


async def _answered(folder: Path) -> list[tuple[str, object]]:
    """Return a server's answers to commands and requests, and its notifications."""
    goes_on = threading.Event()
    declared = {**FULL, "experimental": {"adacoder": dict.fromkeys(("endings", "evidence", "writing"), True)}}
    async with (
        StandIn(lambda _: Script(GOOD_REPLY, until=goes_on), library={"new": Script("x")}) as model,
        Client.started(folder, told_of(model, preview=True), capabilities=declared) as editor,
    ):
        uri = await editor.open("stub.py")
        job = await editor.execute("generate", {"uri": uri, "qualifiedName": "hypotenuse"})
        await editor.until(lambda: editor.all(pygls_fixes.WRITING))
        status = await editor.execute("status", {"uri": uri})
        goes_on.set()
        await editor.until(lambda: editor.all(pygls_fixes.ENDED))
        found = [("adacoder.server.generate", job), ("adacoder.server.status", status)]
        job, document = {"jobId": job["jobId"]}, {"textDocument": {"uri": uri}}
        for name, asked in {
            "/examples": document,
            "/kept": document,
            "/check": document,
            "/evidence": document,
            "/debug": {"id": f"{uri}#hypotenuse"},
            "/run": editor.run_params("stub.py", "hypotenuse", mode="check", apply=False),
            "difference": {**job, "show": False},
            "journal": {**job, "format": "markdown"},
            "models": {},
            "pull": {"model": "new"},
            "doctor": {"probe": False},
            "strategies": {},
            "discard": job,
            "clear": {},
        }.items():
            is_request = name.startswith("/")
            answer = editor.request(f"adacoder{name}", asked) if is_request else editor.execute(name, asked)
            found.append((f"adacoder{name}" if is_request else f"adacoder.server.{name}", await answer))
        own = (pygls_fixes.ENDED, pygls_fixes.EVIDENCE, pygls_fixes.WRITING)
        return [*found, *((method, each) for method in own for each in editor.all(method))]


def _tool(tool: Mapping[str, Any]) -> Iterator[str]:
    name = f"mcp-tool {tool['name']}"
    yield name
    yield from (f"{name} {each}: {value}" for each, value in tool["annotations"].items() if each != "title")
    yield from _schema(tool["inputSchema"], f"{name} input")
    yield from _schema(tool["outputSchema"], f"{name} output", "mcp-result")


def _schema(schema: Mapping[str, Any], place: str, below: str = "") -> Iterator[str]:
    """Yield the members of a JSON schema with their types. `below` is the path of the schema itself."""
    for name, each in schema.get("properties", {}).items():
        kind = "|".join(each.get("enum", [each.get("type", "any")]))
        yield f"{place}.{name} {kind}{' required' if name in schema.get('required', ()) else ''}"
        for inner in (each, each.get("items", {})):
            yield from _schema(inner, f"{below or place}.{name}")


def main() -> None:
    LISTING.write_text("\n".join([*sorted({*names(), *members()}), ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
