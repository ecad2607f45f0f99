"""Write `public.txt`, the list of everything that users can rely on. stability.md says how it may change."""

from __future__ import annotations

import ast
import inspect
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path
from pkgutil import resolve_name
from textwrap import dedent
from typing import Any, get_args, get_type_hints
from unittest.mock import Mock

import click

from adacoder.cli import commands, pytest_plugin
from adacoder.lsp import features, from_proto
from adacoder.lsp.connection import client, pygls_fixes
from adacoder.lsp.language_server import found
from adacoder.mcp.tool_words import TOOLS
from adacoder.settings import SETTINGS, Settings
from adacoder.strategies import STRATEGIES

ROOT = Path(__file__).parents[1]
LISTING = ROOT / "docs" / "public.txt"
PACKAGE = ROOT / "server" / "adacoder"

_OBJECTS = {
    "result": "report.as_json:to_json",
    "result.behaviour": "report.differences:differences_json",
    "result.change": "cli.findings:_change",
    "result.coverage": "report.as_json:_coverage",
    "result.coverage.branches": "report.as_json:_line",
    "result.coverage.unreached": "report.as_json:_line",
    "result.crossCheck": "report.differences:cross_check_json",
    "result.edits": "report.as_json:_edit",
    "result.failure": "report.as_json:_failure",
    "result.failure.kind =": "domain:FailureKind",
    "result.isolation": "report.as_json:_isolation",
    "result.isolation.level =": "domain:Level",
    "result.journal": "report.as_json:step_json",
    "result.journal (evaluation)": "report.as_json:_evaluated",
    "result.journal (other)": "report.as_json:_details",
    "result.journal (reply)": "report.as_json:_asked",
    "result.journal.time": "report.as_json:_timing",
    "result.status =": "domain:Status",
    "result.tests": "report.as_json:_test",
    "result.tests.status =": "domain:ProjectTestStatus",
    "result.tokens": "report.as_json:_tokens",
    "compare": "report.differences:differences_json",
    "compare (more)": "cli.comparing:Comparing._compare",
    "doctor": "cli.doctor_report:show_health",
    "doctor.findings": "doctor:Finding.json",
    "models": "models.catalog:InstalledModel",
    "models (more)": "cli.models:list_models",
    "models --rank": "cli.models:_told",
    "models --rank.standings": "arena.rank:Arm",
    "adacoder/check": "lsp.example_requests:on_check",
    "adacoder/check.results.results": "lsp.showing.evidence:example_results",
    "adacoder/debug": "lsp.example_requests:on_debug",
    "adacoder/ended": "lsp.jobs.jobs:_about",
    "adacoder/ended (message)": "lsp.connection.client:Client.tell_end",
    "adacoder/evidence": "lsp.example_requests:_about",
    "adacoder/evidence.items": "lsp.example_requests:_evidence_item",
    "adacoder/examples": "lsp.example_requests:_about",
    "adacoder/examples.items": "lsp.example_requests:_items",
    "adacoder/kept.items": "lsp.jobs.results:KeptResult.json",
    "adacoder/run": "lsp.jobs.job:JobWork._end",
    "adacoder/run.remedies": "lsp.connection.client:remedies_json",
    "adacoder/writing": "lsp.jobs.writing:LiveReply.__init__",
    "adacoder.server.difference": "lsp.jobs.jobs:Jobs.difference",
    "adacoder.server.doctor": "lsp.machine:on_doctor",
    "adacoder.server.generate": "lsp.handlers:_accepted",
    "adacoder.server.journal": "lsp.showing.views:on_journal",
    "adacoder.server.models": "lsp.machine:on_models",
    "adacoder.server.models.models": "lsp.machine:_model",
    "adacoder.server.models.recommended": "lsp.machine:_recommendation",
    "adacoder.server.pull": "lsp.machine:_not_pulled",
    "adacoder.server.status": "lsp.machine:on_status",
    "adacoder.server.status.jobs": "lsp.jobs.jobs:Jobs.status",
}
"""Functions that make JSON, classes whose fields become JSON, and enumerations, by their place in the JSON."""
_VARIABLE = re.compile(r'"([A-Z][A-Z_]{3,})"')
_CODES = re.compile(r"Exit codes: (.+?)(?:\n\n|\Z)", re.DOTALL)
_DECLARED = re.compile(r'_declares\("(\w+)"')


def listing() -> list[str]:
    """Return the lines of the list, sorted."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    manifest = json.loads((ROOT / "client" / "package.json").read_text(encoding="utf-8"))["contributes"]
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    parser = Mock()
    pytest_plugin.pytest_addoption(parser)
    lines = [
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
        *_variables(),
        *(f"json {place}{member}" for place, name in _OBJECTS.items() for member in _members(name)),
        *(line for tool in TOOLS for line in _tool(tool)),
    ]
    return sorted(set(lines))


def _command_line(command: click.Command, name: str) -> Iterator[str]:
    """Yield the arguments, options and exit codes of a command and of its subcommands."""
    yield f"cli {name}"
    if codes := _CODES.search(command.help or ""):
        yield f"exit-codes {name}: {' '.join(codes[1].split())}"
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            spelled = "/".join([*parameter.opts, *parameter.secondary_opts])
            given = parameter.default  # None, False or a sentinel, by the version of click, if there is no default
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
    """Yield the commands and requests with their parameters, and the notifications to the client."""
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
    """Return the class of a handler's parameters."""
    _, parameter = inspect.signature(inspect.unwrap(found(handler))).parameters.values()
    return getattr(from_proto, str(parameter.annotation), object)


def _is_enumeration(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, Enum)


def _variables() -> Iterator[str]:
    """Yield the environment variables that our own process reads, by the functions that read the environment."""
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "os.environ" not in text or "child" in path.parts:
            continue
        lines = text.splitlines()
        for function in ast.walk(ast.parse(text)):
            if isinstance(function, ast.FunctionDef):
                own = "\n".join(lines[function.lineno - 1 : function.end_lineno])
                yield from (f"environment {name}" for name in _VARIABLE.findall(own) if "os.environ" in own)


def _members(name: str) -> Iterator[str]:
    """Yield the members of the JSON that a function makes, the fields of a class, or the values of an enumeration."""
    made = resolve_name(f"adacoder.{name}")
    if _is_enumeration(made):
        yield from (f" {each.value}" for each in made)
    elif is_dataclass(made):
        yield from (f".{each.name}" for each in fields(made))
    else:
        yield from _keys(ast.parse(dedent(inspect.getsource(made))), "")


def _keys(node: ast.AST, place: str) -> Iterator[str]:
    """Yield the keys of the dictionaries in a function, nested keys with a dotted path."""
    match node:
        case ast.Dict(keys, values):
            for key, value in zip(keys, values, strict=True):
                inner = f"{place}.{key.value}" if isinstance(key, ast.Constant) else place
                if inner != place:
                    yield inner
                yield from _keys(value, inner)
        case ast.DictComp(key=ast.Name(), generators=[ast.comprehension(iter=ast.Tuple(names))]):
            yield from (f"{place}.{each.value}" for each in names if isinstance(each, ast.Constant))
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _keys(child, place)


def _tool(tool: Mapping[str, Any]) -> Iterator[str]:
    name = f"mcp-tool {tool['name']}"
    yield name
    yield from (f"{name} {each}: {value}" for each, value in tool["annotations"].items() if each != "title")
    yield from _schema(tool["inputSchema"], f"{name} input")
    yield from _schema(tool["outputSchema"], f"{name} output", "mcp-result")


def _schema(schema: Mapping[str, Any], place: str, below: str = "") -> Iterator[str]:
    """Yield the members of a JSON schema with their types. Their own members have the place `below`, if it is given."""
    for name, each in schema.get("properties", {}).items():
        kind = "|".join(each.get("enum", [each.get("type", "any")]))
        yield f"{place}.{name} {kind}{' required' if name in schema.get('required', ()) else ''}"
        for inner in (each, each.get("items", {})):
            yield from _schema(inner, f"{below or place}.{name}")


def main() -> None:
    """Renew the list."""
    LISTING.write_text("\n".join([*listing(), ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
