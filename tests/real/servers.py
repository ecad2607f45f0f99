"""Real servers for model files: llama.cpp's own if it is installed, and llama-cpp-python's."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

WINDOW = 4096
"""The servers' context window."""
_PATIENCE = 60.0
"""Seconds that a server may take to start."""


@contextmanager
def llama_cpp_python(folder: Path, models: Mapping[str, Path]) -> Iterator[str]:
    """Start a server that has all of `models`, and loads the requested one. Yield its address."""
    port = _free_port()
    listed = [
        {"model": str(path), "model_alias": name, "n_ctx": WINDOW, "verbose": False} for name, path in models.items()
    ]
    config = folder / "models.json"
    config.write_text(json.dumps({"host": "127.0.0.1", "port": port, "models": listed}), encoding="utf-8")
    with _running([sys.executable, "-m", "llama_cpp.server", "--config_file", str(config)], folder, port) as url:
        yield url


@contextmanager
def llama_server(folder: Path, model: Path) -> Iterator[str]:
    """Start an installed llama-server with `model`. Yield its address."""
    port = _free_port()
    command = ["llama-server", "--model", str(model), "--alias", model.stem, "--ctx-size", str(WINDOW)]
    where = ["--host", "127.0.0.1", "--port", str(port)]
    with _running([*command, "--parallel", "1", "--jinja", *where], folder, port) as url:
        yield url


def has_llama_server() -> bool:
    """Return whether llama.cpp's own server is installed."""
    return shutil.which("llama-server") is not None


@contextmanager
def served(folder: Path, model: Path) -> Iterator[tuple[str, str]]:
    """Serve `model` with llama-server if it is installed, otherwise with llama-cpp-python. Yield its name and URL."""
    server = llama_server(folder, model) if has_llama_server() else llama_cpp_python(folder, {model.stem: model})
    with server as url:
        yield model.stem, url


@contextmanager
def _running(command: Sequence[str], folder: Path, port: int) -> Iterator[str]:
    url = f"http://127.0.0.1:{port}/v1"
    log = folder / f"server-{port}.log"
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output, cwd=folder) as process:
        try:
            end = time.monotonic() + _PATIENCE
            while not _answers(f"{url}/models"):
                if process.poll() is not None or time.monotonic() > end:
                    raise SystemExit(f"{' '.join(command)} did not start:\n{log.read_text(errors='replace')[-4000:]}")
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
