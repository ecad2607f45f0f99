"""Texts that a recording redacts, and texts that it keeps."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.models.recording.redaction import Redaction

redact = Redaction(
    workspaces=["/home/ada/work/shop", "/app"],
    homes=["/home/ada", r"C:\Users\ada"],
    servers=["http://gpu.example.org:11434", "http://127.0.0.1:8000/v1"],
    keys=["sk-0123456789abcdef", "EMPTY"],
)

TAKEN_OUT = {
    "the workspace": ("/home/ada/work/shop", "<workspace>"),
    "a file in it": ('File "/home/ada/work/shop/cart.py", line 3', 'File "<workspace>/cart.py", line 3'),
    "a workspace just below the root": ("'/app/x', /app", "'<workspace>/x', <workspace>"),
    "the folder beside it": ("/home/ada/work/shopping/x.py", "~/work/shopping/x.py"),
    "a copy beside it": ("/home/ada/work/shop.bak/x.py", "~/work/shop.bak/x.py"),
    "the home folder": ("'/home/ada/.cache/x'", "'~/.cache/x'"),
    "the end of a sentence": ("It is in /home/ada.", "It is in ~."),
    "home as a URI": ("file:///home/ada/work/shop/a.py", "file://<workspace>/a.py"),
    "home in a longer path": ("/nfs/home/ada/x", "/nfs~/x"),
    "home after an escape": (r"'\n/home/ada/x'", r"'\n~/x'"),
    "a Windows home": (r"C:\Users\ada\x.py", r"~\x.py"),
    "a Windows home in a repr": (r"'C:\\Users\\ada\\x.py'", r"'~\\x.py'"),
    "a Windows home in small letters": (r"c:\users\Ada\x.py", r"~\x.py"),
    "a Windows home as a URI": ("file:///c%3A/Users/ada/x.py", "file:///~/x.py"),
    "a Windows home in a repr of a repr": (r"C:\\\\Users\\\\ada\\\\x", r"~\\\\x"),
    "the workspace in some JSON": (r"\/home\/ada\/work\/shop\/x", r"\<workspace>\/x"),
    "the workspace in a query": ("?at=%2Fhome%2Fada%2Fwork%2fshop%2Fx", "?at=<workspace>%2Fx"),
    "more slashes than it takes": ("/home//ada/work//shop//x", "<workspace>//x"),
    "the scratch folder": ("'/tmp/4/x'", "'<scratch>/x'"),
    "a folder in it": ("'/tmp/4/0123456789abcdef0123456789abcdef/x'", "'<scratch>/x'"),
    "another scratch folder": ("/tmp/adacoder-scratch-ab12_xyz/0/x", "<scratch>/x"),
    "a scratch folder elsewhere": ("/var/T/adacoder-scratch-ab12_xyz/12", "/var/T/<scratch>"),
    "an address in memory": ("<object object at 0x7f2fbb7a4960>", "<object object at 0x…>"),
    "an address in memory on Windows": ("<f at 0x000001F2FBB7A496>", "<f at 0x…>"),
    "the server's address": (
        "No server answers at http://gpu.example.org:11434: …",
        "No server answers at <server>: …",
    ),
    "a page of it": ("http://gpu.example.org:11434/api/chat", "<server>/api/chat"),
    "its name": ("GPU.example.org", "<server>"),
    "another port of it": ("gpu.example.org:22", "<server>:22"),
    "the other server": ("127.0.0.1:8000", "<server>"),
    "a key": ("Incorrect API key provided: sk-0123456789abcdef.", "Incorrect API key provided: <key>."),
    "the rest of a key that was cut": ("Bearer sk-0123456789ab…", "Bearer <key>…"),
    "a key in an address": ("?key=sk-0123456789abcdef&x", "?key=<key>&x"),
}
STAYS = {
    "a word": "ada works in a shop; shop/ada",
    "a relative path": "src/app, ../app and home/ada",
    "a longer name": "/application, /app2 and /app-old/x",
    "other people's home folders": "/home/adam/x, /home/ada.old and /Users/eva",
    "a number in base 16": "0xdeadbeefcafe, 0x7f2fbb7a4960, bytes at 0x10",
    "temporary files": "/tmp/x.txt, /tmp/3.txt, ./tmp/3",
    "another server": "http://127.0.0.1:80001 http://127.0.0.1:80 http://example.org http://gpu.example.orgs",
    "a key that is a word": "EMPTY = ()",
    "somebody else's key": "sk-9999999999999999",
    "an operator": "x = ~ada / 2 + ~max",
    "what was redacted": "<workspace>/a ~/x <server> <scratch>/x 0x… <key>",
}


@pytest.mark.parametrize(("text", "left"), TAKEN_OUT.values(), ids=TAKEN_OUT)
def test_what_tells_of_the_machine_is_taken_out(text: str, left: str) -> None:
    assert redact(text) == left
    assert redact(left) == left
    assert redact(f"[{text}]\n{text}\n") == f"[{left}]\n{left}\n"


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("folder", ["/", "~", "", "C:\\"])
def test_nothing_is_taken_out_where_nothing_is_known(folder: str) -> None:
    text = "/home/ada/x ~/x C:\\x http://localhost:80 sk-0123456789abcdef"
    nothing = Redaction(homes=[folder], workspaces=[folder])
    assert nothing(text) == text
    assert nothing("<f at 0x7f2fbb7a4960>") == "<f at 0x…>"


PIECES = st.sampled_from(
    [
        *(text for text, _ in TAKEN_OUT.values()),
        *STAYS.values(),
        *("/", "//", "@", "\\", "\\\\", ":", ".", "-", "~", "'", " ", "\n", "<", ">", "0x", " at ", "tmp", "4"),
        *("home", "Users", "ada", "shop", "/home", "/home/ada", "/app", "/tmp", "abcd1234"),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join)


@given(TEXTS)
def test_to_redact_twice_is_to_redact_once(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@given(TEXTS)
def test_nothing_of_home_server_and_key_is_left(text: str) -> None:
    left = redact(text)
    assert not re.search(r"/home/ada(?![\w.-])", left)
    assert not re.search(r"(?<![\w.-])gpu\.example\.org(?![\w.-])", left)
    assert "sk-0123456789" not in left


@pytest.mark.parametrize("name", ["b\udcffd", "b\xe9a", "o'b", "my shop"])
def test_a_folder_may_be_called_anything(name: str) -> None:
    one = Redaction(workspaces=[f"/srv/{name}"])
    text = f"/srv/{name}/x"
    spellings = (text, repr(text)[1:-1], ascii(text)[1:-1], json.dumps(text)[1:-1], text.replace(" ", "%20"))
    assert {one(each) for each in spellings} == {"<workspace>/x"}


def test_what_is_taken_out_is_known_of_this_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / "home" / "zelda"
    shop = home / "shop"
    shop.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(shop)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    monkeypatch.setenv("OLLAMA_API_KEY", "0123456789abcdef")
    one = Redaction.here(link, ["http://127.0.0.1:1"])
    assert one(f"{link}/a {shop}/a {home}/b") == "<workspace>/a <workspace>/a ~/b"
    assert one("http://127.0.0.1:1/ sk-0123456789abcdef 0123456789abcdef") == "<server>/ <key> <key>"
    assert one("zelda saves 127.0.0.1") == "<user> saves 127.0.0.1"


@pytest.mark.parametrize("home", ["/home/zelda", "/Users/zelda", "/mnt/c/Users/zelda"])
def test_whose_home_a_workspace_lies_in_is_told_by_its_path(home: str) -> None:
    one = Redaction.here(Path(f"{home}/shop"))
    assert one(f"{home}/shop/a {home}/b {home}s/b") == f"<workspace>/a ~/b {home}s/b"
