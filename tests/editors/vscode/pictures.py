"""Copy the pictures of the flows to README, docs and walkthrough: `nox -s pictures`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
SHOWN = {
    "light-bulb": "client/media/light-bulb.png",
    "verified": "client/media/verified.png",
    **{f"walkthrough-{step}": f"client/media/walkthrough-{step}.png" for step in range(1, 6)},
    "preview": "docs/preview.png",
    "test-failure": "docs/test-explorer.png",
    "coverage": "docs/coverage.png",
}
"""The flows' names of pictures, and the files that show them."""
MOST = 100_000
"""Largest size of a picture in bytes, because people download it."""


def main(taken: Path) -> None:
    for name, place in SHOWN.items():
        size = (taken / f"{name}.png").stat().st_size
        if size > MOST:
            sys.exit(f"{name}.png has {size} bytes, more than {MOST}.")
        shutil.copy(taken / f"{name}.png", ROOT / place)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
