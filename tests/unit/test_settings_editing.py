"""Writing settings into a pyproject.toml changes nothing else."""

from __future__ import annotations

import sys
import tomllib

import pytest

from adacoder.settings.editing import EditError, with_settings

VALUES = {"model": "ollama:qwen2.5-coder:7b", "strategy": "adacoder"}
TEXTS = {
    "empty": "",
    "no table": '# mine\n[project]\nname = "x"   # odd   spacing\n\n\n[tool.ruff]\nline-length=1_00\n',
    "a table": '[tool.adacoder]\n# why\nmodel   =   "old" # keep\ntimeout = 3\n[tool.z]\na.b.c = 1\n',
    "windows": '[project]\r\nname = "x"\r\n[tool.adacoder]\r\nstrategy = "direct"\r\n',
    "dotted": 'tool.ruff.line-length = 100\ntool.adacoder.model = "old"\n',
    "out of order": '[tool.adacoder]\nmodel = "old"\n[project]\nname = "x"\n[tool.ruff]\na = 1\n',
    "inline": 'tool = { adacoder = { model = "old" } }\n',
    "quoted": '["tool"."adacoder"]\n\'model\' = """old"""\n',
    "no newline": "[tool.adacoder]",
}


@pytest.fixture(autouse=True)
def _installed() -> None:
    pytest.importorskip("tomlkit")


@pytest.mark.parametrize("name", TEXTS)
def test_only_the_settings_change(name: str) -> None:
    text = TEXTS[name]
    edited = with_settings(text, VALUES)
    before, after = tomllib.loads(text), tomllib.loads(edited)
    expected = {**before.get("tool", {}), "adacoder": {**before.get("tool", {}).get("adacoder", {}), **VALUES}}
    assert after == {**before, "tool": expected}
    kept = [line for line in text.splitlines() if "model" not in line and "strategy" not in line]
    left = edited.splitlines()
    assert all(line in left for line in kept)
    assert with_settings(edited, VALUES) == edited


def test_a_value_is_only_a_value() -> None:
    hostile = {"model": 'a"\n[project]\nname = "stolen', "strategy": "x"}
    assert tomllib.loads(with_settings(TEXTS["a table"], hostile))["tool"]["adacoder"]["model"] == hostile["model"]


@pytest.mark.parametrize("text", ["[tool", "tool = 3", "[tool]\nadacoder = 3", "a = 1\na = 2"])
def test_what_cannot_be_edited_is_left_alone(text: str) -> None:
    with pytest.raises(EditError):
        with_settings(text, VALUES)


def test_without_tomlkit_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tomlkit", None)
    with pytest.raises(EditError, match=r"pip install 'adacoder\[arena\]'"):
        with_settings("", VALUES)
