"""Size of the code: lines of Python by room, circles of imports, and class names that stand in several files.

Prints one JSON line. A room is a folder or a file directly below the package; of the tests, below `tests/`.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "server" / "adacoder"


def lines_by_room(folder: Path) -> dict[str, int]:
    """The lines of all Python files below a folder, by what stands directly in it; the largest first."""
    counts = Counter[str]()
    for path in folder.rglob("*.py"):
        counts[path.relative_to(folder).parts[0].removesuffix(".py")] += len(path.read_bytes().splitlines())
    return dict(counts.most_common())


def shared_names() -> dict[str, list[str]]:
    """The names of public classes that stand in several files, with these."""
    places = defaultdict[str, list[str]](list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.relative_to(PACKAGE).as_posix())
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


def main() -> None:
    """Print the figures."""
    sys.path.insert(0, str(ROOT / "tests"))
    from architecture import rules

    product, tests = lines_by_room(PACKAGE), lines_by_room(ROOT / "tests")
    figures = {
        "product": sum(product.values()),
        "tests": sum(tests.values()),
        "circles": rules.files_run_in_no_circle(PACKAGE),
        "shared_names": shared_names(),
        "product_by_room": product,
        "tests_by_room": tests,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
