"""Templates are ready for the next evaluation, never outdated, and leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import FailureKind, Level
from adacoder.sandbox import process
from adacoder.sandbox.environment.interpreter import describe
from adacoder.sandbox.host import PROCESSORS, Host
from adacoder.sandbox.pool import PAUSE_SECONDS, TemplatePool, Upkeep
from adacoder.sandbox.probe import probe
from adacoder.sandbox.unavailable import SandboxError
from support.evaluating import Workspace, examples, parent_of, processes_in, program, threads_of, until, workspace
from support.levels import LEVELS, NONE
from support.paths import TESTS
from support.sampling import sampled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.isolation

GOOD = 'def f(x):\n    """\n    >>> f(1)\n    2\n    """\n    return x + 1\n'
SLOW = GOOD.replace("return", "import time; time.sleep(60); return")
THREADED = SLOW.replace("import", "import threading; threading.Timer(60, int).start(); import")
"""A candidate that starts a second thread, so that a test can see that it runs."""
ONE = GOOD.replace("+ 1", "+ ONE")
PYTHON = Path(sys.executable).resolve()


def descriptors() -> set[str]:
    gc.collect()
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def evaluations_in(folder: Path) -> list[int]:
    """Return the processes that were forked for an evaluation. Nested templates are among them."""
    inside = {pid for pid in processes_in(folder) if is_inside(pid)}
    return [pid for pid in sorted(inside) if is_child_of(pid, inside)]


def running_in(folder: Path) -> list[int]:
    """Return the processes whose candidate runs."""
    return [pid for pid in evaluations_in(folder) if threads_of(pid) > 1]


def templates_in(folder: Path) -> set[int]:
    inside = {pid for pid in processes_in(folder) if is_inside(pid)}
    return {pid for pid in inside if not is_child_of(pid, inside)}


def is_inside(pid: int) -> bool:
    """Return True if a process runs in the sandbox, after the launcher."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return line.endswith(b"/template.py\0") and b"launcher" not in line


def is_child_of(pid: int, parents: set[int]) -> bool:
    try:
        return parent_of(pid) in parents
    except OSError:
        return False


WHERE = "import os\nMARK = os.urandom(8).hex()\n"
"""Text of a module that shows by which import it was loaded."""
READER = "with open({!r}) as file:\n    DATA = file.read()\n"


def told(name: str, attribute: str) -> str:
    """Return a function whose example fails, so that the failure shows the value of a module's attribute."""
    return f'import {name}\n\ndef f(x):\n    """\n    >>> f(1)\n    \'\'\n    """\n    return str({name}.{attribute})\n'


async def got(ws: Workspace, text: str, *, file: str = "mod.py") -> str:
    verdict = await ws.evaluate(text, file=file)
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.WRONG_OUTPUT, verdict.failure
    return str(verdict.failure.got).strip().strip("'")


PACKAGES = f".venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"


@pytest.fixture
def upkeep() -> Upkeep:
    """Return how the pool of `ws` and `venv` keeps templates. Tests may replace it."""
    return Upkeep(PROCESSORS)


@pytest.fixture
async def ws(tmp_path: Path, upkeep: Upkeep) -> AsyncIterator[Workspace]:
    """Open a workspace with its own evaluator."""
    async with workspace(tmp_path, templates=TemplatePool(PROCESSORS, upkeep)) as opened:
        yield opened


@pytest.fixture
def venv(ws: Workspace) -> Workspace:
    """A workspace with its own virtual environment. Its package `installed` shows which process imported it."""
    ws.write({".venv/pyvenv.cfg": f"home = {PYTHON.parent}\n", f"{PACKAGES}/installed.py": WHERE})
    (ws.folder / ".venv/bin").mkdir()
    (ws.folder / ".venv/bin/python").symlink_to(PYTHON)
    return ws


async def warm(ws: Workspace, text: str) -> None:
    """Evaluate `text` until a template has imported its modules."""
    async with asyncio.timeout(30):
        while await got(ws, text) != await got(ws, text):  # noqa: ASYNC110  # each round evaluates
            await asyncio.sleep(0.05)


async def test_what_is_installed_is_imported_once(venv: Workspace) -> None:
    text = told("installed", "MARK")
    await warm(venv, text)
    assert len({await got(venv, text) for _ in range(4)}) == 1
    other = text.replace("str(", "str(0 or ")
    assert await got(venv, other) == await got(venv, text)


async def test_what_the_project_s_own_modules_import_of_it_is_too(venv: Workspace) -> None:
    venv.write(
        {"front/__init__.py": "", "front/back.py": "try:\n    import installed\nexcept ImportError:\n    pass\n"}
    )
    text = told("front.back", "installed.MARK")
    await warm(venv, text)
    assert len({await got(venv, text) for _ in range(4)}) == 1


async def test_what_only_a_candidate_imports_is_not(venv: Workspace) -> None:
    text = told("os", "name").replace("return str(os.name)", "import installed; return str(installed.MARK)")
    assert len({await got(venv, text) for _ in range(4)}) == 4


@pytest.mark.parametrize("best", LEVELS)
async def test_the_project_s_own_modules_are_always_imported_afresh(best: Level, tmp_path: Path) -> None:
    async with workspace(tmp_path, best=best) as ws:
        ws.write({"helper.py": WHERE, "data.txt": "0", "reader.py": READER.format(str(tmp_path / "data.txt"))})
        assert len({await got(ws, told("helper", "MARK")) for _ in range(4)}) == 4
        for number in range(4):
            ws.write({"data.txt": str(number)})
            assert await got(ws, told("reader", "DATA")) == str(number)


async def test_the_module_under_test_is_always_imported_afresh(ws: Workspace) -> None:
    ws.write({"pkg/__init__.py": "import os\nPID = os.getpid()\nfrom pkg.mod import f", "pkg/other.py": "import pkg"})
    text = "import os, pkg, pkg.other\nMINE = os.getpid()\n" + GOOD.replace(
        "return x + 1", "return str(pkg.PID - MINE)"
    )
    for _ in range(3):
        verdict = await ws.evaluate(text, file="pkg/mod.py")
        assert verdict.failure is not None
        assert verdict.failure.got == "'0'\n"


async def test_what_imports_the_module_under_test_is_imported_afresh_too(ws: Workspace) -> None:
    ws.write({"front.py": "from mod import f as g\n", "mod.py": ""})
    text = "def f(x):\n    '''\n    >>> from front import g\n    >>> g(1)\n    2\n    '''\n    return x + 1\n"
    for _ in range(3):
        for plus, result in (("+ 1", "2\n"), ("+ 2", "3\n")):
            verdict = await ws.evaluate(text.replace("+ 1", plus))
            assert [each.got for each in verdict.results] == ["", result]


async def test_a_module_that_was_a_helper_can_be_under_test_next(ws: Workspace) -> None:
    ws.write({"helper.py": "ONE = 1\n"})
    for _ in range(2):
        assert (await ws.evaluate("from helper import ONE\n" + ONE)).passed
        assert (await ws.evaluate("ONE = 1\n" + ONE, file="helper.py")).passed
        assert not (await ws.evaluate("ONE = 2\n" + ONE, file="helper.py")).passed


async def test_a_module_named_as_one_of_the_standard_library(ws: Workspace) -> None:
    for name in ("random", "traceback", "string"):
        for _ in range(2):
            assert (await ws.evaluate("ONE = 1\n" + ONE, file=f"{name}.py")).passed


async def test_a_module_of_the_project_comes_before_an_installed_one(venv: Workspace) -> None:
    text = "import installed\n" + GOOD.replace("x + 1", "getattr(installed, 'ONE', 0) + x")
    assert not (await venv.evaluate(text)).passed
    venv.write({"installed.py": "ONE = 1\n"})
    assert (await venv.evaluate(text)).passed
    (venv.folder / "installed.py").unlink()
    assert not (await venv.evaluate(text)).passed


async def test_a_path_that_the_module_chooses_decides_what_is_imported(venv: Workspace) -> None:
    venv.write({"vendor/installed.py": "ONE = 1\n"})
    text = f"import sys\nsys.path.insert(0, {str(venv.folder / 'vendor')!r})\nfrom installed import ONE\n{ONE}"
    for _ in range(3):
        assert (await venv.evaluate(text)).passed


async def test_a_submodule_that_others_import_is_not_there_for_all(ws: Workspace) -> None:
    leaning = "import xml\n" + GOOD.replace("return", "xml.etree.ElementTree\n    return")
    for _ in range(2):
        assert not (await ws.evaluate(leaning)).passed
        assert (await ws.evaluate(leaning.replace("import xml\n", "import xml.etree.ElementTree\n"))).passed


async def test_an_edited_file_is_imported_anew(ws: Workspace) -> None:
    for number in (1, 2, 3, 1):
        ws.write({"helper.py": f"ONE = {number}  {'#' * number}\n"})
        for _ in range(2):
            assert (await ws.evaluate("from helper import ONE\n" + ONE)).passed is (number == 1)


@pytest.mark.parametrize("upkeep", [Upkeep(PROCESSORS, recheck=0.0)])
async def test_an_installed_package_that_changed_is_imported_anew(venv: Workspace) -> None:
    for number in (1, 2):
        venv.write({f"{PACKAGES}/installed.py": f"ONE = {number}  {'#' * number}\n"})
        for _ in range(2):
            assert (await venv.evaluate("from installed import ONE\n" + ONE)).passed is (number == 1)


@pytest.mark.parametrize("upkeep", [Upkeep(PROCESSORS, recheck=0.0)])
async def test_an_installed_package_that_changes_while_it_is_imported_is_imported_anew(
    venv: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "from installed import ONE\n" + ONE
    changed = asyncio.Event()
    settle = process.TemplateProcess.settle

    async def settled(template: process.TemplateProcess) -> tuple[Path, ...]:
        files = await settle(template)
        if any(file.name == "installed.py" for file in files) and not changed.is_set():
            venv.write({f"{PACKAGES}/installed.py": "ONE = 2\n"})
            changed.set()
        return files

    monkeypatch.setattr(process.TemplateProcess, "settle", settled)
    venv.write({f"{PACKAGES}/installed.py": "ONE = 1\n"})
    await venv.evaluate(text)  # this may happen before the change or after it
    async with asyncio.timeout(30):
        await changed.wait()
    for _ in range(2):
        assert not (await venv.evaluate(text)).passed
    venv.write({f"{PACKAGES}/installed.py": "ONE = 1\n"})
    assert (await venv.evaluate(text)).passed


async def test_unsaved_text_comes_before_what_is_on_disk(ws: Workspace) -> None:
    ws.write({"helper.py": "ONE = 1\n", "front.py": "from helper import ONE\n"})
    text = "from front import ONE\n" + ONE
    for _ in range(2):
        assert (await ws.evaluate(text)).passed
        assert not (await ws.evaluate(text, overlays={"helper.py": "ONE = 2\n"})).passed


@pytest.mark.parametrize(
    "how",
    [
        "time.sleep(60)",
        "os.kill(os.getpid(), 9)",
        "os._exit(0)",
        "os.close(3)",
        "os.write(3, b'garbage' * 9)",
        "sys.modules['zz'] = type(sys)('zz'); sys.modules['zz'].__file__ = 'no\\0file'",
        "import mod",
        "raise ValueError",
    ],
)
@pytest.mark.parametrize("upkeep", [Upkeep(PROCESSORS, warm=3.0)])
async def test_an_import_that_breaks_a_template_is_left_to_the_evaluations(how: str, venv: Workspace) -> None:
    hostile = f"import os, sys, time\nif 'mod' not in sys.modules:\n    {how}\n"
    venv.write({f"{PACKAGES}/installed.py": hostile, "mod.py": ""})
    for _ in range(3):
        assert (await venv.evaluate("import json, installed\n" + GOOD)).passed


async def test_a_package_that_needs_a_writable_home_folder_can_be_imported(venv: Workspace) -> None:
    """The import fails in the template. Python then forgets the package, but not its modules."""
    package = "import os, p.one\nos.makedirs(os.path.expanduser('~/.cache/p'))\nNAME = p.two.__name__\n"
    modules = {"__init__": package, "one": "import p.two\n", "two": ""}
    venv.write({f"{PACKAGES}/p/{name}.py": text for name, text in modules.items()})
    text = "import installed, p\n" + GOOD
    await warm(venv, text.replace("x + 1", "installed.MARK"))
    for _ in range(3):
        verdict = await venv.evaluate(text)
        assert verdict.passed, verdict.failure


@pytest.mark.parametrize(
    "state",
    [
        "threading.Thread(target=time.sleep, args=(99,), daemon=True).start()",
        "FILE = open(os.devnull)",
        "os.environ['CHANGED'] = MARK",
        "sys.path.append('/changed')",
        "os.chdir('/')",
    ],
)
async def test_an_import_that_leaves_what_cannot_be_shared_is_each_evaluations_own(state: str, venv: Workspace) -> None:
    where = "import os, sys, threading, time\nMARK = os.urandom(8).hex()\n" + state
    venv.write({f"{PACKAGES}/installed.py": where})
    assert len({await got(venv, told("installed", "MARK")) for _ in range(3)}) == 3


async def test_when_all_is_ready_there_is_a_template(ws: Workspace) -> None:
    await ws.host().ready(program(ws.folder / "mod.py", ws.folder, GOOD, "f"))
    await until(lambda: len(templates_in(ws.folder)) == 1)
    before = templates_in(ws.folder)
    assert (await ws.evaluate(GOOD)).passed
    await until(lambda: templates_in(ws.folder) == before)


@pytest.mark.parametrize("upkeep", [Upkeep(PROCESSORS, idle=0.2)])
async def test_an_idle_template_goes_and_another_comes(ws: Workspace) -> None:
    assert (await ws.evaluate(GOOD)).passed
    await until(lambda: bool(processes_in(ws.folder)))
    await until(lambda: not processes_in(ws.folder))
    assert (await ws.evaluate(GOOD)).passed


async def test_there_are_few_templates(ws: Workspace, tmp_path: Path, upkeep: Upkeep) -> None:
    for number in range(6):
        (tmp_path / f"root{number}").mkdir()
        assert (await ws.evaluate(GOOD, file=f"root{number}/mod.py", root=f"root{number}")).passed
    await until(lambda: len(templates_in(tmp_path)) <= upkeep.most)


@pytest.mark.parametrize("upkeep", [Upkeep(PROCESSORS, growth=-(1 << 30))])
async def test_a_template_that_grew_is_made_anew(ws: Workspace) -> None:
    assert (await ws.evaluate(GOOD)).passed
    before = templates_in(ws.folder)
    async with asyncio.timeout(30):
        while templates_in(ws.folder) & before:
            assert (await ws.evaluate(GOOD)).passed
    await until(lambda: bool(templates_in(ws.folder)))


@pytest.mark.parametrize("best", [*LEVELS, NONE])
@pytest.mark.parametrize("delay", sampled([0.0, 0.001, 0.005, 0.01, 0.02, 0.04, 0.3], 3))
async def test_a_cancelled_evaluation_leaves_nothing(delay: float, best: Level, tmp_path: Path) -> None:
    await probe(best)
    before = descriptors()
    async with workspace(tmp_path, Level.NONE, best=best) as ws:
        for _ in range(2):
            task = asyncio.create_task(ws.evaluate(SLOW, timeout=60))
            await asyncio.sleep(delay)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert (await ws.evaluate(GOOD)).passed
        await until(lambda: len(evaluations_in(tmp_path)) <= PROCESSORS)  # the prepared processes
    assert processes_in(tmp_path) == []
    assert descriptors() == before


async def test_what_is_closed_while_it_evaluates_does_not_begin_anew(ws: Workspace) -> None:
    assert (await ws.evaluate(GOOD)).passed
    task = asyncio.create_task(ws.evaluate(THREADED, timeout=60))
    await until(lambda: bool(running_in(ws.folder)))
    await ws.host().close()
    with pytest.raises(SandboxError):
        await task
    assert processes_in(ws.folder) == []


@pytest.mark.parametrize("best", [*LEVELS, NONE])
async def test_a_host_that_is_closed_early_leaves_nothing(best: Level, tmp_path: Path, temporary: Path) -> None:
    await probe(best)
    before = descriptors()
    for delay in (0.0, 0.002, 0.01, 0.03, 0.06, 0.1):
        host = Host(describe(Path(sys.executable)), tmp_path, least=Level.NONE, best=best)
        what = program(tmp_path / "mod.py", tmp_path, GOOD, "f")
        task = asyncio.create_task(host.evaluate(what, examples(GOOD), timeout=10))
        await asyncio.sleep(delay)
        task.cancel()
        await asyncio.wait([task])
        await host.close()
        assert processes_in(tmp_path) == []
    assert descriptors() == before
    assert not any(temporary.iterdir())  # noqa: ASYNC240


async def test_many_at_a_time(ws: Workspace) -> None:
    texts = [GOOD, GOOD.replace("+ 1", "+ 2"), GOOD.replace("return", "import os; os._exit(0); return")] * 4
    verdicts = await asyncio.gather(*(ws.evaluate(text) for text in texts))
    kinds = [None if verdict.failure is None else verdict.failure.kind for verdict in verdicts]
    assert kinds == [None, FailureKind.WRONG_OUTPUT, FailureKind.KILLED] * 4


async def test_no_more_run_at_a_time_than_there_are_processors(ws: Workspace) -> None:
    tasks = [asyncio.create_task(ws.evaluate(THREADED, timeout=2)) for _ in range(3 * PROCESSORS)]
    most_run = most = 0
    for _ in range(20):
        await asyncio.sleep(0.05)
        most = max(most, len(evaluations_in(ws.folder)))
        most_run = max(most_run, len(running_in(ws.folder)))
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert 1 <= most_run <= PROCESSORS
    assert most <= 2 * PROCESSORS  # as many replacements may be ready


async def test_a_process_may_be_taken_at_any_moment_of_its_making(ws: Workspace) -> None:
    for moment in range(60):
        verdicts = await asyncio.gather(*(ws.evaluate(GOOD) for _ in range(PROCESSORS)))
        assert all(verdict.passed for verdict in verdicts), verdicts
        await asyncio.sleep(PAUSE_SECONDS + moment * 0.0002)  # meanwhile, replacements are being started
        verdict = await ws.evaluate(GOOD)
        assert verdict.passed, verdict


async def test_while_none_runs_as_many_are_ready_as_there_are_processors(ws: Workspace) -> None:
    assert (await ws.evaluate(GOOD)).passed
    await until(lambda: len(evaluations_in(ws.folder)) == PROCESSORS)
    assert (await ws.evaluate(GOOD)).passed
    await until(lambda: len(evaluations_in(ws.folder)) == PROCESSORS)


@pytest.mark.parametrize("upkeep", [Upkeep(PROCESSORS, every=0.0, most=1)])
async def test_the_template_that_serves_makes_no_room_for_another(ws: Workspace) -> None:
    names = ("json", "random", "hashlib", "datetime", "decimal", "statistics")
    texts = [f"import {name}\n" + good for name in names for good in (GOOD, GOOD.replace("+ 1", "+ 2"))]
    verdicts = await asyncio.gather(*(ws.evaluate(text) for text in texts))
    assert [verdict.passed for verdict in verdicts] == [True, False] * len(names)


UNPREPARED = pytest.mark.parametrize("upkeep", [Upkeep(spares=0)])
"""Prepare no process before an evaluation needs it."""


@UNPREPARED
async def test_what_was_made_for_a_cancelled_evaluation_serves_no_other(ws: Workspace) -> None:
    assert (await ws.evaluate(GOOD)).passed
    for delay in (0.0, 0.0005, 0.001, 0.002, 0.004, 0.008):
        task = asyncio.create_task(ws.evaluate(GOOD.replace("+ 1", "+ 2")))
        await asyncio.sleep(delay)
        task.cancel()
        await asyncio.wait([task])
        assert (await ws.evaluate(GOOD)).passed
    await until(lambda: evaluations_in(ws.folder) == [])


@UNPREPARED
async def test_code_that_ends_its_process_at_once_is_run_once(ws: Workspace) -> None:
    for _ in range(5):
        verdict = await ws.evaluate("import os; os._exit(0)\n" + GOOD)
        assert verdict.failure is not None
        assert verdict.failure.kind is FailureKind.KILLED
        assert (await ws.evaluate(GOOD)).passed


@pytest.mark.parametrize("best", LEVELS)
async def test_whatever_is_killed_the_next_evaluation_works(best: Level, tmp_path: Path) -> None:
    async with workspace(tmp_path, best=best) as ws:
        assert (await ws.evaluate(GOOD)).passed
        for _ in range(3):
            await until(lambda: bool(evaluations_in(tmp_path)))
            for pid in [*processes_in(tmp_path)]:
                try:
                    os.kill(pid, 9)
                except ProcessLookupError:
                    continue  # the template died together with another process
                assert (await ws.evaluate(GOOD)).passed


SERVER = """
import asyncio, sys
from pathlib import Path
from adacoder.domain import Level
from support.evaluating import workspace

async def main(folder, best, text):
    async with workspace(folder, Level.NONE, best=best) as ws:
        print("starts", flush=True)
        await ws.evaluate(text, timeout=60)

asyncio.run(main(Path(sys.argv[1]), Level(sys.argv[2]), sys.argv[3]))
"""


@pytest.mark.parametrize("best", [*LEVELS, NONE])
@pytest.mark.parametrize("delay", [0.0, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.5])
async def test_nothing_survives_a_server_that_is_killed(delay: float, best: Level, tmp_path: Path) -> None:
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SERVER, str(tmp_path), best, SLOW),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    assert server.stdout is not None
    assert await server.stdout.readline() == b"starts\n"
    await asyncio.sleep(delay)
    server.kill()
    await server.wait()
    await until(lambda: processes_in(tmp_path) == [])


async def test_a_template_that_is_killed_while_it_evaluates_is_not_the_candidate_s_fault(ws: Workspace) -> None:
    text = THREADED.replace("60", "0.5")
    assert (await ws.evaluate(GOOD)).passed
    task = asyncio.create_task(ws.evaluate(text))
    await until(lambda: bool(running_in(ws.folder)))
    for pid in templates_in(ws.folder):
        os.kill(pid, 9)
    assert (await task).passed


async def test_an_interpreter_that_cannot_start_is_told_apart_from_a_candidate(venv: Workspace) -> None:
    python = venv.folder / ".venv/bin/python"
    venv.host()
    python.unlink()
    with pytest.raises(SandboxError, match=r"^The interpreter .*python does not start: .*No such file"):
        await venv.evaluate(GOOD)
    python.symlink_to(PYTHON)
    assert (await venv.evaluate(GOOD)).passed


@pytest.mark.parametrize("best", LEVELS)
@pytest.mark.parametrize(
    "mess",
    [
        "os.mkdir('locked', 0); time.sleep(0.2)",
        "os.mkdir('locked', 0o300); open('locked/own', 'w').close(); time.sleep(0.2)",
        "[open(str(i), 'w').close() for i in range(1000)]",
        "[(os.mkdir('d'), os.chdir('d')) for _ in range(1200)]",
        "os.symlink('/', 'root'); os.symlink('root', 'again'); os.mkdir('d'); os.link('root', 'd/hard')",
        "[open('big%d' % i, 'wb').write(b'x' * (8 << 20)) for i in range(7)]",
    ],
)
async def test_a_scratch_folder_is_empty_again(mess: str, best: Level, tmp_path: Path) -> None:
    text = "import os, time\n" + GOOD.replace("return", f"found = os.listdir('.')\n    {mess}\n    return len(found) +")
    async with workspace(tmp_path, best=best) as ws:
        for _ in range(4):
            verdict = await ws.evaluate(text)
            assert verdict.passed, verdict.failure


async def test_on_disk_an_evaluation_cannot_write_without_end(tmp_path: Path) -> None:
    many = "[open(str(i), 'w').close() for i in range(1 << 30)]"
    large = "[open(str(i), 'wb').write(b'x' * (8 << 20)) for i in range(1 << 30)]"
    locked = "os.makedirs('a/b', 0o300); " + large.replace("str(i)", "'a/b/%d' % i")
    some = "[open(str(i), 'wb').write(b'x' * (8 << 20)) for i in range(7)]"
    async with workspace(tmp_path, best=Level.LSM) as ws:
        for mess in (many, large, f"import os; {locked}", f"import os; os.umask(0o477); {locked}"):
            failure = (await ws.evaluate(GOOD.replace("return", f"{mess}\n    return"), timeout=30)).failure
            assert failure is not None
            assert failure.kind is FailureKind.KILLED
            assert failure.message == "The example on line 3 wrote more files than an evaluation may (64 MiB)."
            assert (await ws.evaluate(GOOD.replace("return", f"{some}\n    return"))).passed


async def test_without_descriptors_it_says_so_and_works_again_with_them(ws: Workspace) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    try:
        while True:
            try:
                taken.append(os.dup(0))
            except OSError:
                break
        with pytest.raises(SandboxError, match="Too many open files"):
            await ws.evaluate(GOOD)
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (await ws.evaluate(GOOD)).passed
