"""Check the invariants of ARCHITECTURE.md in a source tree.

Each check takes the package's folder and returns what breaks its invariant.
"""

from __future__ import annotations

import ast
import functools
import graphlib
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FLOORS: tuple[frozenset[str], ...] = (
    frozenset(
        {
            "messages",
            "visible",
            "domain",
            "directives",
            "conclusion",
            "traces",
            "journal",
            "settings",
            "project",
            "task",
            "programs",
        }
    )
    | {"private_files", "pytext", "privacy", "aside", "programs", "foreign_json", "thoughts"},
    frozenset({"source", "replies", "models", "sandbox"}),
    frozenset({"agents", "revisions"}),
    frozenset({"strategies"}),
    frozenset({"checks"}),
    frozenset({"service", "report", "doctor", "changed"}),
    frozenset({"arena"}),
    frozenset({"lsp", "cli", "mcp"}),
    frozenset({"__main__"}),
)
"""The floors, from the ground up. Files of the ground may import each other, but rooms of one floor may not."""

LIBRARY_HOMES = {
    "pygls": ("lsp/",),
    "lsprotocol": ("lsp/",),
    "cattrs": ("lsp/from_proto.py",),
    "ollama": ("models/ollama.py",),
    "httpx": ("models/http.py", "models/response_guard.py", "models/ollama.py", "models/openai.py"),
    "jedi": ("source/context.py",),
    "parso": ("source/context.py",),
    "pyflakes": ("source/imports.py",),
    "click": ("cli/",),
    "rich": ("cli/",),
    "matplotlib": ("arena/plots.py",),
    "datasets": ("arena/hub.py",),
    "distributed": ("arena/cluster.py",),
    "tomlkit": ("settings/editing.py",),
    "pytest": ("cli/pytest_plugin.py", "cli/pytest_items.py", "sandbox/child/testing.py"),
}
"""The files that may import each library."""

STRATEGY_IMPORTS = frozenset(
    {
        *("__future__", "collections", "dataclasses", "itertools", "math", "typing"),
        *("adacoder.agents", "adacoder.replies", "adacoder.models.base"),
    }
)
"""Everything that a strategy may import, besides the ground and other strategies. It reads replies and samples calls.
"""

RUNNING = frozenset(
    {
        "subprocess",
        "create_subprocess_exec",
        "create_subprocess_shell",
        "output_of",
        "subprocess_exec",
        "subprocess_shell",
        "Popen",
        "system",
        "popen",
        "posix_spawn",
        "fork",
        "forkpty",
        "execv",
        "execve",
        "execvp",
        "execvpe",
        "import_module",
        "run_path",
        "run_module",
    }
)
"""Names of functions that run code, besides the builtins `exec`, `eval` and `__import__`."""


STARTING = {
    "create_subprocess_exec": ("aside.py", "programs.py", "sandbox/process.py"),
    "output_of": ("revisions.py", "sandbox/probe.py"),
    "Popen": ("cli/pytest_items.py",),
    "subprocess": ("cli/pytest_items.py",),
    "execv": ("sandbox/child/launcher.py",),
    "which": ("sandbox/environment/choice.py", "sandbox/isolation/system_programs.py"),
}
"""The files that may start or look for programs. The interpreter that they look for runs isolated. `aside.py` and
`cli/pytest_items.py` start only AdaCoder itself, and `output_of` only programs of the system.
"""

ASIDE = frozenset(
    {
        "splice",
        "withheld",
        "undefined_names",
        "pieces",
        "brief",
        "memorised",
        "repaired_by_rules",
        "debugged",
        "extract",
        "add_examples",
        "undeclared",
    }
    | {"locate", "locate_again", "definitions", "logical_lines", "parsed", "symbols", "error_line"}
)
"""Functions that take longer for a longer module or reply."""

SHOWING = {
    "Console": (),
    "Screen": ("cli/terminal.py",),
    "status": ("cli/screen.py", "lsp/machine.py"),
    "from_markup": (),
    "buffer": ("cli/output.py",),
    "__stdout__": (),
    "__stderr__": (),
    "_send_data": (),
    "writer": (),
}
"""Names that bypass the functions that make text visible, and the files that may use them. `cli/output.py` writes a
diff for programs.
"""


@dataclass(frozen=True)
class File:
    """One source file of the package."""

    place: str
    """Its path below the package."""
    tree: ast.Module

    @property
    def room(self) -> str:
        """The name of the folder or file directly below the package that contains the file."""
        return self.place.partition("/")[0].removesuffix(".py")

    @functools.cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of its syntax tree."""
        return list(ast.walk(self.tree))

    @functools.cached_property
    def imports(self) -> list[str]:
        """The absolute dotted names that it imports. For `from a import b`, these are `a` and `a.b`."""
        names = []
        for node in self.nodes:
            if isinstance(node, ast.Import):
                names += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        return names

    @functools.cached_property
    def called(self) -> list[str]:
        """The last parts of the names that it calls."""
        return _called(self.nodes)


def files(package: Path) -> list[File]:
    """Return all Python files below `package`."""
    return [
        _file(path.relative_to(package).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(package.rglob("*.py"))
    ]


@functools.cache
def _file(place: str, text: str) -> File:
    """Read a file. The cache returns unchanged files, so only the broken file of a broken copy is parsed again."""
    return File(place, ast.parse(text))


def libraries_stay_home(package: Path) -> list[str]:
    """Invariant 1: only one room or file imports each outside library."""
    return [
        f"{file.place} imports {name}"
        for file in files(package)
        for name in file.imports
        if (homes := LIBRARY_HOMES.get(name.partition(".")[0])) and not file.place.startswith(homes)
    ]


def strategies_are_pure(package: Path) -> list[str]:
    """Invariant 2: strategies only await agents. They do no I/O and read no clock."""
    found = []
    for file in files(package):
        if file.room != "strategies":
            continue
        found += [f"{file.place} imports {name}" for name in file.imports if not _strategies_may_import(name)]
        found += [f"{file.place} calls {name}" for name in file.called if name in {"open", "print", "input"}]
    return found


def _strategies_may_import(name: str) -> bool:
    if name.startswith("adacoder.") and name.split(".")[1] in FLOORS[0] | {"strategies"}:
        return True
    return any(name == allowed or name.startswith(f"{allowed}.") for allowed in STRATEGY_IMPORTS)


def floors_are_kept(package: Path) -> list[str]:
    """Invariant 3 and the floors: imports only go down, and rooms on one floor do not import each other."""
    found = []
    level = {room: number for number, floor in enumerate(FLOORS) for room in floor}
    for file in files(package):
        if file.room == "__init__":
            continue
        if file.room not in level:
            found.append(f"{file.place} stands on no floor")
            continue
        for name in file.imports:
            parts = name.split(".")
            if parts[0] != "adacoder" or len(parts) < 2 or parts[1] not in level or parts[1] == file.room:
                continue
            own, other = level[file.room], level[parts[1]]
            if other > own or (other == own and own > 0):
                found.append(f"{file.place} imports {name}")
    return found


def the_source_is_entered_by_its_doors(package: Path) -> list[str]:
    """No file outside `source/` imports a module in one of its folders.

    Only the modules directly in `source/` are imported.
    """
    inner = tuple(f"adacoder.source.{path.parent.name}" for path in (package / "source").glob("*/__init__.py"))
    return [
        f"{file.place} imports {name}"
        for file in files(package)
        if file.room != "source"
        for name in file.imports
        if name.startswith(inner)
    ]


INSIDE = "sandbox/child/"
"""Folder of the modules that other processes run: the user's interpreter, and the launcher that becomes it."""


def what_runs_inside_stands_alone(package: Path) -> list[str]:
    """Invariant 4: the code in this folder needs only the standard library, and Python 3.8 can read it.

    `testing.py` may also import the user's own pytest.
    """
    found = []
    places = [path.relative_to(package).as_posix() for path in sorted((package / INSIDE).glob("*.py"))]
    # They load each other by path. Only the type checker sees these imports.
    each_other = {f"adacoder.{place.removesuffix('.py').replace('/', '.')}" for place in places}
    known = sys.stdlib_module_names | {"adacoder.sandbox.child"} | each_other
    for place in places:
        others = {"pytest"} if place == f"{INSIDE}testing.py" else set()
        source = (package / place).read_text(encoding="utf-8")
        try:
            tree = ast.parse(source, feature_version=(3, 8))
        except SyntaxError as error:
            found.append(f"{place} is not Python 3.8: {error}")
            continue
        relative = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
        found += [f"{place} imports relatively"] if relative else []
        imported = File(place, tree).imports
        foreign = (name for name in imported if not {name, name.partition(".")[0]} & (known | others))
        found += [f"{place} imports {name}" for name in foreign]
    return found


def only_the_sandbox_runs_code(package: Path) -> list[str]:
    """Invariant 5: code outside sandbox/ starts no process, imports no module by name, and executes no text."""
    found = []
    for file in files(package):
        if file.room == "sandbox":
            continue
        found += [
            f"{file.place} calls {name}"
            for name in file.called
            if name in RUNNING | {"exec", "eval", "__import__"} and file.place not in STARTING.get(name, ())
        ]
        found += [
            f"{file.place} imports {name}"
            for name in file.imports
            if name in ("subprocess", "runpy") and file.place not in STARTING.get(name, ())
        ]
    return found


def programs_are_started_in_few_places(package: Path) -> list[str]:
    """Invariant 5: only the files in STARTING start or look for programs."""
    return [
        f"{file.place} calls {name}"
        for file in files(package)
        for name in file.called
        if name in (RUNNING | {"which"}) - {"fork", "import_module"} and file.place not in STARTING.get(name, ())
    ]


def what_is_shown_goes_through_the_doors(package: Path) -> list[str]:
    """Invariant 10: only the files in SHOWING draw on a terminal, or write directly to a terminal or an editor."""
    found = []
    for file in files(package):
        attributes = {node.attr for node in file.nodes if isinstance(node, ast.Attribute)}
        used = {*file.called, *(attributes - {"status"})}  # an Outcome's status is no rich.status
        found += [
            f"{file.place} uses {name}"
            for name, homes in SHOWING.items()
            if name in used and file.place not in homes and file.room in ("cli", "lsp", "__main__")
        ]
    return found


def long_work_is_done_aside(package: Path) -> list[str]:
    """Invariant 13: no coroutine calls a function whose time grows with a text."""
    return [
        f"{file.place}:{node.lineno} calls {name}"
        for file in files(package)
        for node in file.nodes
        # the command line serves nobody else meanwhile
        if isinstance(node, ast.AsyncFunctionDef) and file.room != "cli"
        for name in _called(list(ast.walk(node)))
        if name in ASIDE
    ]


def cancellation_goes_through(package: Path) -> list[str]:
    """Invariant 6: code that catches a cancellation raises it again."""
    found = []
    for file in files(package):
        if file.place.startswith(INSIDE):
            continue  # they run in a process of their own, where nothing is cancelled
        for node in file.nodes:
            if not isinstance(node, ast.ExceptHandler):
                continue
            caught = "" if node.type is None else ast.unparse(node.type)
            catches = node.type is None or "BaseException" in caught or "CancelledError" in caught
            if catches and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node)):
                found.append(f"{file.place}:{node.lineno} keeps {caught or 'everything'}")
    return found


def serving_is_light(package: Path) -> list[str]:
    """Invariant 7: the server answers `initialize` without importing a heavy library."""
    heavy = ("ollama", "httpx", "jedi", "parso", "pyflakes", "click", "rich")
    return _imported_of(heavy, package, "adacoder.lsp.stdio")


def answering_needs_little(package: Path) -> list[str]:
    """Invariant 7: to answer `initialize`, the server imports only those of our modules that speak the protocol."""
    early = {"messages", "visible", "aside", "programs", "lsp"}
    acting = ("handlers", "machine", "from_proto", "jobs", "showing", "snapshot")
    rooms = sorted(frozenset.union(*FLOORS) - early - {"__main__"})
    late = tuple(f"adacoder.{name}" for name in (*rooms, *(f"lsp.{name}" for name in acting)))
    return _imported_of(late, package, "adacoder.lsp.stdio", "adacoder.lsp.stdio.create()")


def serving_agents_is_light(package: Path) -> list[str]:
    """Invariant 7: the MCP server answers `tools/list` without importing anything that only calls of tools need."""
    ours = ("models", "replies", "strategies", "service", "checks", "agents.code_evaluator", "mcp.tools", "lsp")
    heavy = (*(f"adacoder.{name}" for name in ours), "httpx", "jedi", "pyflakes", "rich", "pygls")
    return _imported_of(heavy, package, "adacoder.cli.commands, adacoder.mcp.agent_server")


def checking_is_light(package: Path) -> list[str]:
    """Invariant 7: a check of a file imports nothing about models and replies, and nothing that draws."""
    ours = tuple(f"adacoder.{name}" for name in ("models", "replies", "strategies", "service", "source.splice"))
    heavy = (*ours, "httpx", "jedi", "pyflakes", "rich")
    return _imported_of(heavy, package, "adacoder.cli.commands, adacoder.cli.checking, adacoder.cli.findings")


def the_plugin_is_light(package: Path) -> list[str]:
    """Invariant 7: every pytest imports the entry point of the plug-in, so this imports no other part of ours."""
    rooms = sorted(frozenset.union(*FLOORS) - {"cli"})
    heavy = (*(f"adacoder.{room}" for room in rooms), "pytest", "asyncio", "subprocess", "typing")
    return _imported_of(heavy, package, "adacoder.cli.pytest_plugin")


def files_run_in_no_circle(package: Path) -> list[str]:
    """Invariant 7: no file imports itself through other files. Imports for type checking also count."""
    try:
        graphlib.TopologicalSorter(import_graph(package)).prepare()
    except graphlib.CycleError as error:
        return [" imports ".join(reversed(error.args[1]))]
    return []


def import_graph(package: Path) -> dict[str, set[str]]:
    """Return the modules of the package, each with the modules that it imports."""
    known = {module_of(file): file for file in files(package)}
    graph = {name: {each for each in file.imports if each in known} for name, file in known.items()}
    for name, used in graph.items():
        used -= {each for each in used if any(other.startswith(f"{each}.") for other in used)} | {name}
    return graph


def module_of(file: File) -> str:
    """Return the dotted name of a file."""
    return "adacoder." + file.place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imported_of(heavy: tuple[str, ...], package: Path, modules: str, done: str = "") -> list[str]:
    """Return the heavy modules that are loaded after `modules` were imported and `done` was run."""
    script = f"import sys, {modules}; {done or 'pass'}; print([m for m in {heavy!r} if m in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        cwd=package.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return [] if ran.stdout.strip() == "[]" else [f"{modules} come with {ran.stdout.strip()}"]


def stdout_is_the_protocols(package: Path) -> list[str]:
    """Invariant 8: only the command line prints, and only `take_stdio` touches stdout."""
    found = []
    for file in files(package):
        if file.room in ("cli", "__main__") or file.place == "programs.py":
            continue
        found += [f"{file.place} calls print" for name in file.called if name == "print"]
        if file.place == "sandbox/child/worker.py":
            continue  # its stdout belongs to the candidate, in a process of its own
        found += [
            f"{file.place}:{node.lineno} uses sys.stdout"
            for node in file.nodes
            if isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout", "sys.__stdout__")
        ]
    return found


def syntax_errors_come_from_the_users_python(package: Path) -> list[str]:
    """Invariant 9: only the sandbox calls something a syntax error, because it asks the user's interpreter."""
    return [
        f"{file.place}:{node.lineno} calls something a syntax error"
        for file in files(package)
        if file.room not in ("domain", "sandbox")
        for node in file.nodes
        if isinstance(node, ast.Attribute) and node.attr == "SYNTAX_ERROR"
    ]


HIDDEN = frozenset({"hidden", "canonical", "open_verdict"})
"""Names of members that contain hidden tests and canonical solutions."""
HIDDEN_KINDS = frozenset({"Statements", "Calls", "Examples"})
MAKES_HIDDEN = ("arena/formats.py", "arena/own_code.py")
"""Files that create tasks with hidden tests. They set the members and never read them."""


def hidden_tests_reach_only_the_judge(package: Path) -> list[str]:
    """Invariant 14: only `arena/judge.py` reads hidden tests and solutions, and only the user interfaces import the
    arena.
    """
    found = []
    for file in files(package):
        if file.place == "arena/judge.py" or file.room in ("privacy", "sandbox"):  # they hide files
            continue
        found += [
            f"{file.place}:{node.lineno} reads what is hidden"
            for node in file.nodes
            if isinstance(node, ast.Attribute) and node.attr in HIDDEN and file.place not in MAKES_HIDDEN
        ]
        for name in file.imports:
            kind = name.removeprefix("adacoder.arena.tasks.")
            if kind in HIDDEN_KINDS and file.place not in MAKES_HIDDEN:
                found.append(f"{file.place} imports {name}")
            if (
                name.startswith("adacoder.arena")
                and file.room != "arena"
                and file.place not in ("cli/arena.py", "cli/commands.py", "cli/models.py", "cli/row_tables.py")
            ):
                found.append(f"{file.place} imports {name}")
    return found


STANDING_IN = (
    *("support.standins", "support.serving", "support.acting", "support.commandline"),  # servers and their replies
    *("integration.lsp.client", "integration.lsp.texts"),  # an editor
    *("support.evaluating", "support.bodies"),  # functions that test the sandbox
    "architecture",  # `house.py` counts with it
)
"""Modules of the tests that benchmarks may import. None of them has tasks or a judge."""


def benchmarks_judge_by_the_product(benchmarks: Path) -> list[str]:
    """Invariant 15: benchmarks import the product.

    Of the tests, they import only substitutes for servers and editors. Benchmarks that read tasks judge them with the
    arena's judge.
    """
    rooms = {path.name for path in Path(__file__).parents[1].iterdir() if path.is_dir()} | {"conftest"}
    found = []
    for file in files(benchmarks):
        names = file.imports
        found += [
            f"{file.place} imports {name}"
            for name in names
            if name.partition(".")[0] in rooms
            and not f"{name}.".startswith(tuple(f"{each}." for each in STANDING_IN))
            and not any(each.startswith(f"{name}.") for each in STANDING_IN)
        ]
        if any(name.startswith("adacoder.arena") for name in names):
            found += [f"{file.place} imports {name}" for name in names if name.startswith("adacoder.sandbox.host")]
    return found


OPENING = frozenset(
    {"open", "read_text", "read_bytes", "fdopen", "FileIO", "open_code", "getline", "getlines", "mmap", "read_regular"}
)
"""Names of functions that read a file."""

READERS = {
    "privacy/": "the one place that answers whether a file may be read, and opens it",
    "sandbox/": "what confines, of files of the system and of an environment; but of the project's own",
    "source/text.py": "the file that the user named, and that is written",
    "agents/prompt.py": "our own texts",
    "models/recording/": "the recording that the user named",
    "models/windows.py": "files of the system that tell of WSL",
    "lsp/stdio.py": "stdin and stdout",
    "mcp/agent_server.py": "the log that the user named",
    "arena/formats.py": "the tasks that the user named",
    "arena/hub.py": "the tasks that it downloaded itself",
    "arena/own_code.py": "files that may hold hidden examples, to hide those that do",
    "arena/rows.py": "the rows that the user named",
    "arena/dask_worker.py": "what a cell has left in a folder of the worker's own",
    "arena/html.py": "journals below the folder of rows that the user named, and our own texts",
    "aside.py": "stdin and stdout of the process that it starts",
    "programs.py": "the output of the program that it starts, stdin and stdout",
    "cli/commands.py": "nothing: /dev/null",
    "private_files.py": "files that only this user can have written, in folders that it makes",
}
"""The files that open files, and what they open."""


def classes_have_names_of_their_own(package: Path) -> list[str]:
    """No two classes have the same name, with or without an underscore."""
    places: dict[str, list[str]] = {}
    for file in files(package):
        for node in file.nodes:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(file.place)
    return _shared(places)


def files_have_names_of_their_own(package: Path) -> list[str]:
    """No two files have the same name, and none has the name of a test."""
    places: dict[str, list[str]] = {}
    for file in files(package):
        name = file.place.rpartition("/")[2]
        if name != "__init__.py":
            places.setdefault(name, []).append(file.place)
    tests = [f"{name} is named like a test" for name in places if name.startswith("test_")]
    return _shared(places) + tests


def _shared(places: dict[str, list[str]]) -> list[str]:
    return [f"{name} is in {', '.join(found)}" for name, found in places.items() if len(found) > 1]


def files_are_read_in_one_place(package: Path) -> list[str]:
    """Invariant 11: only `privacy.access` opens files of a workspace. It first asks whether they may be read."""
    return [
        f"{file.place} calls {name}"
        for file in files(package)
        if not file.place.startswith(tuple(READERS)) or file.place == "sandbox/environment/imports_ahead.py"
        for name in file.called
        if name in OPENING
    ]


_MISREAD = re.compile(r"(?<!\\)(?:\((?=\?>)|\)(?:[*+?]|\{[\d,]*\})\+)")


def patterns_mean_the_same_to_every_python(package: Path) -> list[str]:
    """Invariant 12: no group of a pattern is possessive or atomic. Python before 3.11.5 matches such groups wrongly."""
    return [
        f"{file.place}:{node.lineno} holds {found[0]}"
        for file in files(package)
        for node in file.nodes
        if isinstance(node, ast.JoinedStr | ast.Constant) and (found := _MISREAD.search(_text(node)))
    ]


def _text(node: ast.expr) -> str:
    """Return the text of a literal, with `()` in place of each value of an f-string."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.FormattedValue):
        return "()"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _called(nodes: list[ast.AST]) -> list[str]:
    """Return the last parts of the called names."""
    names = []
    for node in nodes:
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                names.append(node.func.id)
            elif isinstance(node.func, ast.Attribute):
                names.append(node.func.attr)
    return names
