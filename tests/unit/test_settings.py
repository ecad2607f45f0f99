"""Settings: an invalid value is replaced by the default, with one notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from adacoder.domain import Level
from adacoder.settings import Settings, Unverified, from_project, merge

DEFAULTS = Settings()


def merged(values: dict[str, object]) -> tuple[Settings, list[str]]:
    notices: list[str] = []
    return merge(DEFAULTS, values, notices.append), notices


@pytest.mark.parametrize(
    ("values", "name", "expected"),
    [
        ({"model": "qwen2.5-coder:7b"}, "models", ("qwen2.5-coder:7b",)),
        ({"model": ["qwen2.5-coder:1.5b", "openai:large"]}, "models", ("qwen2.5-coder:1.5b", "openai:large")),
        ({"keepAlive": "1h30m"}, "keep_alive", "1h30m"),
        ({"keepAlive": -1}, "keep_alive", "-1s"),
        ({"keepAlive": "0"}, "keep_alive", "0s"),
        ({"roundsPerModel": 3}, "rounds_per_model", 3),
        ({"openai": {"baseUrl": "http://gpu:8000/v1"}}, "base_url", "http://gpu:8000/v1"),
        ({"firstTokenTimeout": 60}, "first_token_timeout", 60),
        ({"tokenTimeout": 2.5}, "token_timeout", 2.5),
        ({"replyTimeout": 90}, "reply_timeout", 90),
        ({"replyTimeout": None}, "reply_timeout", None),
        ({"ollama": {"host": "http://127.0.0.1:9"}}, "host", "http://127.0.0.1:9"),
        ({"ollama.host": "http://127.0.0.1:9"}, "host", "http://127.0.0.1:9"),
        ({"maxIterations": 2}, "max_iterations", 2),
        ({"max-iterations": 2}, "max_iterations", 2),
        ({"timeout": 2.5}, "timeout", 2.5),
        ({"interpreter": "/usr/bin/python3"}, "interpreter", Path("/usr/bin/python3")),
        ({"isolation": "none"}, "isolation", Level.NONE),
        ({"unverified": "discard"}, "unverified", Unverified.DISCARD),
        ({"contextTokens": 4096}, "context_tokens", 4096),
        ({"trusted": False}, "trusted", False),
        ({"model": None}, "models", ()),
        ({"model": ""}, "models", ()),
        ({"model": []}, "models", ()),
        ({"env": {"A": "1", "B_2": "x=y\n"}}, "env", ("A=1", "B_2=x=y\n")),
        ({"env": ["A=1", "A="]}, "env", ("A=1", "A=")),
        ({"env": {}}, "env", ()),
    ],
)
def test_a_value_is_taken(values: dict[str, object], name: str, expected: object) -> None:
    settings, notices = merged(values)
    assert getattr(settings, name) == expected
    assert notices == []


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"maxIterations": -1}, "whole number from 0 to 50"),
        ({"env": {"A": 1}}, "adacoder.env = {A} is ignored: the value of a variable must be a string."),
        ({"env": {"PYTHONHASHSEED": "0"}}, "PYTHONHASHSEED would have no effect"),
        ({"env": {"PYTHONPATHS": "0"}}, "PYTHONPATHS would have no effect"),
        ({"env": {"TMPDIR": "0"}}, "TMPDIR would have no effect, because the sandbox sets it"),
        ({"env": {"1A": "0"}}, "each must be a NAME=VALUE"),
        ({"env": {"A": "\0"}}, "a value must be text"),
        ({"env": {"A": "\ud800"}}, "a value must be text"),
        ({"env": {"A": "x" * 10_001}}, "a value must be text"),
        ({"env": "A"}, "each must be a NAME=VALUE"),
        ({"env": ["A=1"] * 101}, "at most 100 variables"),
        ({"maxIterations": 2.5}, "whole number"),
        ({"maxIterations": True}, "whole number"),
        ({"timeout": "soon"}, "number from 0.1 to 600"),
        ({"timeout": 0}, "number from 0.1 to 600"),
        ({"isolation": "some"}, "one of full, lsm, seatbelt, none"),
        ({"unverified": 3}, "must be a string"),
        ({"unverified": "ask"}, "one of keep, discard, insert"),
        ({"trusted": "yes"}, "true or false"),
        ({"model": [3]}, "the name of a model, or a list of names"),
        ({"model": ["a", ""]}, "the name of a model, or a list of names"),
        ({"keepAlive": "5 minutes"}, "a duration such as 10m"),
        ({"keepAlive": True}, "a duration such as 10m"),
        ({"keepAlive": ""}, "a duration such as 10m"),
        ({"roundsPerModel": 0}, "whole number from 1 to 50"),
        ({"replyTimeout": 0}, "number from 1 to 86400"),
        ({"colour": "blue"}, "not a setting"),
        ({"record": "/tmp/x"}, "not a setting"),
    ],
)
def test_a_value_that_cannot_be_used_is_left_out_with_one_notice(values: dict[str, object], says: str) -> None:
    settings, notices = merged(values)
    assert settings == DEFAULTS
    assert len(notices) == 1
    assert says in notices[0]


def project(folder: Path, table: str) -> tuple[Settings, list[str]]:
    (folder / "pyproject.toml").write_text(table, encoding="utf-8")
    inner = folder / "src" / "pkg"
    inner.mkdir(parents=True)
    notices: list[str] = []
    return from_project(DEFAULTS, inner, notices.append), notices


def test_a_project_says_what_is_safe_for_it_to_say(tmp_path: Path) -> None:
    settings, notices = project(tmp_path, '[tool.adacoder]\nmaxIterations = 3\ninstructions = "Be brief."\n')
    assert (settings.max_iterations, settings.instructions) == (3, "Be brief.")
    assert notices == []


@pytest.mark.parametrize(
    "line",
    [
        'interpreter = "./evil"',
        'isolation = "none"',
        'ollama.host = "http://example.org"',
        "trusted = true",
        "allowCloud = true",
        'unverified = "insert"',
        'model = "replay:evil.jsonl"',
    ],
)
def test_a_project_cannot_choose_where_code_or_prompts_go(line: str, tmp_path: Path) -> None:
    settings, notices = project(tmp_path, f"[tool.adacoder]\n{line}\n")
    assert settings == DEFAULTS
    assert len(notices) == 1
    assert "may not set it" in notices[0]


@pytest.mark.parametrize("table", ["[tool.adacoder", "[tool]\nadacoder = 3\n", "tool = 3\n"])
def test_a_broken_project_file_gives_one_notice(table: str, tmp_path: Path) -> None:
    settings, notices = project(tmp_path, table)
    assert settings == DEFAULTS
    assert len(notices) == 1


def test_no_project_file_says_nothing(tmp_path: Path) -> None:
    notices: list[str] = []
    assert from_project(DEFAULTS, tmp_path, notices.append) == DEFAULTS
    assert notices == []


def test_what_is_hidden_adds_up_and_only_the_user_shows(tmp_path: Path) -> None:
    settings, notices = project(tmp_path, '[tool.adacoder]\nhide = ["internal", "*.csv"]\nshow = ".env"\n')
    assert (settings.hide, settings.show) == (("internal", "*.csv"), ())
    assert len(notices) == 1
    assert "may not set it" in notices[0]
    for values in ({"hide": "own"}, {"hide": ["*.csv", "own"], "show": ["x/.env"]}):
        settings = merge(settings, values, notices.append)
    assert (settings.wishes.hide, settings.wishes.show) == (("internal", "*.csv", "own"), ("x/.env",))
    assert len(notices) == 1


@pytest.mark.parametrize("value", [3, [3], "", "/", ["a", " "], ["x"] * 501, "x" * 256])
def test_what_names_nothing_hides_nothing(value: object) -> None:
    settings, notices = merged({"hide": value})
    assert settings == DEFAULTS
    assert len(notices) == 1
