"""Measure a bare `os.fork`, `os._exit` and `os.waitpid`, in a process with the same modules as an evaluator's template.

    fork_twin.py PROGRAM MODULE…

The process imports the file PROGRAM and each MODULE. For every byte on standard input, it forks once and answers with
the nanoseconds that this took (8 bytes, little-endian).
"""

from __future__ import annotations

import gc
import os
import sys
import time
from importlib import import_module
from importlib.machinery import SourceFileLoader
from types import ModuleType


def load(program: str) -> None:
    """Import a file by its path. Only the parts of `importlib` are used that a template uses as well."""
    module = sys.modules["program"] = ModuleType("program")
    module.__file__ = program
    SourceFileLoader("program", program).exec_module(module)


def fork_once() -> int:
    """Return the nanoseconds from the fork to the end of a child that does nothing."""
    began = time.perf_counter_ns()
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    return time.perf_counter_ns() - began


if __name__ == "__main__":
    load(sys.argv[1])
    for name in sys.argv[2:]:
        import_module(name)
    gc.collect()
    gc.freeze()
    while os.read(0, 1):
        os.write(1, fork_once().to_bytes(8, "little"))
