"""Write the settings, tools, strategies and measured figures into the VS Code extension's manifest and the docs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from adacoder.arena.papers import tables
from adacoder.arena.rows import Row, RowsReader
from adacoder.arena.tables import markdown
from adacoder.mcp.tool_words import TOOLS
from adacoder.messages import Named, Text
from adacoder.settings import SETTINGS, Settings
from adacoder.settings.values import LONG_TEXT, Setting
from adacoder.strategies import COLUMNS, FAMILIES, STRATEGIES, calls, rows
from adacoder.strategies.strategy import Strategy

Definitions: TypeAlias = Mapping[str, Setting]

ROOT = Path(__file__).parents[1]
MANIFEST = ROOT / "client" / "package.json"
ENGLISH = ROOT / "client" / "package.nls.json"
"""English texts of the manifest, which refers to them by keys."""
TABLE = ROOT / "docs" / "settings.md"
WORKFLOWS = ROOT / "docs" / "strategies.md"
MEASURED = ROOT / "docs" / "measured.md"
ROWS = ROOT / "docs" / "rows"
"""Folder of the rows behind the measured figures."""

_HEAD = "| setting | default | meaning |\n|---|---|---|\n"
_WORKFLOWS_HEAD = (
    "| strategy | source | agents | calls | t | feedback | other tests | selection |\n"
    "|---|---|---|---|---|---|---|---|\n"
)
OWN = ("adacoder.path", "adacoder.agentTools", "adacoder.showWriting")
"""Settings of the extension itself: the server's command, agents' access, and the display of replies."""
GROUPS = {
    "Model": ("model", "ollama.host", "openai.baseUrl", "roundsPerModel", "contextTokens", "temperature", "keepAlive"),
    "Writing": ("strategy", "instructions", "unverified", "preview", "crossCheck"),
    "Examples": ("interpreter", "isolation", "timeout", "doctestOptions", "doctestSetup", "env"),
    "Tests": ("tests", "testsSeconds"),
    "Display": ("showWriting", "codeLens", "inlayHints", "unreachedHints", "checkOnSave"),
    "Privacy": ("allowCloud", "agentTools", "hide", "show"),
    "Server": ("path",),
}
"""VS Code's groups of settings, with their keys in order. The last group also has all keys that are not listed."""
_PICKERS = {"models": "adacoder.selectModel", "strategy": "adacoder.selectStrategy"}
"""The settings that a command of the client can choose."""
_ICONS = {
    "check_examples": "beaker",
    "verify_candidate": "verified",
    "behaviour_diff": "diff",
    "generate": "sparkle",
    "insert_verified": "edit",
}
_FAMILIES = {name: STRATEGIES[name] for name in FAMILIES}
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object"}


def definitions(settings: Definitions = SETTINGS, families: Mapping[str, Strategy] = _FAMILIES) -> Definitions:
    """Return all settings by field. Insert the names of workflows, which the definitions cannot import."""
    words = {name: _in_words(family) for name, family in families.items()}
    strategy = settings["strategy"]
    return {**settings, "strategy": replace(strategy, values=replace(strategy.values, words=words))}


def _in_words(family: Strategy) -> str:
    """Describe a workflow and its cost in a sentence."""
    number = calls(family)
    return f"{family.summary[0].upper()}{family.summary[1:]}. {number} model {'call' if number == '1' else 'calls'}."


def manifest(text: str, settings: Definitions) -> str:
    """Return VS Code's manifest, updated with `settings`."""
    data = json.loads(text)
    groups = data["contributes"]["configuration"]
    properties = {key: value for group in groups for key, value in group["properties"].items()}
    offered = {name: each for name, each in settings.items() if each.is_offered}
    renewed = {own: properties[own] for own in OWN}
    renewed |= {f"adacoder.{each.key}": _property(name, each) for name, each in offered.items()}
    data["contributes"]["configuration"] = [*_grouped(renewed)]
    restricted = [f"adacoder.{each.key}" for each in offered.values() if each.by_project is not True]
    restricted = [*(own for own in OWN if properties[own]["scope"] == "machine"), *restricted]
    data["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"] = restricted
    data["contributes"]["languageModelTools"] = [_tool(each) for each in TOOLS]
    return f"{json.dumps(data, indent=2, ensure_ascii=False)}\n"


def english(text: str, settings: Definitions) -> str:
    """Return the manifest's English texts, updated with `settings`."""
    texts = {f"adacoder.group.{title.lower()}": title for title in _titles()}
    for name, setting in settings.items():
        texts[f"adacoder.{setting.key}.description"] = _about(name, setting)
        texts |= {f"adacoder.{setting.key}.{value}": meaning for value, meaning in setting.values.words.items()}
    for tool in TOOLS:
        about = tool["description"]
        texts[f"adacoder_{tool['name']}.title"] = tool["title"]
        texts[f"adacoder_{tool['name']}.description"] = about[: about.index(". ") + 1]
    known = {**json.loads(text), **texts}
    used = re.findall(r'"%(.+)%"', manifest(MANIFEST.read_text(encoding="utf-8"), settings))
    return f"{json.dumps({key: known[key] for key in used}, indent=2, ensure_ascii=False)}\n"


def _titles() -> tuple[str, ...]:
    return (*GROUPS, "Limits")


def _grouped(properties: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield VS Code's groups of settings."""
    named = {key for keys in GROUPS.values() for key in keys}
    others = tuple(key.removeprefix("adacoder.") for key in properties if key.removeprefix("adacoder.") not in named)
    for order, (title, keys) in enumerate(zip(_titles(), (*GROUPS.values(), others), strict=True)):
        found = [f"adacoder.{key}" for key in keys]
        ordered = {key: {**properties[key], "order": place} for place, key in enumerate(found)}
        yield {"title": f"%adacoder.group.{title.lower()}%", "order": order, "properties": ordered}


def _property(name: str, setting: Setting) -> dict[str, Any]:
    values, default = setting.values, getattr(Settings(), name)
    kind: str | list[str] = _TYPES[values.type]
    if values.is_list and values.type is str:
        kind = ["string", "array"] if setting.unset else "array"
    if default is None and values.type is not str:
        kind = [str(kind), "null"]
    described: dict[str, Any] = {"type": kind}
    if values.is_list:
        described["additionalProperties" if values.type is dict else "items"] = {"type": "string"}
    if values.words:
        described |= {
            "enum": [*values.words],
            "markdownEnumDescriptions": [f"%adacoder.{setting.key}.{word}%" for word in values.words],
        }
    if values.bounds:
        described |= dict(zip(("minimum", "maximum"), values.bounds, strict=True))
    if values is LONG_TEXT:
        described["editPresentation"] = "multilineText"
    scope = "resource" if setting.by_project else "machine"
    if name == "interpreter":
        scope = "machine-overridable"  # each workspace has its own interpreter, and it runs isolated
    words = f"%adacoder.{setting.key}.description%"
    return {**described, "default": _json(default, setting), "scope": scope, "markdownDescription": words}


def _about(name: str, setting: Setting) -> str:
    """Return the description of a setting, in VS Code's Markdown."""
    unset = f" Empty: {setting.unset}." if setting.unset else ""
    picker = f" [Choose from a list](command:{_PICKERS[name]})." if name in _PICKERS else ""
    return _spelled(setting.about, "#adacoder.{}#") + unset + picker


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a tool of `adacoder mcp` as a tool for VS Code's chat."""
    name = tool["name"]
    return {
        "name": f"adacoder_{name}",
        "toolReferenceName": "adacoder" + name.title().replace("_", ""),
        "displayName": f"%adacoder_{name}.title%",
        "modelDescription": tool["description"],
        "userDescription": f"%adacoder_{name}.description%",
        "icon": f"$({_ICONS[name]})",
        "canBeReferencedInPrompt": True,
        "when": "config.adacoder.agentTools && isWorkspaceTrusted",
        "inputSchema": tool["inputSchema"],
    }


def _json(default: object, setting: Setting) -> object:
    """Return a default as JSON for an editor; an empty value if it means "unset"."""
    if setting.values.type is str and setting.unset:
        return ""
    if setting.values.type is dict:
        return {}
    if isinstance(default, float) and default.is_integer():
        return int(default)
    return list(default) if isinstance(default, tuple) else default


def table(text: str, settings: Definitions) -> str:
    """Return the page on settings, with an updated table."""
    before, _, rest = text.partition(_HEAD)
    return before + _HEAD + "".join(map(_row, settings, settings.values())) + rest[rest.index("\n\n") + 1 :]


def workflows(text: str, registry: Iterable[Mapping[str, str]]) -> str:
    """Return the page on strategies, with an updated table."""
    before, _, rest = text.partition(_WORKFLOWS_HEAD)
    lines = (" | ".join([f"`{row['name']}`", *(row[column] for column in COLUMNS[1:])]) for row in registry)
    return before + _WORKFLOWS_HEAD + "".join(f"| {line} |\n" for line in lines) + rest[rest.index("\n## ") :]


def measured(text: str, folder: Path) -> str:
    """Return the page on measurements with tables of the rows in a folder.

    Its folder `all-strategies` has rows for fewer tasks. They get tables of their own, with all other rows for the same
    tasks and model.

    Raises:
        ValueError: a line is not a row.
    """
    before, _, _ = text.partition("\n### ")
    most, few = _rows_in(folder), _rows_in(folder / "all-strategies")
    shared = {(row.task, row.model) for row in few}
    beside = [*few, *(row for row in most if (row.task, row.model) in shared)]
    of_all = [replace(each, name=f"All strategies: {each.name.lower()}") for each in tables(beside, ["own"])]
    return "\n".join([before, *map(markdown, [*tables(most, ["own"]), *of_all])])


def _rows_in(folder: Path) -> list[Row]:
    reader = RowsReader()
    found = {row.key: row for path in sorted(folder.glob("*.gz")) for row in reader.rows(path)}
    if reader.troubles:
        raise ValueError(reader.troubles)
    return [*found.values()]


def _row(name: str, setting: Setting) -> str:
    value = _json(getattr(Settings(), name), setting)
    default = setting.unset or (f"`{value}`" if isinstance(value, str) and value else json.dumps(value).strip('"[]'))
    about = _spelled(setting.about, "{}")
    words = " ".join(f"`{word}`: {meaning}" for word, meaning in setting.values.words.items())
    if name == "strategy":
        words = "[strategies.md](strategies.md) lists them."
    mark = "*" if setting.by_project is False else ""
    return f"| `{setting.key}`{mark} | {default} | {' '.join(filter(None, [about, words]))} |\n"


def _spelled(about: str, form: str) -> str:
    parts = about.parts if isinstance(about, Text) else (about,)
    return "".join(form.format(part.key) if isinstance(part, Named) else part for part in parts)


def main() -> None:
    settings = definitions()
    for path, renewed, source in (
        (MANIFEST, manifest, settings),
        (ENGLISH, english, settings),
        (TABLE, table, settings),
        (WORKFLOWS, workflows, [*rows(has_ablations=True)]),
        (MEASURED, measured, ROWS),
    ):
        path.write_text(renewed(path.read_text(encoding="utf-8"), source), encoding="utf-8")


if __name__ == "__main__":
    main()
