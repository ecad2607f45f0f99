"""Addresses as users write them."""

from __future__ import annotations

import pytest

from adacoder.models.address import address
from adacoder.models.base import BadHost


@pytest.fixture(autouse=True)
def _no_ollama_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)


@pytest.mark.parametrize(
    ("written", "url"),
    [
        (None, "http://127.0.0.1:11434"),
        ("", "http://127.0.0.1:11434"),
        ("  ", "http://127.0.0.1:11434"),
        (":8080", "http://127.0.0.1:8080"),
        ("localhost", "http://localhost:11434"),
        ("box.local:8080", "http://box.local:8080"),
        ("http://box", "http://box:80"),
        ("https://box", "https://box:443"),
        ("https://box/ollama/", "https://box:443/ollama"),
        (' "http://box:1" ', "http://box:1"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:80", "http://127.0.0.1:80"),
        ("::1", "http://[::1]:11434"),
        ("[::1]:80", "http://[::1]:80"),
        ("http://[::]", "http://[::1]:80"),
        ("10.0.0.7", "http://10.0.0.7:11434"),
    ],
)
def test_how_an_address_is_read(written: str | None, url: str) -> None:
    assert address(written).url == url


@pytest.mark.parametrize(
    "written",
    ["box:port", "box:99999", "ftp://box", "http://[::1", "a b", "http://user:pass@box", "box?x=1", "box#x"],
)
def test_what_is_no_address(written: str) -> None:
    with pytest.raises(BadHost, match="is no address of a model server"):
        address(written)


def test_the_environment_names_a_host_and_the_setting_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "box:1")
    assert address(None).url == "http://box:1"
    assert address("other").url == "http://other:11434"


@pytest.mark.parametrize(
    ("written", "loopback"),
    [
        (None, True),
        ("localhost", True),
        ("api.localhost:80", True),
        ("127.3.2.1", True),
        ("[::1]", True),
        ("0.0.0.0", True),
        ("10.0.0.7", False),
        ("localhost.example.com", False),
        ("https://ollama.com", False),
    ],
)
def test_what_is_this_machine(written: str | None, loopback: bool) -> None:
    assert address(written).loopback is loopback


@pytest.mark.parametrize(
    ("written", "may"),
    [
        (None, False),
        ("localhost", True),
        ("https://ollama.com", True),
        ("http://ollama.com", False),
        ("10.0.0.7", False),
    ],
)
def test_where_the_key_may_go(written: str | None, may: bool) -> None:
    assert address(written).may_have_key is may
