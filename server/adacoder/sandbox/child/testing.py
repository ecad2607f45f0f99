"""Run the project's tests with pytest, or with unittest if pytest is not installed.

This file runs confined in the user's interpreter, so it uses only pytest and the standard library of Python 3.8 and
later.

The module under test is already imported with a candidate in place, so the tests use this module. Parallel runs,
coverage and random order are switched off. Hypothesis gets a fixed seed and few examples, unless a test sets its own
number.
"""

from __future__ import annotations

import builtins
import os
import sys
from contextlib import suppress
from functools import _lru_cache_wrapper
from os.path import basename, dirname, isabs, isdir, isfile, join, realpath
from time import perf_counter
from traceback import format_exception_only, format_tb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import CodeType, FrameType
    from typing import Any

    from adacoder.sandbox.child import observing

# Use a copy of the built-ins, because a candidate may change the real ones.
globals()["__builtins__"] = dict(vars(builtins))

_describe = format_exception_only
_clock = perf_counter
TEXT_LIMIT = 2_000
"""Maximum number of characters of an exception's message, and of a test's source."""
EXPLANATION_LIMIT = 6_000
"""Maximum number of characters of the explanation of a failed test."""
MOST_PLACES = 5_000
"""Maximum number of functions that one test reports, and of files that all tests together report."""
_HYPOTHESIS_EXAMPLES = 25
_LEFT_OUT = ("adacoder", "randomly", "unraisableexception", "threadexception", "faulthandler")
"""Plug-ins that are useless or slow here."""
_NO_WARNINGS = "-Wignore::pytest.PytestWarning"
"""Ignore pytest's own warnings, because some projects turn warnings into errors.

Pytest warns here because it cannot write its cache, for example.
"""
_OPTIONS = ("-q", "--tb=short", "--capture=sys", "--maxfail=0", _NO_WARNINGS, *(f"-pno:{name}" for name in _LEFT_OUT))
_OF_PLUGINS = {"xdist": "-n0", "pytest_cov": "--no-cov"}
"""Options that switch off installed plug-ins, by the plug-in's module."""
_INTERNAL_ERROR, _USAGE_ERROR = 3, 4
_NO_ADDOPTS = ("-o", "addopts=")
"""Options for a second try, because pytest may reject the project's own options."""
WITHOUT = "Pytest ran without "
"""Beginning of notes about options that were left out. The tests still ran."""


def run(
    names: Sequence[str],
    folder: str,
    tell: Callable[..., None],
    observer: observing.Observer | None,
    *,
    is_plain: bool,
) -> list[str]:
    """Run tests. Return the fields TROUBLES and FILE of the answer to `test`, see `worker.py`.

    Args:
        names: files, or tests as pytest names them, relative to `folder`.
        folder: the workspace.
        tell: receives the fields of `tested` (see `worker.py`) after each test.
        observer: observes whether a test runs the target. If it is None, all functions in `folder` are observed.
        is_plain: True if pytest need not explain failed assertions.
    """
    if isdir(folder):
        os.chdir(folder)
    observes = _OfProject(folder) if observer is None else _OfTarget(observer, folder)
    try:
        import pytest  # noqa: F401  # to find out if it is installed
    except ImportError as error:
        told = "\n".join(_with_unittest(names, folder, tell, observes, str(error)))
        return [told[:EXPLANATION_LIMIT], *observes.files()]
    plugin = _Plugin(tell, observes, names, folder)
    _run_pytest(plugin, [*(["--assert=plain"] if is_plain else []), *names], folder)
    if plugin.has_run and plugin.told < plugin.collected:
        plugin.troubles.append(f"{plugin.collected - plugin.told} of {plugin.collected} tests did not run.")
    troubles = "\n".join([*plugin.troubles, *plugin.without])[:EXPLANATION_LIMIT]
    return [troubles, *plugin.observing.files()]


class NoNamesError(Exception):
    """Pytest's fixtures could not add names to the examples."""

    def __init__(self, where: str, cause: BaseException | str) -> None:
        """`where` is the name of the failed fixture, or `pytest`. `cause` is an exception or a message."""
        super().__init__()
        self.where = where
        self.cause = cause


def namespace(path: str, folder: str) -> dict[str, object]:
    """Return the names that pytest's fixtures add for the docstrings of the file `path`, and pytest's `getfixture`.

    All autouse fixtures run. Fixtures are never torn down. `folder` is the workspace.

    Raises:
        NoNamesError: a fixture or a conftest.py failed, or pytest is too old.
    """
    import pytest

    if not hasattr(pytest, "version_tuple"):
        raise NoNamesError("pytest", "UsageError: fixtures need pytest 7 or later")
    plugin = _NamesPlugin(path)
    here, paths = os.getcwd(), [*sys.path]
    try:
        _run_pytest(plugin, ["--assert=plain", path], folder)
    finally:
        os.chdir(here)
        sys.path[:] = paths
        os.environ.pop("PYTEST_CURRENT_TEST", None)
    if plugin.error is not None:
        raise NoNamesError(f"the fixture '{plugin.fixture}'", plugin.error)
    if not plugin.has_run:
        raise NoNamesError("pytest", "; ".join(plugin.troubles) or "it found no docstrings")
    return plugin.names


class _OptionPlugin:
    """A pytest plug-in that removes unknown options from the project's `addopts`.

    It also accepts the option `--adacoder`, because AdaCoder's own plug-in, which defines the option, is disabled here.
    """

    given: Sequence[str] = ()
    """The files and tests to run."""
    without: tuple[str, ...] = ()
    """Troubles with the project's `addopts`."""

    def pytest_addoption(self, parser: Any) -> None:
        """Add the option. It has no effect."""
        parser.addoption("--adacoder", action="store_true")

    def pytest_load_initial_conftests(self, parser: Any, args: list[str]) -> None:
        """Leave unknown options out, each with its value. Plug-ins and the conftest have added theirs before."""
        unknown = [arg for arg in parser.parse_known_and_unknown_args(args)[1] if arg[:1] == "-"]
        if unknown:
            kept: list[str] = []
            before = ""
            for arg in args:
                is_value = before in unknown and arg[:1] != "-" and arg not in self.given
                kept += [] if is_value or arg in unknown else [arg]
                before = arg
            args[:] = kept
            shown = " ".join(" ".join(unknown).split())[:TEXT_LIMIT]
            self.without = (f"{WITHOUT}{shown}, which no installed plug-in has: install the plug-in.",)

    # pytest 7 loads a conftest after the hooks without `trylast`. The decorator would import pytest.
    pytest_load_initial_conftests.pytest_impl = {"trylast": True}  # type: ignore[attr-defined]  # noqa: RUF012


class _NamesPlugin(_OptionPlugin):
    """A pytest plug-in that runs the autouse fixtures for one file, and no tests."""

    def __init__(self, path: str) -> None:
        self.given = (path,)
        self._path = path
        self._item: Any = None
        self._nodes: dict[Any, Any] = {}
        """Pytest's nodes that were set up, each with its finalizers."""
        self.names: dict[str, object] = {}
        self.fixture = ""
        """Name of the fixture that started last."""
        self.error: BaseException | None = None
        self.has_run = False
        self.troubles: list[str] = []

    def pytest_collect_file(self, file_path: Any, parent: Any) -> Any:
        """Collect a text file."""
        return None if self._path.endswith(".py") else self.pytest_pycollect_makemodule(file_path, parent)

    def pytest_pycollect_makemodule(self, module_path: Any, parent: Any) -> Any:
        """Collect an empty docstring. It has the same fixtures as every docstring in the file."""
        if str(module_path) != self._path:
            return None
        import doctest

        of_pytest: Any = parent.config.pluginmanager.get_plugin("doctest")

        def collect(holder: Any) -> list[Any]:
            empty = doctest.DocTest([], {}, "docstring", self._path, 0, None)
            runner = doctest.DocTestRunner()
            self._item = of_pytest.DoctestItem.from_parent(holder, name="docstring", runner=runner, dtest=empty)
            return [self._item]

        kind: Any = type("Docstrings", (of_pytest.DoctestModule,), {"collect": collect})
        return kind.from_parent(parent, path=module_path)

    def pytest_fixture_setup(self, fixturedef: Any) -> None:
        self.fixture = fixturedef.argname

    def pytest_runtestloop(self, session: Any) -> bool:
        """Run the fixtures, and keep pytest from tearing them down."""
        if self._item is not None:
            try:
                self._item.ihook.pytest_runtest_setup(item=self._item)
            except BaseException as error:  # A fixture may raise anything, even SystemExit.
                self.error = error
            names = self._item.dtest.globs
            with suppress(LookupError):  # Make this fixture now, because pytest's settings for it will be gone.
                names["getfixture"]("tmp_path_factory")
            stack: dict[Any, Any] = session._setupstate.stack  # noqa: SLF001  # pytest has no other way
            self._nodes = {**stack}
            stack.clear()
            self.names = {**names, "getfixture": self._getfixture}
            self.has_run = True
        return True

    def _getfixture(self, name: str) -> object:
        """Return the value of a fixture, as pytest's function for examples does.

        Raises:
            LookupError: the fixture does not exist, or needs another that does not exist.
        """
        import pytest

        self._item.session._setupstate.stack.update(self._nodes)  # noqa: SLF001  # for the fixture's finalizers
        try:
            value: object = self._item.dtest.globs["getfixture"](name)
        except pytest.FixtureLookupError as error:
            missing = f"pytest has no fixture {error.argname!r} here"
            raise LookupError(error.msg or f"{missing}: define it in a conftest.py, or install its plug-in") from None
        return value


def _run_pytest(plugin: Any, arguments: Sequence[str], folder: str) -> None:
    """Run pytest with the plug-in `plugin`. If pytest fails early, add the reason to `plugin.troubles`."""
    from importlib.util import find_spec

    import pytest

    added = [option for module, option in _OF_PLUGINS.items() if find_spec(module) is not None]
    own = ["--rootdir", folder, "-o", "cache_dir=" + join(os.environ.get("HOME", ""), ".pytest_cache")]
    code: object = ""
    options: tuple[str, ...] = ()
    for _ in range(2):
        plugin.troubles.clear()
        plugin.without = (f"{WITHOUT}its `addopts`, which it rejects: correct them.",) if options == _NO_ADDOPTS else ()
        try:
            code = pytest.main([*_OPTIONS, *own, *added, *options, *arguments], plugins=[plugin])
        except BaseException as error:  # A conftest may raise anything, even SystemExit.
            plugin.troubles.append("".join(_describe(type(error), error)).strip())
            # Isolation may hide a configuration file in a parent folder of the project.
            options = ("-c", os.devnull, "--confcutdir", folder) if isinstance(error, PermissionError) else ()
        else:
            options = _NO_ADDOPTS if code == _USAGE_ERROR else ()
        if plugin.has_run or not options:
            break
    if code in (_INTERNAL_ERROR, _USAGE_ERROR) and not plugin.has_run and not plugin.troubles:
        plugin.troubles.append(_last_line(getattr(sys.stderr, "getvalue", str)()))


class _Plugin(_OptionPlugin):
    """A pytest plug-in that reports each test. Its hooks need no decorators, because pytest is imported later."""

    def __init__(
        self, tell: Callable[..., None], observing: _OfTarget | _OfProject, names: Sequence[str], folder: str
    ) -> None:
        self._folder = folder
        self._caches: list[Any] = []
        """The caches to empty before each test. Only then is it observed which functions the test needs."""
        self.given = names
        self._tell = tell
        self.observing = observing
        self._began = 0.0
        self._outcome = self._explanation = self._message = self._bases = self._source = ""
        self._lacks = self._has_wider = False
        self._shared: set[str] = set()
        """Functions that ran during an import or in a shared fixture. Several tests may use the results of these
        functions.
        """
        self.has_run = False
        self.collected = self.told = 0
        self.troubles: list[str] = []

    def pytest_sessionstart(self) -> None:
        """Limit the work of Hypothesis, after the conftest has chosen its own profile."""
        self.observing.start()
        hypothesis: Any = sys.modules.get("hypothesis")
        if hypothesis is not None:
            settings = hypothesis.settings
            few = min(_HYPOTHESIS_EXAMPLES, settings.default.max_examples)
            settings.register_profile(
                "adacoder", settings.default, max_examples=few, derandomize=True, deadline=None, database=None
            )
            settings.load_profile("adacoder")

    def pytest_collectreport(self, report: Any) -> None:
        """Record the reason why a file cannot be collected."""
        if report.failed:
            self.troubles.append(f"{report.nodeid}: {_last_line(report.longreprtext)}")

    def pytest_collection_finish(self, session: Any) -> None:
        """End the observation of imports."""
        self.collected = len(session.items)
        self._caches = _empty_caches(self._folder)
        self._shared.update(self.observing.stop()[1])

    def pytest_fixture_setup(self, fixturedef: Any) -> None:
        """Record whether a fixture is shared by several tests."""
        is_own = fixturedef.argname.startswith(("_xunit", "_unittest")) or self.observing.owns(fixturedef.func)
        if fixturedef.scope != "function" and is_own:
            self._has_wider = True
            self._caches.clear()  # The next tests may depend on results of the fixture.

    def pytest_runtest_call(self) -> None:
        """End the observation of shared fixtures."""
        if self._has_wider:
            self._shared.update(self.observing.places())

    def pytest_runtest_logstart(self) -> None:
        """Start observing a test."""
        self.has_run = True
        self._has_wider = False
        self._outcome, self._explanation, self._message, self._bases, self._source = "", "", "", "", ""
        self._lacks = False
        for cache in self._caches:
            _lru_cache_wrapper.cache_clear(cache)
        self.observing.start()
        self._began = _clock()

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """Record the exception that a test raised."""
        if call.excinfo is None or self._message:
            return
        error = call.excinfo.value
        self._lacks = type(error).__name__ == "FixtureLookupError"
        self._message, self._bases = _described(error)
        self._source = _source(getattr(item, "function", None))

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Record the outcome of a test's setup, call or teardown."""
        if report.failed and self._lacks:
            self._outcome = "skipped"  # The plug-in with this fixture is not installed.
            if not any("fixture" in each for each in self.troubles):
                self.troubles.append(f"{report.nodeid} was skipped: it needs a fixture that is not installed.")
        elif report.failed:
            self._outcome = "failed"
            self._explanation = self._explanation or report.longreprtext[:EXPLANATION_LIMIT]
            self._message = self._message or _last_line(report.longreprtext)[:TEXT_LIMIT]
        elif report.skipped:
            self._outcome = self._outcome or "skipped"
        elif report.passed and report.when == "call":
            self._outcome = self._outcome or "passed"

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Stop observing a test, and report the result."""
        seconds = _clock() - self._began
        entered, places = self.observing.stop()
        failed = self._outcome == "failed"
        details = (self._message, self._bases, self._explanation, self._source) if failed else ("", "", "", "")
        self.told += 1
        self._tell(
            nodeid, self._outcome, str(int(seconds * 1000)), entered, *details, *sorted({*places, *self._shared})
        )


def _empty_caches(folder: str) -> list[Any]:
    """Return the functions of the modules in a folder that have an `lru_cache`, if the cache is empty."""
    top = join(realpath(folder), "")
    found: list[Any] = []
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        file = names.get("__file__")
        if isinstance(file, str) and realpath(file).startswith(top):
            found += names.values()
            # A proxy may run code when `isinstance` reads its `__class__`.
            classes = [each for each in names.values() if issubclass(type(each), type)]
            found += [each for owner in classes for each in vars(owner).values()]
    found = [each.__func__ if type(each) in (classmethod, staticmethod) else each for each in found]
    return [each for each in found if type(each) is _lru_cache_wrapper and not each.cache_info().currsize]


def _with_unittest(
    names: Sequence[str], folder: str, tell: Callable[..., None], observes: _OfTarget | _OfProject, error: str
) -> list[str]:
    """Run tests with unittest, because pytest cannot be imported. Return error messages."""
    import unittest
    from importlib import import_module

    wanted: dict[str, set[str]] = {}
    for name in names:
        path, _, test = name.partition("::")
        wanted.setdefault(path, set()).add(test)
    result = _OfUnittest(tell, observes, folder)
    for path, tests in wanted.items():
        top, parts = dirname(join(folder, path)), [basename(path)[: -len(".py")]]
        while isfile(join(top, "__init__.py")):
            top, parts = dirname(top), [basename(top), *parts]
        if top not in sys.path:
            sys.path.insert(0, top)
        result.begins(path)
        try:
            found = unittest.defaultTestLoader.loadTestsFromModule(import_module(".".join(parts)))
        except BaseException as problem:  # A test file may raise anything.
            result.troubles.append(f"{path}: {_described(problem)[0]}")
            continue
        result.loaded()
        cases = [case for case in _cases(found) if "" in tests or _own_name(case) in tests]
        if not cases:
            result.troubles.append(f"pytest cannot be imported ({error}): install it in the project's environment.")
        unittest.TestSuite(cases).run(result)  # type: ignore[arg-type]  # It has all that is needed.
    return result.troubles


def _cases(suite: Any) -> list[Any]:
    return [case for each in suite for case in (_cases(each) if hasattr(each, "__iter__") else [each])]


def _own_name(case: Any) -> str:
    """Return the name of a test as pytest writes it after the path."""
    return f"{type(case).__name__}::{getattr(case, '_testMethodName', '')}"


class _OfUnittest:
    """Reports results of unittest, as `_Plugin` does for pytest.

    This class does not inherit from `unittest.TestResult`, because the module under test should not find `unittest`
    already imported.
    """

    shouldStop = failfast = False  # noqa: N815  # unittest's names

    def __init__(self, tell: Callable[..., None], observes: _OfTarget | _OfProject, folder: str) -> None:
        self._tell = tell
        self._observes = observes
        self._folder = folder
        self._path = ""
        self._began = 0.0
        self._outcome, self._details = "", ("", "", "", "")
        self._shared: set[str] = set()
        """Functions that ran during an import or between tests. Several tests may use the results of these functions.
        """
        self.troubles: list[str] = []

    def begins(self, path: str) -> None:
        """Start the import of a test file."""
        self._path = path
        self._shared.clear()
        self._observes.start()

    def loaded(self) -> None:
        """End the import of the test file.

        Functions that run before the first test, for example in `setUpClass`, count as shared.
        """
        self._shared.update(self._observes.stop()[1])
        self._observes.start()

    def startTest(self, test: Any) -> None:  # noqa: N802  # unittest's name
        """Start observing a test."""
        self._shared.update(self._observes.stop()[1])
        self._outcome, self._details = "", ("", "", "", "")
        self._observes.start()
        self._began = _clock()

    def stopTest(self, test: Any) -> None:  # noqa: N802
        """Stop observing a test, and report the result."""
        seconds = _clock() - self._began
        entered, places = self._observes.stop()
        name = f"{self._path}::{_own_name(test)}"
        shared = sorted({*places, *self._shared})
        self._tell(name, self._outcome or "passed", str(int(seconds * 1000)), entered, *self._details, *shared)
        self._observes.start()

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        """Record an exception."""
        self._failed(test, err)

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        """Record a failed assertion."""
        self._failed(test, err)

    def addSuccess(self, test: Any) -> None:  # noqa: N802
        """Do nothing, because a test without another outcome has passed."""

    def addDuration(self, test: Any, elapsed: float) -> None:  # noqa: N802
        """Do nothing, because `stopTest` measures the time."""

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        """Record a failed subtest."""
        if err is not None:
            self._failed(test, err)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        """Record a skip."""
        self._outcome = "skipped"

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        """Record an expected failure as a skip."""
        self._outcome = "skipped"

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        """Record a failure, because the test was expected to fail."""
        self._outcome, self._details = "failed", ("it passed, although it is expected to fail", "", "", "")

    def _failed(self, test: Any, err: Any) -> None:
        if not hasattr(test, "_testMethodName"):  # The setup of a class or a module failed.
            self.troubles.append(f"{self._path}: {_described(err[1])[0]}")
            return
        if self._outcome != "failed":
            message, bases = _described(err[1])
            explanation = "".join(_own_lines(err[2])) + message
            source = _source(getattr(test, test._testMethodName, None))  # noqa: SLF001  # its only name
            self._outcome, self._details = "failed", (message, bases, explanation[-EXPLANATION_LIMIT:], source)


def _own_lines(trace: Any) -> Iterator[str]:
    """Yield the lines of a traceback, without lines of unittest's own code."""
    for line in format_tb(trace):
        if "__unittest" not in trace.tb_frame.f_globals:
            yield line
        trace = trace.tb_next


def _described(error: BaseException) -> tuple[str, str]:
    """Return an exception's message, and the names of its built-in classes. The names are separated by spaces."""
    try:
        message = "".join(_describe(type(error), error)).strip()[:TEXT_LIMIT]
    except BaseException:  # The exception's `__str__` may raise anything.
        message = f"{type(error).__name__}: <unprintable>"
    return message, " ".join(base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins")


def _source(function: Any) -> str:
    try:
        import inspect

        return inspect.getsource(function)[:TEXT_LIMIT]
    except (AttributeError, OSError, TypeError):  # The test is not Python code, or its file has changed.
        return ""


class _OfTarget:
    def __init__(self, observer: observing.Observer, folder: str) -> None:
        self._observer = observer
        self._folder = join(realpath(folder), "")

    def start(self) -> None:
        self._observer.entered = False
        self._observer.start()

    def owns(self, function: object) -> bool:
        """Return whether a function is in the folder."""
        code = getattr(function, "__code__", None)
        return realpath(getattr(code, "co_filename", "")).startswith(self._folder)

    def places(self) -> Iterable[str]:
        return ()

    def files(self) -> Iterable[str]:
        return ()

    def stop(self) -> tuple[str, Iterable[str]]:
        """Return whether the target ran, as in the field ENTERED in `worker.py`, and an empty list of functions."""
        is_undisturbed = self._observer.is_undisturbed()
        self._observer.stop()
        return ("yes" if self._observer.entered else "no" if is_undisturbed else ""), ()


class _OfProject:
    """Observes which functions in a folder a test runs.

    This class is only used for unchanged code, because hostile code could disturb the observation.
    """

    def __init__(self, folder: str) -> None:
        self._folder = join(realpath(folder), "")
        self._codes: dict[int, CodeType] = {}
        self._opened: set[str] = set()
        sys.addaudithook(self._audits)
        self._profiler: Any = None
        self._monitoring: Any = getattr(sys, "monitoring", None)
        if self._monitoring is None:
            try:
                from _lsprof import Profiler
            except ImportError:
                return
            self._profiler = Profiler(subcalls=False, builtins=False)
            import threading

            threading.setprofile(self._sees)  # The profiler observes only this thread, so set a hook for other threads.
            return
        free = (number for number in range(6) if self._monitoring.get_tool(number) is None)
        self._tool = next(free, None)
        if self._tool is not None:
            self._monitoring.use_tool_id(self._tool, "adacoder-functions")
            self._monitoring.register_callback(self._tool, self._monitoring.events.PY_START, self._starts)

    def start(self) -> None:
        """Begin to observe."""
        if self._profiler is not None:
            try:
                self._profiler.enable()
            except ValueError:  # Another profiler is active.
                self._profiler = None
        elif self._monitoring is not None and self._tool is not None:
            self._codes.clear()
            self._monitoring.restart_events()
            self._monitoring.set_events(self._tool, self._monitoring.events.PY_START)

    def owns(self, function: object) -> bool:
        """Return whether a function is defined in the folder."""
        return bool(self._place(getattr(function, "__code__", None)))

    def places(self) -> Iterable[str]:
        """Return the line and path of each function that has run since `start`."""
        codes: list[object] = [*self._codes.values()]
        if self._profiler is not None:
            codes += [entry.code for entry in self._profiler.getstats()]
        found = {place for code in codes if (place := self._place(code))}
        return sorted(found)[:MOST_PLACES]

    def stop(self) -> tuple[str, Iterable[str]]:
        """Return an empty text, because the target is not observed, and the functions that ran."""
        if self._profiler is not None:
            self._profiler.disable()
        elif self._monitoring is not None and self._tool is not None:
            self._monitoring.set_events(self._tool, 0)
        found = self.places()
        if self._profiler is not None:
            self._profiler.clear()
        self._codes.clear()
        return "", found

    def files(self) -> Iterable[str]:
        """Return the files in the folder that were imported or opened."""
        imported = (getattr(module, "__dict__", {}).get("__file__") for module in list(sys.modules.values()))
        paths = {realpath(file) for file in (*imported, *self._opened) if isinstance(file, str)}
        return sorted(path for path in paths if path.startswith(self._folder))[:MOST_PLACES]

    def _audits(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and len(self._opened) < MOST_PLACES:
            # Relative paths start at this folder, because tests run there.
            self._opened.add(join(self._folder, arguments[0]))

    def _sees(self, frame: FrameType, _event: str, _: object) -> None:
        self._codes[id(frame.f_code)] = frame.f_code

    def _starts(self, code: CodeType, _offset: int) -> object:
        self._codes[id(code)] = code
        return self._monitoring.DISABLE

    def _place(self, code: Any) -> str:
        name = getattr(code, "co_name", "<")
        if name.startswith("<"):  # Skip modules, lambdas and comprehensions.
            return ""
        path = realpath(code.co_filename) if isabs(code.co_filename) else ""
        return f"{code.co_firstlineno}:{path}" if path.startswith(self._folder) else ""


def _last_line(text: object) -> str:
    lines = [line for line in str(text).splitlines() if line.strip()]
    line = lines[-1].strip() if lines else ""
    return (line[1:] if line[:2] == "E " else line).strip() or "it cannot be collected"
