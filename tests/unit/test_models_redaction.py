"""What is taken out of a recording, and what is not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adacoder.models.recording.redaction import Redaction, Surroundings, fits

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
COMMON = Surroundings(
    workspaces=("/app",), homes=("/data",), users=("test", "data"), hosts=("server",), servers=("http://db.example:80",)
)
"""Names that stand for other things in most code."""
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
    "a Windows home in small letters": (r"c:\users\Ada\x.py", r"~\x.py"),
    "a Windows home as a URI": ("file:///c%3A/Users/ada/x.py", "file:///~/x.py"),
    "a Windows home in a repr of a repr": (r"C:\\\\Users\\\\ada\\\\x", r"~\\\\x"),
    "the workspace in some JSON": (r"\/home\/ada\/work\/shop\/x", r"\<workspace>\/x"),
    "the workspace in a query": ("?at=%2Fhome%2Fada%2Fwork%2fshop%2Fx", "?at=<workspace>%2Fx"),
    "more slashes than it takes": ("/home//ada/work//shop//x", "<workspace>//x"),
    "home by its user": ("'~ada/x', '~max'", "'~/x', '~'"),
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
    "the rest of a key that was cut": ("Bearer sk-0123456789ab", "Bearer <key>"),
    "a key as servers show it": ("provided: sk-01***********cdef. sk-0...ef, sk…ef", "provided: <key>. <key>, <key>"),
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
    "somebody else's key": "sk-99***********9999, task...if, sk***",
    "an operator": "x = ~ada / 2 + ~max",
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


PATTERNS = ("~" * 300, "~ " * 200, "/" * 300, "…" * 300)
"""Lines that can be read in many ways."""
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


WORDS = st.sampled_from([*(text for text, _ in TAKEN_OUT.values()), *STAYS.values()])


@settings(max_examples=300)
@given(st.lists(WORDS, max_size=12), st.sampled_from(["\n", ", "]), st.sampled_from([ADA, EVA, COMMON]))
def test_what_is_left_of_any_text_fits_that_text(words: list[str], between: str, surroundings: Surroundings) -> None:
    text = "\n".join([between.join(words), *PATTERNS])
    assert fits(Redaction(surroundings)(text), text)
    assert not fits(Redaction(surroundings)(f"{text}\nx"), f"{text}\ny")


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
        ("'/home/ada/work/shop', 1", "'/srv/It is mine/shop', 1"),
        ("/home/ada/.cache", "/Users/eva/.cache"),
        (r"'C:\\Users\\ada\\x'", r"'D:\\homes\\eva\\x'"),
        ("/media/ada/disk/ada/x", "/media/eva/disk/eva.2/x"),
        ("/var/folders/zz/a1b2/T/x", "/tmp/x"),
        ("/tmp/3/x", "/tmp/0/x"),
        ("/tmp/tmpab12_xyz/x", "/tmp/tmp01234567/x"),
        ("http://gpu.example.org:11434/api", "http://127.0.0.1:11434/api"),
        ("ada@vm: ok", "eva@eva-desk: ok"),
        ("<f at 0x7f2fbb7a4960>", "<f at 0x55d0c8a1b2e0>"),
    ],
)
def test_what_was_taken_out_elsewhere_fits_what_is_here(recorded: str, asked: str) -> None:
    assert fits(redact(recorded), asked)
    assert not fits(f"{redact(recorded)}!", asked)
    assert not fits(redact(recorded), f"{asked}!")
    assert fits(f"[{redact(recorded)}]\n~x ~~~~", f"[{asked}]\n~x ~~~~")


@pytest.mark.parametrize("surroundings", [ADA, EVA, COMMON])
@pytest.mark.parametrize(
    "constant",
    [
        *("/home/ada/work/shop/a.py", "/home/ada/x", "/home/eva/x", "/root/x", "/tmp/x", "/app/x", "/data/test/x"),
        *("/var/www/test", "http://server/x", "http://db.example:80/x", "bob@server", "http://localhost:11434", "~x"),
    ],
)
def test_code_that_says_the_same_everywhere_fits_wherever_it_was_recorded(
    surroundings: Surroundings, constant: str
) -> None:
    text = f">>> f('{constant}')\n1\n"
    assert fits(Redaction(surroundings)(text), text)
    assert not fits(Redaction(surroundings)(text), text.replace("1", "2"))


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [("<user>", "two words"), ("<workspace>/x", "src/x"), ("0x…", "0xff"), ("~", "x"), ("~x", "/ax")],
)
def test_not_everything_can_have_been_there(recorded: str, asked: str) -> None:
    assert not fits(recorded, asked)
    assert fits(recorded, recorded)


def test_a_hostile_text_takes_no_more_time_than_others() -> None:
    assert not fits("<user>" * 20_000, "a" * 20_000)
    assert not fits("<workspace>" * 20_000 + "!", "/" * 20_000)


@pytest.mark.parametrize("name", ["b\udcffd", "b\xe9a", "o'b"])
def test_a_folder_may_be_called_anything(name: str) -> None:
    one = Redaction(Surroundings(workspaces=(f"/srv/{name}",)))
    text = f"/srv/{name}/x"
    assert (
        one(text) == one(repr(text)[1:-1]) == one(ascii(text)[1:-1]) == one(json.dumps(text)[1:-1]) == "<workspace>/x"
    )
    assert fits(one(text), text)


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
