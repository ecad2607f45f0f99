"""ARCHITECTURE.md's invariants hold for the package, and each check reports a copy in which its invariant is broken."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import adacoder
from architecture import rules
from support.paths import ROOT

PACKAGE = Path(adacoder.__file__).parent
BENCHMARKS = ROOT / "benchmarks"

Rule = Callable[[Path], list[str]]

BREAKS: list[tuple[Rule, str, str]] = [
    (rules.libraries_stay_home, "service.py", "import lsprotocol.types"),
    (rules.libraries_stay_home, "models/catalog.py", "def f():\n    import ollama"),
    (rules.libraries_stay_home, "models/backends.py", "from httpx import AsyncClient"),
    (rules.libraries_stay_home, "models/served.py", "import httpx"),
    (rules.libraries_stay_home, "source/locate.py", "from jedi import Script"),
    (rules.libraries_stay_home, "source/splice.py", "import parso"),
    (rules.libraries_stay_home, "agents/repairs.py", "import pyflakes.checker"),
    (rules.libraries_stay_home, "arena/formats.py", "from datasets import load_dataset"),
    (rules.strategies_are_pure, "strategies/adacoder.py", "import time"),
    (rules.strategies_are_pure, "strategies/direct.py", "open('x')"),
    (rules.floors_are_kept, "domain.py", "import adacoder.journal, adacoder.source.text"),
    (rules.floors_are_kept, "source/splice.py", "from adacoder.replies import extract"),
    (rules.floors_are_kept, "sandbox/host.py", "from adacoder.agents import prompt"),
    (rules.floors_are_kept, "report/outcome.py", "from adacoder.service import Service"),
    (rules.floors_are_kept, "cli/__init__.py", "from adacoder.lsp import jobs"),
    (rules.the_source_is_entered_by_its_doors, "agents/repairs.py", "from adacoder.source.splicing import rename"),
    (
        rules.the_source_is_entered_by_its_doors,
        "lsp/jobs/jobs.py",
        "def f():\n    import adacoder.source.importing.exports",
    ),
    (rules.what_runs_inside_stands_alone, "sandbox/child/worker.py", "import adacoder.domain"),
    (rules.what_runs_inside_stands_alone, "sandbox/child/template.py", "import adacoder.domain"),
    (rules.what_runs_inside_stands_alone, "sandbox/child/worker.py", "match 1:\n    case 1: pass"),
    (rules.only_the_sandbox_runs_code, "agents/code_evaluator.py", "exec('1')"),
    (rules.only_the_sandbox_runs_code, "source/context.py", "import subprocess"),
    (rules.only_the_sandbox_runs_code, "doctor.py", "import asyncio\nasyncio.create_subprocess_exec('x')"),
    (rules.programs_are_started_in_few_places, "sandbox/host.py", "import os\nos.system('x')"),
    (rules.programs_are_started_in_few_places, "sandbox/isolation/seatbelt.py", "import shutil\nshutil.which('x')"),
    (rules.programs_are_started_in_few_places, "models/catalog.py", "import subprocess\nsubprocess.Popen('x')"),
    (rules.what_is_shown_goes_through_the_doors, "cli/story.py", "Console(markup=True).print('x')"),
    (rules.what_is_shown_goes_through_the_doors, "cli/demo.py", "import sys\nsys.__stderr__.write('x')"),
    (rules.what_is_shown_goes_through_the_doors, "cli/findings.py", "console().status('x')"),
    (rules.what_is_shown_goes_through_the_doors, "lsp/jobs/jobs.py", "server.protocol._send_data({})"),
    (rules.programs_are_started_in_few_places, "aside.py", "import os\nos.system('x')"),
    (rules.long_work_is_done_aside, "service.py", "async def f():\n    return splice(1, 2)"),
    (rules.long_work_is_done_aside, "agents/code_evaluator.py", "async def f(x):\n    return x.parsed('text')"),
    (rules.cancellation_goes_through, "service.py", "try:\n    pass\nexcept BaseException:\n    pass"),
    (rules.files_run_in_no_circle, "lsp/connection/client.py", "import adacoder.lsp.language_server"),
    (rules.files_run_in_no_circle, "domain.py", "if TYPE_CHECKING:\n    from adacoder.journal import Journal"),
    (rules.classes_have_names_of_their_own, "agents/role.py", "class _Node:\n    pass"),
    (rules.classes_have_names_of_their_own, "report/step_words.py", "class Target:\n    pass"),
    (rules.files_have_names_of_their_own, "report/journal.py", "x = 1"),
    (rules.files_have_names_of_their_own, "agents/test_designer.py", "x = 1"),
    (rules.serving_is_light, "lsp/connection/pygls_fixes.py", "import jedi"),
    (rules.serving_is_light, "lsp/language_server.py", "import click"),
    (rules.serving_is_light, "visible.py", "import httpx"),
    (rules.answering_needs_little, "lsp/language_server.py", "from adacoder.lsp import handlers"),
    (rules.answering_needs_little, "lsp/connection/client.py", "import adacoder.settings"),
    (rules.answering_needs_little, "lsp/stdio.py", "create = lambda made=create: made().state"),
    (rules.serving_agents_is_light, "mcp/exchange.py", "import adacoder.checks"),
    (rules.serving_agents_is_light, "mcp/agent_server.py", "from adacoder.mcp import tools"),
    (rules.checking_is_light, "agents/code_evaluator.py", "import adacoder.models"),
    (rules.checking_is_light, "cli/findings.py", "import rich"),
    (rules.the_plugin_is_light, "cli/pytest_plugin.py", "import adacoder.domain"),
    (rules.the_plugin_is_light, "cli/__init__.py", "import asyncio"),
    (rules.stdout_is_the_protocols, "service.py", "print('hello')"),
    (rules.stdout_is_the_protocols, "visible.py", "import sys\nsys.stdout.write('hello')"),
    (rules.files_are_read_in_one_place, "source/context.py", "from pathlib import Path\nPath('x').read_text()"),
    (rules.files_are_read_in_one_place, "settings/pyproject.py", "open('x')"),
    (rules.files_are_read_in_one_place, "lsp/snapshot.py", "import tokenize\ntokenize.open('x')"),
    (rules.files_are_read_in_one_place, "sandbox/environment/imports_ahead.py", "import io\nio.FileIO('x')"),
    (rules.hidden_tests_reach_only_the_judge, "arena/cells.py", "def f(task):\n    return task.hidden"),
    (rules.hidden_tests_reach_only_the_judge, "arena/cells.py", "def f(task):\n    return task.canonical.text"),
    (rules.hidden_tests_reach_only_the_judge, "arena/rank.py", "def f(judge):\n    return judge.open_verdict(1, 2)"),
    (rules.hidden_tests_reach_only_the_judge, "arena/runner.py", "from adacoder.arena.tasks import Statements"),
    (rules.hidden_tests_reach_only_the_judge, "agents/request.py", "from adacoder.arena.judge import HiddenJudge"),
    (rules.hidden_tests_reach_only_the_judge, "strategies/direct.py", "from adacoder.arena import tasks"),
    (rules.hidden_tests_reach_only_the_judge, "journal.py", "def f():\n    import adacoder.arena.judge"),
    (rules.hidden_tests_reach_only_the_judge, "lsp/jobs/jobs.py", "from adacoder.arena.judge import HiddenJudge"),
    (rules.syntax_errors_come_from_the_users_python, "agents/repairs.py", "x = FailureKind.SYNTAX_ERROR"),
    (rules.patterns_mean_the_same_to_every_python, "settings/values.py", 'r"(?:a|b)*+c"'),
    (rules.patterns_mean_the_same_to_every_python, "domain.py", 'r"(?>a|b)c"'),
    (rules.patterns_mean_the_same_to_every_python, "replies/find.py", 'rf"{_NAME}?+c"'),
    (rules.patterns_mean_the_same_to_every_python, "models/window.py", 'r"(?:ab?){1,2}+c"'),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, compiled as that is. Each test breaks one file of it and restores it."""
    unfinished = shutil.ignore_patterns("*.pyc.*")
    return shutil.copytree(PACKAGE, tmp_path_factory.mktemp("copy") / "adacoder", ignore=unfinished)


@pytest.mark.parametrize("rule", dict.fromkeys(rule for rule, _, _ in BREAKS), ids=lambda rule: rule.__name__)
def test_invariant_holds(rule: Rule) -> None:
    assert rule(PACKAGE) == []


@pytest.mark.parametrize(
    ("rule", "place", "addition"), BREAKS, ids=[f"{rule.__name__}-{place}" for rule, place, _ in BREAKS]
)
def test_broken_copy_is_reported(rule: Rule, place: str, addition: str, copy: Path) -> None:
    broken = copy / place
    whole = broken.read_text(encoding="utf-8") if broken.exists() else None
    broken.write_text(f"{whole or ''}\n{addition}\n", encoding="utf-8")
    try:
        assert rule(copy)
    finally:
        broken.unlink()
        if whole is not None:
            broken.write_text(whole, encoding="utf-8")


@pytest.mark.parametrize(
    "addition",
    [
        "from support.instant_arena import RIGHT",
        "import integration.arena.test_arena",
        "from unit.arena import test_rows",
        "from support import scripted",
        "from adacoder.arena.formats import load\nfrom adacoder.sandbox.host import Host",
    ],
)
def test_a_benchmark_that_judges_by_the_tests_is_reported(addition: str, tmp_path: Path) -> None:
    assert rules.benchmarks_judge_by_the_product(BENCHMARKS) == []
    copy = shutil.copytree(BENCHMARKS, tmp_path / "benchmarks", ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "locate.py").open("a", encoding="utf-8") as broken:
        broken.write(f"\n{addition}\n")
    assert rules.benchmarks_judge_by_the_product(copy)
