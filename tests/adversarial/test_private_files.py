"""Private files, and files outside the workspace, reach no prompt and no recording, however a module's name leads to
them.

Each form has a twin that leads to an ordinary file of the project, which must be read.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from adacoder.domain import Level
from adversarial.isolated import set_up
from support.commandline import MODEL, Desk
from support.standins.ollama import StandIn

SECRET = "password = Windermere7\n"
"""A text that is valid as an INI file and as Python."""
HONEST = "password = Thirlmere5\n"
MODULE = '''from {module} import {name}


def double(number):
    """Twice a number; has nothing to do with {name}.

    >>> double(2)
    4
    """
    pass
'''
REPLY = "```python\ndef double(number):\n    return 2 * number\n```\n"


@dataclass(frozen=True)
class Place:
    """A workspace, and the file to which a form leads."""

    folder: Path
    aim: Path

    def link(self, name: str, target: Path | str | None = None) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(self.aim if target is None else target)


Form = Callable[[Place], str]
"""Make the file importable. Return the name to import."""


def straight(place: Place) -> str:
    place.link("creds.py")
    return "creds"


def relative(place: Place) -> str:
    place.link("creds.py", os.path.relpath(place.aim, place.folder))
    return "creds"


def by_links(place: Place) -> str:
    place.link("one.py", "two.py")
    place.link("two.py", "deep/three.py")
    place.link("deep/three.py")
    return "one"


def package(place: Place) -> str:
    place.link("creds/__init__.py")
    return "creds"


def inside_a_package(place: Place) -> str:
    (place.folder / "pkg").mkdir()
    (place.folder / "pkg" / "__init__.py").touch()
    place.link("pkg/creds.py")
    return "pkg.creds"


def handed_on(place: Place) -> str:
    place.link("creds.py")
    (place.folder / "front.py").write_text("from creds import password\n", encoding="utf-8")
    return "front"


def by_star(place: Place) -> str:
    place.link("creds.py")
    (place.folder / "front.py").write_text("from creds import *\n", encoding="utf-8")
    return "front"


def folder(place: Place) -> str:
    inner = place.aim.parent / "inner"
    inner.mkdir(exist_ok=True)
    (inner / "creds.py").write_bytes(place.aim.read_bytes())
    place.link("linked", inner)
    return "linked.creds"


def folder_of_a_folder(place: Place) -> str:
    inner = place.aim.parent / "outer" / "inner"
    inner.mkdir(parents=True, exist_ok=True)
    for made in (inner, inner.parent):
        (made / "__init__.py").touch()
    (inner / "creds.py").write_bytes(place.aim.read_bytes())
    place.link("linked", inner.parent)
    return "linked.inner.creds"


def around_the_circle(place: Place) -> str:
    place.link("here", ".")
    place.link("creds.py")
    return "here.creds"


def with_another_alphabet(place: Place) -> str:
    place.link("café.py")
    return "café"


FORMS = [
    straight,
    relative,
    by_links,
    package,
    inside_a_package,
    handed_on,
    by_star,
    folder,
    folder_of_a_folder,
    around_the_circle,
    with_another_alphabet,
]

AIMS = {
    "elsewhere": "../elsewhere/notes.ini",
    "at-home": "../home/.aws/credentials",
    "another-project": "../other/settings.py",
    "dotenv": ".env",
    "dotenv-copy": "deploy/.env.bak",
    "store": "secrets/db_password",
    "git": ".git/config",
    "variables": "infra/prod.tfvars",
    "key-in-it": "notes.txt",
}
"""Private files of a project, and others that may be read."""
KEY = f"# -----BEGIN PRIVATE KEY-----\n# {'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC' * 4}\n"


def aimed(desk: Desk, where: str, text: str) -> Place:
    folder = desk.folder / "ws"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    aim = Path(os.path.normpath(folder / where))
    aim.parent.mkdir(parents=True, exist_ok=True)
    aim.write_text(text, encoding="utf-8")
    return Place(folder, aim)


def told(desk: Desk, place: Place, module: str, *options: object) -> str:
    """Return everything that a model or a recording gets for a function of a module with this import."""
    (place.folder / "mod.py").write_text(MODULE.format(module=module, name="password"), encoding="utf-8")
    log = desk.folder / "talk.txt"
    with StandIn([REPLY]).in_thread() as standin:
        ran = desk.run(
            *("generate", place.folder / "mod.py", "--model", MODEL, "--host", standin.host, "--isolation", "none"),
            *("--max-iterations", 0, "--record", log, *options),
        )
        asked = json.dumps(standin.requests)
    assert "Twice a number" in asked
    return asked + log.read_text("utf-8") + ran.out + ran.err


@pytest.mark.parametrize("form", FORMS)
def test_what_lies_elsewhere_is_not_told(form: Form, desk: Desk) -> None:
    place = aimed(desk, AIMS["elsewhere"], SECRET)
    assert "Windermere7" not in told(desk, place, form(place))


@pytest.mark.parametrize("form", [form for form in FORMS if form not in (folder, folder_of_a_folder)])
def test_what_is_private_is_not_told(form: Form, desk: Desk) -> None:
    """A file called `.py` in a linked folder is a module and not private."""
    place = aimed(desk, "secrets/db_password", SECRET)
    assert "Windermere7" not in told(desk, place, form(place))


@pytest.mark.parametrize("aim", AIMS)
def test_wherever_it_is_private_it_is_not_told(aim: str, desk: Desk) -> None:
    place = aimed(desk, AIMS[aim], (KEY if aim == "key-in-it" else "") + SECRET)
    assert "Windermere7" not in told(desk, place, straight(place))


@pytest.mark.parametrize("form", FORMS)
def test_an_honest_link_inside_the_workspace_is_followed(form: Form, desk: Desk) -> None:
    place = aimed(desk, "common/shared.py", HONEST)
    assert "Thirlmere5" in told(desk, place, form(place))


def test_a_workspace_that_is_itself_reached_by_a_link(desk: Desk) -> None:
    place = aimed(desk, "common/shared.py", HONEST)
    module = straight(place)
    (desk.folder / "link").symlink_to(place.folder)
    assert "Thirlmere5" in told(desk, Place(desk.folder / "link", place.aim), module)


def test_the_project_can_hide_more_and_the_user_show_it(desk: Desk) -> None:
    place = aimed(desk, "internal/prices.py", HONEST)
    (place.folder / "pyproject.toml").write_text('[tool.adacoder]\nhide = ["internal"]\n', encoding="utf-8")
    module = straight(place)
    assert "Thirlmere5" not in told(desk, place, module)
    (desk.folder / "talk.txt").unlink()
    assert "Thirlmere5" in told(desk, place, module, "--show", "internal")


def test_the_project_cannot_show_what_is_private(desk: Desk) -> None:
    place = aimed(desk, ".env", SECRET)
    (place.folder / "pyproject.toml").write_text('[tool.adacoder]\nshow = [".env", "*"]\n', encoding="utf-8")
    text = told(desk, place, straight(place))
    assert "Windermere7" not in text
    assert "a project may not set it" in text


def test_the_user_can_show_what_looks_private(desk: Desk) -> None:
    place = aimed(desk, "tests/password.ini", HONEST)
    module = straight(place)
    assert "Thirlmere5" not in told(desk, place, module)
    (desk.folder / "talk.txt").unlink()
    assert "Thirlmere5" in told(desk, place, module, "--show", "tests/*.ini")


@pytest.mark.parametrize("door", ["pipe", "socket", "device", "circle", "endless"])
def test_what_is_no_file_is_not_waited_for(door: str, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    place = aimed(desk, "common/shared.py", HONEST)
    path = place.folder / "creds.py"
    match door:
        case "pipe":
            os.mkfifo(path)
        case "socket":
            monkeypatch.chdir(place.folder)
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind("creds.py")
        case "device":
            path.symlink_to("/dev/zero")
        case "circle":
            path.symlink_to("creds.py")
        case "endless":
            path.symlink_to("/proc/self/pagemap")
    assert "Twice a number" in told(desk, place, "creds")


LEADING = {
    "elsewhere": ("creds.py", "../elsewhere/notes.py", "leads out of the workspace"),
    "private": ("conf.py", ".env", "is private"),
    "folder": ("pkg/notes.py", "../elsewhere/notes.py", "leads out of the workspace"),
}


@pytest.mark.parametrize("command", ["generate", "fix", "check"])
@pytest.mark.parametrize("leading", LEADING)
def test_a_module_that_is_itself_such_a_link_is_refused(leading: str, command: str, desk: Desk) -> None:
    name, where, why = LEADING[leading]
    text = MODULE.format(module="os", name="sep").replace("pass", "return 3 + 'Windermere7'")
    place = aimed(desk, where, text)
    if "/" in name:
        place.link(name.partition("/")[0], place.aim.parent)
    else:
        place.link(name)
    model = () if command == "check" else ("--model", MODEL, "--max-iterations", 1)
    with StandIn([REPLY]).in_thread() as standin:
        host = () if command == "check" else ("--host", standin.host)
        ran = desk.run(command, f"{place.folder / name}::double", *model, *host, "--isolation", "none")
        assert standin.requests == []
    assert ran.code == 2
    assert len(ran.error_lines) == 1
    assert why in ran.err


def test_a_module_that_is_an_honest_link_is_worked_on(desk: Desk) -> None:
    place = aimed(desk, "common/shared.py", MODULE.format(module="os", name="sep"))
    place.link("linked.py")
    with StandIn([REPLY]).in_thread() as standin:
        ran = desk.run(
            *("generate", place.folder / "linked.py", "--model", MODEL, "--host", standin.host, "--write"),
            *("--isolation", "none"),
        )
    assert ran.code == 0
    assert "return 2 * number" in place.aim.read_text("utf-8")
    assert (place.folder / "linked.py").is_symlink()


HIDING = (
    *(".envs/.production/.django", "secrets/db_password", "prod.tfvars", "kubeconfig", "gcp-key.json", ".vault_pass"),
    *("docker-compose.override.yml", "deploy/app-credentials.json", "x/.env.bak", "certs/site.key.old", "token.json"),
)
BY_CONTENT = {
    "notes.txt": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{'b3BlbnNzaC1rZXktdjEAAAAABG5vbmU' * 4}\n",
    "config/app.yaml": f"github: {'ghp_' + 'a1B2' * 9}\n",
    "data/export.json": json.dumps({"slack": "xoxb-" + "12345678901-" + "QwErTy12" * 3}),
    "cluster.yaml": "apiVersion: v1\nkind: Secret\ndata:\n  key: aGFsbG8=\n",
    "wide.txt": ("AKIA" + "QWERTYUIOPASDFGH").encode("utf-16").decode("utf-16"),
}
OPEN = ("data.json", ".env.example", "secrets/__init__.py", "secrets/names.py", "tokens.txt", "docs/keys.md")
LOOK = '''
    from pathlib import Path

    def f(names):
        """
        >>> f({hidden!r})
        []
        >>> f({open!r}) == {open!r}
        True
        """
        return [name for name in names if _seen(Path(__file__).parent / name)]

    def _seen(path):
        try:
            return bool(path.read_bytes())
        except OSError:
            return False
    '''


async def test_code_that_runs_sees_none_of_it(level: Level, tmp_path_factory: pytest.TempPathFactory) -> None:
    async with set_up(tmp_path_factory.mktemp("s"), level) as (scene, opened):
        hidden = [*HIDING, *BY_CONTENT]
        texts = {name: BY_CONTENT.get(name, "x = 1\n") for name in (*hidden, *OPEN)}
        for name, text in texts.items():
            path = scene.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-16" if name == "wide.txt" else "utf-8")
        verdict = await opened.evaluate(LOOK.format(hidden=hidden, open=list(OPEN)))
        assert verdict.failure is None, verdict
        with suppress(FileNotFoundError):
            for name in texts:
                (scene.workspace / name).unlink()
