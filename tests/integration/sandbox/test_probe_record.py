"""Later processes use the stored proof of isolation, if nothing has changed and nobody else could write it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import stat
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adacoder.domain import Level
from adacoder.sandbox import probe_record
from adacoder.sandbox.host import IsolationRefused
from adacoder.sandbox.probe import FAILED_SECONDS, Prober, Proof
from adacoder.sandbox.probe_record import Basis
from adacoder.settings import Settings
from support.evaluating import workspace
from support.examining import UNREACHABLE, finding
from support.levels import needs_full

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.isolation
GOOD = 'def f(x):\n    """\n    >>> f(1)\n    2\n    """\n    return x + 1\n'
REAL_BWRAP = shutil.which("bwrap")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the stored proofs, which does not exist yet."""
    (tmp_path / "cache").mkdir(0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/adacoder"


@pytest.fixture
def bwrap(tmp_path: Path) -> Path:
    """Return a script that replaces the system's bubblewrap. It fails while a file `bwrap.fails` is next to it."""
    path = tmp_path / "bwrap"
    path.write_text(f'#!/bin/sh\n[ ! -e "$0.fails" ] || exit 1\nexec {REAL_BWRAP} "$@"\n', encoding="utf-8")
    path.chmod(stat.S_IRWXU)
    return path


def prober(bwrap: Path | None = None, **machine: Any) -> Prober:
    """Return a prober as in a new process. `bwrap` replaces the system's bubblewrap."""
    if bwrap:
        machine["program"] = lambda _: bwrap if bwrap.exists() else None
    return Prober(**machine)


async def started(bwrap: Path | None = None, **machine: Any) -> Proof:
    """Test the isolation as a new process does."""
    return await prober(bwrap, **machine).probe(keeps=True)


def next_start(bwrap: Path | None = None, **machine: Any) -> Proof:
    """Do the same outside an event loop."""
    return asyncio.run(started(bwrap, **machine))


def changed(file: Path, **members: object) -> None:
    """Replace members of the stored proof."""
    file.write_text(json.dumps({**json.loads(file.read_text(encoding="utf-8")), **members}), encoding="utf-8")


def test_a_later_start_takes_what_was_proved(cache: Path) -> None:
    first = next_start()
    assert not first.is_recorded
    assert [stat.S_IMODE(place.stat().st_mode) for place in (cache, *cache.iterdir())] == [0o700, 0o600]
    second = next_start()
    assert second.is_recorded
    assert (second.isolation, second.mechanism, second.reason) == (first.isolation, first.mechanism, first.reason)
    assert next_start().is_recorded


def test_another_name_of_the_same_python_takes_what_was_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not next_start().is_recorded
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert next_start().is_recorded


def _link(file: Path) -> None:
    file.rename(file.with_name("other"))
    file.symlink_to("other")


def _hard_link(file: Path) -> None:
    os.link(file, file.with_name("other"))


def _link_the_folder(file: Path) -> None:
    file.parent.rename(file.parent.with_name("other"))
    file.parent.symlink_to("other")


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


def _socket(file: Path) -> None:
    file.unlink()
    with socket.socket(socket.AF_UNIX) as server, tempfile.TemporaryDirectory(dir="/tmp") as short:
        server.bind(f"{short}/socket")  # a socket's path has at most 107 characters
        Path(short, "socket").rename(file)


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


ATTACKS: dict[str, Callable[[Path], object]] = {
    "a folder that the group can write": lambda file: file.parent.chmod(0o770),
    "a folder that all can read": lambda file: file.parent.chmod(0o704),
    "a file that the group can write": lambda file: file.chmod(0o620),
    "a file that all can write": lambda file: file.chmod(0o602),
    "a link": _link,
    "a hard link": _hard_link,
    "a link to the folder": _link_the_folder,
    "a pipe": _pipe,
    "a socket": _socket,
    "a folder": _folder,
    "nothing": lambda file: file.write_bytes(b""),
    "half of it": lambda file: file.write_bytes(file.read_bytes()[:-20]),
    "no text": lambda file: file.write_bytes(b"\xff" * 100),
    "something deep": lambda file: file.write_bytes(b"[" * 100_000),
    "something long": lambda file: file.write_bytes(b" " * (1 << 20) + file.read_bytes()),
    "no object": lambda file: file.write_text("[1, 2]", encoding="utf-8"),
    "other conditions": lambda file: changed(file, conditions=[]),
    "no conditions": lambda file: changed(file, conditions=None),
    "features of no kind": lambda file: changed(file, features=["yes", "yes", "yes"]),
    "fewer features": lambda file: changed(file, features=[True]),
    "no reason": lambda file: changed(file, reason=None),
    "a time long over": lambda file: changed(file, until=0.5),
    "a time far ahead": lambda file: changed(file, until=1e12),
    "no time": lambda file: changed(file, until=float("nan")),
    "a time of no kind": lambda file: changed(file, until="for ever"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_another_could_have_put_there_is_not_believed(attack: str, cache: Path) -> None:
    first = next_start()
    assert next_start().is_recorded, "the control: untouched it is believed"
    ATTACKS[attack](cache / "isolation.json")
    found = next_start()
    assert not found.is_recorded
    assert found.isolation == first.isolation


def test_what_belongs_to_another_user_is_not_believed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    next_start()
    other = os.geteuid() + 1
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: other)
        assert probe_record.read() is None
        probe_record.write({})
    assert next_start().is_recorded, "the control: it is still there"
    if os.geteuid() == 0:
        for place in cache / "isolation.json", cache, cache.parent:
            os.chown(place, 65534, -1)
            assert probe_record.read() is None
            os.chown(place, 0, -1)
        assert probe_record.read() is not None


OTHER: dict[str, Callable[[Path], dict[str, Any]]] = {
    "version": lambda _: {"version": "99"},
    "boot": lambda state: {"boot": str(state)},
    "own files": lambda state: {"package": state.parent},
    "python": lambda state: {"python": state},
}


@pytest.mark.parametrize("fact", ["groups", "state", *OTHER])
def test_what_it_rests_on_may_not_have_changed(
    fact: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "max_user_namespaces"
    state.write_text("1000\n", encoding="utf-8")
    basis = Basis(states=(*Basis().states, str(state)))
    next_start(basis=basis)
    state.write_text("1000\n", encoding="utf-8")
    assert next_start(basis=basis).is_recorded, "the control: it is the content that counts"
    if fact == "groups":
        monkeypatch.setattr(os, "getgroups", lambda: [4, 99])
    elif fact == "state":
        state.write_text("0\n", encoding="utf-8")
    else:
        basis = replace(basis, **OTHER[fact](state))
    assert not next_start(basis=basis).is_recorded
    assert next_start(basis=basis).is_recorded, "but now that is what it rests on"


def test_where_it_cannot_be_told_whether_the_machine_was_started_anew_nothing_is_recorded(
    cache: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        assert not next_start(basis=Basis(boot=str(tmp_path / "nothing"))).is_recorded
    assert not cache.exists()


@needs_full
def test_without_the_bubblewrap_that_was_tried_nothing_of_it_holds(bwrap: Path) -> None:
    full = next_start(bwrap)
    assert full.isolation.level is Level.FULL
    assert next_start(bwrap).is_recorded
    program = bwrap.read_bytes()
    bwrap.unlink()
    less = next_start(bwrap)
    assert (less.isolation.level, less.is_recorded) == (Level.LSM, False)
    assert next_start(bwrap).is_recorded, "that is proved too, and there was nothing else to be tried"
    bwrap.write_bytes(program)
    bwrap.chmod(stat.S_IRWXU)
    again = next_start(bwrap)
    assert (again.isolation.level, again.is_recorded) == (Level.FULL, False)


@needs_full
async def test_what_starts_no_more_is_proved_anew(bwrap: Path, tmp_path: Path) -> None:
    bwrap.with_name("bwrap.fails").touch()
    assert (await started(bwrap)).isolation.level is Level.LSM, "the control: without a record it is seen"
    bwrap.with_name("bwrap.fails").unlink()
    assert (await prober(bwrap).probe(anew=True, keeps=True)).isolation.level is Level.FULL
    for least in Level.SEATBELT, Level.FULL:
        known = prober(bwrap)
        assert (await known.probe()).is_recorded
        bwrap.with_name("bwrap.fails").touch()
        async with workspace(tmp_path, least, prober=known) as ws:
            if least is Level.FULL:
                with pytest.raises(IsolationRefused, match="bubblewrap does not work here"):
                    await ws.evaluate(GOOD)
            else:
                verdict = await ws.evaluate(GOOD)
                assert verdict.passed
                assert verdict.isolation is not None
                assert verdict.isolation.level is Level.LSM
        bwrap.with_name("bwrap.fails").unlink()
        assert (await prober(bwrap).probe(anew=True, keeps=True)).isolation.level is Level.FULL


@needs_full
async def test_that_something_stronger_failed_is_kept_for_a_while_and_never_refused_for(
    bwrap: Path, tmp_path: Path
) -> None:
    bwrap.with_name("bwrap.fails").touch()
    assert (await started(bwrap)).isolation.level is Level.LSM
    bwrap.with_name("bwrap.fails").unlink()
    known = prober(bwrap)
    found = await known.probe()
    assert (found.isolation.level, found.is_recorded) == (Level.LSM, True)
    assert "bubblewrap does not work here" in found.reason
    async with workspace(tmp_path, Level.FULL, prober=known) as ws:
        assert (await ws.evaluate(GOOD)).passed, "what was kept is too weak, so it is proved anew"
    bwrap.with_name("bwrap.fails").touch()
    await prober(bwrap).probe(anew=True, keeps=True)
    bwrap.with_name("bwrap.fails").unlink()
    assert (await started(bwrap)).isolation.level is Level.LSM
    later = Prober.since_boot() + FAILED_SECONDS + 1
    assert (await started(bwrap, since_boot=lambda: later)).isolation.level is Level.FULL


@pytest.mark.parametrize("place", ["a file", "missing", "denied", "relative"])
def test_where_nothing_can_be_kept_all_works(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = {"a file": tmp_path / "file", "missing": tmp_path / "no/where", "denied": Path("/proc/1"), "relative": "x"}
    (tmp_path / "file").touch()
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(named[place]))
    for expected in (False, place in ("missing", "relative")):
        assert next_start().is_recorded is expected
    assert (home / ".cache/adacoder").exists() is (place == "relative"), "a relative name does not count"


def test_many_may_write_at_once(cache: Path) -> None:
    values: list[Any] = [{"number": number, "text": "x" * 20_000} for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda value: (probe_record.write(value), probe_record.read())[1], values))
    assert all(value in values for value in found)
    assert [place.name for place in cache.iterdir()] == ["isolation.json"]


async def test_doctor_proves_anew(cache: Path, tmp_path: Path) -> None:
    await started()
    changed(cache / "isolation.json", features=None, reason="a lie")
    assert (await started()).reason == "a lie", "the control: our own user's word counts"
    found = await finding("Isolation", Settings(host=UNREACHABLE), tmp_path)
    assert "a lie" not in found.text
    assert (await started()).reason != "a lie"
