"""The commands in the tutorial and in the examples' pages give the shown outputs, with recorded replies of a real
model.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from support.pages import follow, typed
from support.paths import FIXTURES, ROOT
from support.standins.openai import Engine, Model, StandIn

pytestmark = pytest.mark.isolation

EXAMPLES = ROOT / "examples"
KITCHEN = EXAMPLES / "kitchen"
REPLIES: dict[str, list[str]] = tomllib.loads((FIXTURES / "real_replies.toml").read_text("utf-8"))
PAGES = [("docs/tutorial.md", KITCHEN)] + [
    (f"examples/{name}/README.md", EXAMPLES / name) for name in ("colours", "ledger", "kitchen")
]
CHECKED = """It passes:

```console
$ adacoder check
Passed: 4 docstrings in 2 files, 11/11 examples passed (0.1 s, isolation full).
```
"""


def copied(folder: Path, tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache")
    return Path(shutil.copytree(folder, tmp_path / folder.name, ignore=ignored))


@pytest.mark.parametrize(("page", "folder"), PAGES, ids=[page for page, _ in PAGES])
def test_every_command_of_a_page_has_the_output_below_it(page: str, folder: Path, tmp_path: Path) -> None:
    replies = REPLIES.get(page, [])
    model = Model("qwen2.5-coder-0.5b", window=8192)
    with StandIn(replies, [model], engine=Engine.LLAMA_CPP).in_thread() as standin:
        text = f"\n{(ROOT / page).read_text('utf-8')}"
        assert follow(text, copied(folder, tmp_path), standin.host) >= 1
        assert len(standin.requests) == len(replies)


def test_a_page_with_another_output_is_found(tmp_path: Path) -> None:
    folder = copied(KITCHEN, tmp_path)
    with pytest.raises(AssertionError):
        follow(CHECKED.replace("4 docs", "5 docs"), folder)
    assert follow(CHECKED, folder) == 1


def test_the_tutorial_installs_as_the_readme_does() -> None:
    """`.ci/run` runs the README's command."""
    pages = [(ROOT / name).read_text("utf-8") for name in ("README.md", "docs/tutorial.md")]
    assert all(re.search(r"^ *pip install \.( |$)", page, re.MULTILINE) for page in pages)


def test_the_workflow_passes_a_good_change_and_fails_a_bad_one(tmp_path: Path) -> None:
    folder = copied(KITCHEN, tmp_path)
    workflow = (folder / ".github/workflows/checks.yml").read_text("utf-8")
    commands = re.findall(r"^ .* run: (.+)$", workflow, re.MULTILINE)
    base = typed("git init -q && git add . && git commit -qm Begin && git rev-parse HEAD", folder).strip()
    times = folder / "kitchen/times.py"
    good = times.read_text("utf-8")

    def failing(commands: list[str], text: str) -> list[str]:
        times.write_text(text, encoding="utf-8")
        shown = {each: typed(f"{each} && echo passed", folder, BASE=base) for each in commands}
        return [each for each in commands if not shown[each].endswith("passed\n")]

    assert failing(commands, good.replace("Return the", "Give the")) == []
    _, pytest_, check, changed = commands
    without_an_example = good.replace('    >>> minutes("45 min")\n    45\n', "")
    worse = without_an_example.replace("int(number)", "int(number) % 45")
    assert failing([pytest_, check, changed], worse) == [changed]


def test_the_hook_of_pre_commit_fails_a_bad_change(tmp_path: Path) -> None:
    folder = copied(KITCHEN, tmp_path)
    config = (folder / ".pre-commit-config.yaml").read_text("utf-8")
    (entry,) = re.findall(r"^ +entry: ([^#\n]+)", config, re.MULTILINE)
    assert typed(f"{entry} kitchen/__init__.py kitchen/times.py", folder).startswith("Verified")
    typed("sed -i s/60/50/ kitchen/times.py", folder)
    assert "Failed example:" in typed(f"{entry} kitchen/__init__.py kitchen/times.py", folder)
