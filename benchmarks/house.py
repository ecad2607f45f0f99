"""Size of the code: lines of Python by room, import cycles, and class names defined in several files.

Prints one JSON line. A room is a folder or a file directly below the package, or below `tests/`.
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
    """Lines of Python in each direct child of a folder, the largest first."""
    counts = Counter[str]()
    for path in folder.rglob("*.py"):
        counts[path.relative_to(folder).parts[0].removesuffix(".py")] += len(path.read_bytes().splitlines())
    return dict(counts.most_common())


def shared_names() -> dict[str, list[str]]:
    """Names of public classes defined in several files, with the files."""
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
