"""Import a module with a candidate in place, and run its examples.

This file runs confined in the user's interpreter, so it uses only the standard library of Python 3.8 and later.

It runs in a process that `template.py` forked for one evaluation. It only reports outputs, values and exceptions. The
server compares them with the wanted outputs.

A message is a list of texts, each after its length. Commands and answers take turns on the descriptor CHANNEL:

    ready                                                         once the process is locked down
    load  NONCE SECONDS NAME PATH QUALNAME FIRST LAST SUSPECTS BY_LINE UNCHANGED STATEMENTS DOCUMENT WORKSPACE TEXT
          [PATH TEXT]…
      → loaded NONCE MISSING LINES BRANCHES [LINE]…               LINE: where a statement had to be left out
      → unparsed NONCE                                            send `load` again, with STATEMENTS
      → broken NONCE LINE MESSAGE                                 the candidate is a syntax error
      → unreadable NONCE LINE MESSAGE                             a syntax error that cannot be left out
      → lacking NONCE MISSING [LINE]…                             imported, but it does not define the target
      → failed NONCE MISSING MESSAGE BASES LINE ORIGIN CAUSE [LINE]…  its import raised, or a fixture did
    trace NONCE SOURCE FORM                                       as `run`, and before its answer
      → traced NONCE ENDED LEFT_OUT KEPT [EXECUTED]…              once; before the example ends, if it runs long
    run   NONCE SOURCE FORM
      → done NONCE RAN INSTEAD LINES BRANCHES PRINTED SHOWN PLAIN CLASS
      → raised NONCE RAN INSTEAD LINES BRANCHES PRINTED MESSAGE BASES LINE ORIGIN CAUSE
    test  NONCE FOLDER KIND [NAME]…                               run tests of the project; before its answer, for each
                                                                  test:
      → tested NONCE NAME OUTCOME MILLISECONDS ENTERED MESSAGE BASES EXPLANATION SOURCE [PLACE]…
      → finished NONCE TROUBLES LINES BRANCHES [FILE]…
    end   NONCE
      → ended NONCE MISSING

The fields are:

* NONCE is a new random text in each command. The answer repeats it.
* SECONDS is the limit of processor time.
* QUALNAME, FIRST and LAST are the name and the lines of the target, the candidate's function or class.
* SUSPECTS are names in the candidate that may be undefined. MISSING are those that are. Both are separated by spaces.
* UNCHANGED is empty if TEXT contains a candidate. Otherwise, an example that does not run the target may replace
  `sys.displayhook` for later examples.
* DOCUMENT is the file of the examples, and WORKSPACE its folder. Both are empty if no fixtures of pytest are needed.
* STATEMENTS are the lines where statements begin, separated by spaces.
* LINE is a line of TEXT, counted from 1. For an exception, it is the innermost line of the candidate in the traceback,
  or 0.
* MESSAGE is the text of `traceback.format_exception_only`. BASES are the exception's built-in classes, separated by
  spaces.
* ORIGIN is `example` if a line of the example raised the exception, `syntax` if the example does not compile, and the
  name of the fixture in `failed`. Otherwise it is empty.
* CAUSE is the MESSAGE of an OSError that led to the exception. It may be empty.
* PRINTED is the text written to standard output, including values that statements display.
* SHOWN is the displayed value of an expression. It is empty for None.
* FORM is `value` to compare the value, `block` if SOURCE shows only its printed output, and `apart` if SOURCE and
  later examples must not see the names of earlier examples. Otherwise it is empty.
* CLASS is the name of the value's class, and PLAIN displays the value's `plain` copy if there is one. Both are empty
  unless FORM is `value`.
* RAN is `yes` if the example ran the target or used its results, `no` if not, and empty if this is uncertain. It is
  `no` for the import of another package, which is not observed.
* INSTEAD names the function that ran instead of the target, if this is known.
* LINES are lines of the target, separated by spaces. BRANCHES are jumps from the line of a test to another line, such
  as `3>4`. `loaded` has all of them, `run` those of the example, and `finished` those of all tests. They are empty if
  BY_LINE is empty.
* KIND is `functions` to observe all functions of the project, else `target` or `explained`. With `target`, pytest does
  not explain failed assertions, because it would first rewrite the test files. Each NAME is a test or a test file.
* OUTCOME is `passed`, `failed`, `skipped`, or empty. ENTERED says whether the test ran the target, as RAN does.
  MESSAGE, BASES, EXPLANATION (pytest's text) and SOURCE (the test's) describe a failure.
* PLACE is the line and the path of a function that the test ran, such as `12:/home/me/a.py`.
* TROUBLES are errors of files or of the whole run, one a line. With KIND `functions`, FILE is a file of the project
  that the tests imported or opened.
* ENDED is `yes` if the example was traced to its end.
* LEFT_OUT is the number of entries that were not sent. KEPT is the number of EXECUTED before them.
* EXECUTED is an entry of the trace, with these lines: the numbers of the call and of the line, separated by a space;
  the returned or yielded value; the raised exception; then `name=value` for each local variable.
"""

from __future__ import annotations
import __future__ as future_features

import builtins
import gc
import io
import linecache
import os
import resource
import select
import sys
import traceback
from functools import partial
from importlib import import_module
from importlib.machinery import SourceFileLoader
from os.path import dirname, isdir, islink, join, realpath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from types import CodeType, TracebackType
    from typing import Any, TypeGuard, TypeVar

    from adacoder.sandbox.child import compiling, finders, flow, observing, state, testing, tracing

    T = TypeVar("T")
else:

    def _beside(name):
        """Load a module next to this file, without an entry in `sys.modules`. The user's modules may have the same
        names.
        """
        module = type(sys)(name)
        SourceFileLoader(name, join(dirname(realpath(__file__)), name + ".py")).exec_module(module)
        return module

    compiling, finders = _beside("compiling"), _beside("finders")
    flow, observing = _beside("flow"), _beside("observing")
    state, testing, tracing = _beside("state"), _beside("testing"), _beside("tracing")

# Use a copy of the built-ins, because a candidate may change the real ones.
globals()["__builtins__"] = dict(vars(builtins))

# Bind these functions before a candidate runs, because the candidate may replace them.
_read = os.read
_write = os.write
_exit = os._exit
_describe = traceback.format_exception_only
_chmod = os.chmod
_settrace = sys.settrace
_setprofile = sys.setprofile
_TOP_LEVEL_AWAIT = 0x2000
"""The compiler flag `ast.PyCF_ALLOW_TOP_LEVEL_AWAIT`, which allows `await` outside of functions."""
_COROUTINE = 0x80
_getrecursionlimit = sys.getrecursionlimit
_setrecursionlimit = sys.setrecursionlimit
_RECURSION_LIMIT = sys.getrecursionlimit()
_modules = sys.modules
_name_of_class = type.__dict__["__name__"].__get__

CHANNEL = 3

OUTPUT_LIMIT = 1 << 20
"""Maximum number of characters of an example's output. The rest is dropped."""
PLAIN_LIMIT = 20_000
"""Maximum number of characters, digits and items in a value to compare."""
PLAIN_DEPTH = 50
"""Maximum nesting of brackets in a value to compare."""
CAUSES = 10
"""Maximum length of a chain of causes that is searched for an OSError."""
_MOST_UNSENT = 1 << 16
"""Maximum number of bytes that wait to be sent."""
OUT_OF_MEMORY = 77
"""Exit status if there is not enough memory for an answer."""


# --- messages --------------------------------------------------------------------------------


def pack(texts: Sequence[str]) -> bytes:
    """Encode a message: its size, then each text after its size. Sizes have 4 bytes, little-endian."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    body = b"".join([len(item).to_bytes(4, "little") + item for item in encoded])
    return len(body).to_bytes(4, "little") + body


def unpack(body: bytes, most: int = sys.maxsize) -> list[str]:
    """Decode the texts of a message. `body` is the message without its size.

    Raises:
        ValueError: the message is malformed, or has more than `most` texts.
    """
    texts: list[str] = []
    position = 0
    while position < len(body):
        if len(texts) == most:
            raise ValueError("it holds too many texts")
        start = position + 4
        position = start + int.from_bytes(body[position:start], "little")
        if position > len(body):
            raise ValueError("a text reaches past the end of its message")
        texts.append(body[start:position].decode("utf-8", "surrogatepass"))
    return texts


_unsent: list[bytes] = []
"""Messages that `send` has not written yet."""
_incoming = select.poll()
_incoming.register(CHANNEL, select.POLLIN)


def send(*texts: str, later: bool = False) -> None:
    """Write a message to the server.

    If `later` is True, the message may be sent together with the next messages, which wakes the server less often.
    """
    _unsent.append(pack(texts))
    if not later or sum(map(len, _unsent)) > _MOST_UNSENT:
        _write_all()


def _write_all() -> None:
    rest = memoryview(b"".join(_unsent))
    _unsent.clear()
    while rest:
        rest = rest[_write(CHANNEL, rest) :]


def receive() -> list[str]:
    """Receive the server's next message. Exit if the server has closed the connection."""
    if _unsent and not _incoming.poll(0):  # The server waits for the unsent answers.
        _write_all()
    return unpack(receive_bytes(int.from_bytes(receive_bytes(4), "little")))


def receive_bytes(size: int) -> bytes:
    parts = []
    while size:
        part = _read(CHANNEL, min(size, 1 << 20))
        if not part:
            _exit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


# --- the module ------------------------------------------------------------------------------


def _defines(module: Mapping[str, object], qualname: str) -> bool:
    """Return True if a module defines the dotted name. Run no code of the module's objects."""
    first, *rest = qualname.split(".")
    if first not in module:
        return False
    owner = module[first]
    for name in rest:
        if not isinstance(owner, type):
            return True  # A decorator replaced the class, so its attributes are unknown.
        if name.startswith("__") and not name.endswith("__"):
            name = "_" + owner.__name__.lstrip("_") + name  # The compiler mangles private names like this.
        if name not in vars(owner):
            return False
        owner = vars(owner)[name]
    return True


# --- values ----------------------------------------------------------------------------------


class NotPlainError(Exception):
    """Raised for a value that has no plain copy, see `plain`."""


def plain(value: object, room: list[int], depth: int = 0) -> object:
    """Return a copy of a value that uses only types with literals. For example, a Counter becomes a dict.

    Only methods of built-in types are called, so a `__repr__` or `__eq__` of the value's class has no effect.

    `room` is a list with one number, the size that may still be copied, counted as in PLAIN_LIMIT.

    Raises:
        NotPlainError: the value has another type, or is too large.
    """
    if value is None or value is True or value is False:
        return value
    room[0] -= 1
    if room[0] < 0 or depth == PLAIN_DEPTH:
        raise NotPlainError
    if _is(value, int):
        room[0] -= int.bit_length(value) // 3
        copy: object = int.__index__(value)
    elif _is(value, float):
        copy = float.__float__(value)
    elif _is(value, complex):
        copy = complex.__pos__(value)
    elif _is(value, str):
        room[0] -= str.__len__(value)
        copy = str.__str__(value)
    elif _is(value, bytes):
        room[0] -= bytes.__len__(value)
        copy = bytes.__getitem__(value, slice(None))
    elif _is(value, list):
        copy = [plain(item, room, depth + 1) for item in list.__iter__(value)]
    elif _is(value, tuple):
        copy = tuple([plain(item, room, depth + 1) for item in tuple.__iter__(value)])
    elif _is(value, set):
        copy = {plain(item, room, depth + 1) for item in set.__iter__(value)}
        # Reject a set if the copies of different items are equal.
        room[0] -= PLAIN_LIMIT * (len(copy) != set.__len__(value))
    elif _is(value, dict):
        copy = {plain(key, room, depth + 1): plain(item, room, depth + 1) for key, item in dict.items(value)}
        room[0] -= PLAIN_LIMIT * (len(copy) != dict.__len__(value))
    else:
        raise NotPlainError
    if room[0] < 0:
        raise NotPlainError
    return copy


def _is(value: object, kind: type[T]) -> TypeGuard[T]:
    """Work like `isinstance`, but ignore a fake `__class__`."""
    return issubclass(type(value), kind)


# --- running examples ------------------------------------------------------------------------


class CapturedOutput(io.StringIO):
    """The output of an example, limited to `OUTPUT_LIMIT` characters."""

    _room = OUTPUT_LIMIT

    def write(self, text: str) -> int:
        kept = text[: self._room]
        self._room -= len(kept)
        super().write(kept)
        return len(text)


class ModuleUnderTest:
    """Imports the module under test, and runs examples in it."""

    answers_later = False
    """True if answers may wait, so that several are sent together."""

    def __init__(self, fields: list[str], is_installed: Callable[[str], bool]) -> None:
        """`fields` are the fields of `load`. `is_installed` returns False for a file of the project."""
        seconds, self._name, self._path, self._qualname, first, last, suspects, by_line, unchanged, starts = fields[:10]
        self._document, self._workspace, text = fields[10:13]
        if seconds:
            lower_limit(resource.RLIMIT_CPU, int(seconds))
        self._first, self._last = int(first), int(last)
        self._suspects = suspects.split()
        self._by_line = bool(by_line)
        self._keeps_displayhook = bool(unchanged)
        self._starts = [int(start) for start in starts.split()]
        self._text = compiling.normalized(text)
        self._unsaved = finders.Unsaved(dict(zip(fields[13::2], fields[14::2])))  # noqa: B905  # `strict` came later
        self._is_installed = is_installed
        self._loader: finders.TextLoader
        self._module: dict[str, object] = {}
        """The globals of the module and the names of fixtures. All Sphinx groups of examples begin with these names."""
        self._groups: list[dict[str, object]] = []
        """The names of the examples in each group. The last group is `_globals`."""
        self._globals: dict[str, object] = {}
        self._observer: observing.Observer
        self._flow: flow.Flow
        self._flags = 0
        self._count = 0
        self._loop: Any = None
        self._displayhook: Callable[[object], object] | None = None
        """The hook that earlier examples set for the next ones, if any."""
        self._left_hook: Callable[[object], object] | None = None
        """The hook that the last example left, if any."""
        self._recursion_limit = _RECURSION_LIMIT
        sys.argv = [self._path]

    def load(self) -> list[str]:
        """Import the module. Return the answer to `load` without the nonce."""
        try:
            code, text, left_out = compiling.compile_around(
                self._text, self._path, self._first, self._last, self._starts
            )
        except compiling.UnparsedError:
            return ["unparsed"]
        except compiling.BrokenTextError as broken:
            return ["broken" if broken.in_candidate else "unreadable", str(broken.line), broken.message]
        self.observe(observing.by_name(code))
        self._loader = finders.TextLoader(self._name, self._path, text, code)
        self._unsaved.keep(self._path, code)
        finders.read_sources(self._is_installed, self._unsaved)
        sys.meta_path.insert(0, finders.TextFinder(self._name, self._loader, self._unsaved))
        _modules.pop(self._name, None)  # A module of the standard library may have the same name.
        notes = [str(line) for line in left_out]
        raised = None
        gc.freeze()  # Make the garbage collector ignore AdaCoder's own objects.
        gc.enable()
        try:
            namespace = vars(import_module(self._name))
        except BaseException as error:  # A module may raise anything, even SystemExit.
            raised = error
        self._recursion_limit = _getrecursionlimit()
        regain()
        if raised is not None:
            return ["failed", self.missing(), *self._description(raised, ""), *notes]
        return self.begin(dict(namespace), notes)

    def observe(self, codes: Mapping[str, Sequence[CodeType]]) -> None:
        """Prepare to observe the target. `codes` are the module's code objects by name."""
        own = observing.code_of(codes, self._qualname, self._first, self._last)
        self._observer = observing.observer(own, by_line=self._by_line)

    def begin(self, namespace: dict[str, object], notes: list[str]) -> list[str]:
        """Prepare to run examples. Return the answer to `load` without the nonce.

        `namespace` is a copy of the module's globals. `notes` are the lines of statements that were left out.
        """
        if not _defines(namespace, self._qualname):
            return ["lacking", self.missing(), *notes]
        try:
            self._module = {**namespace, **self.names_of_fixtures()}
        except testing.NoNamesError as error:
            why = error.cause
            told = [why, "", "0", "", ""] if isinstance(why, str) else self._description(why, "")
            return ["failed", self.missing(), *told[:3], error.where, told[4], *notes]
        finally:
            regain()
        for name in future_features.all_feature_names:
            feature = getattr(future_features, name)
            if self._module.get(name) is feature:
                self._flags |= feature.compiler_flag  # type: ignore[attr-defined]  # by PEP 236
        self._begin_group()
        reachable = observing.everything(self._observer.codes) if self._by_line else ((), ())
        return ["loaded", self.missing(), *_reached(*reachable), *notes]

    def names_of_fixtures(self) -> dict[str, object]:
        """Return the names that pytest's fixtures add to the examples."""
        if not self._document:
            return {}
        output = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = CapturedOutput()
        try:
            return testing.namespace(self._document, self._workspace)
        finally:
            sys.stdout, sys.stderr = output

    def missing(self) -> str:
        """Return the field MISSING: the suspects that are undefined, separated by spaces."""
        names = self._loader.namespace
        return " ".join([s for s in self._suspects if s not in names and not hasattr(builtins, s)])

    def end(self, _what: str = "") -> list[str]:
        """Return the answer to `end` without the nonce."""
        return [self.missing()]

    def forget(self) -> None:
        """Remove the names of the examples, and close their event loop."""
        for names in self._groups:
            names.clear()
        if self._loop is not None:
            self._loop.close()

    def run(self, source: str, form: str, *, tell: Callable[..., None] | None = None) -> list[str]:
        """Run one example as `doctest` does. Return the answer to `run` without the nonce.

        If `tell` is given, call it with a trace of the example.
        """
        if form == "apart":
            self._begin_group()
        self._count += 1
        name = f"<doctest {self._qualname}[{self._count - 1}]>"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        output = sys.stdout = CapturedOutput()
        observer, raised = self._observer, None
        code, binds = None, True
        self._left_hook = self._displayhook
        _setrecursionlimit(self._recursion_limit)
        self._flow.begins()
        observer.forget()
        # Before Python 3.12, observation would slow down the import of a large package.
        is_observed = self._by_line or not flow.imports_others(source, self._name)
        if is_observed:
            observer.start()
        tracer = tell and tracing.Tracer(observer.codes, tell)
        try:
            code, binds = self._compiled(source, name, form)
            if tracer:
                tracer.start()
            shown, plain_copy, class_name = self._execute(code, binds, output, form)
        except BaseException as error:  # An example may raise anything, even SystemExit.
            raised = error
        if tracer:
            tracer.stop()
        is_undisturbed = not is_observed or observer.is_undisturbed()
        self._recursion_limit = _getrecursionlimit()
        regain()
        printed = CapturedOutput.getvalue(output)
        if raised is None:
            kind, answer = "done", [shown[: max(0, OUTPUT_LIMIT - len(printed))], plain_copy, class_name]
        else:
            observer.start()  # The exception's `__str__` may run the target.
            kind, answer = "raised", self._description(raised, name)
            regain()
        observer.stop()
        if self._keeps_displayhook and is_undisturbed and not observer.entered:
            self._displayhook = self._left_hook
        shows = bool(printed or answer[0])
        return [kind, *self._evidence(source, code, is_undisturbed, shows=shows, binds=binds), printed, *answer]

    def test(self, tell: Callable[..., None], folder: str, kind: str, *names: str) -> list[str]:
        """Run the project's tests, and call `tell` with each result. Return the answer to `test` without the nonce."""
        sys.stdout = sys.stderr = CapturedOutput()
        _setrecursionlimit(self._recursion_limit)
        observer = None if kind == "functions" else self._observer
        self._observer.forget()
        troubles, *files = testing.run(names, folder, tell, observer, is_plain=kind == "target")
        regain()
        return ["finished", troubles, *_reached(self._observer.lines, self._observer.branches), *files]

    def _begin_group(self) -> None:
        """Hide the names of earlier examples from later examples."""
        self._globals = dict(self._module)
        self._groups.append(self._globals)
        self._flow = flow.Flow(self._globals)

    def _compiled(self, source: str, name: str, form: str) -> tuple[CodeType, bool]:
        """Compile an example. Return its code, and False if it is an expression whose value is shown."""
        mode = "exec" if form == "block" else "single"
        try:
            return _code(source, name, mode, self._flags)
        except SyntaxError:
            if "await" not in source and "async" not in source:
                raise
        return _code(source, name, mode, self._flags | _TOP_LEVEL_AWAIT)

    def _result(self, code: CodeType) -> object:
        """Run an example's code and return its value. All coroutines of a docstring share an event loop."""
        result: Any = eval(code, self._globals)  # noqa: S307  # running the example is the purpose
        if not code.co_flags & _COROUTINE:
            return result
        if self._loop is None:
            self._loop = import_module("asyncio").new_event_loop()
        return self._loop.run_until_complete(result)

    def _execute(self, code: CodeType, is_statement: bool, output: CapturedOutput, form: str) -> tuple[str, str, str]:
        """Run an example's code. Return SHOWN, PLAIN and CLASS."""

        def shown(value: object) -> str:
            """Return the line that `sys.displayhook` would write for a value."""
            if value is None:
                return ""
            builtins._ = None  # type: ignore[attr-defined]  # The interactive interpreter does this as well.
            line = str.__getitem__(repr(value), slice(OUTPUT_LIMIT)) + "\n"
            builtins._ = value  # type: ignore[attr-defined]  # The interactive interpreter does this as well.
            return line

        def display(value: object) -> None:
            CapturedOutput.write(output, shown(value))

        sys.displayhook = self._displayhook or display
        try:
            value = self._result(code)
            if is_statement:
                return "", "", ""
            if self._displayhook and form != "value":
                self._displayhook(value)
                return "", "", ""
        finally:
            left = getattr(sys, "displayhook", None)
            self._left_hook = None if left is display else left
        line = shown(value)
        if form != "value":
            return line, "", ""
        try:
            copy = repr(plain(value, [PLAIN_LIMIT]))
        except NotPlainError:
            copy = ""
        return line, copy, str.__str__(_name_of_class(type(value)))

    def _evidence(
        self, source: str, code: CodeType | None, is_undisturbed: bool, *, shows: bool, binds: bool
    ) -> list[str]:
        """Return RAN, INSTEAD, LINES and BRANCHES for the last example."""
        observer = self._observer
        entered, reached = observer.entered, ["", ""]
        if self._by_line:
            reached = _reached(observer.lines, observer.branches)
        if code is None:
            return ["no", "", *reached]
        ran = self._flow.ran(source, code, entered=entered, shows=shows, binds=binds or ":=" in source)
        if ran is False and not is_undisturbed:
            ran = None
        if ran is not False:
            return ["yes" if ran else "", "", *reached]
        instead = flow.told(source, self._name, self._qualname, observer.codes, self._last, self._globals)
        return ["" if "` is a " in instead else "no", instead, *reached]

    def _description(self, error: BaseException, example: str) -> list[str]:
        """Return MESSAGE, BASES, LINE, ORIGIN and CAUSE for an exception, and drop its traceback."""
        line, innermost = self._trace(error.__traceback__)
        error.__traceback__ = None  # Free the traceback's frames, because they may hold most of the memory.
        cause = ""
        try:
            parts = _describe(type(error), error)
            if isinstance(error, SyntaxError):  # Drop the lines with the code, because `doctest` ignores them.
                parts = parts[next(i for i, part in enumerate(parts) if not part.startswith(" ")) :]
            message = "".join(parts)[:OUTPUT_LIMIT]
            cause = _cause(error)
        except BaseException:  # The exception's `__str__` may raise anything.
            message = f"{type(error).__name__}: <unprintable>\n"
        bases = [base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins"]
        origin = ""
        if example and innermost == example:
            origin = "example"
        elif example and isinstance(error, SyntaxError) and error.filename == example:
            origin = "syntax"
        return [message, " ".join(bases), str(line), origin, cause]

    def _trace(self, trace: TracebackType | None) -> tuple[int, str]:
        """Return the candidate's innermost line in a traceback, and the file of the traceback's innermost frame."""
        line, file = 0, ""
        while trace is not None:
            file = trace.tb_frame.f_code.co_filename
            if file == self._path and self._first <= trace.tb_lineno <= self._last:
                line = trace.tb_lineno
            trace = trace.tb_next
        return line, file


def _cause(error: BaseException) -> str:
    """Return the message of the OSError that led to an exception, or an empty text."""
    for _ in range(CAUSES):
        found = error.__cause__ or error.__context__
        if found is None:
            break
        error = found
        if isinstance(error, OSError):
            return "".join(_describe(type(error), error))[:PLAIN_LIMIT]
    return ""


def _code(source: str, name: str, mode: str, flags: int) -> tuple[CodeType, bool]:
    """Compile an example. In mode `single`, try to compile an expression first. Return the same as `_compiled`."""
    if mode == "single":
        try:
            return compile(source, name, "eval", flags, True), False
        except SyntaxError:
            pass
    return compile(source, name, mode, flags, True), True


def _reached(lines: Collection[int], branches: Collection[tuple[int, int]]) -> list[str]:
    return [" ".join(map(str, sorted(lines))), " ".join([f"{line}>{to}" for line, to in sorted(branches)])]


def regain() -> None:
    """Reset the trace functions and the recursion limit, which a candidate may have changed."""
    _settrace(None)
    _setprofile(None)
    _setrecursionlimit(_RECURSION_LIMIT)


def evaluate(load: list[str], module_of: Callable[[list[str]], ModuleUnderTest]) -> None:
    """Answer the server's commands for one module.

    `load` is the first command. `module_of` makes the module from the fields of `load`.
    """
    _, nonce, *fields = load
    module = module_of(fields)
    kind, *answer = module.load()
    while True:
        send(kind, nonce, *answer, later=module.answers_later and kind != "ended")
        command, nonce, *fields = receive()
        if command == "run":
            kind, *answer = module.run(*fields)
        elif command == "trace":
            kind, *answer = module.run(*fields, tell=partial(send, "traced", nonce))
        elif command == "test":
            kind, *answer = module.test(partial(send, "tested", nonce), *fields)
        elif command == "load":
            module = module_of(fields)
            kind, *answer = module.load()
        else:
            kind, answer = "ended", module.end(*fields)


# --- shared with the template and the server -----------------------------------------------


def lower_limit(kind: int, value: int) -> None:
    """Lower a limit of this process for good, unless the limit is already lower."""
    hard = resource.getrlimit(kind)[1]
    if hard == resource.RLIM_INFINITY or hard > value:
        resource.setrlimit(kind, (value, value))


def empty(folder: str) -> bool:
    """Remove everything in a folder, which hostile code may have filled. Return True if the folder is now empty.

    Links are not followed. Deep folders are moved up first, so that no path gets too long.
    """
    pending = [folder]
    moved = 0
    try:
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            _chmod(folder, 0o700)
        while pending:
            place = pending.pop()
            for name in os.listdir(place):
                entry = join(place, name)
                if not isdir(entry) or islink(entry):
                    os.unlink(entry)
                    continue
                try:
                    os.rmdir(entry)
                    continue
                except OSError:  # The folder is not empty.
                    pass
                moved += 1
                target = join(folder, f".moved-{moved}")
                os.rename(entry, target)
                if not os.access(target, os.R_OK | os.W_OK | os.X_OK):
                    _chmod(target, 0o700)
                pending.append(target)
            if place != folder:
                os.rmdir(place)
    except OSError:
        return False
    return True
