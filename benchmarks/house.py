"""Print the size and structure of the code: lines and files per room, import chains, and repeated names.

    python benchmarks/house.py [CHECKOUT]

CHECKOUT is a checkout of this or an older commit. The output is one JSON line.
"""

from __future__ import annotations

import ast
import graphlib
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from architecture import rules  # noqa: E402 -- The rules are not installed.


def by_room(folder: Path) -> dict[str, list[int]]:
    """Return the number of lines and files of each folder and module in `folder`. The largest is first."""
    lines, files = Counter[str](), Counter[str]()
    for path in folder.rglob("*.py"):
        room = path.relative_to(folder).parts[0].removesuffix(".py")
        lines[room] += len(path.read_bytes().splitlines())
        files[room] += 1
    return {room: [count, files[room]] for room, count in lines.most_common()}


def shared_classes(package: Path) -> dict[str, list[str]]:
    """Return the names of public classes that are defined in several files, with the files."""
    places = defaultdict[str, list[str]](list)
    for file in rules.files(package):
        for node in ast.walk(file.tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(file.place)
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


def shared_files(package: Path) -> dict[str, list[str]]:
    """Return the file names that occur in several folders, with these folders."""
    places = defaultdict[str, list[str]](list)
    for path in sorted(package.rglob("*.py")):
        places[path.name].append(path.parent.relative_to(package).as_posix())
    del places["__init__.py"]
    return {name: found for name, found in places.items() if len(found) > 1}


def copies_of_reply(checkout: Path) -> int:
    """Return how many functions named `reply` there are in the package, tests, fixtures and benchmarks."""
    folders = [checkout / name for name in ("server", "tests", "fixtures", "benchmarks")]
    texts = [path.read_bytes() for folder in folders for path in folder.rglob("*.py")]
    return sum(text.count(b"async def reply(") for text in texts)


def floors(package: Path, room: str) -> int:
    """Return the length of the longest chain of files in a room in which each file imports the next."""
    inside = f"adacoder.{room}."
    graph = {name: used for name, used in rules.import_graph(package).items() if name.startswith(inside)}
    heights: dict[str, int] = {}
    for name in graphlib.TopologicalSorter(graph).static_order():
        heights[name] = 1 + max((heights[each] for each in graph.get(name, ()) if each in heights), default=0)
    return max((heights[name] for name in graph), default=0)


def main() -> None:
    checkout = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    package = checkout / "server" / "adacoder"
    product, tests = by_room(package), by_room(checkout / "tests")
    figures = {
        "product": [sum(column) for column in zip(*product.values(), strict=True)],
        "tests": [sum(column) for column in zip(*tests.values(), strict=True)],
        "circles": rules.files_run_in_no_circle(package),
        "floors": {room: floors(package, room) for room in product if (package / room).is_dir()},
        "copies_of_reply": copies_of_reply(checkout),
        "shared_classes": shared_classes(package),
        "shared_files": shared_files(package),
        "product_by_room": product,
        "tests_by_room": tests,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
