"""One code-server, one Chromium and one window for all flows. Each flow has a file of its own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from zipfile import ZipFile

import pytest
from playwright.sync_api import Browser, sync_playwright

from editors.vscode.code_server import CodeServer, code_server
from editors.vscode.samples import Model
from editors.vscode.workbench import Workbench, window
from support.paths import ROOT
from support.standins.ollama import Model as Installed
from support.standins.ollama import Script, StandIn

_CHROMIUM = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
"""No other machine is contacted."""
_PATIENT = {"adacoder.tokenTimeout": 600}
"""A job waits for a reply that a flow holds back, also on a slow machine."""


@pytest.fixture(scope="session")
def tools() -> Path:
    return Path(os.environ["ADACODER_WORKBENCH"])


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder for pictures."""
    named = os.environ.get("ADACODER_PICTURES")
    return Path(named) if named else tmp_path_factory.mktemp("pictures")


@pytest.fixture(scope="session")
def vsix() -> Path:
    (built,) = (ROOT / "client").glob("adacoder-*.vsix")
    return built


@pytest.fixture(scope="session")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An extension that calls tools."""
    packaged = tmp_path_factory.mktemp("agent") / "agent.vsix"
    with ZipFile(packaged, "w") as archive:
        for part in (Path(__file__).parent / "agent").iterdir():
            archive.write(part, f"extension/{part.name}")
    return packaged


@pytest.fixture(scope="session")
def model() -> Model:
    """The model's replies to each question."""
    return Model()


class Ollama:
    """A stand-in that a test can stop, and start again at the same address."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._running = ExitStack()
        self._downloads = Event()
        self._downloads.set()
        self.server = StandIn(model)
        self.start()

    def start(self) -> None:
        installed = [Installed("qwen2.5-coder:7b"), Installed("qwen2.5-coder:1.5b", parameter_size="1.5B")]
        download = Script(token=200, until=self._downloads)
        library = {f"qwen2.5-coder:{size}": download for size in ("3b", "0.5b")}
        standin = StandIn(self._model, models=installed, library=library, port=self.server.port)
        self.server = self._running.enter_context(standin.in_thread())

    def stop(self) -> None:
        self._running.close()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the stand-in during the block."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def downloading(self) -> Iterator[None]:
        """Stop every download at its start during the block."""
        self._downloads.clear()
        try:
            yield
        finally:
            self._downloads.set()


@pytest.fixture(scope="session")
def ollama(model: Model) -> Iterator[Ollama]:
    ollama = Ollama(model)
    yield ollama
    ollama.stop()


@pytest.fixture(scope="session")
def editor(
    tools: Path, vsix: Path, agent: Path, ollama: Ollama, pictures: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CodeServer]:
    """Run a code-server with the extension and the agent, and AdaCoder on its PATH."""
    root = tmp_path_factory.mktemp("code-server")
    (root / "home").mkdir()
    # As after a usual installation of AdaCoder, VS Code asks the login shell for the PATH.
    ollama_program = root / "bin" / "ollama"
    ollama_program.parent.mkdir()
    ollama_program.write_text('#!/bin/sh\necho "$*" > "$0.asked"\nexec sleep 600\n', encoding="utf-8")
    ollama_program.chmod(0o755)
    installed = f'PATH="{Path(sys.executable).parent}:{ollama_program.parent}:$PATH"\n'
    (root / "home" / ".profile").write_text(installed, encoding="utf-8")
    try:
        with code_server(root, tools, [vsix, agent], {"OLLAMA_HOST": ollama.server.host}, _PATIENT) as server:
            yield server
    finally:
        shutil.copytree(root / "user" / "logs", pictures / "logs", dirs_exist_ok=True)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=[*_CHROMIUM])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def shared_window(
    browser: Browser, editor: CodeServer, pictures: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workbench]:
    """The window of most flows, with a trusted folder."""
    project = tmp_path_factory.mktemp("project")
    with window(browser, editor, project, pictures, name="shared") as bench:
        yield bench


@pytest.fixture
def bench(shared_window: Workbench, request: pytest.FixtureRequest) -> Iterator[Workbench]:
    """The same window, with nothing open."""
    shared_window.clear()
    yield shared_window
    shared_window.picture(request.node.name.removeprefix("test_"))
