"""A hostile project does no harm while its tests are observed, from a test, a conftest or a pytest plug-in."""

from __future__ import annotations

import platform
from collections.abc import AsyncIterator
from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from adacoder.agents.observations import Observed
from adacoder.agents.project_tests import ProjectTests
from adacoder.domain import Level
from adacoder.privacy.access import Access
from adacoder.sandbox.probe import probe
from adacoder.source.locate import locate
from adversarial.attack import Harm
from adversarial.attacks import ATTACKS
from adversarial.isolated import set_up
from support.evaluating import Workspace, until

if TYPE_CHECKING:
    from adversarial.attack import Attack
    from adversarial.scene import Scene

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="module")]

_HARMS = {Harm.REACHED, Harm.SECRET_TOLD, Harm.VICTIM_CHANGED, Harm.BYSTANDER_HIT, Harm.PROCESS_LEFT, Harm.SERVER_ENDED}
_HOSTILE = [
    attack
    for attack in ATTACKS
    if attack.harm in _HARMS
    and attack.machine in ("", platform.machine())
    and not (attack.files or attack.environment)
    and attack.timeout >= 10
]
PLACES = ("tests/test_hostile.py", "tests/conftest.py", "hostile_plugin.py")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Scene, Workspace]]:
    """A scene at the strongest level that works here. `test_attacks.py` runs the attacks at both levels."""
    level = (await probe(Level.FULL)).isolation.level
    async with set_up(tmp_path_factory.mktemp("scene"), level) as both:
        yield both


async def observed(file: str, text: str, place: Scene, opened: Workspace) -> Observed:
    """Observe the tests of a project that has a file with this text."""
    files = {
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p hostile_plugin'\npythonpath = '.'\n",
        "hostile_plugin.py": "",
        "tests/conftest.py": "",
        "tests/test_hostile.py": "def test_it():\n    pass\n",
        "quiet.py": 'def g(x):\n    """Return x."""\n    return x\n',
        file: text,
    }
    (place.workspace / "tests").mkdir(exist_ok=True)
    for name, content in files.items():
        (place.workspace / name).write_text(content, encoding="utf-8")
    path = place.workspace / "quiet.py"
    target = locate(path.read_text("utf-8"), path, place.workspace, qualname="g")
    tests, access = ProjectTests(opened.host(), place.workspace), Access((place.workspace,))
    return await tests.observe(place.workspace / "tests/test_hostile.py", {}, access, target.module)


@pytest.mark.parametrize("file", PLACES)
async def test_each_of_these_files_runs(file: str, shared: tuple[Scene, Workspace]) -> None:
    text = "def test_it():\n    raise ValueError('it ran')\n" if "test_" in file else "raise ValueError('it ran')\n"
    assert "it ran" in repr(await observed(file, text, *shared))


@pytest.mark.parametrize(("number", "attack"), [*enumerate(_HOSTILE)], ids=[attack.name for attack in _HOSTILE])
async def test_a_hostile_project_does_no_harm(number: int, attack: Attack, shared: tuple[Scene, Workspace]) -> None:
    place, opened = shared
    file = PLACES[number % len(PLACES)]
    function = f"def f(x):\n{indent(dedent(attack.body), '    ')}\n"
    text = f"{place.constants}\n{dedent(attack.top)}\n{function}{dedent(attack.bottom)}\n"
    text += "\ndef test_it():\n    f(1)\n" if "test_" in file else "\nf(1)\n"
    await observed(PLACES[0], "def test_it():\n    pass\n", place, opened)
    place = place.furnish(attack)
    found = await observed(file, text, place, opened)
    assert place.secret not in repr(found)
    await until(lambda: not place.is_marked)
    verdict = await opened.evaluate(place.module(attack.twin))
    assert verdict.failure is None, verdict
    assert place.harms() <= {Harm.LITTERED, Harm.VICTIM_CHANGED}
