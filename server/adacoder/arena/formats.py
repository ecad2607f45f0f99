"""Files of tasks, as the benchmarks are published: HumanEval, MBPP, their variants, and LiveCodeBench's functions.

The form is seen by what an object of the file has. One object a line, or a list of them; `.gz` is read too.

    HumanEval, EvalPlus's files with a `test`   prompt entry_point canonical_solution test
    HumanEval-ET                                prompt entry_point canonical_solution test_case_list
    HumanEval+ and MBPP+ of EvalPlus            prompt entry_point canonical_solution base_input plus_input atol
    MBPP, MBPP-ET; sanitized                    text (prompt) code test_list test_setup_code (test_imports)
    LiveCodeBench                               question_content starter_code public_test_cases private_test_cases

An MBPP task becomes a function: its signature is that of its `code`, its docstring the `text` with the first test,
which is then no hidden one (SEMAG, section 4.1). LiveCodeBench's tasks that read standard input are left out, and so
are APPS, CodeContests and SWE-bench: what they ask for is no function.
"""

from __future__ import annotations

import ast
import base64
import gzip
import hashlib
import io
import json
import pickle
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from adacoder.arena.tasks import ArenaTask, Calls, Hidden, Statements, TasksError, TaskSet
from adacoder.domain import Candidate, Reply, Target, TargetError
from adacoder.project import Project
from adacoder.pytext import definitions, normalize
from adacoder.replies.extract import extract
from adacoder.source.examples import UnreadableExample
from adacoder.source.locate import locate

Told: TypeAlias = Mapping[str, Any]
"""One object of a file."""

_MOST_BYTES = 1 << 30
"""Of a file, unpacked."""
_NAME = re.compile(r"[^\W\d]\w*(?=\s*\()")
_IMPORT_FIRST = re.compile(r"(?P<header>^def .*:\n)[ \t]+(?P<imports>import \w+\n)(?=[ \t]+\"\"\")", re.MULTILINE)
_TYPING = "from typing import *\n\n\n"
"""LiveCodeBench's starters use its names."""


class _Unfit(Exception):
    """An object that cannot become a task."""


@dataclass(frozen=True, slots=True)
class _Raw:
    """A task before its function is found."""

    id: str
    text: str
    """Its module, with a stub."""
    qualname: str
    solution: str
    """The canonical solution as a module; empty: none is known."""
    hidden: Hidden


@dataclass(frozen=True, slots=True)
class _Format:
    """One form of object."""

    dataset: str
    members: frozenset[str]
    """What its objects have."""
    read: Callable[[Told, bool], _Raw]
    """Its second argument: True if a test is to be shown that the prompt itself does not show."""


def load(path: Path, folder: Path, *, shows: bool = True) -> TaskSet:
    """The tasks of a file.

    Args:
        path: the file.
        folder: the workspace that their modules are to stand in; nothing is written there.
        shows: False: no test of an MBPP task is shown, and all are hidden.

    Raises:
        TasksError: it holds no tasks in a form that is known.
    """
    data = _bytes(path)
    objects = _objects(data, path)
    form = next((each for each in _FORMATS if each.members <= objects[0].keys()), None)
    if form is None:
        known = ", ".join(dict.fromkeys(each.dataset for each in _FORMATS))
        raise TasksError(f"The objects in {path} are no tasks of a form that is known ({known}).")
    is_et = form.read is _mbpp and re.search(r"(?i)[_-]et\b", path.name)
    dataset = f"{form.dataset}-et" if is_et else form.dataset
    if form.read is _humaneval and re.search(r"(?i)plus", path.name):
        dataset = "humaneval-plus"
    if form.read is _plus:  # one form for both
        dataset = "mbpp-plus" if str(objects[0].get("task_id")).lower().startswith("mbpp") else "humaneval-plus"
    tasks: list[ArenaTask] = []
    left_out: list[str] = []
    for number, each in enumerate(objects, 1):
        try:
            tasks.append(_task(form.read(each, shows), folder))
        except (TargetError, _Unfit) as why:
            left_out.append(f"{each.get('task_id', each.get('question_id', number))}: {why}")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TasksError(f"Object {number} in {path} is no task of {form.dataset}: {error!r}.") from error
    checksum = hashlib.sha256(data).hexdigest()
    return TaskSet(dataset, f"sha256:{checksum}", tasks, tuple(left_out))


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES)
            if data.startswith(b"\x1f\x8b"):
                with gzip.open(io.BytesIO(data)) as packed:
                    data = packed.read(_MOST_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise TasksError(f"The tasks in {path} cannot be read: {error}.") from error
    return data


def _objects(data: bytes, path: Path) -> list[dict[str, Any]]:
    try:
        text = data.decode("utf-8")
        told = (
            json.loads(text)
            if text.lstrip().startswith("[")
            else [*map(json.loads, filter(str.strip, text.split("\n")))]
        )
    except (ValueError, RecursionError) as error:
        raise TasksError(f"{path} holds no JSON objects, one a line: {error}.") from error
    if not told or not all(isinstance(each, dict) for each in told):
        raise TasksError(f"{path} holds no tasks.")
    return list(told)


def _task(raw: _Raw, folder: Path) -> ArenaTask:
    target = _located(raw, folder / "task.py", folder)
    canonical = _candidate(raw.solution, target) if raw.solution else None
    return ArenaTask(raw.id, target, Project(folder), canonical, raw.hidden)


def _located(raw: _Raw, path: Path, folder: Path) -> Target:
    """The function of a task; what some published prompts have wrong is put right (HumanEval/51 and 115)."""
    try:
        return locate(raw.text, path, folder, qualname=raw.qualname)
    except UnreadableExample:  # an escape in its docstring was meant for the example
        text = raw.text.replace('    """', '    r"""', 1)
    except TargetError:  # an import stands before its docstring
        text = _IMPORT_FIRST.sub(r"\g<imports>\g<header>", raw.text)
    return locate(text, path, folder, qualname=raw.qualname)


def _candidate(solution: str, target: Target) -> Candidate:
    return replace(extract(Reply(f"```python\n{solution}\n```\n"), target), cut=False)


def _humaneval(told: Told, _: bool) -> _Raw:
    function = told["entry_point"]
    hidden = Statements(f"{told['test']}\ncheck({function})\n")
    return _Raw(told["task_id"], told["prompt"], function, told["prompt"] + told["canonical_solution"], hidden)


def _humaneval_et(told: Told, _: bool) -> _Raw:
    hidden = Statements("\n".join(told["test_case_list"]) + "\n")
    function = told["entry_point"]
    return _Raw(told["task_id"], told["prompt"], function, told["prompt"] + told["canonical_solution"], hidden)


def _plus(told: Told, shows: bool) -> _Raw:
    """A task of EvalPlus, whose wanted results are those of the canonical solution."""
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
    if function == "find_zero":  # of many roots any is right
        call = f"(lambda xs: abs(poly(xs, find_zero(xs))) <= {tolerance or 1e-4})"
        return _Raw(told["task_id"], prompt, function, solution, Calls(call, arguments, ("True",) * len(inputs)))
    return _Raw(told["task_id"], prompt, function, solution, Calls(function, arguments, None, tolerance))


def _arguments(test: str, function: str) -> str | None:
    """The arguments that `test` calls the function with, as a list's literal."""
    for node in ast.walk(ast.parse(test)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
            try:
                return repr([ast.literal_eval(each) for each in node.args])
            except ValueError:
                return None
    return None


def _mbpp(told: Told, shows: bool) -> _Raw:
    if "test" in told:  # as some copies of MBPP+ have it
        raise _Unfit("its hidden tests are a program that holds the shown one: take EvalPlus's own file")
    tests = [each for each in told["test_list"] if each.strip()]
    solution = normalize(told["code"])
    function = _tested(solution, tests)
    setup, imports = told.get("test_setup_code") or "", "\n".join(told.get("test_imports", ()))
    shows = shows and not setup  # else the test needs what the docstring does not show
    text = told.get("text") or told["prompt"]
    before = f"{imports}\n\n\n" if imports else ""
    prompt = before + _classes(solution, [setup, *tests]) + _stub(solution, function, text, tests[0] if shows else "")
    hidden = Statements("\n".join([imports, setup, *tests[shows:]]) + "\n")
    return _Raw(f"MBPP/{told['task_id']}", prompt, function, solution, hidden)


def _tested(solution: str, tests: Sequence[str]) -> str:
    """The function of `solution` that the tests call."""
    functions = {each.name for each in definitions(solution) if not each.is_class and not each.parents}
    for call in (call for test in tests for call in _NAME.finditer(test)):
        if call.group() in functions:
            return call.group()
    raise _Unfit("its tests call no function of its solution")


def _classes(solution: str, tests: Sequence[str]) -> str:
    """The classes of the solution that its tests make objects of."""
    named = {name for test in tests for name in _NAME.findall(test)}
    found = [each for each in definitions(solution) if each.is_class and not each.parents and each.name in named]
    return "".join(f"{each.span.of(solution)}\n\n\n" for each in found)


def _stub(solution: str, function: str, text: str, test: str) -> str:
    """A module with the function's signature, and `text` and a test as its docstring."""
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
    """An `assert` as an example that gives True."""
    told = test.strip().removeprefix("assert").strip()
    try:
        ast.parse(told, mode="eval")
    except SyntaxError:
        return ""
    return f">>> {' '.join(told.split(chr(10)))}\nTrue"


def _docstring(text: str, example: str, indent: str = "    ") -> str:
    """A docstring, as the body of a stub."""
    told = f"{text.strip()}\n\n{example}\n" if example else text.strip()
    escaped = told.replace("\\", "\\\\").replace('"""', r"\"\"\"")
    if escaped.endswith('"'):
        escaped += "\n"
    lines = f'"""{escaped}"""'.split("\n")
    return "\n".join(f"{indent}{line}".rstrip() for line in lines) + "\n"


def _livecodebench(told: Told, _: bool) -> _Raw:
    starter = told["starter_code"].rstrip()
    name = json.loads(told.get("metadata") or "{}").get("func_name")
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
    calls = Calls(call, tuple(given for given, _ in hidden), tuple(wanted for _, wanted in hidden))
    return _Raw(str(told["question_id"]), text, qualname, "", calls)


def _cases(told: str | Sequence[Told] | None) -> Sequence[Told]:
    """Test cases: a list, its JSON, or that pickled, compressed and in base 64."""
    if not isinstance(told, str):
        return told or ()
    try:
        cases: Sequence[Told] = json.loads(told)
    except ValueError:
        unpacked = zlib.decompressobj().decompress(base64.b64decode(told), _MOST_BYTES)
        cases = json.loads(_OnlyText(io.BytesIO(unpacked)).load())
    return cases


class _OnlyText(pickle.Unpickler):
    """Reads plain values; what would run code is refused."""

    def find_class(self, module: str, name: str) -> object:
        """Refuse every class and function."""
        raise ValueError(f"it would load {module}.{name}")


def _arguments_and_result(case: Told) -> tuple[str, str]:
    if case.get("testtype") != "functional":
        raise _Unfit("it asks for a program that reads standard input, and for no function")
    given = [json.loads(line) for line in case["input"].split("\n") if line.strip()]
    return repr(given), repr(json.loads(case["output"]))


_FORMATS = (
    _Format("plus", frozenset({"prompt", "entry_point", "canonical_solution", "base_input", "plus_input"}), _plus),
    _Format(
        "humaneval-et", frozenset({"prompt", "entry_point", "canonical_solution", "test_case_list"}), _humaneval_et
    ),
    _Format("humaneval", frozenset({"prompt", "entry_point", "canonical_solution", "test"}), _humaneval),
    _Format("mbpp-sanitized", frozenset({"prompt", "code", "test_list", "test_imports"}), _mbpp),
    _Format("mbpp", frozenset({"text", "code", "test_list"}), _mbpp),
    _Format("livecodebench", frozenset({"question_content", "starter_code", "public_test_cases"}), _livecodebench),
)
"""The forms that are known; the first that fits counts."""
