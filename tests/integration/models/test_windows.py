"""Where AdaCoder looks for Ollama under WSL, according to Linux's files. This was not tried on Windows."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adacoder.models import windows
from adacoder.models.address import address
from adacoder.models.errors import NotOnWindows
from adacoder.models.ollama import OllamaServer

ROUTES = """Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t{gateway}\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t001014AC\t00000000\t0001\t0\t0\t0\t00F0FFFF\t0\t0\t0
"""
WINDOWS, ROUTER = "011014AC", "0101A8C0"
"""172.20.16.1 and 192.168.1.1 in Linux's format."""


@pytest.fixture
def wsl(tmp_path: Path, ollama_is_at: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Simulate WSL with its own network, in which nothing listens."""
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    for name in ("kernel", "routes", "mirrored"):
        monkeypatch.setattr(windows, f"_{name.upper()}", tmp_path / name)
    (tmp_path / "kernel").write_text("5.15.167.4-microsoft-standard-WSL2\n")
    (tmp_path / "routes").write_text(ROUTES.format(gateway=WINDOWS))
    with socket.socket() as taken:  # bound, but not listening
        taken.bind(("127.0.0.1", 0))
        ollama_is_at(taken.getsockname()[1])
        yield tmp_path


def test_windows_is_asked_where_nothing_listens_here(wsl: Path) -> None:
    found = address(None)
    assert found.url.startswith("http://172.20.16.1:")
    assert found.on_windows
    assert not found.may_have_key


async def test_who_has_ollama_nowhere_is_told_of_both_places(wsl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adacoder.models.address.windows_host", lambda port: "127.0.0.2")
    with pytest.raises(NotOnWindows, match=r"here or on Windows, at http://127\.0\.0\.2:") as told:
        await OllamaServer(None).version()
    assert "OLLAMA_HOST=0.0.0.0" in str(told.value)


def test_what_listens_here_comes_first(wsl: Path, ollama_is_at: Callable[[int], None]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ollama_is_at(listening.getsockname()[1])
        assert address(None).url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("written", ["localhost", "http://gpu:11434"])
def test_an_address_that_somebody_wrote_counts(wsl: Path, written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "172" not in address(written).url
    monkeypatch.setenv("OLLAMA_HOST", written)
    assert "172" not in address(None).url


def test_somebodys_router_is_never_asked(wsl: Path) -> None:
    (wsl / "routes").write_text(ROUTES.format(gateway=ROUTER))
    assert address(None).url.startswith("http://127.0.0.1:")
    (wsl / "routes").write_text(ROUTES.format(gateway=WINDOWS))
    (wsl / "mirrored").mkdir()
    assert address(None).url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("kernel", ["6.1.0-18-amd64", None])
def test_elsewhere_the_gateway_is_nobody(wsl: Path, kernel: str | None) -> None:
    if kernel is None:
        (wsl / "kernel").unlink()
    else:
        (wsl / "kernel").write_text(kernel)
    assert address(None).url.startswith("http://127.0.0.1:")


def test_without_a_route_there_is_no_windows(wsl: Path) -> None:
    (wsl / "routes").write_text(ROUTES.splitlines()[0])
    assert address(None).url.startswith("http://127.0.0.1:")
    (wsl / "routes").unlink()
    assert address(None).url.startswith("http://127.0.0.1:")
