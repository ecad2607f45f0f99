"""The tables that say which module defines a name agree with this Python."""

from __future__ import annotations

import json
import subprocess
import sys

from adacoder.source.importing.standard_names import NAMES, OF_DATETIME, TWINS, WITH_ATTRIBUTES

NEWER: dict[str, tuple[int, int]] = {
    "batched": (3, 12),
    "override": (3, 12),
    "sumprod": (3, 12),
    "ReadOnly": (3, 13),
    "TypeAliasType": (3, 12),
    "TypeIs": (3, 13),
}
"""Return the names that Python 3.11 lacks, each with the version that added it."""


def test_every_name_is_where_the_table_says() -> None:
    """The modules are imported in a new process. Names that a later Python added are skipped in earlier ones."""
    program = (
        "import importlib, json, sys\n"
        "table = json.load(sys.stdin)\n"
        "print(json.dumps([f'{m}.{n}' for m, names in table.items() for n in names"
        " if not hasattr(importlib.import_module(m), n)]))"
    )

    def missing(table: dict[str, tuple[str, ...]]) -> list[str]:
        command = [sys.executable, "-I", "-c", program]
        ran = subprocess.run(command, input=json.dumps(table), capture_output=True, text=True, check=True)
        return list(json.loads(ran.stdout))

    there = {
        module: tuple(name for name in names if NEWER.get(name, (3, 11)) <= sys.version_info[:2])
        for module, names in NAMES.items()
    }
    assert missing(there) == []
    assert missing({"cmath": ("sqrt", "gcd")}) == ["cmath.gcd"]
    assert missing({name: (name,) for name in TWINS}) == []
    assert len(missing({"datetime": tuple(OF_DATETIME - {"datetime"})})) == len(OF_DATETIME)


def test_what_the_tables_add_is_in_the_table() -> None:
    names = {name for names in NAMES.values() for name in names}
    assert NEWER.keys() <= names
    assert names >= WITH_ATTRIBUTES
