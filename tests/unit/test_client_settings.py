"""What the VS Code client says of the settings is what the server does with them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from adacoder.domain import Level
from adacoder.settings import OnUnverified, Rules, Settings, field_name, from_project, merge
from adacoder.strategies import STRATEGIES

CLIENT = Path(__file__).parents[2] / "client" / "package.json"
MANIFEST = json.loads(CLIENT.read_text(encoding="utf-8"))
ALL: dict[str, dict[str, object]] = MANIFEST["contributes"]["configuration"]["properties"]
PROPERTIES = {
    key.removeprefix("adacoder."): value
    for key, value in ALL.items()
    if key != "adacoder.path"  # how the client finds the server is the client's
}
NOT_OFFERED = {"seed", "record", "trusted"}
"""For the command line, and what the client says without being asked."""


def test_every_setting_is_offered() -> None:
    assert {field_name(key) for key in PROPERTIES} == asdict(Settings()).keys() - NOT_OFFERED


@pytest.mark.parametrize("key", PROPERTIES)
def test_the_defaults_agree(key: str) -> None:
    notices: list[str] = []
    assert merge(Settings(), {key: PROPERTIES[key]["default"]}, notices.append) == Settings()
    assert notices == []


@pytest.mark.parametrize(
    ("key", "values"),
    [("strategy", STRATEGIES), ("rules", Rules), ("isolation", Level), ("onUnverified", OnUnverified)],
)
def test_the_choices_agree(key: str, values: object) -> None:
    assert PROPERTIES[key]["enum"] == list(values)  # type: ignore[call-overload]  # all three can be iterated


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


def test_what_a_project_may_not_say_its_workspace_settings_may_not_either(tmp_path: Path) -> None:
    refused = {"path"}
    for key in PROPERTIES:
        notices: list[str] = []
        (tmp_path / "pyproject.toml").write_text(f"[tool.adacoder]\n{key} = 1\n", encoding="utf-8")
        from_project(Settings(), tmp_path, notices.append)
        refused |= {key} if "a project may not set it" in "".join(notices) else set()
    assert {"path", "isolation", "ollama.host"} <= refused
    machines = {key.removeprefix("adacoder.") for key, value in ALL.items() if value["scope"] == "machine"}
    # Each workspace has its own interpreter, and it runs inside isolation.
    assert machines == refused - {"interpreter"}
    restricted = MANIFEST["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert {"adacoder.interpreter", "adacoder.model"} <= set(restricted)
