"""What is taken out of a recording, and what is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adacoder.models.redaction import Redaction, Surroundings

ADA = Surroundings(
    workspaces=("/home/ada/work/shop",),
    homes=("/home/ada",),
    temporary=("/var/folders/zz/a1b2/T",),
    users=("ada", "max"),
    hosts=("max-laptop.local", "vm"),
    servers=("http://gpu.example.org:11434", "http://127.0.0.1:8000/v1"),
    keys=("sk-0123456789abcdef", "EMPTY"),
)
EVA = Surroundings(
    workspaces=("/srv/checkouts/shop",),
    homes=("/Users/eva",),
    temporary=("/tmp",),  # only looked for
    users=("eva",),
    hosts=("eva-desk",),
    servers=("http://127.0.0.1:11434",),
)
redact = Redaction(ADA)

TAKEN_OUT = {
    "the workspace": ("/home/ada/work/shop", "<workspace>"),
    "a file in it": ('File "/home/ada/work/shop/cart.py", line 3', 'File "<workspace>/cart.py", line 3'),
    "the folder beside it": ("/home/ada/work/shopping/x.py", "~/work/shopping/x.py"),
    "a copy beside it": ("/home/ada/work/shop.bak/x.py", "~/work/shop.bak/x.py"),
    "the home folder": ("'/home/ada/.cache/x'", "'~/.cache/x'"),
    "the end of a sentence": ("It is in /home/ada.", "It is in ~."),
    "home as a URI": ("file:///home/ada/work/shop/a.py", "file://<workspace>/a.py"),
    "home in a longer path": ("/nfs/home/ada/x", "/nfs~/x"),
    "another user's name of mine": ("/home/max/x", "~/x"),
    "a Mac's home": ("/Users/ada/x", "~/x"),
    "a Windows home": (r"C:\Users\ada\x.py", r"~\x.py"),
    "a Windows home in a repr": (r"'C:\\Users\\ada\\x.py'", r"'~\\x.py'"),
    "a Windows home seen from Linux": ("/mnt/c/Users/ada/x", "~/x"),
    "the user's disk": ("/media/ada/disk/x", "/media/<user>/disk/x"),
    "a user's name beside others": ("/tmp/pytest-of-ada/pytest-0/x", "/tmp/pytest-of-<user>/pytest-0/x"),
    "a folder of mine at home": ("~/max/x", "~/<user>/x"),
    "temporary files": ("/var/folders/zz/a1b2/T/x.txt", "<tmp>/x.txt"),
    "a random name": ("/tmp/tmpab12_xyz/x", "/tmp/tmp…/x"),
    "the scratch folder": ("'/tmp/4'", "'<scratch>'"),
    "another scratch folder": ("/var/folders/zz/a1b2/T/adacoder-ab12_xyz/0/x", "<scratch>/x"),
    "what is made in it": ("/tmp/4/tmpab12_xyz", "<scratch>/tmp…"),
    "an address in memory": ("<object object at 0x7f2fbb7a4960>", "<object object at 0x…>"),
    "a function's": ("<function f at 0x55d0c8a1b2e0>", "<function f at 0x…>"),
    "the host": ("on max-laptop: done", "on <host>: done"),
    "the host, in full": ("max-laptop.local:/srv", "<host>:/srv"),
    "user and host": ("ada@max-laptop:~$", "<user>@<host>:~$"),
    "somebody and a host": ("root@vm:~#", "root@<host>:~#"),
    "a short host in a URL": ("http://vm:80/x", "http://<host>:80/x"),
    "a short host of a share": (r"'\\vm\share'", r"'\\<host>\share'"),
    "what `os.uname` says": ("nodename='vm', ", "nodename='<host>', "),
    "the server's address": (
        "No server answers at http://gpu.example.org:11434: …",
        "No server answers at <server>: …",
    ),
    "a page of it": ("http://gpu.example.org:11434/api/chat", "<server>/api/chat"),
    "its name": ("GPU.example.org", "<server>"),
    "another port of it": ("gpu.example.org:22", "<server>:22"),
    "a key": ("Incorrect API key provided: sk-0123456789abcdef.", "Incorrect API key provided: <key>."),
    "the other server": ("127.0.0.1:8000", "<server>"),
}
STAYS = {
    "the builtin": "return max(ada, 2)",
    "a word": "Ada and max; min/max/mean, a / max / b, x//vm, low<max/2>",
    "an attribute": "series.max and ada.max",
    "a relative path": "src/max.py, ./max/x and data/max",
    "a path of one part": "'/max'",
    "other people's home folders": "/home/adam/x and /Users/eva",
    "a decorator": "@vm\n@ada",
    "a word that is a host": "vm = 3 - vm",
    "a page of the web": "https://example.org/ada/max",
    "a number in base 16": "0xdeadbeefcafe, 0x7f2fbb7a4960, bytes at 0x10",
    "temporary files": "/tmp/x.txt",
    "another server": "http://127.0.0.1:80001 http://127.0.0.1:80 http://example.org",
    "a key that is a word": "EMPTY = ()",
    "a name for tests": "tmpab12_xyz, adacoder-ab12_xyz",
    "what was redacted": "<workspace>/a ~/x <user>@<host> <server> <tmp>/tmp… 0x… <scratch>",
}


@pytest.mark.parametrize(("text", "left"), TAKEN_OUT.values(), ids=TAKEN_OUT)
def test_what_tells_of_the_machine_is_taken_out(text: str, left: str) -> None:
    assert redact(text) == left
    assert redact(left) == left
    assert redact(f"[{text}]\n{text}\n") == f"[{left}]\n{left}\n"


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert redact(text) == text


def test_nothing_is_taken_out_where_nothing_is_known() -> None:
    nothing = Redaction(Surroundings(homes=("/",), workspaces=("/",), users=("", "root"), hosts=("", "localhost")))
    text = "/home/ada/x http://localhost:80 /opt/root/x root@localhost"
    assert nothing(text) == text
    assert nothing("<f at 0x7f2fbb7a4960>") == "<f at 0x…>"


@pytest.mark.parametrize("host", ["n-1", "a.b", "12345678", "1e5"])
def test_a_host_that_could_be_a_sum_or_a_number_is_known_by_what_is_before_it(host: str) -> None:
    one = Redaction(Surroundings(hosts=(host,)))
    assert one(f"return {host} + 1") == f"return {host} + 1"
    assert one(f"ssh me@{host}") == "ssh me@<host>"


PIECES = st.sampled_from(
    [
        *(text for text, _ in TAKEN_OUT.values()),
        *STAYS.values(),
        *("/", "//", "@", "\\", "\\\\", ":", ".", "-", "~", "'", " ", "\n", "<", ">", "0x", " at ", "tmp"),
        *("home", "Users", "ada", "max", "vm", "shop", "/home", "/home/ada", "/tmp", "max-laptop", "abcd1234"),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join)


@settings(max_examples=300)
@given(TEXTS, st.sampled_from([ADA, EVA]))
def test_to_redact_twice_is_to_redact_once(text: str, surroundings: Surroundings) -> None:
    one = Redaction(surroundings)
    assert one(one(text)) == one(text)
    assert one.comparable(one(text)) == one.comparable(text)


@settings(max_examples=300)
@given(TEXTS)
def test_nothing_of_a_home_is_left(text: str) -> None:
    left = redact(text)
    assert not re.search(r"/home/(ada|max)(?![\w.-])", left)
    assert "max-laptop" not in re.findall(r"(?<![\w.-])max-laptop(?![\w-])", left)


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [
        ("/home/ada/work/shop/a.py", "/srv/checkouts/shop/a.py"),
        ("/home/ada/.cache", "/Users/eva/.cache"),
        ("'/home/ada/x'", "'/home/ada/x'"),
        ("/home/eva/x", "/home/eva/x"),
        ("/root/x", "/root/x"),
        ("/var/folders/zz/a1b2/T/x", "/tmp/x"),
        ("/tmp/x", "/tmp/x"),
        ("/tmp/3/x", "/tmp/0/x"),
        ("http://gpu.example.org:11434", "http://127.0.0.1:11434"),
        ("http://localhost:11434", "http://localhost:11434"),
        ("<f at 0x7f2fbb7a4960>", "<f at 0x55d0c8a1b2e0>"),
    ],
)
def test_what_was_redacted_elsewhere_is_comparable_here(recorded: str, asked: str) -> None:
    here = Redaction(EVA)
    assert here.comparable(redact(recorded)) == here.comparable(asked)
    assert here.comparable(f"{redact(recorded)}!") != here.comparable(asked)


def test_the_surroundings_are_those_of_this_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / "home" / "zelda"
    shop = home / "shop"
    shop.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(shop)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("LOGNAME", "zelda")
    monkeypatch.setenv("HOSTNAME", "hyrule-castle")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    one = Redaction(Surroundings.here(link, ["http://127.0.0.1:1"]))
    assert one(f"{link}/a {shop}/a {home}/b") == "<workspace>/a <workspace>/a ~/b"
    assert one("zelda@hyrule-castle /media/zelda/x http://127.0.0.1:1/") == "<user>@<host> /media/<user>/x <server>/"
    assert one("sk-0123456789abcdef") == "<key>"
    assert one("zelda saves hyrule") == "zelda saves hyrule"


def test_whose_home_a_workspace_lies_in_is_told_by_its_path() -> None:
    one = Redaction(Surroundings.here(Path("/home/zelda/shop")))
    assert one("/home/zelda/shop/a /home/zelda/b") == "<workspace>/a ~/b"
