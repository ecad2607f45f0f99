"""`adacoder check` in a container whose seccomp profile forbids namespaces, as Docker's default does."""

from __future__ import annotations

import ctypes.util
import subprocess
import sys
from pathlib import Path

import pytest

from support.commandline import SOLVED, WRONG
from support.levels import needs_full

pytestmark = [
    needs_full,
    pytest.mark.skipif(ctypes.util.find_library("seccomp") is None, reason="libseccomp is not installed"),
]

CONTAINED = r"""
import ctypes, ctypes.util, errno, os, sys

class Comparison(ctypes.Structure):
    _fields_ = [
        ("argument", ctypes.c_uint), ("how", ctypes.c_int), ("mask", ctypes.c_uint64), ("value", ctypes.c_uint64)
    ]

MASKED_EQUAL = 7
NAMESPACES = (17, 25, 26, 27, 28, 29, 30)  # bits of CLONE_NEWNS, …, CLONE_NEWNET
library = ctypes.CDLL(ctypes.util.find_library("seccomp"))
library.seccomp_init.restype = context = ctypes.c_void_p
profile = context(library.seccomp_init(0x7FFF0000))  # SCMP_ACT_ALLOW

def deny(call, error, *comparisons):
    number = library.seccomp_syscall_resolve_name(call)
    assert library.seccomp_rule_add(profile, 0x50000 | error, number, len(comparisons), *comparisons) == 0, call

for call in (b"unshare", b"setns", b"mount", b"umount2", b"pivot_root", b"fsopen", b"move_mount", b"open_tree"):
    deny(call, errno.EPERM)
deny(b"clone3", errno.ENOSYS)
for bit in NAMESPACES:
    deny(b"clone", errno.EPERM, Comparison(0, MASKED_EQUAL, 1 << bit, 1 << bit))
assert library.seccomp_load(profile) == 0
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
CHECK = ("-m", "adacoder", "check", "shapes.py")


def checked(folder: Path, text: str, *command: str) -> tuple[int, str]:
    (folder / "shapes.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


def test_code_runs_at_the_level_lsm(tmp_path: Path) -> None:
    code, told = checked(tmp_path, SOLVED, "-c", CONTAINED, *CHECK)
    assert (code, "isolation lsm" in told) == (0, True), told
    code, told = checked(tmp_path, WRONG, "-c", CONTAINED, *CHECK)
    assert (code, "isolation lsm" in told) == (1, True), told


def test_without_the_profile_it_runs_at_the_level_full(tmp_path: Path) -> None:
    code, told = checked(tmp_path, SOLVED, *CHECK)
    assert (code, "isolation full" in told) == (0, True), told
