"""Copy the pictures of the flows to README, docs and walkthrough, and make the animation: `nox -s pictures`."""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[3]
SHOWN = {
    "light-bulb": "client/media/light-bulb.png",
    "verified": "client/media/verified.png",
    **{f"walkthrough-{step}": f"client/media/walkthrough-{step}.png" for step in range(1, 6)},
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
        _reduced(taken / f"{name}.png").save(ROOT / place, optimize=True)
        size = (ROOT / place).stat().st_size
        if size > MOST:
            sys.exit(f"{place} has {size} bytes, more than {MOST}.")
    frames = [_reduced(taken / f"{name}.png") for name in FRAMES]
    times = [int(1000 * seconds) for seconds in FRAMES.values()]
    frames[0].save(ROOT / TOUR, save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True)


def _reduced(picture: Path) -> Image.Image:
    """Return a picture with at most 256 colours."""
    return Image.open(picture).convert("P", palette=Image.Palette.ADAPTIVE)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
