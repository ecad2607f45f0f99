"""The VS Code extension, the docs and the command line agree with the definitions of the settings."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

from adacoder.cli import commands
from adacoder.settings import SETTINGS, Settings, from_project, merge
from adacoder.strategies import FAMILIES, STRATEGIES, rows
from support.paths import ROOT


def _renewing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("renewing", ROOT / "docs" / "settings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RENEWING = _renewing()
MANIFEST = json.loads(RENEWING.MANIFEST.read_text(encoding="utf-8"))
ALL: dict[str, dict[str, Any]] = {
    key: value for group in MANIFEST["contributes"]["configuration"] for key, value in group["properties"].items()
}
PROPERTIES = {
    key.removeprefix("adacoder."): value
    for key, value in ALL.items()
    if key not in RENEWING.OWN  # settings of the extension itself
}


ABOUT: dict[str, Any] = {"about": "Something else."}
KEY: dict[str, Any] = {"key": "hurry"}
PLACE: dict[str, Any] = {"by_project": False}


@pytest.mark.parametrize(
    ("which", "changes"), [("manifest", [KEY, PLACE]), ("english", [ABOUT, KEY]), ("table", [ABOUT, KEY, PLACE])]
)
def test_what_is_made_of_the_definition_is_up_to_date(which: str, changes: list[dict[str, Any]]) -> None:
    path = {"manifest": RENEWING.MANIFEST, "english": RENEWING.ENGLISH, "table": RENEWING.TABLE}[which]
    text = path.read_text(encoding="utf-8")
    renew = getattr(RENEWING, which)
    assert renew(text, RENEWING.definitions()) == text, "run `nox -s settings`"
    for change in changes:
        changed = {**SETTINGS, "max_iterations": replace(SETTINGS["max_iterations"], **change)}
        assert renew(text, RENEWING.definitions(changed)) != text
    families = {name: STRATEGIES[name] for name in FAMILIES}
    if which != "table":  # a link to the page on strategies
        assert "other" in renew(text, RENEWING.definitions(families={**families, "other": STRATEGIES["direct"]}))


def test_the_page_on_strategies_is_up_to_date() -> None:
    text = RENEWING.WORKFLOWS.read_text(encoding="utf-8")
    registry = list(rows(has_ablations=True))
    assert RENEWING.workflows(text, registry) == text, "run `nox -s settings`"
    assert RENEWING.workflows(text, [{**row, "calls": "none"} for row in registry]) != text


def test_the_measured_figures_are_those_of_the_rows(tmp_path: Path) -> None:
    text = RENEWING.MEASURED.read_text(encoding="utf-8")
    assert RENEWING.measured(text, RENEWING.ROWS) == text, "run `nox -s settings`"
    assert RENEWING.measured(text, tmp_path) != text


def test_every_setting_is_defined_but_the_recording() -> None:
    assert {each.name for each in fields(Settings)} - SETTINGS.keys() == {"record"}
    assert PROPERTIES.keys() == {each.key for each in SETTINGS.values() if each.is_offered}


@pytest.mark.parametrize("key", PROPERTIES)
def test_the_defaults_agree(key: str) -> None:
    notices: list[str] = []
    assert merge(Settings(), {key: PROPERTIES[key]["default"]}, notices.append) == Settings()
    assert notices == []


@pytest.mark.parametrize("key", [key for key in PROPERTIES if "minimum" in PROPERTIES[key]])
def test_the_bounds_agree(key: str) -> None:
    for bound, beyond in (("minimum", -0.5), ("maximum", 1)):
        value = PROPERTIES[key][bound]
        assert isinstance(value, int | float)
        notices: list[str] = []
        merge(Settings(), {key: value}, notices.append)
        assert notices == []
        merge(Settings(), {key: value + beyond}, notices.append)
        assert len(notices) == 1


@pytest.mark.parametrize("key", [key for key in PROPERTIES if "enum" in PROPERTIES[key]])
def test_the_choices_agree(key: str) -> None:
    notices: list[str] = []
    for word in PROPERTIES[key]["enum"]:
        merge(Settings(), {key: word}, notices.append)
    assert notices == []
    if key == "strategy":
        assert PROPERTIES[key]["enum"] == list(FAMILIES)
    else:
        merge(Settings(), {key: "prayer"}, notices.append)
        assert len(notices) == 1


def test_what_a_project_may_not_say_its_workspace_settings_may_not_either(tmp_path: Path) -> None:
    refused = {key.removeprefix("adacoder.") for key in RENEWING.OWN} - {"showWriting"}  # a harmless setting
    for key in PROPERTIES:
        notices: list[str] = []
        (tmp_path / "pyproject.toml").write_text(f"[tool.adacoder]\n{key} = 1\n", encoding="utf-8")
        from_project(Settings(), tmp_path, notices.append)
        refused |= {key} if "a project may not set it" in "".join(notices) else set()
    assert {"path", "isolation", "ollama.host"} <= refused
    machines = {key.removeprefix("adacoder.") for key, value in ALL.items() if value["scope"] == "machine"}
    # the interpreter may differ by workspace, and it runs isolated
    assert machines == refused - {"interpreter"}
    restricted = MANIFEST["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert {f"adacoder.{key}" for key in refused} | {"adacoder.model"} == set(restricted)


def test_every_setting_with_an_option_is_one_of_generate() -> None:
    options = {name: each for each in commands.generate.params for name in each.opts}
    for name, setting in SETTINGS.items():
        option = options.get(f"--{name.replace('_', '-') if name != 'models' else 'model'}")
        assert (option is None) == (setting.option is None), name
        if isinstance(option, click.Option) and name != "strategy":
            assert str(setting.about).replace("`", "") in str(option.help)
