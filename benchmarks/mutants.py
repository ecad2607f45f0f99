"""Measure how well a project's own tests tell right bodies of its functions from wrong ones.

    mutants.py [--functions N] [--seed N] FOLDER…

Each folder is a project whose tests this Python can run. N functions are drawn from those that have a docstring and are
run by a test. Each is evaluated as by `fix`, with its own body and with three wrong bodies: `return None`, `return` of
the first parameter, and a mutant with one changed operator, comparison or constant. The output is one JSON line for
each folder:

* `functions`: functions with a docstring, and `tested`: those that a test runs;
* `index_s`: seconds to run all test files once, and `again_s`: seconds if no file has changed since;
* `right_refused`: functions whose own body the tests refuse, which `refused` names. It should be 0. `left_out`
  functions fail their own examples;
* for each kind of wrong body: how many pass the examples, and how many of these the tests refuse;
* `suspects`: for how many mutants `fix --test` tries the changed function first, later, or not at all. It is given the
  first failing test;
* `over_ms`: the median overhead of a run of the tests, and `tests_ms`: the median time of the tests themselves.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from adacoder.agents.code_evaluator import CodeEvaluator
from adacoder.agents.project_tests import ProjectTests, TestsOfRequest, as_it_stands, suspects_at
from adacoder.domain import AdaCoderError, Candidate, FailureKind, Target, Verdict
from adacoder.journal import Journal
from adacoder.privacy.access import Access
from adacoder.project import Project, python_files
from adacoder.sandbox.environment.interpreter import find
from adacoder.sandbox.host import Host, Program
from adacoder.settings import Settings
from adacoder.settings.pytest_files import files_with_tests
from adacoder.source.locate import functions
from adacoder.source.splice import splice
from adacoder.source.text import read
from adacoder.task import current

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


def bodies(target: Target, chance: random.Random) -> Iterator[tuple[str, Candidate]]:
    """Yield the wrong bodies of a function, each with its kind."""
    tree = ast.parse(current(target).function)
    (function,) = tree.body
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    docstring, code = function.body[:1], function.body[1:]
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    first = names[1:] if target.in_class else names
    mutant = mutated(code, chance)
    for kind, body in {
        "none": ast.parse("return None").body,
        "first": ast.parse(f"return {first[0]}").body if first else None,
        "mutant": mutant,
    }.items():
        if body is not None:
            function.body = [*docstring, *body]
            yield kind, Candidate(ast.unparse(tree))


def mutated(code: list[ast.stmt], chance: random.Random) -> list[ast.stmt] | None:
    """Return `code` with one random small change; None if nothing can be changed."""
    copy = ast.parse(ast.unparse(ast.Module(code, []))) if code else ast.Module([], [])
    places = []
    for node in ast.walk(copy):
        match node:
            case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op) if type(op) in SWAPS:
                places.append((node, "op", SWAPS[type(op)]()))
            case ast.Compare(ops=[op]) if type(op) in SWAPS:
                places.append((node, "ops", [SWAPS[type(op)]()]))
            case ast.Constant(value=bool(value)):
                places.append((node, "value", not value))
            case ast.Constant(value=int(value)):
                places.append((node, "value", value + 1))
    if not places:
        return None
    node, name, value = chance.choice(places)
    setattr(node, name, value)
    return copy.body


async def measure(folder: Path, most: int, seed: int) -> dict[str, object]:
    """Return the figures for a folder."""
    settings = Settings()
    files = [read(path) for path in python_files(folder)]
    is_test = files_with_tests(folder)
    targets = [
        replace(each.target, of_class=())
        for file in files
        if not is_test(file.path)
        for each in found(file.text, file.path, folder)
        if each.target.is_function and not each.target.is_stub
    ]
    host = Host(find(settings.interpreter, folder, folder), folder, least=settings.isolation)
    project = ProjectTests(host, folder)
    tests = [file.path for file in files if is_test(file.path)]
    access = Access((folder,))
    seconds = [await timed(project, tests, targets[0], access) for _ in range(2)]
    tested = [target for target in targets if (await project.of(target, {}, access))[0]]
    chance = random.Random(seed)
    drawn = chance.sample(tested, min(most, len(tested)))
    refused: list[str] = []
    left_out = 0
    passed = dict.fromkeys(("none", "first", "mutant"), 0)
    caught = dict(passed)
    suspects = Counter[str]()
    over, own = [], []
    for target in drawn:
        rights = TestsOfRequest(project, {}, access, settings.tests_seconds)
        evaluator = CodeEvaluator(host, Journal(), overlays={}, timeout=settings.timeout, tests=rights)
        chosen, _ = await project.of(target, {}, access)
        verdict = await evaluator.evaluate(target, current(target))
        if verdict.passed:
            program = as_it_stands(target)
            began = time.perf_counter()
            passed_tests = [test for test in verdict.tests if test.proves]
            tests_of, _ = await project.tried(program, passed_tests, unneeded, settings.tests_seconds)
            took, of_tests = time.perf_counter() - began, sum(test.seconds for test in tests_of)
            over.append(took - of_tests)
            own.append(of_tests)
        if verdict.failure is not None and not verdict.tests:
            left_out += 1
            continue
        if verdict.failure is not None:
            refused.append(f"{target.module.name}.{target.qualname}: {verdict.failure.message} ({len(chosen)})")
            continue
        for kind, candidate in bodies(target, chance):
            verdict = await evaluator.evaluate(target, candidate)
            if passes_examples(verdict):
                passed[kind] += 1
                caught[kind] += verdict.failure is not None
                if kind == "mutant" and verdict.failure is not None and verdict.failure.test is not None:
                    suspects[await place_of(target, candidate, verdict.failure.test.name, project, access)] += 1
        await evaluator.close()
    await host.close()
    return {
        "folder": folder.name,
        "functions": len(targets),
        "tested": len(tested),
        "drawn": len(drawn),
        "index_s": round(seconds[0], 1),
        "again_s": round(seconds[1], 2),
        "right_refused": len(refused),
        "refused": refused,
        "left_out": left_out,
        **{kind: {"passed": passed[kind], "caught": caught[kind]} for kind in passed},
        "suspects": suspects,
        "over_ms": round(1000 * statistics.median(over)) if over else None,
        "tests_ms": round(1000 * statistics.median(own)) if own else None,
    }


async def place_of(target: Target, candidate: Candidate, test: str, project: ProjectTests, access: Access) -> str:
    """Return `first`, `later` or `not`: when `fix --test` would try the function if its body were `candidate`."""
    path, folder = target.module.path, project.folder
    overlays = {path: splice(target, candidate).text}
    places = await project.suspects(test, overlays, access, target.module)
    tried = [each.qualname for each, _ in suspects_at(places, Project(folder, overlays), access).targets]
    return "not" if target.qualname not in tried else "later" if tried.index(target.qualname) else "first"


def passes_examples(verdict: Verdict) -> bool:
    """Return True if a candidate passed all its examples, or has none."""
    kind = verdict.failure and verdict.failure.kind
    return verdict.failure is None or kind is FailureKind.TEST_FAILED or bool(verdict.tests)


def found(text: str, path: Path, folder: Path) -> list:
    """Return the functions of a file; none if it does not parse."""
    try:
        return functions(text, path, folder)
    except AdaCoderError:
        return []


async def unneeded() -> Program:
    """Fail. This is called only if a test fails, but all tests have just passed."""
    raise AssertionError("a test failed")


async def timed(project: ProjectTests, tests: list[Path], target: Target, access: Access) -> float:
    """Return the seconds that it takes to observe all test files."""
    began = time.perf_counter()
    for path in tests:
        observed = await project.observe(path, {}, access, target.module)
        if observed.trouble:
            print(json.dumps({"trouble": observed.trouble}), flush=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--functions", type=int, default=60, help="number of functions to draw from each folder")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for each in options.folders:
        print(json.dumps(asyncio.run(measure(each.resolve(), options.functions, options.seed))), flush=True)
