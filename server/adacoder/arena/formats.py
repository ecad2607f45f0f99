"""Read tasks in the published formats of benchmarks: HumanEval, MBPP, their variants, and LiveCodeBench.

A file has one JSON object per line, or one list of objects, and may be compressed (`.gz`). The members of the first
object identify the format:

    HumanEval, EvalPlus's files with a `test`   prompt entry_point canonical_solution test
    HumanEval-ET                                prompt entry_point canonical_solution test_case_list
    HumanEval+ and MBPP+ of EvalPlus            prompt entry_point canonical_solution base_input plus_input atol
    MBPP, MBPP-ET                               text code test_list test_setup_code
    sanitized MBPP                              prompt code test_list test_imports
    LiveCodeBench                               question_content starter_code public_test_cases private_test_cases

A task of MBPP becomes an empty function. Its docstring shows the task's text and the first test, which is therefore not
hidden (SEMAG, section 4.1). LiveCodeBench tasks that read standard input are skipped. APPS, CodeContests and SWE-bench
are not supported, because their tasks do not ask for a function.
"""

from __future__ import annotations

import ast
import base64
import gzip
import hashlib
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from pickletools import genops
from typing import IO, Any, TypeAlias, cast

from adacoder.arena.tasks import ArenaTask, Hidden, HiddenCalls, Statements, TasksError, TaskSet
from adacoder.domain import Candidate, Reply, Target, TargetError
from adacoder.foreign_json import read_json
from adacoder.privacy.access import opened_regular
from adacoder.project import Project
from adacoder.pytext import definitions, normalize
from adacoder.replies.extract import extract
from adacoder.source.examples import UnreadableExample
from adacoder.source.locate import locate

Told: TypeAlias = Mapping[str, Any]
"""A JSON object from a file of tasks."""

_MOST_BYTES = 1 << 30
"""Maximum size of a file, in bytes."""
_MOST_UNPACKED = 128 << 20
"""Maximum size of a compressed file after decompression, in bytes. The largest benchmark has a tenth of this size."""
_LONGEST = 64 << 20
"""Maximum size of a line in bytes. This is also the limit for a file that contains one list."""
_MOST_TASKS = 20_000
"""Maximum number of tasks in a file. The largest benchmark has half of this number."""
_MOST_LINES = 500_000
"""Maximum number of lines in a file. A file with one formatted list can have many short lines."""
_LONGEST_REASON = 200
_BROKEN = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, SyntaxError, TypeError, ValueError),
    *(zlib.error, EOFError),
)
"""Errors that a task with wrong values can cause."""
_PLAIN = frozenset(
    {"PROTO", "FRAME", "MEMOIZE", "BINPUT", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE", "PUT", "STOP"}
)
"""Opcodes that a pickled string needs. A pickle with other opcodes is refused."""
_NAME = re.compile(r"[^\W\d]\w*(?=\s*\()")
_IMPORT_FIRST = re.compile(r"(?P<header>^def .*:\n)[ \t]+(?P<imports>import \w+\n)(?=[ \t]+\"\"\")", re.MULTILINE)
_TYPING = "from typing import *\n\n\n"
"""Import for LiveCodeBench's starter code, which uses names from `typing` without an import."""


class _Unfit(Exception):
    """A JSON object that cannot become a task."""


@dataclass(frozen=True, slots=True)
class _Raw:
    """A task whose function has not been located in its module."""

    id: str
    text: str
    """Source of the task's module, with an empty function."""
    qualname: str
    solution: str
    """Source of a module with the canonical solution; empty if unknown."""
    hidden: Hidden
    difficulty: str = ""


@dataclass(frozen=True, slots=True)
class _Format:
    dataset: str
    members: frozenset[str]
    """Members of a JSON object that identify the format."""
    read: Callable[[Told, bool], _Raw]
    """Function that reads a JSON object. The second argument is True if the prompt may show a test."""


def load(path: Path, folder: Path, *, shows: bool = True) -> TaskSet:
    """Read the tasks of a file.

    Args:
        path: the file.
        folder: the workspace of the tasks' modules. Nothing is written there.
        shows: if False, prompts of MBPP tasks show no test.

    Raises:
        TasksError: the file has no tasks in a known format, or cannot be read.
    """
    digest = hashlib.sha256()
    objects = _objects(path, digest)
    first = next(objects, None)
    if first is None:
        raise TasksError(f"{path} holds no tasks.")
    form = next((each for each in _FORMATS if each.members <= first.keys()), None)
    if form is None:
        known = ", ".join(dict.fromkeys(each.dataset for each in _FORMATS))
        raise TasksError(f"The objects in {path} are not tasks in a known format ({known}).")
    is_et = form.read is _mbpp and re.search(r"(?i)[_-]et\b", path.name)
    dataset = f"{form.dataset}-et" if is_et else form.dataset
    if form.read is _humaneval and re.search(r"(?i)plus", path.name):
        dataset = "humaneval-plus"
    if form.read is _plus:  # HumanEval+ and MBPP+ have the same format
        dataset = "mbpp-plus" if str(first.get("task_id")).lower().startswith("mbpp") else "humaneval-plus"
    tasks: list[ArenaTask] = []
    left_out: list[str] = []
    for number, each in enumerate(chain([first], objects), 1):
        if number > _MOST_TASKS:
            raise TasksError(f"{path} has more than {_MOST_TASKS:,} tasks: split it.")
        try:
            tasks.append(_task(form.read(each, shows), folder))
        except (TargetError, _Unfit) as why:
            left_out.append(f"{each.get('task_id', each.get('question_id', number))}: {why}")
        except _BROKEN as error:
            told = repr(error)[:_LONGEST_REASON]
            raise TasksError(f"Object {number} in {path} is not a task of {form.dataset}: {told}.") from error
    return TaskSet(dataset, f"sha256:{digest.hexdigest()}", tasks, tuple(left_out))


def _objects(path: Path, digest: hashlib._Hash) -> Iterator[Told]:
    """Yield the JSON objects in a file, and add the file's bytes to `digest`.

    Raises:
        TasksError: the file cannot be read, is too large, or does not contain tasks.
    """
    number = 1
    try:
        with opened_regular(path) as file:
            is_packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            unpacked, most = (gzip.GzipFile(fileobj=file), _MOST_UNPACKED) if is_packed else (file, _MOST_BYTES)
            for text in _texts(cast("IO[bytes]", unpacked), most, digest):
                told = read_json(text) if text.strip() else []
                for each in told if isinstance(told, list) else [told]:
                    if not isinstance(each, dict):
                        raise TypeError("no object")
                    yield each
                number += 1
    except (OSError, EOFError, zlib.error) as error:
        raise TasksError(f"The tasks in {path} cannot be read: {error}.") from error
    except (ValueError, TypeError) as error:
        raise TasksError(f"{path}, line {number}: tasks are JSON objects, one a line ({error}).") from error


def _texts(file: IO[bytes], most: int, digest: hashlib._Hash) -> Iterator[str]:
    """Yield the lines of a file, or the whole text if the file contains one list. `most` is the maximum size in bytes.

    Raises:
        ValueError: the file is too large, or not UTF-8.
    """
    total, number, is_list = 0, 0, None
    lines: list[str] = []
    while data := file.readline(_LONGEST + 1):
        number += 1
        digest.update(data)
        line = data.decode("utf-8" if total else "utf-8-sig")
        total += len(data)
        if is_list is None and line.strip():
            is_list = line.lstrip().startswith("[")
        if len(data) > _LONGEST or total > (_LONGEST if is_list else most) or number > _MOST_LINES:
            raise ValueError(f"it is too large: {_LONGEST >> 20} MiB a line or list, {most >> 20} MiB in all")
        if is_list:
            lines.append(line)
        else:
            yield line
    yield "".join(lines)


def _task(raw: _Raw, folder: Path) -> ArenaTask:
    if not all(isinstance(each, str) for each in (raw.id, raw.text, raw.qualname, raw.solution, raw.difficulty)):
        raise TypeError("a text is of another type")
    "".join(
        (raw.id, raw.text, raw.solution, raw.difficulty)
    ).encode()  # raises an error for lone surrogates, which cannot be written to a row
    target = _located(raw, folder / "task.py", folder)
    canonical = _candidate(raw.solution, target) if raw.solution else None
    return ArenaTask(raw.id, target, Project(folder), canonical, raw.hidden, difficulty=raw.difficulty)


def _located(raw: _Raw, path: Path, folder: Path) -> Target:
    """Locate the function of a task.

    Mistakes in the prompts of HumanEval/51 and HumanEval/115 are corrected.
    """
    try:
        return locate(raw.text, path, folder, qualname=raw.qualname)
    except UnreadableExample:  # the docstring is not raw, but an example needs a backslash
        text = raw.text.replace('    """', '    r"""', 1)
    except TargetError:  # an import precedes the docstring
        text = _IMPORT_FIRST.sub(r"\g<imports>\g<header>", raw.text)
    return locate(text, path, folder, qualname=raw.qualname)


def _candidate(solution: str, target: Target) -> Candidate:
    return replace(extract(Reply(f"```python\n{solution}\n```\n"), target), cut=False)


def _humaneval(told: Told, _: bool) -> _Raw:
    function, cases = told["entry_point"], told.get("test_case_list")
    hidden = f"{told['test']}\ncheck({function})" if cases is None else "\n".join(cases)
    solution = told["prompt"] + told["canonical_solution"]
    return _Raw(told["task_id"], told["prompt"], function, solution, Statements(f"{hidden}\n"))


def _plus(told: Told, shows: bool) -> _Raw:
    """Read a task of EvalPlus. The canonical solution computes the expected results."""
    function, solution = told["entry_point"], told["canonical_solution"]
    inputs: list[list[object]] = [*told["base_input"], *told["plus_input"]]
    if "assertion" in told or told["task_id"].startswith("Mbpp/"):
        text, _, rest = ast.literal_eval(told["prompt"].strip()).strip().partition("\nassert ")
        test = f"assert {rest}" if rest and shows else ""
        inputs = [each for each in inputs if repr(each) != _arguments(test, function)]
        prompt = _stub(solution, function, text, test)
    else:
        prompt, solution = told["prompt"], told["prompt"] + solution
    arguments = tuple(map(repr, inputs))
    tolerance = float(told.get("atol") or 0)
    if function == "find_zero":  # any root of the polynomial is right
        call = f"(lambda xs: abs(poly(xs, find_zero(xs))) <= {tolerance or 1e-4})"
        return _Raw(told["task_id"], prompt, function, solution, HiddenCalls(call, arguments, ("True",) * len(inputs)))
    return _Raw(told["task_id"], prompt, function, solution, HiddenCalls(function, arguments, None, tolerance))


def _arguments(test: str, function: str) -> str | None:
    """Return the arguments of the call in `test` as the text of a list, or None if the arguments are not literals."""
    for node in ast.walk(ast.parse(test)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
            try:
                return repr([ast.literal_eval(each) for each in node.args])
            except ValueError:
                return None
    return None


def _mbpp(told: Told, shows: bool) -> _Raw:
    if "test" in told:  # some copies of MBPP+ have such a member
        raise _Unfit("its hidden tests are a program that holds the shown one: take EvalPlus's own file")
    tests = [each for each in told["test_list"] if each.strip()]
    solution = normalize(told["code"])
    function = _tested(solution, tests)
    setup, imports = told.get("test_setup_code") or "", "\n".join(told.get("test_imports", ()))
    shows = shows and not setup  # the docstring would not explain a test that needs setup code
    text = told.get("text") or told["prompt"]
    before = f"{imports}\n\n\n" if imports else ""
    prompt = before + _classes(solution, [setup, *tests]) + _stub(solution, function, text, tests[0] if shows else "")
    hidden = Statements("\n".join([imports, setup, *tests[shows:]]) + "\n")
    return _Raw(f"MBPP/{told['task_id']}", prompt, function, solution, hidden)


def _tested(solution: str, tests: Sequence[str]) -> str:
    """Return the name of the function that the tests call."""
    functions = {each.name for each in definitions(solution) if not each.is_class and not each.parents}
    for call in (call for test in tests for call in _NAME.finditer(test)):
        if call.group() in functions:
            return call.group()
    raise _Unfit("its tests call no function of its solution")


def _classes(solution: str, tests: Sequence[str]) -> str:
    """Return the source of the solution's classes that the tests use."""
    named = {name for test in tests for name in _NAME.findall(test)}
    found = [each for each in definitions(solution) if each.is_class and not each.parents and each.name in named]
    return "".join(f"{each.span.of(solution)}\n\n\n" for each in found)


def _stub(solution: str, function: str, text: str, test: str) -> str:
    """Create an empty function. Its docstring has `text` and a test."""
    found = [each for each in definitions(normalize(solution)) if each.qualname == function]
    if not found:
        raise _Unfit(f"its solution does not define '{function}'")
    header = found[-1].header.of(normalize(solution))
    for example in filter(None, (test, _as_doctest(test))):
        module = f"{header}\n{_docstring(text, example)}"
        if "assert" not in example or locate(module, Path("task.py"), Path(), qualname=function).examples:
            return module
    return f"{header}\n{_docstring(text, '')}"


def _as_doctest(test: str) -> str:
    """Turn an `assert` into an example with the output True."""
    told = test.strip().removeprefix("assert").strip()
    try:
        ast.parse(told, mode="eval")
    except SyntaxError:
        return ""
    return f">>> {' '.join(told.split(chr(10)))}\nTrue"


def _docstring(text: str, example: str, indent: str = "    ") -> str:
    """Return a docstring with `text` and an example."""
    told = f"{text.strip()}\n\n{example}\n" if example else text.strip()
    escaped = told.replace("\\", "\\\\").replace('"""', r"\"\"\"")
    if escaped.endswith('"'):
        escaped += "\n"
    lines = f'"""{escaped}"""'.split("\n")
    return "\n".join(f"{indent}{line}".rstrip() for line in lines) + "\n"


def _livecodebench(told: Told, _: bool) -> _Raw:
    starter = told["starter_code"].rstrip()
    name = cast("Told", read_json(told.get("metadata") or "{}")).get("func_name")
    if not starter or not name:
        raise _Unfit("it asks for a program that reads standard input, and for no function")
    qualname = next((each.qualname for each in definitions(starter) if each.name == name), name)
    owner = qualname.rpartition(".")[0]
    call = f"{owner}().{name}" if owner else name
    public, private = (
        [*map(_arguments_and_result, _cases(told.get(which)))] for which in ("public_test_cases", "private_test_cases")
    )
    shown = "\n".join(f">>> {call}({given[1:-1]})\n{wanted}" for given, wanted in public)
    hidden = [each for each in private if each not in public]
    if not hidden:
        raise _Unfit("it has no hidden tests")
    width = "        " if owner else "    "
    text = f"{_TYPING}{starter}\n{_docstring(told['question_content'], shown, width)}"
    calls = HiddenCalls(call, tuple(given for given, _ in hidden), tuple(wanted for _, wanted in hidden))
    return _Raw(str(told["question_id"]), text, qualname, "", calls, told.get("difficulty") or "")


def _cases(told: str | Sequence[Told] | None) -> Sequence[Told]:
    """Read test cases from a list, from JSON, or from compressed and pickled JSON in base 64."""
    if not isinstance(told, str):
        return told or ()
    try:
        cases = read_json(told)
    except ValueError:
        unpacked = zlib.decompressobj().decompress(base64.b64decode(told), _LONGEST)
        cases = read_json(_pickled_text(unpacked))
    if not isinstance(cases, list):
        raise TypeError("test cases are not a list")
    return cast("list[Told]", cases)


def _pickled_text(data: bytes) -> str:
    """Extract the string from a pickle without unpickling, because unpickling can run code.

    Raises:
        ValueError: `data` does not contain a pickled string.
    """
    texts: list[str] = []
    for code, argument, _ in genops(data):
        if code.name not in _PLAIN:
            raise ValueError(f"its test cases are pickled with {code.name}")
        if isinstance(argument, str):
            texts.append(argument)
    (text,) = texts
    return text


def _arguments_and_result(case: Told) -> tuple[str, str]:
    if case.get("testtype") != "functional":
        raise _Unfit("it asks for a program that reads standard input, and for no function")
    given = [read_json(line) for line in case["input"].split("\n") if line.strip()]
    return repr(given), repr(read_json(case["output"]))


_FORMATS = (
    _Format("plus", frozenset({"prompt", "entry_point", "canonical_solution", "base_input", "plus_input"}), _plus),
    _Format("humaneval-et", frozenset({"prompt", "entry_point", "canonical_solution", "test_case_list"}), _humaneval),
    _Format("humaneval", frozenset({"prompt", "entry_point", "canonical_solution", "test"}), _humaneval),
    _Format("mbpp-sanitized", frozenset({"prompt", "code", "test_list", "test_imports"}), _mbpp),
    _Format("mbpp", frozenset({"text", "code", "test_list"}), _mbpp),
    _Format("livecodebench", frozenset({"question_content", "starter_code", "public_test_cases"}), _livecodebench),
)
"""Known formats. The first one that matches is used."""
