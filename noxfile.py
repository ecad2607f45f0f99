"""The sessions of `nox`: lint, format, types, tests, client, docs and releases."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

import nox

nox.needs_version = ">=2025.2"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["lint", "types", "tests", "client"]

WORKERS = ("-n", "4", "--dist", "worksteal")
"""Number of parallel test processes on two cores. Each test starts processes of its own, so more workers are not
faster.
"""
COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
"""Environment that lets Python store bytecode. Otherwise each of the tests' hundreds of processes compiles the
package.
"""
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PYTHON_FILES = (
    "server",
    "client/python",
    "tests",
    "benchmarks",
    "fixtures/record.py",
    "docs",
    "examples",
    "noxfile.py",
)


@nox.session
def lint(session: nox.Session) -> None:
    """Run ruff's lint and format check, and check GitHub's issue forms and workflows."""
    session.install("ruff>=0.14,<1", "check-jsonschema>=0.39")
    session.run("ruff", "check", *PYTHON_FILES)
    session.run("ruff", "format", "--check", *PYTHON_FILES)
    for schema, folder in (("github-issue-forms", "ISSUE_TEMPLATE"), ("github-workflows", "workflows")):
        files = map(str, Path(".github", folder).glob("*.yml"))
        session.run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *files)


@nox.session
def types(session: nox.Session) -> None:
    """Run the strict type check of the package and its tests."""
    session.install("-e", ".[test,types]")
    session.run("mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the test suite without the attacks. `nox -s tests -- ARGS` passes ARGS to pytest."""
    session.install("-e", ".[test]")
    session.run("pytest", *WORKERS, *(session.posargs or ["--ignore=tests/adversarial"]), env=COMPILED)


@nox.session
def plain(session: nox.Session) -> None:
    """Test the arena without optional dependencies. Each feature that needs one must name the package to install."""
    session.install("-e", ".", "hypothesis>=6.150", "pytest>=9.2", "pytest-asyncio>=1.3", "pytest-xdist>=3.8")
    commands = (f"tests/integration/cli/test_{name}.py" for name in ("arena", "row_tables", "models"))
    session.run("pytest", *WORKERS, *(session.posargs or ("tests/unit/arena", *commands)), env=COMPILED)


@nox.session(python=PYTHONS)
def pythons(session: nox.Session) -> None:
    """Run `tests` under every supported Python that is installed, or under one with `nox -s pythons-3.12`."""
    tests(session)


@nox.session
def lowest(session: nox.Session) -> None:
    """Run `tests` with the lowest versions of the dependencies that pyproject.toml names."""
    session.install("uv>=0.9")
    python = f"--python={session.virtualenv.location}"
    session.run("uv", "pip", "install", python, "--resolution=lowest-direct", "-e", ".[test]")
    session.run("pytest", *WORKERS, *(session.posargs or ["--ignore=tests/adversarial"]), env=COMPILED)


@nox.session
def attacks(session: nox.Session) -> None:
    """Run the attacks on the sandbox in tests/adversarial (see SECURITY.md). Not part of the default run."""
    session.install("-e", ".[test]")
    session.run("pytest", *WORKERS, "tests/adversarial", *session.posargs, env=COMPILED)


@nox.session
def hub(session: nox.Session) -> None:
    """Test downloads of the arena's tasks with the real client library, from a stand-in for the dataset hub."""
    session.install("-e", ".[test,hub]")
    session.run("pytest", "tests/integration/arena/test_hub.py", *session.posargs)


@nox.session
def record(session: nox.Session) -> None:
    """Update recordings and rendered prompts. Run this after you change a prompt, and read the diff."""
    session.install("-e", ".[test]")
    session.run("python", "fixtures/record.py")
    session.run("pytest", "tests/unit/agents/test_prompt.py", env={"ADACODER_RENEW_GOLDEN": "1"})


@nox.session
def settings(session: nox.Session) -> None:
    """Update the VS Code extension's settings, the tables in the docs, and the list of public names."""
    session.install("-e", ".[test]")
    session.run("python", "docs/settings.py")
    session.run("python", "docs/public.py", env={"PYTHONPATH": "tests"})


@nox.session(venv_backend="none")
def client(session: nox.Session) -> None:
    """Lint, test and package the VS Code client. Packaging type-checks it."""
    if shutil.which("npm") is None:
        session.skip("npm is not installed; the VS Code client needs Node.js 20 or later")
    session.chdir("client")
    _npm_ci(session)
    for script in ("lint", "test", "package"):
        session.run("npm", "run", script, external=True)


@nox.session
def vscode(session: nox.Session) -> None:
    """Test the client in real VS Code. `nox -s vscode -- -k lens` runs some tests. `.ci/run` runs this.

    This needs Node.js 20 and Debian's chromium and ripgrep. The first run installs everything else into the user's
    cache. Screenshots are written to the folder in ADACODER_PICTURES, else to the session's temporary folder.
    """
    _flows(session, "first")


@nox.session
def vscode_newest(session: nox.Session) -> None:
    """Run the tests of `vscode` in the newest VS Code that is available, with this version's own Node.js."""
    _flows(session, "newest")


def _flows(session: nox.Session, edition: str) -> None:
    session.install("-e", ".[test]")
    session.env["ADACODER_CODE_SERVER"] = edition
    root, driver = _workbench(session)
    kept = os.environ.get("ADACODER_PICTURES") or f"{session.create_tmp()}/pictures"
    env = {"ADACODER_WORKBENCH": root, "ADACODER_PICTURES": kept}
    session.chdir("client")
    _npm_ci(session)
    session.run("npm", "run", "package", external=True)
    session.chdir("..")
    how = ("-n", "2", "--dist", "worksteal", "-o", f"pythonpath=tests {driver}")
    session.run("pytest", *how, "tests/editors/vscode", *session.posargs, env=env)
    session.log(f"Pictures: {kept}")


def _workbench(session: nox.Session) -> tuple[str, str]:
    """Install VS Code's workbench. Return its folder, and the folder of the driver that controls it."""
    said = session.run("python", "tests/editors/vscode/tools.py", silent=True, success_codes=[0, 1])
    *_, root, driver = ["", "", *str(said).splitlines()]
    if not os.path.isabs(driver):  # noqa: PTH117
        session.error(driver)
    return root, driver


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site of the docs in `build/docs`, and check it in Debian's chromium. `.ci/run` runs this."""
    if shutil.which("chromium") is None:
        session.error("chromium is not installed; the checks of the site need it")
    axe = _npm_packages(session, "adacoder-docs", "tests/integration/docs/package.json")
    session.install("-e", ".[test,docs]")
    builds = [str(Path(folder).resolve()) for folder in ("build/docs", f"{session.create_tmp()}/docs")]
    for folder in builds:
        shutil.rmtree(folder, ignore_errors=True)
        cache = ("-d", tempfile.mkdtemp(dir=session.create_tmp()))
        session.run("sphinx-build", "-q", "-n", "-W", "--keep-going", *cache, "-c", "docs", ".", folder)
    driver = str(session.run("python", "tests/editors/vscode/tools.py", "driver", silent=True)).split()[-1]
    env = {"ADACODER_SITE": os.pathsep.join(builds), "ADACODER_AXE": axe}
    tests = ("tests/integration/docs/test_site.py", *session.posargs)
    session.run("pytest", "-q", "-o", f"pythonpath=tests {driver}", *tests, env=env)


@nox.session
def pictures(session: nox.Session) -> None:
    """Update the screenshots in the README, the docs and the walkthrough by running the tests of `vscode`."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ADACODER_PICTURES"] = folder
        _flows(session, "first")
        session.install("pillow>=11")
        session.run("python", "tests/editors/vscode/pictures.py", folder)


@nox.session
def release(session: nox.Session) -> None:
    """Build a release of the last commit in `dist/`. Fails if a second build differs by a byte.

    The release has the wheel, the sdist, packages for VS Code, Neovim and Emacs, an SBOM of the wheel and of the VS
    Code client, the licences of the dependencies, and checksums. This needs git, Node.js 20 and Linux or macOS.
    """
    if missing := [program for program in ("git", "npm") if shutil.which(program) is None]:
        session.error(f"{' and '.join(missing)} not installed; the release needs git and Node.js 20 or later")
    session.install("build>=1.3", "cyclonedx-bom>=7", "pip-licenses>=5")
    made = str(session.run("git", "log", "-1", "--format=%ct", external=True, silent=True)).strip()
    session.env.update(SOURCE_DATE_EPOCH=made, TZ="UTC")  # .vsix files store local times
    builds = [_built(session, Path(session.create_tmp(), name).resolve()) for name in ("one", "other")]
    first, second = ({file.name: file.read_bytes() for file in build.iterdir()} for build in builds)
    if differing := sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name)):
        session.error(f"Two builds differ in {', '.join(differing)}; compare {builds[0]} and {builds[1]}")
    shutil.rmtree("dist", ignore_errors=True)
    shutil.copytree(builds[0], "dist")
    sums = [f"{hashlib.sha256(content).hexdigest()}  {name}" for name, content in sorted(first.items())]
    Path("dist", "SHA256SUMS").write_text("\n".join([*sums, ""]), encoding="ascii")
    session.log("\n".join(["Both builds have the same bytes:", *sums]))


def _built(session: nox.Session, folder: Path) -> Path:
    """Build the release of the last commit in a clone in `folder`. Return the folder with its files."""
    shutil.rmtree(folder, ignore_errors=True)
    session.run("git", "clone", "--quiet", ".", str(folder), external=True)
    with session.chdir(folder):
        session.run("python", "-m", "build", "--outdir", "dist", silent=True)
        wheel = next(Path("dist").glob("*.whl"))
        name = "-".join(wheel.name.split("-")[:2])
        with session.chdir("client"):
            session.run("npm", "ci", "--no-audit", "--no-fund", external=True)
            session.run("npm", "run", "package", silent=True, external=True)
            shutil.move(f"{name}.vsix", "../dist")
            bom = ("@cyclonedx/cyclonedx-npm@6.0.1", "--omit", "dev", "--output-reproducible", "--package-lock-only")
            session.run("npx", "--yes", *bom, "--output-file", f"../dist/{name}.vsix.cdx.json", external=True)
        shutil.copy("client/emacs/adacoder.el", f"dist/{name}.el")
        # For a folder, git archives only this folder, with the commit's time.
        neovim = ("--prefix=adacoder.nvim/", "--add-file=../LICENSE", f"--output=../../dist/{name}.nvim.tar.gz")
        with session.chdir("client/neovim"):
            session.run("git", "archive", *neovim, "HEAD", external=True)
        session.run("python", "-m", "venv", "--without-pip", "clean")
        session.run("python", "-m", "pip", "--python=clean", "install", "--quiet", str(wheel))
        next(Path("clean").glob("lib/*/site-packages/adacoder-*/direct_url.json")).unlink()  # it names this folder
        session.run(
            "cyclonedx-py", "environment", "--output-reproducible", f"-odist/{name}.cdx.json", "clean/bin/python"
        )
        licences = ("--python=clean/bin/python", "--format=markdown", f"--output-file=dist/{name}.licences.md")
        session.run("pip-licenses", *licences)
    return folder / "dist"


@nox.session
def install(session: nox.Session) -> None:
    """Install the wheel and sdist with pip, uv and pipx under each Python, and use them without a network."""
    session.install("-e", ".[test]")
    session.run("pytest", "--all", *(session.posargs or ["tests/install"]), env=COMPILED)


@nox.session
def bench(session: nox.Session) -> None:
    """Run all benchmarks, or one with `nox -s bench -- locate.py`. Not part of the default run."""
    session.install("-e", ".[test,bench]")
    session.install("--no-deps", "evalplus==0.3.1")  # the measured part needs only numpy and psutil
    for script in session.posargs or (
        "request.py",
        "start.py",
        "evaluator.py",
        "arena.py",
        "locate.py",
        "context.py",
        "imports.py",
        "cancel.py",
        "wedge.py",
        "blocking.py",
        "server.py",
        "tokens.py",
        "strategies.py",
        "check.py",
        "evidence.py",
        "observing.py",
    ):
        session.run("python", f"benchmarks/{script}")


@nox.session
def real(session: nox.Session) -> None:
    """Test with real servers and models; see CONTRIBUTING.md. Without llama-server, the first run builds a server."""
    session.install("-e", ".[test]")
    has_file, has_server = "ADACODER_GGUF" in os.environ, shutil.which("llama-server") is not None
    is_given = bool({"ADACODER_OLLAMA", "ADACODER_OPENAI"} & os.environ.keys())
    if not has_server if has_file else not is_given:
        session.install("llama-cpp-python[server]>=0.3.36", "gguf>=0.19", "tokenizers>=0.23", "numpy>=2")
    if has_file:
        session.run("pytest", "--all", "tests/real")
    session.run("python", "tests/real/drive.py", *session.posargs, env={"PYTHONPATH": "tests"})


def _npm_ci(session: nox.Session) -> None:
    """Install the npm packages of this folder, if `package-lock.json` has changed."""
    wanted, installed = Path("package-lock.json"), Path("node_modules/.package-lock.json")  # npm writes this file last
    if not installed.exists() or installed.stat().st_mtime < wanted.stat().st_mtime:
        session.run("npm", "ci", "--no-audit", "--no-fund", external=True)


def _npm_packages(session: nox.Session, name: str, package: str) -> str:
    """Install the npm packages of the file `package` into the user's cache, in the folder `name`.

    Return this folder.
    """
    if shutil.which("npm") is None:
        session.error("npm is not installed; install Node.js 20 or later")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / name
    cache.mkdir(parents=True, exist_ok=True)
    installed = cache / "node_modules" / ".package-lock.json"  # npm writes this file last
    if not installed.exists() or (cache / "package.json").read_bytes() != Path(package).read_bytes():
        installed.unlink(missing_ok=True)
        shutil.copy(package, cache)
        with session.chdir(cache):
            session.run("npm", "install", "--no-audit", "--no-fund", external=True)
    return str(cache)


@nox.session
def inspector(session: nox.Session) -> None:
    """Let the MCP Inspector examine `adacoder mcp`. `.ci/run` runs this."""
    session.install("-e", ".[test]")
    folder = _npm_packages(session, "adacoder-inspector", "tests/agents/inspector/package.json")
    session.run("pytest", "tests/agents/test_inspector.py", env={"ADACODER_INSPECTOR": folder})


@nox.session
def agents(session: nox.Session) -> None:
    """Run real coding agents with a scripted model. The first run installs 1.4 GB of npm packages into the cache."""
    session.install("-e", ".[test]")
    cache = _npm_packages(session, "adacoder-agents", "tests/agents/package.json")
    logs = Path(session.create_tmp(), "logs").resolve()
    shutil.rmtree(logs, ignore_errors=True)
    env = {"ADACODER_AGENTS": cache, "ADACODER_AGENT_LOGS": str(logs)}
    session.run("pytest", "tests/agents", *session.posargs, env=env)
    session.log(f"Logs: {logs}")


@nox.session
def thorough(session: nox.Session) -> None:
    """Run all parameters of the tests of which `tests` runs only a sample. Takes an hour."""
    session.install("-e", ".[test]")
    sampled = ("test_round_trip.py", "lsp/test_schedules.py", "lsp/test_fuzz.py")
    files = ("tests/observing", "tests/unit/replies", "tests/unit/pytext", "tests/unit/source")
    files = (*files, "tests/integration/models/test_waiting.py", *(f"tests/integration/{name}" for name in sampled))
    session.run("pytest", *WORKERS, "--all", *files, env=COMPILED)
    session.run("python", "-W", "ignore", "tests/adversarial/growth.py", *session.posargs, env={"PYTHONPATH": "tests"})


@nox.session
def rescue(session: nox.Session) -> None:
    """Measure the repair rules on real replies in the folder ADACODER_DATA. Takes 10 minutes."""
    session.install("-e", ".[test]")
    data = os.environ.get("ADACODER_DATA") or session.error("ADACODER_DATA names no folder with replies")
    session.run("python", "benchmarks/rescue.py", "--replies", f"{data}/model_replies.jsonl.gz", "--data", data)
