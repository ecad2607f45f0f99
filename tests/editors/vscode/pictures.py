"""Copy the pictures of the flows to README, docs and walkthrough, and make the animation: `nox -s pictures`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from PIL import Image

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
TOUR = "client/media/tour.gif"
FRAMES = {"tour-1": 3.0, "tour-2": 3.0, "tour-3": 4.0, "tour-4": 5.0, "tour-5": 5.0}
"""The pictures of the animation, each with the seconds that it is shown."""


def main(taken: Path) -> None:
    for name, place in SHOWN.items():
        size = (taken / f"{name}.png").stat().st_size
        if size > MOST:
            sys.exit(f"{name}.png has {size} bytes, more than {MOST}.")
        shutil.copy(taken / f"{name}.png", ROOT / place)
    frames = [Image.open(taken / f"{name}.png").convert("P", palette=Image.Palette.ADAPTIVE) for name in FRAMES]
    times = [int(1000 * seconds) for seconds in FRAMES.values()]
    frames[0].save(ROOT / TOUR, save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
