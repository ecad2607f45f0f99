"""Notes about imports that a candidate needs but the project does not declare."""

from __future__ import annotations

import pytest

from support.commandline import Desk
from support.layouts import environment

pytestmark = pytest.mark.isolation

STUB = '''{head}def load(text):
    """Read a number.

    >>> load("3")
    3
    """
'''
REPLY = "```python\nimport yaml\n\n\ndef load(text):\n    return yaml.safe_load(text)\n```\n"
NOTE = "The candidate imports 'yaml' (PyYAML), which pyproject.toml does not declare as a dependency."
PROJECT = "[project]\nname = 'mine'\nversion = '1'\n"
RECORD = "yaml/__init__.py,sha256=abc,42\nPyYAML-6.0.dist-info/RECORD,,\n"


def notes(desk: Desk, pyproject: str | None, reply: str = REPLY, head: str = "", record: str = RECORD) -> list[str]:
    """Return the notes of `apply`, with PyYAML installed."""
    packages = environment(desk.folder / ".venv")
    for name in ("yaml", "ruamel"):
        desk.write("def safe_load(text):\n    return int(text)\n", str(packages / f"{name}/__init__.py"))
    desk.write(record, str(packages / "PyYAML-6.0.dist-info/RECORD"))
    desk.write("ruamel\n", str(packages / "ruamel.yaml-1.dist-info/top_level.txt"))
    desk.write("_mine.pth,,\n", str(packages / "mine-1.dist-info/RECORD"))  # as an editable install writes it
    desk.write("_other.pth,,\n", str(packages / "other-1.dist-info/RECORD"))
    if pyproject is None:
        (desk.folder / "pyproject.toml").unlink()
    else:
        desk.write(pyproject, "pyproject.toml")
    desk.write(STUB.format(head=head))
    desk.write(reply, "reply.txt")
    ran = desk.run("apply", "shapes.py::load", "--reply", "reply.txt", "--json")
    assert [result["status"] for result in ran.objects] == ["verified"], ran
    return [str(note) for note in ran.objects[0]["notes"]]


def test_an_undeclared_import_is_named(desk: Desk) -> None:
    assert notes(desk, PROJECT) == [NOTE]
    assert NOTE in " ".join(desk.run("apply", "shapes.py::load", "--reply", "reply.txt").err.split())


@pytest.mark.parametrize(
    "pyproject",
    [
        "[project]\nname = 'mine'\ndependencies = ['attrs', 'yamllint', 'ruamel.yaml']\n",
        f"{PROJECT}[project.optional-dependencies]\nall = ['mine[yaml]']\nyaml = ['ruamel.yaml']\n",
        "[tool.poetry]\nname = 'mine'\n[tool.poetry.dependencies]\nattrs = {git = 'x', extras = ['yaml']}\n",
        f"{PROJECT}[project.optional-dependencies]\nyaml = ['attrs']\n[build-system]\nrequires = ['PyYAML']\n",
    ],
)
def test_what_else_a_project_declares_is_no_matter(desk: Desk, pyproject: str) -> None:
    assert notes(desk, pyproject) == [NOTE]


@pytest.mark.parametrize(
    "reply",
    [
        REPLY.replace("import yaml\n\n\n", "").replace("    return", "    import yaml\n    return"),
        REPLY.replace("import yaml", "from yaml import safe_load").replace("yaml.safe", "safe"),
        REPLY.replace("import yaml", "import yaml as y").replace("yaml.safe", "y.safe"),
    ],
)
def test_every_form_of_an_import_counts(desk: Desk, reply: str) -> None:
    assert notes(desk, PROJECT, reply) == [NOTE]


@pytest.mark.parametrize(
    "pyproject",
    [
        f"{PROJECT}dependencies = ['PyYAML']\n",
        f"{PROJECT}dependencies = [\"pyyaml >= 6 ; python_version < '4'\"]\n",
        f"{PROJECT}dependencies = ['PYYAML[fast]~=6.0']\n",
        f"{PROJECT}dependencies = ['PyYAML @ https://example.org/pyyaml.whl']\n",
        f"{PROJECT}dependencies = ['yaml']\n",
        f"{PROJECT}dependencies = ['pyyaml-ft']\n",  # not installed, but it may define `yaml`
        f"{PROJECT}[project.optional-dependencies]\nfiles = ['PyYAML>=6']\n",
        f"{PROJECT}[dependency-groups]\ntest = [{{include-group = 'files'}}]\nfiles = ['PyYAML']\n",
        f"{PROJECT}[tool.uv]\ndev-dependencies = ['PyYAML']\n",
        f"{PROJECT}[tool.pdm.dev-dependencies]\ntest = ['PyYAML']\n",
        f"{PROJECT}[tool.hatch.envs.default]\nextra-dependencies = ['PyYAML']\n",
        "[tool.poetry]\nname = 'mine'\n[tool.poetry.dependencies]\nPyYAML = '^6'\n",
        "[tool.poetry]\nname = 'mine'\n[tool.poetry.group.dev.dependencies]\npyyaml = [{version = '^6'}]\n",
        f"{PROJECT}dynamic = ['dependencies']\n",
        f"{PROJECT}dynamic = ['optional-dependencies']\n",
        f"{PROJECT}dependencies = ['-r more.txt']\n",
        f"{PROJECT}dependencies = ['other']\n",  # its metadata does not list its modules
        "[tool.ruff]\nline-length = 100\n",
        "[project\n",
        None,
    ],
)
def test_nothing_is_said_where_it_is_declared_or_not_known(desk: Desk, pyproject: str | None) -> None:
    assert notes(desk, pyproject) == []


@pytest.mark.parametrize("name", ["setup.cfg", "setup.py", "requirements.txt", "requirements-dev.txt"])
def test_nothing_is_said_where_another_file_declares_dependencies(desk: Desk, name: str) -> None:
    desk.write("", name)
    assert notes(desk, PROJECT) == []


@pytest.mark.parametrize(
    "head", ["import yaml\n\n\n", "try:\n    import yaml\nexcept ImportError:\n    yaml = None\n\n\n"]
)
def test_nothing_is_said_of_what_the_file_imports(desk: Desk, head: str) -> None:
    assert notes(desk, PROJECT, head=head) == []


def test_a_scripts_own_dependencies_are_not_known(desk: Desk) -> None:
    assert notes(desk, PROJECT, head="# /// script\n# dependencies = ['PyYAML']\n# ///\n\n\n") == []


@pytest.mark.parametrize("text", ["import os, yaml\n", "def read():\n    from yaml import safe_load\n"])
def test_nothing_is_said_of_what_another_module_imports(desk: Desk, text: str) -> None:
    desk.write(text, "other.py")
    assert notes(desk, PROJECT) == []


def test_nothing_is_said_of_the_projects_own_module(desk: Desk) -> None:
    desk.write("def safe_load(text):\n    return int(text)\n", "yaml.py")
    assert notes(desk, PROJECT) == []


def test_nothing_is_said_of_the_standard_library(desk: Desk) -> None:
    reply = REPLY.replace("yaml.safe_load", "json.loads").replace("yaml", "json")
    assert notes(desk, PROJECT, reply, record="json/__init__.py,,\n") == []


@pytest.mark.parametrize("record", ["", "_yaml.pth,,\n", "yaml-stubs/__init__.pyi,,\n", "../../bin/yaml.py,,\n"])
def test_nothing_is_said_of_what_no_distribution_surely_has(desk: Desk, record: str) -> None:
    assert notes(desk, PROJECT, record=record) == []
