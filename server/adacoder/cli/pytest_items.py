"""The part of `pytest --adacoder` that runs inside pytest: it collects docstrings as test items.

A separate process checks the docstrings (see `pytest_checks`), so the project's tests cannot see or disturb its
threads and event loop.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import adacoder

_MAIN = "import sys; sys.path.append(sys.argv[1]); from adacoder.cli.pytest_checks import serve; serve(sys.argv[2])"
"""The program of the checking process. `-I` keeps it from importing the project's modules."""
_END_SECONDS = 10.0
_AHEAD = 64
"""Maximum number of checks that are requested in advance."""
_OTHERS = {
    "doctestmodules": "--doctest-modules",
    "doctest_plus": "--doctest-plus",
    "doctest_only": "--doctest-only",
    "xdoctestmodules": "--xdoctest",
}
"""Options of other plug-ins that run docstrings, by their name in pytest's configuration."""


class CheckProcess:
    """The client of the process that checks docstrings. Answers may come in any order."""

    def __init__(self, folder: Path) -> None:
        """Start the process in `folder`.

        Raises:
            pytest.UsageError: the process does not start.
        """
        self._socket, theirs = socket.socketpair()
        command = [sys.executable, "-I", "-c", _MAIN, str(Path(adacoder.__file__).parents[1]), str(theirs.fileno())]
        try:
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603  # our own program
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    cwd=folder,
                    start_new_session=True,  # Ctrl-C must reach only pytest, which then ends the checking process
                )
        except (OSError, ValueError) as error:
            self._socket.close()
            raise pytest.UsageError(f"--adacoder cannot start its process ({error}): run pytest without it.") from None
        self._lines = self._socket.makefile(encoding="utf-8")
        self._asked = 0
        self._answers: dict[int, dict[str, Any]] = {}

    def ask(self, **question: object) -> int:
        """Send a request. Return its number."""
        self._asked += 1
        with suppress(OSError):  # `answer` reports that the process has ended
            self._socket.sendall(f"{json.dumps({'number': self._asked, **question})}\n".encode())
        return self._asked

    def answer(self, number: int) -> dict[str, Any]:
        """Wait for the answer to the request `number`. Call this only once for each number."""
        while number not in self._answers:
            line = ""
            with suppress(OSError):
                line = self._lines.readline()
            if not line:
                return {"error": "AdaCoder's process has ended: run pytest again."}
            answer = json.loads(line)
            self._answers[answer["number"]] = answer
        return self._answers.pop(number)

    def close(self) -> None:
        """End the process."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._lines.close()
        self._socket.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class PytestDocstrings:
    """The plug-in of a run with `--adacoder`."""

    def __init__(self, config: pytest.Config) -> None:
        """Refuse the run if another plug-in also runs the docstrings.

        Raises:
            pytest.UsageError: another plug-in does so.
        """
        if others := [
            option for name, option in _OTHERS.items() if config.getoption(name, False) or _ini(config, name)
        ]:
            raise pytest.UsageError(f"--adacoder and {others[0]} would both run the docstrings: leave out one of them.")
        config.addinivalue_line("markers", "adacoder: the examples of a docstring. --adacoder collects them.")
        self._config = config
        self._process: CheckProcess
        self._isolation = ""
        self._places: dict[pytest.Item, int] = {}
        self._items: list[DocstringItem] = []
        self._asked: dict[DocstringItem, int] = {}

    def pytest_sessionstart(self) -> None:
        """Start the checking process.

        Raises:
            pytest.UsageError: nothing can isolate the examples.
        """
        self._process = CheckProcess(self._config.invocation_params.dir)
        self._config.add_cleanup(self._process.close)
        answer = self._process.answer(self._process.ask())
        if "error" in answer:
            raise pytest.UsageError(answer["error"])
        self._isolation = answer["isolation"]

    def pytest_report_header(self) -> str:
        """Return the isolation of the examples."""
        return f"adacoder: docstrings run with isolation {self._isolation}"

    @pytest.hookimpl(trylast=True)  # pytest 7 expects its own `Package` as the first collector
    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect the docstrings of a Python file.

        The collector's parent is the session. For a parent that is a package, pytest would import the package.
        """
        if file_path.suffix != ".py":
            return None
        file: DocstringFile = DocstringFile.from_parent(parent.session, path=file_path)
        number = self._process.ask(path=str(file_path), named=parent.session.isinitpath(file_path))
        file.begin(self, self._process, number)
        return file

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Keep pytest from importing a file without tests that the user named."""
        if any(module_path.match(pattern) for pattern in self._config.getini("python_files")):
            return None
        if not parent.session.isinitpath(module_path):
            return None  # pytest 7 calls this hook for packages, too
        left_out: NotImported = NotImported.from_parent(parent.session, path=module_path)
        return left_out

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Store the order of the docstrings, so that checks can be requested in advance."""
        self._items = [item for item in session.items if isinstance(item, DocstringItem)]
        self._places = {item: place for place, item in enumerate(self._items)}

    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Request the check of `item` and of the next docstrings, so that they run at the same time.

        In a worker of pytest-xdist, only the next item is known.
        """
        place = None if hasattr(self._config, "workerinput") else self._places.get(item)
        ahead = [item, nextitem] if place is None else self._items[place : place + _AHEAD]
        for each in ahead:
            if isinstance(each, DocstringItem):
                self._request(each)

    def check(self, item: DocstringItem) -> dict[str, Any]:
        """Return the result of a docstring."""
        self._request(item)
        return self._process.answer(self._asked.pop(item))

    def _request(self, item: DocstringItem) -> None:
        if item not in self._asked:
            self._asked[item] = self._process.ask(check=item.number)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        """If no docstring was checked and nothing failed, tell the user."""
        if (
            exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
            or self._config.option.collectonly
        ):
            return
        reports = (report for reports in terminalreporter.stats.values() for report in reports)
        if not any("adacoder" in getattr(report, "keywords", ()) for report in reports):
            terminalreporter.write_line("adacoder: no docstring was checked. Name the folders that have examples.")


def _ini(config: pytest.Config, name: str) -> object:
    """Return a value of pytest's configuration; None if no plug-in defines `name`."""
    with suppress(ValueError):
        return config.getini(name)
    return None


class DocstringFile(pytest.File):
    """A Python file with docstrings."""

    def begin(self, plugin: PytestDocstrings, process: CheckProcess, question: int) -> None:
        """Set the attributes that `collect` needs. `number` is the request to the checking process that reads this
        file.
        """
        self.plugin = plugin
        self._process = process
        self._question = question

    @cached_property
    def _answer(self) -> dict[str, Any]:
        return self._process.answer(self._question)

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the docstrings that have examples."""
        if "error" in self._answer:
            raise self.CollectError(self._answer["error"])
        if "skipped" in self._answer:
            pytest.skip(self._answer["skipped"], allow_module_level=True)
        for name, line, number in self._answer["docstrings"]:
            item: DocstringItem = DocstringItem.from_parent(self, name=name)
            item.begin(self.plugin, line, number)
            yield item


class NotImported(pytest.File):
    """A file that the user named although it is no test file. Only its docstrings are collected."""

    def collect(self) -> Iterator[pytest.Item]:
        """Warn that tests in the file do not run."""
        pytest.skip(
            f"With --adacoder, tests in {self.path.name} run only if `python_files` matches it.",
            allow_module_level=True,
        )


class DocstringFailure(Exception):
    """The examples of a docstring failed, or were denied a resource. The message explains the failure."""


class DocstringItem(pytest.Item):
    """pytest's item for the examples of a docstring."""

    def begin(self, plugin: PytestDocstrings, line: int, number: int) -> None:
        """Set the attributes that `runtest` needs. `number` identifies the docstring in the checking process."""
        self._plugin = plugin
        self._line = line
        self.number = number
        self.add_marker("adacoder")

    def runtest(self) -> None:
        """Check the docstring. The item is skipped if the docstring's examples prove nothing."""
        answer = self._plugin.check(self)
        if "error" in answer:
            raise DocstringFailure(answer["error"])
        self.add_report_section("call", "adacoder", answer["summary"])
        if "skipped" in answer:
            skipped = pytest.skip.Exception(answer["skipped"])
            skipped._use_item_location = True  # noqa: SLF001  # else the reason gets the place of this line
            raise skipped

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the failure as `adacoder check` shows it."""
        if isinstance(excinfo.value, DocstringFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place of the docstring, and its name in the heading of a failure."""
        return self.path, self._line, f"[adacoder] {self.name}"
