"""Addresses of servers as users write them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from adacoder.models.address import address, base_url
from adacoder.models.errors import BadHost, NoBaseUrl


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
    with pytest.raises(BadHost, match="is not an address of an Ollama server"):
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


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("http://gpu:8000/v1", "http://gpu:8000/v1"),
        ("http://gpu:8000/v1/", "http://gpu:8000/v1"),
        ("http://gpu:8000", "http://gpu:8000"),
        ("https://gpu.example/llm/v1", "https://gpu.example:443/llm/v1"),
        ("gpu:8000/v1", "http://gpu:8000/v1"),
        ("localhost/v1", "http://localhost:80/v1"),
        (' "http://localhost:1234/v1" ', "http://localhost:1234/v1"),
        ("http://0.0.0.0:8000/v1", "http://127.0.0.1:8000/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_how_a_base_url_is_read(written: str, url: str) -> None:
    assert base_url(written).url == url
    assert base_url(written).named


@pytest.mark.parametrize(
    "written",
    ["ftp://gpu/v1", "http://gpu:port/v1", "http://a b/v1", "http://user:pass@gpu/v1", "http://gpu/v1?key=x", "gpu#x"],
)
def test_what_is_no_base_url(written: str) -> None:
    with pytest.raises(BadHost) as caught:
        base_url(written)
    assert str(caught.value) == (
        f"'{written}' is not an address of an OpenAI-compatible server:"
        " write http://HOST:PORT/v1 (or https), without a user or a password."
    )


@pytest.mark.parametrize("written", [None, "", "  "])
def test_a_base_url_is_never_guessed(written: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    monkeypatch.setenv("OLLAMA_HOST", "elsewhere")
    with pytest.raises(NoBaseUrl) as caught:
        base_url(written)
    assert str(caught.value) == (
        "No OpenAI-compatible server is named: give its address, such as http://localhost:8000/v1, with --base-url."
    )


@pytest.mark.parametrize(
    ("numbers", "at_home"),
    [
        (["127.0.0.1"], True),
        (["::1"], True),
        (["10.1.2.3"], True),
        (["172.16.0.1"], True),
        (["172.32.0.1"], False),
        (["192.168.1.2"], True),
        (["169.254.1.2"], True),
        (["fe80::1%2"], True),
        (["fd00::1"], True),
        (["100.64.0.1"], True),
        (["100.128.0.1"], False),
        (["8.8.8.8"], False),
        (["2001:4860:4860::8888"], False),
        (["::ffff:10.1.2.3"], True),
        (["::ffff:8.8.8.8"], False),
        (["10.1.2.3", "192.168.1.2"], True),
        (["10.1.2.3", "8.8.8.8"], False),
    ],
)
async def test_what_is_at_home(numbers: list[str], at_home: bool, resolve_by: Callable[..., None]) -> None:
    """A name counts as local only if all its addresses are local."""

    async def resolve(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        assert (host, port) == ("gpu", 8000)
        return [(None, None, 6, "", (number, port)) for number in numbers]

    resolve_by(resolve)
    assert await base_url("http://gpu:8000/v1").is_private() is at_home


@pytest.mark.parametrize(
    ("written", "at_home"),
    [
        ("http://127.0.0.1/v1", True),
        ("http://[fd00::1]/v1", True),
        ("http://10.0.0.1", True),
        ("https://8.8.8.8", False),
    ],
)
async def test_a_number_is_its_own_meaning(written: str, at_home: bool) -> None:
    assert await base_url(written).is_private() is at_home
