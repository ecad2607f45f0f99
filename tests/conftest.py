"""Shared setup of all tests: which of them can be isolated here, and the record of skipped tests."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from functools import partial
from pathlib import Path

import hypothesis
import pytest

from support.commandline import new_desk
from support.evaluating import Workspace, workspace
from support.levels import skip_what_needs_more
from support.paths import TESTS

pytest.register_assert_rewrite(
    *("adversarial.isolated", "protocol.flows"),
    *(f"support.{name}" for name in ("concluding", "recordings", "serving", "splicing")),
)


SLOW = frozenset(
    {
        *(
            f"integration/lsp/test_{name}.py"
            for name in (
                *("restart", "large", "fuzz", "schedules", "sample_client", "start_and_end"),
                *("kept", "cross_checks", "evidence_of_tests", "example_requests", "fix_test", "inline_completions"),
            )
        ),
        *(f"integration/arena/test_{name}.py" for name in ("cluster", "killed", "own_code")),
        *(
            f"integration/test_{name}.py"
            for name in ("nothing_leaves", "round_trip", "fixtures_record", "stubs", "examples")
        ),
        *(f"integration/benchmarks/test_{name}.py" for name in ("rescue", "tokens", "strategies")),
        *(
            f"integration/cli/test_{name}.py"
            for name in (
                *("interrupt", "tests_of_the_project", "pytest_plugin"),
                *("check_all", "check_changed", "check_commits", "check_once", "check_options", "check_series", "hook"),
                *("arena", "cross_check", "main", "shells_of_agents", "versions"),
            )
        ),
        *(f"integration/mcp/test_{name}.py" for name in ("sdk", "tools")),
        *(f"integration/models/test_{name}.py" for name in ("contract_hostile", "waiting")),
        "integration/editors/test_emacs.py",
        "integration/editors/test_neovim.py",
        "protocol/test_flows.py",
        *(f"integration/sandbox/{name}.py" for name in ("test_pool", "test_probe_record", "child/test_tracing")),
        *(f"integration/service/test_{name}.py" for name in ("crowd", "project_tests")),
        *("observing/test_ways.py", "observing/test_undisturbed.py"),
        "unit/replies/test_fuzz.py",
    }
)
"""Files that take half of the time of all tests. They kill, flood and restart processes, start real editors, wait for
slow servers, and compare with recordings. They run with `--slow` or `--only-slow`, or if they are named.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the files that take longest")
    parser.addoption("--only-slow", action="store_true", help="run only the files that take longest")
    parser.addoption("--all", action="store_true", help="try all there is where a sample is tried otherwise")


def pytest_configure(config: pytest.Config) -> None:
    if missing := sorted(name for name in SLOW if not (TESTS / name).exists()):
        raise pytest.UsageError(f"SLOW in tests/conftest.py names files that are gone: {', '.join(missing)}.")
    config.addinivalue_line("markers", "isolation: runs candidates, at the strongest level there is here")
    config.addinivalue_line("markers", "isolation(level): is about candidates that run at this very level")
    config.addinivalue_line("markers", "rest: takes long, and is tried with --all only")
    # No deadline, because the speed of a machine proves nothing.
    hypothesis.settings.register_profile("sample", deadline=None, max_examples=25)
    hypothesis.settings.register_profile("all", deadline=None, max_examples=150)
    hypothesis.settings.load_profile("all" if config.getoption("--all") else "sample")
    # No activated environment counts. If a test has no environment of its own, AdaCoder's own Python runs its examples.
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        os.environ.pop(variable, None)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    # Tests keep their records apart from those of the person who runs them.
    for variable in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        os.environ[variable] = own = tempfile.mkdtemp(prefix="adacoder-test-")
        config.add_cleanup(partial(shutil.rmtree, own, ignore_errors=True))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect tests without Python's garbage collection, which would check many permanent objects again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files that take longest, or all others, before Python reads them."""
    named = {Path(arg.partition("::")[0]).resolve() for arg in config.args}
    if not collection_path.name.startswith("test_") or collection_path.is_dir() or collection_path in named:
        return None
    is_slow = collection_path.relative_to(TESTS).as_posix() in SLOW
    if config.getoption("only_slow"):
        return not is_slow or None
    return (is_slow and not (config.getoption("slow") or config.getoption("all"))) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    skip_what_needs_more(items)
    if not config.getoption("all") and (left_out := {item for item in items if item.get_closest_marker("rest")}):
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [each for each in items if each not in left_out]


desk = pytest.fixture(new_desk)


@pytest.fixture
async def ws(tmp_path: Path) -> AsyncIterator[Workspace]:
    """Open a workspace with an evaluator of its own."""
    async with workspace(tmp_path) as opened:
        yield opened


@pytest.fixture
def not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a user who is not root, because root may write anything."""
    may = os.access

    def access(place: os.PathLike[str] | str, mode: int) -> bool:
        return may(place, mode) and (mode != os.W_OK or Path(place).stat().st_mode & 0o222 != 0)

    monkeypatch.setattr(os, "access", access)


@pytest.fixture
async def resolve_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Awaitable[object]]], None]:
    """Return a function that replaces the look-up of names in the event loop."""
    return lambda resolve: monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)


@pytest.fixture
def one_in(pytestconfig: pytest.Config) -> Callable[[int], int]:
    """Return a step for a sample of cases: `[:: one_in(8)]` takes every eighth, and with `--all` all."""
    return lambda count: 1 if pytestconfig.getoption("all") else count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures that tests recorded, and write the reasons for skipped tests."""
    reports = terminalreporter.stats.get("passed", []) + terminalreporter.stats.get("failed", [])
    figures = [value for report in reports for name, value in report.user_properties if name == "figure"]
    if figures:
        terminalreporter.section("figures")
        terminalreporter.write("".join(f"{figure}\n" for figure in sorted(figures)))
    write_skips(terminalreporter)


def write_skips(terminalreporter: pytest.TerminalReporter) -> None:
    """Write why tests were skipped to the file that ADACODER_SKIPS names, one line a reason."""
    path = os.environ.get("ADACODER_SKIPS")
    if path is None or os.environ.get("PYTEST_XDIST_WORKER"):
        return
    lines = []
    for report in terminalreporter.stats.get("skipped", []):
        file, reason = report.nodeid.partition("::")[0], report.longrepr[2]
        lines.append(f"{file.removeprefix('tests/')}: {reason.removeprefix('Skipped: ')}\n")
    with Path(path).open("a", encoding="utf-8") as skips:
        skips.writelines(lines)
